// Why a run does not go on: who holds its time, and where that thread is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "live/engine/daemon/daemon.h"
#include "live/engine/daemon/peer.h"

namespace flopcast::live {
namespace {

using HoldupClock = std::chrono::steady_clock;

/// A process waits itself for Python's lock and for a thread to be let run.
constexpr auto kStacksTake = std::chrono::milliseconds(2500);
/// What a thread does is seen over so long.
constexpr auto kActivityTakes = std::chrono::milliseconds(200);
constexpr std::uint64_t kComputesNs = 20'000'000;
/// So long a thread does not run before it is taken for one that stands still.
constexpr auto kStopsFor = std::chrono::seconds(1);
/// Of many in the same state, the first are named.
constexpr std::size_t kNamed = 4;
constexpr std::size_t kCalls = 5;
/// Of no use to anybody: what a rank that was forked has below its script, and how Python imports.
constexpr std::string_view kLeftOut[] = {"/live/serve.py:", "<frozen "};

/// "torch/nn/modules/linear.py:125 in forward": without the folders that all programs share.
std::string short_call(std::string_view call) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const std::size_t at = call.find(folder); at != std::string_view::npos)
      return std::string(call.substr(at + folder.size()));
  }
  if (const std::size_t at = call.find("/lib/python3."); at != std::string_view::npos)
    return std::string(call.substr(std::min(call.find('/', at + 13), call.size() - 1) + 1));
  return std::string(call);
}

/// Whether a thread runs, or would if the machine let it.
/// @param times gives what it has done so far
template <typename Times>
bool computes(Times times) {
  const std::optional<ThreadTimes> before = times();
  std::this_thread::sleep_for(kActivityTakes);
  const std::optional<ThreadTimes> after = times();
  return before && after && (after->busy || after->cpu_ns - before->cpu_ns > kComputesNs);
}

ThreadStack stack_of_text(std::string_view text) {
  ThreadStack stack;
  const std::size_t name_end = std::min(text.find('\n'), text.size());
  stack.name = escaped(text.substr(0, name_end));
  std::optional<std::size_t> own;
  for (std::string_view left = text.substr(name_end); !left.empty();) {
    left.remove_prefix(1);
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(line.size());
    const bool of_use = std::none_of(
        std::begin(kLeftOut), std::end(kLeftOut),
        [line](std::string_view part) { return line.find(part) != std::string_view::npos; });
    if (!of_use) continue;
    const std::string call = short_call(line);
    if (!own && call.size() == line.size()) own = stack.calls.size();
    stack.calls.push_back(escaped(call));
  }
  stack.own = own.value_or(stack.calls.size());
  return stack;
}

/// The innermost calls, and the first of the program's own.
std::string where(const ThreadStack& stack) {
  if (stack.calls.empty()) return "nothing tells where";
  std::string text = stack.calls.front();
  for (std::size_t i = 1; i < std::min(stack.calls.size(), kCalls); ++i)
    text += "\n    " + stack.calls[i];
  if (stack.own >= kCalls && stack.own < stack.calls.size())
    text += "\n    ...\n    " + stack.calls[stack.own];
  return text;
}

std::string seconds_of(double seconds) { return fmt::format("{:.0f} s", seconds); }

}  // namespace

/// Asks a process where threads of its are. @return the question's number; 0: there is nobody to ask
std::uint32_t Daemon::ask_where(std::uint32_t process, const std::vector<pid_t>& threads) const {
  const Peer& peer = *peers_[process];
  if (peer.gone || !peer.region) return 0;
  Stacks& stacks = peer.region->stacks;
  stacks.count =
      static_cast<std::uint32_t>(std::min<std::size_t>(threads.size(), Stacks::kThreads));
  for (std::uint32_t i = 0; i < stacks.count; ++i) {
    stacks.threads[i] = threads[i];
    stacks.handles[i] = 0;
    for (std::uint32_t t = 0; t < peer.threads(); ++t) {
      const Ring& ring = peer.region->rings[t];
      if (ring.thread.load() == threads[i]) stacks.handles[i] = ring.handle.load();
    }
  }
  const std::uint32_t number = stacks.wanted.fetch_add(1) + 1;
  if (peer.far) peer.far->ask_where(peer.line->number, stacks);
  futex_wake(stacks.wanted);
  return number;
}

