#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/terminal/interrupt.h"

int main(int argc, char** argv) {
  flopcast::cli::watch_for_interrupts();
  flopcast::cli::Io io{std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1,
                       flopcast::cli::terminal_width()};
  return flopcast::cli::run(std::vector<std::string>(argv + 1, argv + argc), io);
}
