// The command line: parses, runs one command, gives its exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/io.h"

namespace flopcast::cli {

/// @param arguments without the program's name.
int run(const std::vector<std::string>& arguments, Io& io);

}  // namespace flopcast::cli