/// Waits for its answer until then. Empty where none has come.
std::vector<ThreadStack> Daemon::told_where(std::uint32_t process, std::uint32_t question,
                                            std::chrono::steady_clock::time_point until) const {
  if (question == 0) return {};
  const Stacks& stacks = peers_[process]->region->stacks;
  while (stacks.told.load(std::memory_order_acquire) != question) {
    if (HoldupClock::now() > until) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::vector<ThreadStack> found;
  for (std::uint32_t i = 0; i < std::min(stacks.count, Stacks::kThreads); ++i)
    found.push_back(
        stack_of_text({stacks.text[i], strnlen(stacks.text[i], sizeof stacks.text[i])}));
  return found;
}

std::vector<ThreadStack> Daemon::stacks(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& threads) const {
  std::map<std::uint32_t, std::vector<std::size_t>> of_process;  // places in `threads`
  for (std::size_t i = 0; i < threads.size(); ++i) of_process[threads[i].first].push_back(i);
  std::map<std::uint32_t, std::uint32_t> questions;
  for (const auto& [process, places] : of_process) {
    const Peer& peer = *peers_[process];
    std::vector<pid_t> numbers;
    for (const std::size_t place : places) {
      const std::uint32_t ring = threads[place].second;
      numbers.push_back(ring < peer.threads() ? peer.region->rings[ring].thread.load() : 0);
    }
    questions[process] = ask_where(process, numbers);
  }
  std::vector<ThreadStack> found(threads.size());
  const auto until = HoldupClock::now() + kStacksTake;
  for (const auto& [process, places] : of_process) {
    std::vector<ThreadStack> told = told_where(process, questions[process], until);
    for (std::size_t i = 0; i < std::min(places.size(), told.size()); ++i)
      found[places[i]] = std::move(told[i]);
  }
  return found;
}

/// "rank 3, thread loader (17): holds the run at 1.25 s since 12 s, computes: train.py:41 in forward", and its callers.
std::string Daemon::line_of(const Holder& holder, const ThreadStack& stack, double since_s,
                            const std::vector<BusyThread>& busy) const {
  const Peer& peer = *peers_[holder.process];
  const std::string at = fmt::format("{} since {}", short_time(holder.at), seconds_of(since_s));
  if (!peer.region) {
    const std::string who =
        peer.pid() > 0 ? fmt::format(", process {}", peer.pid()) : std::string();
    return fmt::format("rank {}: holds the run at {}: it has not begun yet{}", holder.rank, at,
                       who);
  }
  const pid_t thread = peer.region->rings[holder.thread].thread.load();
  std::string does = "waits";
  if (computes([&] { return peer.times(thread); })) {
    does = "computes";
  } else {
    const auto other = std::find_if(busy.begin(), busy.end(), [&](const BusyThread& one) {
      return !peer.far && one.root == peer.pid() && one.thread != thread;
    });
    if (other != busy.end()) {
      does += fmt::format(", and {} {} computes", name_of(other->process, other->process),
                          other->thread);
      if (!other->of_root()) does += ", which it has started";
    }
  }
  std::string name = stack.name.empty() ? escaped(peer.name_of(thread)) : stack.name;
  if (name.empty()) name = "?";
  const std::string call = stack.calls.empty() && !holder.call.empty()
                               ? fmt::format(" (its last call: {})", escaped(holder.call))
                               : std::string();
  return fmt::format("rank {}, thread {} ({}): holds the run at {}, {}: {}{}", holder.rank, name,
                     holder.thread, at, does, where(stack), call);
}

/// Watchdogs that were to look at calls whose time may be up, and have not.
void Daemon::name_watchdogs(double since_s, std::vector<std::string>& lines) const {
  const Peer& peer = *peers_[*looking_];
  const Watch& watch = peer.region->watch;
  std::vector<pid_t> watchdogs;
  for (const Watch::Place& place : watch.places) {
    const std::uint32_t looked = place.looked.load();
    if (looked != 0 && looked != watch.wanted.load() + 1) watchdogs.push_back(place.thread.load());
  }
  const std::uint32_t question = ask_where(*looking_, watchdogs);
  for (const ThreadStack& stack :
       told_where(*looking_, question, HoldupClock::now() + kStacksTake)) {
    lines.push_back(
        fmt::format("rank {}: a watchdog has not looked at its collectives since {}: {}",
                    peer.hello.rank, seconds_of(since_s), where(stack)));
  }
}

/// Nobody's time is up before these stand still, though they are none of the run's threads.
void Daemon::name_busy(double since_s, const std::vector<BusyThread>& busy,
                       std::vector<std::string>& lines) const {
  for (const BusyThread& one : busy) {
    if (lines.size() == kNamed) return;
    const auto peer = std::find_if(peers_.begin(), peers_.end(), [&one](const auto& each) {
      return each->region && !each->far && each->pid() == one.root;
    });
    const std::string whose =
        peer != peers_.end() ? fmt::format("rank {}: ", (*peer)->hello.rank) : std::string();
    lines.push_back(fmt::format("{}{} {} computes beside the run's time since {}", whose,
                                name_of(one.process, one.process), one.thread,
                                seconds_of(since_s)));
  }
}

std::string Daemon::who_is_waited_for(double since_s) const {
  std::vector<std::string> lines;
  Quiet seen;
  seen.look(processes_alive(), clocked_threads());
  const auto stacks_of = [this](std::vector<Holder>& holders) {
    holders.resize(std::min(holders.size(), kNamed));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> threads;
    for (const Holder& holder : holders) threads.emplace_back(holder.process, holder.thread);
    return stacks(threads);
  };
  std::vector<Holder> holders = session_.holders();
  const std::size_t all = holders.size();
  const std::vector<ThreadStack> held_at = stacks_of(holders);
  for (std::size_t i = 0; i < holders.size(); ++i)
    lines.push_back(line_of(holders[i], held_at[i], since_s, seen.busy()));
  if (all > kNamed) lines.push_back(fmt::format("and {} more threads run", all - kNamed));
  if (looking_) name_watchdogs(since_s, lines);
  if (lines.empty()) name_busy(since_s, seen.busy(), lines);
  if (lines.empty()) {
    std::vector<Holder> outsiders = session_.outsiders();
    const std::vector<ThreadStack> stand_at = stacks_of(outsiders);
    for (std::size_t i = 0; i < outsiders.size(); ++i) {
      lines.push_back(fmt::format(
          "rank {}, thread {} ({}): waits for {}, at {} since {}: {}", outsiders[i].rank,
          stand_at[i].name, outsiders[i].thread,
          outsiders[i].at_channel ? "another process of the run" : "what is not of the run",
          short_time(outsiders[i].at), seconds_of(since_s), where(stand_at[i])));
    }
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Threads that have stopped in a call that nobody watches: a lock of a file, a signal, a pipe read by other means. Nothing
/// of the run's processes runs either, which might wake them soon.
void Daemon::look_who_has_stopped() {
  const auto now = HoldupClock::now();
  if (now - stopped_at_ < kStopsFor / 5) return;
  stopped_at_ = now;
  std::map<std::pair<std::uint32_t, std::uint32_t>, StoppedThread> still;
  for (const Holder& holder : session_.holders()) {
    const Peer& peer = *peers_[holder.process];
    if (peer.gone || !peer.region || holder.thread >= peer.threads()) continue;
    const pid_t thread = peer.region->rings[holder.thread].thread.load();
    const auto times = thread > 0 ? peer.times(thread) : std::nullopt;
    if (!times || times->busy) continue;
    const std::pair who(holder.process, holder.thread);
    const auto before = stopped_.find(who);
    const bool the_same = before != stopped_.end() && before->second.runs == times->runs;
    still[who] = the_same ? before->second : StoppedThread{times->runs, now};
    Quiet walker;
    if (now - still[who].since < kStopsFor || !all_stand_still(walker)) continue;
    peer.region->rings[holder.thread].left_behind.store(1, std::memory_order_relaxed);
    if (peer.far) peer.far->leave_behind(peer.line->number, holder.thread);
    session_.stand_still(holder.process, holder.thread, true);
    still.erase(who);
  }
  stopped_ = std::move(still);
}

}  // namespace flopcast::live
