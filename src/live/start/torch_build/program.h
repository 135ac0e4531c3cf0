// Programs that are run for what they print.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::live {

/// How a program went.
struct Printed {
  int status = 0;  ///< its exit status; 128 + signal where one ended it
  std::string out;
  std::string errors;
};

/// Runs a program to its end, with the caller's environment and no input. Errors: it cannot be started.
/// @param words the program, by path or as found on PATH, and its arguments
Result<Printed> run_program(const std::vector<std::string>& words);

}  // namespace flopcast::live
