// Floor 5: a program of somebody else's, run on a cluster that is not there. It finds stand-ins in place of NVIDIA's
// libraries; what it asks of GPUs takes the time that the models of this library say.
//
//   run_live({.cluster = "2 x dgx-h100", .command = {"python3", "train.py"}}, Catalog::builtin())
//
// docs/theory/live.md has the rules of time and order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"

namespace flopcast {

/// What is to be run.
struct LiveRequest {
  std::string cluster;               ///< as for estimates: "2 x dgx-h100"
  std::vector<std::string> command;  ///< program and arguments, started once for every rank
  std::uint32_t ranks = 0;           ///< one on each of the first so many chips; 0: on every chip
  std::filesystem::path libraries;   ///< folder of the stand-ins
};

/// Kernels of one kind of price.
struct LiveCoverage {
  std::string what;           ///< "table", "fitted", ...; a kernel's name
  std::uint64_t kernels = 0;  ///< launched
  Time time;                  ///< theirs together
};

/// How a run went.
struct LiveReport {
  int status = 0;                      ///< exit status of the first rank that failed; 0: none
  Time virtual_time;                   ///< from the start to the end of the last task
  double real_s = 0;                   ///< that it took here
  std::uint64_t tasks = 0;             ///< of its graph
  std::vector<LiveCoverage> coverage;  ///< by what prices rest on
  std::vector<LiveCoverage> unknown;   ///< kernels of which only the name is known, longest first
};

/// Runs it to its end. Ranks write where this process does. Errors: a cluster that is not known or too small, a
/// program that cannot be started, calls that differ between ranks, a circle of waits (kNoAnswer).
/// @param stop looked at now and then; true ends the run
Result<LiveReport> run_live(const LiveRequest& request, const Catalog& catalog,
                            const std::function<bool()>& stop = {});

}  // namespace flopcast
