// flopcast run: a script of somebody else's on a cluster that is not there.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>

#include "base/files/input_file.h"
#include "base/layout/fit.h"
#include "base/text/format.h"
#include "base/text/names.h"
#include "base/text/shown.h"
#include "cli/run/program.h"
#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/outputs.h"
#include "cli/terminal/timelines.h"
#include "flopcast/replay.h"
#include "flopcast/report/live.h"
#include "flopcast/report/replay.h"
#include "flopcast/trace/io.h"
#include "flopcast/whatif.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct RunCommand {
  LiveProgram program;
  bool doctor = false, launcher = false;
  std::string start;
  fs::path html, json, recording;
  std::vector<fs::path> trace_out;
};

std::string on_cluster_hint() {
  return "name one with --on: \"2 x dgx-h100\", or a name of `flopcast hw list clusters`";
}

/// A recording is read as a whole folder: nothing else may lie in it.
std::optional<Diagnostic> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  const bool empty = !error && fs::is_empty(folder, error);
  if (empty && ::access(folder.c_str(), W_OK) == 0) return std::nullopt;
  return Diagnostic{ErrorCode::kBadInput, folder.string(),
                    error ? "cannot be made: " + error.message()
                          : std::string(empty ? "cannot be written to" : "is not empty"),
                    "name an empty folder, or one that is not there yet, with --recording"};
}

/// Everything that can be told before hours of work.
std::optional<Diagnostic> check(const RunCommand& command) {
  if (command.program.cluster.empty())
    return usage_error("--on", "says what cluster to run on, and is not there", on_cluster_hint());
  if (auto problem = live_obstacle()) return problem;
  if (!command.recording.empty()) {
    if (auto problem = make_folder(command.recording)) return problem;
  }
  constexpr std::uintmax_t kLeast = std::uintmax_t{16} << 20;
  std::vector<fs::path> files = command.trace_out;
  for (const fs::path& file : {command.html, command.json, command.recording / "rank0.json.gz"}) {
    if (!file.empty()) files.push_back(file);
  }
  for (const fs::path& file : files) {
    std::error_code error;
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    const fs::space_info space = fs::space(folder, error);
    if (error || !fs::exists(folder, error) || space.available >= kLeast) continue;
    return Diagnostic{ErrorCode::kBadInput, file.string(),
                      fmt::format("its disk has {} left",
                                  short_bytes(static_cast<std::int64_t>(space.available))),
                      "free some space, or name another place"};
  }
  return std::nullopt;
}

/// Programs may do without, so it ends nothing.
void warn_of_little_shared_memory(Io& io) {
  constexpr std::uintmax_t kLeast = std::uintmax_t{16} << 20;
  std::error_code error;
  const fs::space_info space = fs::space("/dev/shm", error);
  if (!error && space.available >= kLeast) return;
  warn(io, fmt::format(
               "/dev/shm {}: DataLoader workers need it for their batches (mount -t tmpfs "
               "tmpfs /dev/shm, or num_workers=0)",
               error ? "is not there"
                     : "has " + short_bytes(static_cast<std::int64_t>(space.available)) + " free"));
}

/// Every rank has pipes, and memory that is shared by a descriptor.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int write_json(Io& io, const fs::path& path, const LiveReport& report) {
  if (path.empty()) return kDone;
  const std::string document = live_json(report);
  if (const int code = write_told(io, "results", path, document); code != kDone) return code;
  return kDone;
}

/// The page of a replay: what a profiler would have recorded of the run, and what that explains of it.
int write_replay(Io& io, const fs::path& path, const LiveReport& report) {
  if (path.empty()) return kDone;
  const Result<TraceSet> timeline = report.timeline(std::nullopt);
  if (!timeline) return fail(io, timeline.error());
  Result<Replay> replayed = replay(*timeline);
  if (!replayed) return fail(io, replayed.error());
  tell_worth(*timeline, {}, *replayed);
  return write_page(io, path, replay_html(*timeline, *replayed));
}

