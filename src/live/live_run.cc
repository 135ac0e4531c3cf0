#include "live/live_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <thread>

#include "live/engine/host/costs.h"
#include "live/engine/pricing/device_facts.h"
#include "live/fold/plan.h"
#include "live/machine_group.h"
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

/// Ranks that fail together have failed for one reason: the least of them is named.
constexpr auto kFailTogether = std::chrono::milliseconds(100);
/// So long may a process live that has left the run: another program in its place, say.
constexpr auto kEndIsKnown = std::chrono::seconds(1);
/// Who is waited for is asked after again when so many times as long has passed.
constexpr int kRarer = 3;
/// So long after the first processes of a program others may come: they import much.
constexpr auto kOthersCome = std::chrono::seconds(60);

std::string who_failed(const LiveFailure& failure) {
  return failure.rank < 0 ? "a launcher" : fmt::format("rank {}", failure.rank);
}

/// Those of other machines, each once, as if all had been made on this one.
void add_remarks(const std::vector<std::string>& more, std::vector<std::string>& all) {
  all.insert(all.end(), more.begin(), more.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

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
  processes_.emplace(request_, layout_, folding_, ranks_);
  Neighbourhood neighbours;
  const Result<std::uint16_t> port = free_port();
  if (!port) return port.error();
  neighbours.port = *port;
  if (request_.machines.count > 1) {
    if (auto problem = gather_machines(machine, neighbours)) return problem;
  }
  if (auto problem = processes_->start(daemon_->name(), neighbours, observer_.stop)) {
    stopped_ = observer_.stop && observer_.stop();
    return stopped_ ? std::nullopt : problem;
  }
  if (request_.launches) return std::nullopt;
  for (const std::int32_t rank : ranks_) daemon_->expect(rank, processes_->pid_of_rank(rank));
  return std::nullopt;
}

std::optional<Diagnostic> LiveRun::gather_machines(const MachineFacts& machine,
                                                   Neighbourhood& neighbours) {
  const Result<MachineGroup> group = group_of(request_, layout_);
  if (!group) return group.error();
  Result<std::unique_ptr<Gateway>> gateway = Gateway::open(*group);
  if (!gateway) return gateway.error();
  gateway_ = std::move(*gateway);
  if (auto problem = gateway_->gather(observer_.stop, observer_.notice)) return problem;
  neighbours.master = group->place.host;
  neighbours.interface = gateway_->interface();
  far_running_ = processes() - processes_->count();
  WelcomeFrame welcome;
  welcome.device = machine.device;
  welcome.host = host_costs(request_.host);
  welcome.start_ns = machine.start_ns;
  welcome.host_factor = machine.host_factor;
  welcome.devices = machine.devices;
  welcome.port = neighbours.port;
  gateway_->begin(*daemon_, welcome);
  return std::nullopt;
}

// --- the run ------------------------------------------------------------------------------------

/// Those that have ended since the last call, in the order of their numbers.
std::vector<RunEnding> LiveRun::ended() {
  std::vector<RunEnding> all;
  for (const Ending& ending : processes_->ended()) {
    all.push_back({processes_->rank_of(ending.process), ending.process, ending.status,
                   processes_->outputs().last_line(ending.process)});
  }
  if (!gateway_) return all;
  // Each machine has as many.
  for (FarEnding& ending : gateway_->ended()) {
    const std::size_t process = ending.machine * processes_->count() + ending.process;
    if (process >= processes() || far_running_ == 0) continue;
    --far_running_;
    all.push_back({request_.launches ? -1 : ranks_[process], process, ending.status,
                   std::move(ending.last_line)});
  }
  return all;
}

/// The first process that fails ends the others, as launchers do.
void LiveRun::look_at_endings() {
  std::vector<RunEnding> endings = ended();
  const auto failed = [](const RunEnding& ending) { return ending.status != 0; };
  if (!failure_ && std::any_of(endings.begin(), endings.end(), failed)) {
    std::this_thread::sleep_for(kFailTogether);
    std::vector<RunEnding> more = ended();
    std::move(more.begin(), more.end(), std::back_inserter(endings));
    const auto first =
        std::min_element(endings.begin(), endings.end(), [&](const auto& a, const auto& b) {
          return failed(a) != failed(b) ? failed(a) : a.process < b.process;
        });
    failure_ = LiveFailure{first->rank, first->status, first->last_line};
    // Who is alone may fail for want of others: the rest goes on.
    if (!folding_.alone) processes_->end_all();
    far_running_ = 0;
  }
  if (request_.launches) return;
  for (const RunEnding& ending : endings) daemon_->gone(ending.rank);
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
    processes_->outputs().show(
        observer_.status(teller_.end(), real_s(), processes(), session_.waiting()));
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
  const bool stuck = !wait.empty() && daemon_->alive() > 0 && running() > 0 && nobody_may_come();
  if (!stuck) moved_at_ = now;
  if (now - moved_at_ < kEndIsKnown) return std::nullopt;
  return Diagnostic{ErrorCode::kNoAnswer, "live run", "all wait, and nobody can go on:\n" + wait,
                    "a collective that a rank never joins, or joins in another order, does this"};
}

std::optional<Diagnostic> LiveRun::go_on() {
  while (running() > 0 && !stopped_) {
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
  if (watch_.enough && daemon_->alive() == 0) hear_how_they_ended();
  return std::nullopt;
}

/// All have left the run; with what they end is known a little later.
void LiveRun::hear_how_they_ended() {
  const Clock::time_point left = Clock::now();
  while (running() > 0 && !stopped_ && Clock::now() - left < kEndIsKnown) {
    std::this_thread::sleep_for(kFailTogether);
    look_at_endings();
  }
}

std::optional<Diagnostic> LiveRun::drive() {
  const std::optional<Diagnostic> problem = go_on();
  if (gateway_) {
    gateway_->end_all(problem    ? problem->where + ": " + problem->what
                      : stopped_ ? "stopped"
                      : failure_ ? fmt::format("{} has failed", who_failed(*failure_))
                                 : std::string());
  }
  if (problem) return problem;
  if (processes_->running() > 0) processes_->end_all();
  processes_->outputs().finish();
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
  if (watch_.other_lengths) report.other_lengths = watch_.other_lengths();
  report.status = failure_ ? failure_->status : 0;
  report.failure = failure_;
  for (const Restart& restart : session_.restarts())
    report.restarts.push_back({restart.rank, restart.at});
  report.stopped = stopped_;
  report.host_spread = request_.host_factor == 0 ? request_.host.spread : 0;
  for (LiveRank& rank : report.ranks) rank.most_memory = daemon_->most_memory(rank.rank);
  report.unsupported = processes_->remarks().unsupported();
  if (gateway_) add_remarks(gateway_->remarks(), report.unsupported);
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
