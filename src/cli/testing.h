// What the command answers to arguments, for tests.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/terminal/io.h"

namespace flopcast::cli {

struct Answered {
  int code;
  std::string out, err;
};

inline Answered answer_to(const std::vector<std::string>& arguments, std::size_t width = 0) {
  std::ostringstream out, err;
  Io io{out, err, false, width};
  const int code = run(arguments, io);
  return {code, out.str(), err.str()};
}

}  // namespace flopcast::cli
