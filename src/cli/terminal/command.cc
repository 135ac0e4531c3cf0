#include "cli/terminal/command.h"

namespace flopcast::cli {

void set_example(CLI::App& command, const std::string& line) {
  command.footer("Example:\n  " + line);
}

}  // namespace flopcast::cli
