// Floor 5: a program of somebody else's, run on a cluster that is not there. It finds stand-ins in place of NVIDIA's
// libraries; what it asks of GPUs takes the time that the models of this library say.
//
//   run_live({.cluster = "2 x dgx-h100", .command = {"python3", "train.py"}}, Catalog::builtin())
//
// docs/theory/live.md has the rules of time and order.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/hardware.h"
#include "flopcast/live/host.h"
#include "flopcast/trace.h"

namespace flopcast {

/// Which ranks may stand for others, so that not all have to be there.
enum class Fold : std::uint8_t {
  kOff,   ///< none: every rank is there
  kAuto,  ///< those that do everything together: replicas, and those that share a layer's tensors
  kData,  ///< replicas alone
};

/// Machines that a run's ranks are on. The same request is made on each of them: by run_live() on the first, which has the
/// engine, by join_live() on all others.
struct LiveMachines {
  std::uint32_t count = 1;
  std::uint32_t own = 0;  ///< number of this one
  std::string meet;   ///< address and port of the first, where the others find it: "10.0.0.1:29400"
  std::string token;  ///< that all of them were given; nobody else is let in
};

/// What is to be run.
struct LiveRequest {
  std::string cluster;               ///< as for estimates: "2 x dgx-h100"
  std::vector<std::string> command;  ///< program and arguments, started once for every rank
  /// The command is a launcher, started once for every node: it starts the ranks itself.
  bool launches = false;
  std::uint32_t ranks = 0;  ///< one on each of the first so many chips; 0: on every chip
  /// That the machines pose as; 0: as the cluster has, one a machine for a launcher.
  std::uint32_t nodes = 0;
  LiveMachines machines;  ///< each has as many nodes as every other
  /// Needs a fork server. The first rank, and some that may be like it, run alone before, as far as their first step.
  Fold fold = Fold::kOff;
  std::filesystem::path libraries;  ///< folder of the stand-ins
  std::filesystem::path
      torch_plugin;  ///< of the PyTorch that runs (live_torch_plugin()); empty: none
  std::map<std::string, std::string>
      environment;  ///< set for all processes besides the caller's own
  /// Program that loads what all ranks import and makes them out of itself (serve.py), started with the words before
  /// the script in `command`; empty: every rank is started alone.
  std::filesystem::path fork_server;
  std::vector<std::string> imports;  ///< modules that it loads
  std::filesystem::path operators;  ///< what operators and kernels of the user's do; empty: no file
  double host_factor = 0;           ///< host code takes its CPU time here, times this; 0: modelled
  HostTable host =
      HostTable::builtin();       ///< what it takes where it is modelled, and what calls take
  std::int64_t start_ns = 0;      ///< virtual time begins here, since 1970; 0: at the real time
  bool timeline = false;          ///< keep every task for LiveReport::timeline
  std::filesystem::path capture;  ///< file to keep the run in for resolve_live(); empty: none
};

/// A captured run is to be timed again.
struct ResolveRequest {
  std::filesystem::path capture;    ///< file of a run
  std::string cluster;              ///< as for estimates; empty: that of the run
  std::filesystem::path operators;  ///< as of LiveRequest
  bool timeline = false;            ///< keep every task for LiveReport::timeline
};

/// How a run goes, looked at while it does. Every function may be empty.
struct LiveObserver {
  std::function<bool()> stop;  ///< true ends the run
  /// Says in words how it goes: the last line of a terminal that standard error is.
  std::function<std::string(Time virtual_time, double real_s, std::size_t ranks,
                            std::size_t waiting)>
      status;
  std::function<void(const std::string&)> notice;  ///< of what may be wrong: a rank that is stuck
  /// So long, in real time, may a rank compute, or load a library, before it is asked after.
  std::chrono::milliseconds silence{10'000};
};

/// Kernels of one kind of price.
struct LiveCoverage {
  std::string what;           ///< "table", "fitted", ...; a kernel's name
  std::uint64_t kernels = 0;  ///< launched
  Time time;                  ///< theirs together
};

/// Kernels of which it is not known what they do.
struct LiveUnknown {
  std::string what;           ///< a kernel's name
  std::uint64_t kernels = 0;  ///< launched
  Time time;                  ///< theirs together, as priced
  /// Of the allocations that their launches' pointers lead to; 0 where their parameters are not known either.
  std::uint64_t bytes = 0;
  Time floor;  ///< what moving those once takes at least; no less than `time`
};

/// Time of a GPU from its first task to its last, by what ran. The parts add up to the window.
struct LiveTimes {
  Time window;                 ///< all of it
  Time exposed_compute;        ///< kernels, no communication beside them
  Time exposed_communication;  ///< communication, no kernel beside it
  Time overlapped;             ///< both
  Time copies;                 ///< neither, but copies or fills
  Time host_bound;             ///< nothing, and no thread waits for a GPU: the host is too slow
  Time idle;  ///< nothing, and a thread waits: for another rank, or for a GPU that has just ended
};

/// What tells where steps are.
enum class LiveStepsBy : std::uint8_t {
  kNothing,     ///< no steps are found
  kOptimizer,   ///< they end with an optimizer's
  kMarks,       ///< the script or its framework marks them (ProfilerStep#3)
  kRepetition,  ///< what a GPU did repeats
};
/// "none", "optimizer", "marks", "repetition".
std::string_view name(LiveStepsBy by);

/// A step of a training loop.
struct LiveStep {
  Time start, end;  ///< since the start of the run
};

/// One rank of a run.
struct LiveRank {
  std::int32_t rank = 0;        ///< its number
  LiveTimes times;              ///< of its GPU
  std::vector<LiveStep> steps;  ///< that were found in it; between two of them other work may lie
  LiveStepsBy steps_by =
      LiveStepsBy::kNothing;      ///< what told them; of an optimizer's only one, there may be none
  std::uint64_t most_memory = 0;  ///< bytes that it had of its GPU at most, at any time
  std::uint64_t kernels = 0;      ///< that its GPU ran
};

/// Why a run ended before its end.
struct LiveFailure {
  std::int32_t rank = 0;  ///< the first that failed; -1: a launcher
  int status = 0;         ///< its exit status; 128 + signal where one ended it
  std::string last_line;  ///< the last that it wrote to standard error
};

/// Which run was timed again, and how far its program might have gone another way.
struct LiveResolved {
  std::string cluster;  ///< on which it ran
  std::uint64_t asked =
      0;  ///< questions of the program about time: events, elapsed times, time-outs
  std::uint64_t differs = 0;  ///< of those, that would have been answered otherwise here
  std::string first;          ///< such a question; empty: none
  std::vector<std::string>
      assumed;  ///< what the program saw of that cluster and would see otherwise here
};

/// What a rank's host computed within its steps that takes no virtual time: no call of PyTorch or CUDA tells of it.
struct LiveHostWork {
  std::int32_t rank = 0;
  std::uint64_t stretches = 0;  ///< between two calls, each of 10 ms or more
  double taken_s = 0;           ///< together, of this machine's processor
};

/// A launcher started its ranks again, because one had failed.
struct LiveRestart {
  std::int32_t rank = 0;  ///< that failed first
  Time at;                ///< when it did; the ranks began again at this time
};

/// Ranks of a folded run that are alike.
struct LiveAlike {
  std::string ranks;  ///< all of them: "0-120/8" are every eighth
  std::string there;  ///< those that ran, and were held against each other call by call
};

/// How a run went.
struct LiveReport {
  std::string cluster;                 ///< as asked for
  int status = 0;                      ///< exit status of the first rank that failed; 0: none
  std::optional<LiveFailure> failure;  ///< which one that was
  std::vector<LiveRestart> restarts;   ///< in their order
  bool stopped = false;                ///< by the observer
  Time virtual_time;                   ///< from the start to the end of the last task
  double real_s = 0;                   ///< that it took here
  std::uint64_t tasks = 0;             ///< of its graph
  std::vector<LiveRank> ranks;         ///< those that did anything, by number
  std::uint32_t of_ranks = 0;          ///< ranks of the run, whether they were there or not
  std::vector<LiveAlike> folded;       ///< of a folded run; else empty
  /// Calls in which ranks that are alike were given sequences of other lengths, and as much work.
  std::uint64_t other_lengths = 0;
  std::vector<LiveCoverage> coverage;  ///< by what prices rest on
  std::vector<LiveCoverage> kernels;   ///< by operator, library call or name, longest first
  std::vector<LiveUnknown> unknown;    ///< kernels whose work is not known, longest first
  /// Patterns of the user's file of operators that nothing in the run had, with their places.
  std::vector<std::string> unmatched;
  std::vector<std::string> unsupported;  ///< functions that were called and are not there
  std::uint64_t tainted_reads = 0;       ///< values that the script read and nobody had computed
  std::vector<std::string>
      tainted_where;  ///< the first of every rank: operator, and a line for each frame of the stack
  /// The first work of every rank that was not computed though all that it reads was, and why.
  std::vector<std::string> values_end;
  /// Factor that host times may be off by, either way; 0: not known, or they were measured.
  double host_spread = 0;
  std::uint64_t assumed = 0;              ///< tensors that got values assumed for tainted ones
  std::optional<LiveHostWork> host_work;  ///< of the rank that has most, where it weighs; else none
  std::optional<LiveResolved> resolved;   ///< of a captured run; else none
  /// Every task as a recording, if asked for: of one rank, or of all where none is named. What is kept of a run
  /// for it lies in a temporary file, so one rank after the other takes little memory.
  std::function<Result<TraceSet>(std::optional<std::int32_t> rank)> timeline;
};

/// Runs it to its end. Ranks write where this process does. Errors: a cluster that is not known or too small, a
/// program that cannot be started, calls that differ between ranks, a circle of waits (kNoAnswer).
Result<LiveReport> run_live(const LiveRequest& request, const Catalog& catalog,
                            const LiveObserver& observer = {});

/// Runs the processes of a machine that is not the first; returns when the run has ended. Ranks write where this process does.
/// Errors: as run_live(), and a first machine that is not there, takes this one for one of another run, or is lost; why the run
/// has not ended well.
std::optional<Diagnostic> join_live(const LiveRequest& request, const Catalog& catalog,
                                    const LiveObserver& observer = {});

/// Times a captured run again, without its program: the times of a run on that cluster, bit for bit, where the program does
/// not decide by how long things take (LiveReport::resolved counts what it asked of that). Memory is that of the run. Errors:
/// those of the file and of the cluster; a cluster with too few chips, or whose chips have too little memory (kTooLarge);
/// one on which ranks of a folded run that stood for others would not be like them (kNoAnswer); ranks that would wait for each
/// other for ever.
Result<LiveReport> resolve_live(const ResolveRequest& request, const Catalog& catalog);

/// Whether a file begins as those that resolve_live() takes.
bool is_captured_run(const std::filesystem::path& path);

}  // namespace flopcast
