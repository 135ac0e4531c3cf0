// The program of `flopcast run` and what it needs: from flags to a request.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/terminal/io.h"
#include "flopcast/live.h"
#include "flopcast/live/setup.h"

namespace flopcast::cli {

/// As the flags say it.
struct LiveProgram {
  std::vector<std::string> words;  ///< SCRIPT ARGS..., or a launcher and its arguments
  bool launches = false;           ///< the latter
  std::string cluster, python = "python3", host = "modelled", values = "neutral";
  std::vector<std::string> fits;
  std::filesystem::path operators;
  std::uint32_t ranks = 0, nodes = 0;
  unsigned cuda = 0;
  bool no_fork_server = false;
  Fold fold = Fold::kOff;
  std::uint32_t hosts = 1;  ///< machines that it runs on
  std::string meet, host_number;
};

/// Errors: no script, a script that is not there, no PyTorch where the script wants it or one without CUDA, no
/// stand-ins for it, ranks that memory does not hold.
/// @param compiles called before half a minute of compiling, which is done once a version of PyTorch
Result<LiveRequest> live_request(const LiveProgram& program, const std::function<void()>& compiles);
/// Nanoseconds since 1970 of a date, or of seconds; 0 for an empty text. Errors: it is neither.
Result<std::int64_t> start_of(const std::string& text);
/// flopcast run --doctor.
int run_live_doctor(Io& io, const LiveProgram& program);

}  // namespace flopcast::cli