/// A recording as profilers leave it: a file a rank. One rank after the other, so that no more is in memory.
int write_recording(Io& io, const fs::path& folder, const LiveReport& report) {
  if (folder.empty()) return kDone;
  std::uint64_t bytes = 0;
  for (const LiveRank& rank : report.ranks) {
    const Result<TraceSet> timeline = report.timeline(rank.rank);
    if (!timeline) return fail(io, timeline.error());
    const Result<std::uint64_t> written =
        write_kineto(*timeline, folder / fmt::format("rank{}.json.gz", rank.rank));
    if (!written) return fail(io, written.error());
    bytes += *written;
  }
  report_file(io, "recording", folder, bytes);
  return kDone;
}

int write_files(Io& io, const RunCommand& command, const LiveReport& report) {
  if (const int code = write_json(io, command.json, report); code != kDone) return code;
  if (const int code = write_recording(io, command.recording, report); code != kDone) return code;
  if (const int code = write_replay(io, command.html, report); code != kDone) return code;
  if (command.trace_out.empty()) return kDone;
  const Result<TraceSet> timeline = report.timeline(std::nullopt);
  if (!timeline) return fail(io, timeline.error());
  return write_timelines(io, command.trace_out, *timeline);
}

/// One line: whose fault it was. The script has said the rest itself.
void tell_failure(Io& io, const LiveFailure& failure) {
  const std::string who = failure.rank < 0 ? "the launcher" : fmt::format("rank {}", failure.rank);
  const std::string how = failure.status > 128
                              ? fmt::format("was ended by signal {} ({})", failure.status - 128,
                                            ::strsignal(failure.status - 128))
                              : fmt::format("ended with status {}", failure.status);
  const std::string last(escaped(sentence(failure.last_line)));
  // As the dynamic linker has it: a PyTorch newer than the stand-ins, mostly.
  const bool lacks = last.find("undefined symbol") != std::string::npos;
  io.err << fmt::format("flopcast: error: {} {}{}{}\n", who, how, last.empty() ? "" : ": " + last,
                        lacks ? " (flopcast run --doctor lists what nothing stands in for)" : "")
         << std::flush;
}

LiveObserver observer_of(Io& io) {
  LiveObserver observer;
  observer.stop = Interruptible::interrupted;
  observer.notice = [&io](const std::string& text) { warn(io, text); };
  if (io.terminal) {
    observer.status = [](Time virtual_time, double real_s, std::size_t ranks, std::size_t waiting) {
      return fmt::format("flopcast: {} of virtual time, {} of real time, {} of {} ranks wait",
                         short_time(virtual_time), short_time(Seconds{real_s}), waiting, ranks);
    };
  }
  return observer;
}

int run_program(Io& io, const RunCommand& command) {
  if (const auto problem = check(command)) return fail(io, *problem);
  Result<LiveRequest> request = live_request(command.program, [&io] {
    io.err << "flopcast: compiles what computes small tensors against this PyTorch, once\n"
           << std::flush;
  });
  if (!request) return fail(io, request.error());
  const Result<std::int64_t> start = start_of(command.start);
  if (!start) return fail(io, start.error());
  request->start_ns = *start;
  warn_of_little_shared_memory(io);
  request->timeline =
      !command.html.empty() || !command.trace_out.empty() || !command.recording.empty();
  allow_many_files();
  const Interruptible interruptible;
  const Result<LiveReport> report = run_live(*request, Catalog::builtin(), observer_of(io));
  if (!report) return fail(io, report.error());
  io.err << '\n' << fit_text(escaped_lines(live_text(*report)), io.width) << std::flush;
  if (report->failure && !report->stopped) tell_failure(io, *report->failure);
  const int written = write_files(io, command, *report);
  if (report->stopped) return Interruptible::code();
  return report->status != 0 ? report->status : written;
}

