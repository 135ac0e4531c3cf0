// flopcast run: a script of somebody else's on a cluster that is not there.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "base/files/input_file.h"
#include "base/layout/fit.h"
#include "base/text/format.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "base/text/shown.h"
#include "cli/run/files.h"
#include "cli/run/machines.h"
#include "cli/run/program.h"
#include "cli/run/resolve.h"
#include "cli/terminal/command.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/outputs.h"

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

struct RunCommand {
  LiveProgram program;
  bool doctor = false, launcher = false;
  std::string start, fold = "off";
  std::vector<std::string> sweep;  // clusters that the run is timed on afterwards
  LiveFiles files;
};

std::string on_cluster_hint() {
  return "name one with --on: \"2 x dgx-h100\", or a name of `flopcast hw list clusters`";
}

/// Everything that can be told before hours of work.
std::optional<Diagnostic> check(const RunCommand& command) {
  if (command.program.cluster.empty())
    return usage_error("--on", "says what cluster to run on, and is not there", on_cluster_hint());
  if (auto problem = live_obstacle()) return problem;
  if (!command.sweep.empty() && command.files.capture.empty()) {
    return usage_error("--sweep", "times the run again from a file, and none is named",
                       "name one with --capture");
  }
  for (const std::string& cluster : command.sweep) {
    if (const Result<Cluster> known = Catalog::builtin().cluster(cluster); !known)
      return known.error();
  }
  return command.files.problem();
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

/// A run has all its ranks on this machine, so a launcher in front of the command starts no parts of one.
void warn_of_copies(Io& io) {
  const std::optional<LiveCopies> copies = live_copies();
  if (!copies) return;
  warn(io, fmt::format(
               "a launcher has started this command {} times ({}={}): each is a run of its own, "
               "with all ranks, and writes the files that it names. Start it once; a launcher of "
               "the ranks goes behind `--`",
               copies->all, copies->variable, copies->number));
}

/// Every rank has pipes, and memory that is shared by a descriptor.
void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Tests are not to wait for what a user may.
constexpr const char* kSilence = "FLOPCAST_LIVE_SILENCE";

Result<LiveObserver> observer_of(Io& io) {
  LiveObserver observer;
  if (const char* text = std::getenv(kSilence)) {
    const auto seconds = parse_number<double>(text);
    if (!seconds || !(*seconds >= 0.1 && *seconds <= 1e6))
      return usage_error(kSilence, fmt::format("'{}' is no time", text),
                         "0.1 to 1000000 seconds without news before who is waited for is named");
    observer.silence = std::chrono::milliseconds(std::llround(*seconds * 1000));
  }
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

/// The run on the other clusters, beside its own. Standard output is the program's.
int tell_sweep(Io& io, const RunCommand& command, const LiveReport& report) {
  Result<std::vector<ResolvedRow>> rows =
      resolved_rows(command.files.capture, command.sweep, command.program.operators);
  if (!rows) return fail(io, rows.error());
  rows->insert(rows->begin(), ResolvedRow{report.cluster, report, std::nullopt});
  io.err << '\n' << fit_text(resolved_text(*rows), io.width) << std::flush;
  return kDone;
}

/// A machine that is not the first: that one tells of the run, and writes its files.
int join_run(Io& io, const LiveRequest& request, const LiveObserver& observer) {
  const auto problem = join_live(request, Catalog::builtin(), observer);
  if (Interruptible::interrupted()) return Interruptible::code();
  return problem ? fail(io, *problem) : kDone;
}

int run_program(Io& io, RunCommand command) {
  if (const auto problem = check(command)) return fail(io, *problem);
  Result<LiveRequest> request = live_request(command.program, [&io] {
    io.err << "flopcast: compiles what computes small tensors against this PyTorch, once\n"
           << std::flush;
  });
  if (!request) return fail(io, request.error());
  const Result<std::int64_t> start = start_of(command.start);
  if (!start) return fail(io, start.error());
  request->start_ns = *start;
  const Result<LiveObserver> observer = observer_of(io);
  if (!observer) return fail(io, observer.error());
  for (std::string& cluster : command.sweep) {
    if (auto problem = take_fits(cluster, command.program.fits, "--sweep"))
      return fail(io, *problem);
  }
  request->capture = command.files.capture;
  const Result<LiveMachines> machines = machines_of(command.program);
  if (!machines) return fail(io, machines.error());
  request->machines = *machines;
  if (machines->count == 1) warn_of_copies(io);
  warn_of_little_shared_memory(io);
  request->timeline = command.files.want_timeline();
  allow_many_files();
  const Interruptible interruptible;
  if (machines->own > 0) return join_run(io, *request, *observer);
  if (machines->count > 1)
    io.err << "flopcast: " << fit_text(others_wanted(*machines), io.width) << '\n' << std::flush;
  const Result<LiveReport> report = run_live(*request, Catalog::builtin(), *observer);
  if (!report) return fail(io, report.error());
  int written = tell_run(io, command.files, *report);
  if (report->stopped) return Interruptible::code();
  if (!command.sweep.empty() && written == kDone) written = tell_sweep(io, command, *report);
  return report->status != 0 ? report->status : written;
}

/// The words that are the program's, as they were given.
int run_run(Io& io, const CLI::App& parsed, RunCommand command) {
  command.program.words = parsed.remaining();
  command.program.launches = command.launcher;
  command.program.fold = command.fold == "auto" ? Fold::kAuto
                         : command.fold == "dp" ? Fold::kData
                                                : Fold::kOff;
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
  app.add_option(
         "--nodes-as", program.nodes,
         "Nodes that this machine poses as: ranks are spread over them, and a launcher is "
         "started once for each. As the cluster has if left out; for a launcher one on each "
         "machine")
      ->type_name("N")
      ->check(whole_from(1));
  app.add_option("--hosts", program.hosts,
                 "Machines that the ranks run on, whole nodes on each. The same command is started "
                 "once on every one of them; the first has the engine, tells of the run and writes "
                 "files")
      ->type_name("N")
      ->check(whole_from(1));
  app.add_option("--meet", program.meet,
                 "With --hosts: an address of the first machine and a free port of it, where the "
                 "others find it. Who comes shows the secret in FLOPCAST_TOKEN, which the first "
                 "makes and prints if it is not set")
      ->type_name("ADDRESS:PORT");
  app.add_option(
         "--host-number", program.host_number,
         "With --hosts: which of them this is, from 0; as the launcher says that has "
         "started the command (Slurm, Open MPI, MPICH, torchrun), or NODE_RANK, if left out")
      ->type_name("N");
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
  app.add_option(
         "--operators", program.operators,
         "What operators and kernels of your own do, as catalog/live/operators.toml says it of "
         "those that are known; these go first")
      ->type_name("FILE.toml");
  app.add_option("--fold", command.fold,
                 "Which ranks may stand for others, so that not all have to run: off; dp, replicas "
                 "of a model; auto, all that do everything together. Which those are is found: the "
                 "first rank, and some others, run alone up to their first step before")
      ->type_name("off|auto|dp")
      ->check(CLI::IsMember({"off", "auto", "dp"}))
      ->capture_default_str();
  app.add_flag("--no-fork-server", program.no_fork_server,
               "Start every rank alone, instead of loading PyTorch once for all");
  as_output(app.add_option("--capture", command.files.capture,
                           "Keep the run in a file, for `flopcast resolve FILE --on CLUSTER`")
                ->type_name("FILE"));
  app.add_option("--sweep", command.sweep,
                 "Another cluster to time the run on afterwards, from its --capture; as often as "
                 "wanted")
      ->type_name("CLUSTER")
      ->allow_extra_args(false);
  add_live_files(app, command.files);
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
