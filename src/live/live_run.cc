#include "live/live_run.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "live/engine/host/costs.h"
#include "live/engine/pricing/device_facts.h"
#include "live/fold/plan.h"
#include "live/wire/ranks.h"

namespace flopcast::live {

namespace {

/// Host work that weighs no more than this share of the steps, or this long, is not worth a word.
constexpr double kSmallShare = 0.05, kSmallS = 0.02;

/// Before the first step and after the last programs load and compile, which is not what is asked of a run.
std::optional<LiveHostWork> host_work_of(const std::vector<LiveRank>& ranks,
                                         const std::vector<HostStretch>& stretches) {
  std::optional<LiveHostWork> most;
  for (const LiveRank& rank : ranks) {
    if (rank.steps.empty()) continue;
    const Time begin = rank.steps.front().start, end = rank.steps.back().end;
    LiveHostWork work;
    work.rank = rank.rank;
    for (const HostStretch& one : stretches) {
      if (one.rank != rank.rank || one.at < begin || one.at > end) continue;
      ++work.stretches;
      work.taken_s += one.taken_s;
    }
    const double small = std::max(kSmallS, kSmallShare * (end - begin).seconds());
    if (work.taken_s > small && (!most || work.taken_s > most->taken_s)) most = work;
  }
  return most;
}

namespace fs = std::filesystem;

/// Loaded before all others: the core, then what needs the libraries that stand in.
constexpr const char* kPreloaded[] = {"libflopcast_live.so", "libflopcast_preload.so"};
/// Ranks that fail together have failed for one reason: the least of them is named.
constexpr auto kFailTogether = std::chrono::milliseconds(100);
/// So long may a process live that has left the run: another program in its place, say.
constexpr auto kEndIsKnown = std::chrono::seconds(1);
/// Who is waited for is asked after again when so many times as long has passed.
constexpr int kRarer = 3;
/// So long after the first processes of a program others may come: they import much.
constexpr auto kOthersCome = std::chrono::seconds(60);

/// The value of a list of paths, ours before the caller's own.
std::string before_own(std::string ours, const char* variable) {
  const char* own = std::getenv(variable);
  return own && *own ? std::move(ours) + ":" + own : ours;
}

}  // namespace

Result<Layout> layout_of(const LiveRequest& request, const Cluster& cluster) {
  const auto chips = static_cast<std::uint32_t>(cluster.chips());
  Layout layout{request.ranks > 0 ? request.ranks : chips, request.nodes};
  if (layout.ranks > chips) {
    return usage_error(
        "--ranks", fmt::format("are {}, and {} has {} chips", layout.ranks, request.cluster, chips),
        "name a larger cluster");
  }
  if (layout.nodes == 0) {
    const auto of_node =
        std::min(static_cast<std::uint32_t>(cluster.chips_per_node()), layout.ranks);
    const bool whole = layout.ranks % of_node == 0;
    layout.nodes = request.launches || !whole ? 1 : layout.ranks / of_node;
  }
  if (layout.ranks % layout.nodes != 0) {
    return usage_error(
        "--nodes-as",
        fmt::format("{} ranks do not fill {} nodes evenly", layout.ranks, layout.nodes),
        "name a number of nodes that divides them");
  }
  return layout;
}

std::uint32_t devices_of_node(const LiveRequest& request, const Cluster& cluster,
                              const Layout& layout) {
  const bool as_cluster = request.nodes == 0 && !request.launches;
  return as_cluster ? cluster.chips_per_node() : std::max(layout.of_node(), 1U);
}

LiveRun::LiveRun(const LiveRequest& request, const LiveObserver& observer, const Cluster& cluster,
                 ClusterWork work, Layout layout, Folding folding, std::vector<std::int32_t> ranks)
    : request_(request),
      observer_(observer),
      layout_(layout),
      folding_(std::move(folding)),
      ranks_(std::move(ranks)),
      work_(std::move(work)),
      session_(work_, host_times(request_.host)),
      teller_(cluster, request.cluster, request.timeline,
              static_cast<std::uint32_t>(folding_.alike.size())) {
  session_.set_folding(folding_);
}

void LiveRun::watch(LiveWatch watch) {
  watch_ = std::move(watch);
  session_.set_listener(watch_.listener);
}

// --- the start ----------------------------------------------------------------------------------

Result<std::map<std::string, std::string>> LiveRun::environment() const {
  const fs::path folder = fs::absolute(request_.libraries);
  std::string preload;
  for (const char* name : kPreloaded) {
    const fs::path library = folder / name;
    std::error_code ignored;
    if (!fs::exists(library, ignored)) {
      return Diagnostic{ErrorCode::kBadInput, library.string(), "is not there",
                        "build the stand-in libraries: ./dev build"};
    }
    preload += (preload.empty() ? "" : ":") + library.string();
  }
  std::map<std::string, std::string> all = request_.environment;
  if (!request_.torch_plugin.empty()) all["FLOPCAST_LIVE_TORCH"] = request_.torch_plugin.string();
  all[kSocketVariable] = daemon_->name();
  all["LD_PRELOAD"] = before_own(preload, "LD_PRELOAD");
  all["LD_LIBRARY_PATH"] = before_own(folder.string(), "LD_LIBRARY_PATH");
  all["PATH"] = before_own((folder / "bin").string(), "PATH");  // nvidia-smi
  if (remarks_.is_open()) all[Remarks::kVariable] = remarks_.path();
  // One core has to do for many ranks; nobody but this machine is to be found; and kernels of Triton are kept once (below), not
  // in PyTorch's compiled graphs as well, from which PyTorch 2.6 puts them into one folder rank against rank.
  for (const auto& [name, value] : {std::pair("OMP_NUM_THREADS", "1"),
                                    {"GLOO_SOCKET_IFNAME", "lo"},
                                    {"TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE", "0"}}) {
    if (!std::getenv(name)) all.try_emplace(name, value);
  }
  // PyTorch's compiler gives each device a folder of its own for what Triton makes, which here is the same for all of them.
  constexpr const char* kTriton = "TRITON_CACHE_DIR";
  if (!request_.torch_plugin.empty() && !std::getenv(kTriton))
    all.try_emplace(kTriton, (request_.torch_plugin.parent_path() / "triton").string());
  if (folding_.folds()) {
    all[kFoldVariable] = text_of(folding_);
    // The first rank of a communicator names it, whatever its size: others need not be there.
    all["TORCH_NCCL_RANKS_PER_ROOT"] = std::to_string(kMostRanks);
  }
  return all;
}

std::optional<Diagnostic> LiveRun::start_capture(const Cluster& cluster,
                                                 const MachineFacts& machine) {
  if (request_.capture.empty()) return std::nullopt;
  auto writer = CaptureWriter::create(
      request_.capture, {.cluster = request_.cluster,
                         .chip = cluster.chip.name,
                         .ranks = layout_.ranks,
                         .chips_per_node = machine.devices,
                         .memory_bytes = machine.device.memory_bytes,
                         .host = request_.host.toml("what this run's host takes"),
                         .operators = request_.operators.string(),
                         .host_factor = request_.host_factor,
                         .nodes_as_cluster = request_.nodes == 0 && !request_.launches,
                         .folding = folding_});
  if (!writer) return writer.error();
  capture_ = std::move(*writer);
  session_.add_listener(capture_.get());
  return std::nullopt;
}

std::optional<Diagnostic> LiveRun::start(const Cluster& cluster, const Catalog& catalog) {
  MachineFacts machine{.device = device_facts(cluster, catalog),
                       .devices = devices_of_node(request_, cluster, layout_),
                       .chips = layout_.ranks,
                       .start_ns = request_.start_ns,
                       .host_factor = request_.host_factor};
  if (machine.start_ns == 0) {
    machine.start_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  }
  if (auto problem = start_capture(cluster, machine)) return problem;
  Result<std::unique_ptr<Daemon>> daemon = Daemon::listen(session_, machine);
  if (!daemon) return daemon.error();
  daemon_ = std::move(*daemon);
  daemon_->set_host(host_costs(request_.host));
  launcher_.emplace(fmt::format("{}={}", kSocketVariable, daemon_->name()));
  if (folding_.alone) nowhere_ = Descriptor(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const int heard = nowhere_ ? nowhere_.get() : -1;
  Result<std::unique_ptr<Outputs>> outputs =
      Outputs::make(processes(), {heard < 0 ? 1 : heard, heard < 0 ? 2 : heard});
  if (!outputs) return outputs.error();
  outputs_ = std::move(*outputs);
  const Result<std::map<std::string, std::string>> common = environment();
  if (!common) return common.error();
  const Result<std::uint16_t> port = free_port();
  if (!port) return port.error();
  const auto problem =
      request_.launches ? start_launchers(*common, *port) : start_ranks(*common, *port);
  outputs_->all_started();
  return problem;
}

Command LiveRun::command_of(std::size_t process,
                            std::map<std::string, std::string> environment) const {
  Command command;
  command.words = request_.command;
  command.environment = std::move(environment);
  for (const int stream : {0, 1}) command.output[stream] = outputs_->end_of(process, stream);
  return command;
}

std::optional<Diagnostic> LiveRun::start_launchers(const std::map<std::string, std::string>& common,
                                                   std::uint16_t port) {
  for (std::uint32_t node = 0; node < layout_.nodes; ++node) {
    auto environment = launcher_environment(node, layout_.nodes, layout_.of_node(), port);
    environment.insert(common.begin(), common.end());
    if (auto problem = launcher_->start(command_of(node, std::move(environment)))) return problem;
  }
  return std::nullopt;
}

std::optional<Diagnostic> LiveRun::start_ranks(std::map<std::string, std::string> common,
                                               std::uint16_t port) {
  std::vector<ForkedRank> forked;
  const bool forks = !request_.fork_server.empty();
  for (std::size_t process = 0; process < ranks_.size(); ++process) {
    auto environment = rank_environment(static_cast<std::uint32_t>(ranks_[process]), layout_.ranks,
                                        layout_.of_node(), port);
    if (!forks) environment.insert(common.begin(), common.end());
    Command command = command_of(process, std::move(environment));
    if (forks) {
      forked.push_back({command.environment, {command.output[0], command.output[1]}});
    } else if (auto problem = launcher_->start(command)) {
      return problem;
    }
  }
  if (forks) {
    Command server = command_of(0, std::move(common));
    server.words = {request_.command.front(), fs::absolute(request_.fork_server).string()};
    const ForkedProgram program{request_.command[1],
                                {request_.command.begin() + 2, request_.command.end()},
                                request_.imports};
    if (auto problem = launcher_->serve(server, program, forked, observer_.stop)) {
      stopped_ = observer_.stop && observer_.stop();
      return stopped_ ? std::nullopt : problem;
    }
  }
  for (std::size_t process = 0; process < ranks_.size(); ++process)
    daemon_->expect(ranks_[process], launcher_->pid_of(process));
  return std::nullopt;
}

// --- the run ------------------------------------------------------------------------------------

/// The first process that fails ends the others, as launchers do.
void LiveRun::look_at_endings() {
  std::vector<Ending> endings = launcher_->ended();
  // Who is alone may fail for want of others: the rest goes on.
  const auto failed = [this](const Ending& ending) {
    return ending.status != 0 && !folding_.alone;
  };
  if (!failure_ && std::any_of(endings.begin(), endings.end(), failed)) {
    std::this_thread::sleep_for(kFailTogether);
    const std::vector<Ending> more = launcher_->ended();
    endings.insert(endings.end(), more.begin(), more.end());
    const auto first =
        std::min_element(endings.begin(), endings.end(), [&](const Ending& a, const Ending& b) {
          return failed(a) != failed(b) ? failed(a) : a.process < b.process;
        });
    failure_ = LiveFailure{request_.launches ? -1 : ranks_[first->process], first->status,
                           outputs_->last_line(first->process)};
    launcher_->end_all();
  }
  if (request_.launches) return;
  for (const Ending& ending : endings) daemon_->gone(ranks_[ending.process]);
}

void LiveRun::tell_how_it_goes() {
  const Clock::time_point now = Clock::now();
  if (now - told_at_ < std::chrono::milliseconds(200)) return;
  told_at_ = now;
  // Threads that only look again and again whether something has come are no sign of life.
  if (session_.progress() != progress_) {
    progress_ = session_.progress();
    heard_at_ = now;
    silence_ = observer_.silence;
  }
  if (observer_.status) {
    outputs_->show(observer_.status(teller_.end(), real_s(), processes(), session_.waiting()));
  }
  if (!observer_.notice || now - heard_at_ < silence_) return;
  silence_ *= kRarer;
  const double since_s = std::chrono::duration<double>(now - heard_at_).count();
  const std::string who = daemon_->who_is_waited_for(since_s);
  if (who.empty()) return;
  observer_.notice(
      fmt::format("nothing has gone on for {:.0f} s of real time, and {} of {} ranks wait\n{}",
                  since_s, session_.waiting(), processes(), who));
}

/// A launcher that says nowhere how many ranks it starts may start another.
bool LiveRun::nobody_may_come() const {
  return daemon_->all_are_known() || Clock::now() - heard_at_ > kOthersCome;
}

/// Only one that lasts: a rank that has left the run, and whose end is not known yet, says better why.
std::optional<Diagnostic> LiveRun::deadlock() {
  const Clock::time_point now = Clock::now();
  const std::string wait = session_.deadlock();
  const bool stuck =
      !wait.empty() && daemon_->alive() > 0 && launcher_->running() > 0 && nobody_may_come();
  if (!stuck) moved_at_ = now;
  if (now - moved_at_ < kEndIsKnown) return std::nullopt;
  return Diagnostic{ErrorCode::kNoAnswer, "live run", "all wait, and nobody can go on:\n" + wait,
                    "a collective that a rank never joins, or joins in another order, does this"};
}

std::optional<Diagnostic> LiveRun::drive() {
  while (launcher_->running() > 0 && !stopped_) {
    if (auto problem = daemon_->step()) return problem;
    teller_.take(session_, session_.horizon());
    look_at_endings();
    tell_how_it_goes();
    stopped_ = observer_.stop && observer_.stop();
    if (auto problem = deadlock()) return problem;
    if (watch_.problem) {
      if (auto problem = watch_.problem()) return problem;
    }
    if (watch_.enough && watch_.enough()) break;
  }
  if (launcher_->running() > 0) launcher_->end_all();
  outputs_->finish();
  return work_.problem();
}

Result<LiveReport> LiveRun::report() {
  session_.advance();  // what is under way ends, though nobody waits for it
  if (watch_.problem_at_end && !failure_ && !stopped_) {
    if (auto problem = watch_.problem_at_end()) return *problem;
  }
  teller_.take(session_, Time::max());
  LiveReport report = teller_.report(work_, session_);
  report.cluster = request_.cluster;
  report.of_ranks = layout_.ranks;
  report.folded = alike_in(folding_);
  report.status = failure_ ? failure_->status : 0;
  report.failure = failure_;
  for (const Restart& restart : session_.restarts())
    report.restarts.push_back({restart.rank, restart.at});
  report.stopped = stopped_;
  report.host_spread = request_.host_factor == 0 ? request_.host.spread : 0;
  for (LiveRank& rank : report.ranks) rank.most_memory = daemon_->most_memory(rank.rank);
  report.unsupported = remarks_.unsupported();
  TaintSummary taint = daemon_->taint();
  report.tainted_reads = taint.reads;
  report.tainted_where = std::move(taint.first);
  report.values_end = std::move(taint.origins);
  report.assumed = taint.assumed;
  report.host_work = host_work_of(report.ranks, daemon_->host_work());
  report.real_s = real_s();
  if (capture_) {
    session_.set_listener(nullptr);
    if (const auto written = capture_->commit(report); !written) return written.error();
  }
  return report;
}

}  // namespace flopcast::live