/// The words that are the program's, as they were given.
int run_run(Io& io, const CLI::App& parsed, RunCommand command) {
  command.program.words = parsed.remaining();
  command.program.launches = command.launcher;
  std::vector<std::string>& words = command.program.words;
  // A later `--` is the script's own.
  std::replace(words.begin(), words.end(), std::string(kLauncherFollows), std::string("--"));
  if (!words.empty() && words.front().starts_with("-") && !command.launcher) {
    std::vector<std::string> known;
    for (const CLI::Option* option : parsed.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    return fail(io, usage_error("", fmt::format("there is no option '{}'", excerpt(words.front())),
                                did_you_mean(words.front(), known, "")));
  }
  if (command.doctor) return run_live_doctor(io, command.program);
  return run_program(io, command);
}

void add_run_options(CLI::App& app, RunCommand& command) {
  LiveProgram& program = command.program;
  app.add_option("--on", program.cluster,
                 "The cluster: \"2 x dgx-h100\", \"8 nodes of dgx-h100, rail NDR\", a name of "
                 "`flopcast hw list`, or a file")
      ->type_name("CLUSTER");
  app.add_option("--ranks", program.ranks,
                 "Ranks, on the first so many chips; all chips if left out")
      ->type_name("N")
      ->check(whole_from(1));
  app.add_option("--nodes-as", program.nodes,
                 "Nodes that this machine poses as: ranks are spread over them, and a launcher is "
                 "started once for each. As the cluster has if left out; 1 for a launcher")
      ->type_name("N")
      ->check(whole_from(1));
  add_fits(app, program.fits);
  app.add_option("--python", program.python, "The Python that runs SCRIPT")
      ->type_name("PROGRAM")
      ->capture_default_str();
  app.add_option("--cuda", program.cuda,
                 "CUDA major to stand in for; that of the PyTorch of this Python if left out")
      ->type_name("MAJOR");
  app.add_option("--start", command.start,
                 "When virtual time begins: 2026-01-31T12:00:00 (UTC), or seconds since 1970; now "
                 "if left out")
      ->type_name("TIME");
  app.add_option("--host", program.host,
                 "What host code takes: modelled, the same in every run; a FILE.toml of `flopcast "
                 "calibrate host`, as with --fit; or measured, its CPU time here, times "
                 "a factor if one follows (measured:0.5)")
      ->type_name("modelled|FILE|measured[:FACTOR]")
      ->capture_default_str();
  app.add_option("--values", program.values,
                 "What a script reads of values that nobody computed: neutral, nan for a single "
                 "number where code looks for no such thing, else zero; tainted:nan, tainted:zero "
                 "or tainted:NUMBER, always that; strict, an error. zipf:S skews the routing of "
                 "experts by their scores, uniform does not; "
                 "operators of up to N elements are computed with execute:N (16384)")
      ->type_name("POLICY")
      ->capture_default_str();
  app.add_flag("--no-fork-server", program.no_fork_server,
               "Start every rank alone, instead of loading PyTorch once for all");
  add_trace_out(app, "the run as a timeline", command.trace_out);
  app.add_option("--recording", command.recording,
                 "Write the run as torch.profiler would record it, a file a rank, for `flopcast "
                 "replay DIR`; an empty folder, or none yet")
      ->type_name("DIR");
  add_page(app, command.html);
  as_output(app.add_option("--json", command.json, "Write the summary as JSON")->type_name("FILE"));
  app.add_flag("--doctor", command.doctor,
               "Say what a run would find: Python, PyTorch, stand-ins, memory; run nothing");
  app.add_flag(kLauncherFollows, command.launcher, "")->group("");
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(
      "run",
      "Run a script on a cluster that is not there: flopcast run --on CLUSTER SCRIPT ARGS...\n"
      "starts it once for every chip; flopcast run --on CLUSTER -- torchrun SCRIPT ARGS..., or "
      "with\n"
      "any other launcher, leaves that to the launcher");
  const auto command = std::make_shared<RunCommand>();
  add_run_options(*sub, *command);
  sub->prefix_command();
  set_example(*sub, "flopcast run --doctor");
  sub->callback([command, sub, &action] {
    action = [command, sub](Io& io) { return run_run(io, *sub, *command); };
  });
}

}  // namespace flopcast::cli
