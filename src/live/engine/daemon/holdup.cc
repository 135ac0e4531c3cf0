// Why a run does not go on: who holds its time, and where that thread is.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "live/engine/daemon/daemon.h"
#include "live/engine/daemon/peer.h"

namespace flopcast::live {
namespace {

using HoldupClock = std::chrono::steady_clock;

/// Two waits of the process's own, and what lies between.
constexpr auto kStacksTake = std::chrono::milliseconds(2000);
/// What a thread does is seen over so long.
constexpr auto kActivityTakes = std::chrono::milliseconds(200);
constexpr std::uint64_t kComputesNs = 20'000'000;
/// So long a thread does not run before it is taken for one that stands still.
constexpr auto kStopsFor = std::chrono::seconds(1);
/// Of many in the same state, the first are named.
constexpr std::size_t kNamed = 4;
constexpr std::size_t kCalls = 8;
/// What a rank that was forked has below its script.
constexpr std::string_view kOwnScript = "/live/serve.py:";

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

std::string calls_in_lines(const std::vector<std::string>& calls) {
  std::string text;
  for (std::size_t i = 1; i < std::min(calls.size(), kCalls); ++i) text += "\n    " + calls[i];
  return text;
}

/// Whether a thread runs, or would if the machine let it.
bool computes(pid_t process, pid_t thread) {
  const auto before = times_of(process, thread);
  std::this_thread::sleep_for(kActivityTakes);
  const auto after = times_of(process, thread);
  return before && after && (after->busy || after->cpu_ns - before->cpu_ns > kComputesNs);
}

std::string seconds_of(double seconds) { return fmt::format("{:.0f} s", seconds); }

}  // namespace

std::vector<ThreadStack> Daemon::stacks_by_number(std::uint32_t process,
                                                  const std::vector<pid_t>& threads) const {
  std::vector<ThreadStack> found(threads.size());
  const Peer& peer = *peers_[process];
  if (peer.gone || !peer.region) return found;
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
  const std::uint32_t asked = stacks.wanted.fetch_add(1) + 1;
  futex_wake(stacks.wanted);
  const auto until = HoldupClock::now() + kStacksTake;
  while (stacks.told.load(std::memory_order_acquire) != asked) {
    if (HoldupClock::now() > until) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (std::uint32_t i = 0; i < stacks.count; ++i) {
    std::string_view left(stacks.text[i], strnlen(stacks.text[i], sizeof stacks.text[i]));
    for (bool first = true; !left.empty() || first; first = false) {
      const std::string_view line = left.substr(0, left.find('\n'));
      left.remove_prefix(std::min(line.size() + 1, left.size()));
      if (first) {
        found[i].name = escaped(line);
      } else {
        if (line.find(kOwnScript) == std::string_view::npos)
          found[i].calls.push_back(escaped(short_call(line)));
      }
    }
  }
  return found;
}

std::vector<ThreadStack> Daemon::stacks(std::uint32_t process,
                                        const std::vector<std::uint32_t>& threads) const {
  std::vector<pid_t> numbers;
  const Peer& peer = *peers_[process];
  for (const std::uint32_t ring : threads)
    numbers.push_back(ring < peer.threads() ? peer.region->rings[ring].thread.load() : 0);
  return stacks_by_number(process, numbers);
}

/// "rank 3, thread loader (17): holds the run at 1.25 s since 12 s, computes: train.py:41 in forward", and its callers.
std::string Daemon::line_of(const Holder& holder, double since_s,
                            const std::vector<BusyThread>& busy) const {
  const Peer& peer = *peers_[holder.process];
  const std::string at = fmt::format("{} since {}", short_time(holder.at), seconds_of(since_s));
  if (!peer.region) {
    return fmt::format("rank {}: holds the run at {}, and has not begun: it starts{}", holder.rank,
                       at, peer.pid() > 0 ? fmt::format(", process {}", peer.pid()) : "");
  }
  const pid_t thread = peer.region->rings[holder.thread].thread.load();
  const ThreadStack stack = stacks(holder.process, {holder.thread}).front();
  std::string does = "waits";
  if (computes(peer.pid(), thread)) {
    does = "computes";
  } else {
    const auto other = std::find_if(busy.begin(), busy.end(), [&](const BusyThread& one) {
      return one.root == peer.pid() && one.thread != thread;
    });
    if (other != busy.end()) {
      does += fmt::format(", and {} {} computes", program_of(other->process), other->thread);
      if (!other->of_root()) does += fmt::format(", which it has started");
    }
  }
  std::string where = stack.calls.empty() ? "nothing tells where" : stack.calls.front();
  if (stack.calls.empty() && !holder.call.empty())
    where += fmt::format(" (its last call: {})", holder.call);
  const std::string name = stack.name.empty() ? program_of(thread) : stack.name;
  return fmt::format("rank {}, thread {} ({}): holds the run at {}, {}: {}{}", holder.rank, name,
                     holder.thread, at, does, where, calls_in_lines(stack.calls));
}

std::string Daemon::who_is_waited_for(double since_s) const {
  std::vector<std::string> lines;
  Quiet seen;
  seen.look(processes_alive(), clocked_threads());
  const std::vector<Holder> holders = session_.holders();
  for (std::size_t i = 0; i < std::min(holders.size(), kNamed); ++i)
    lines.push_back(line_of(holders[i], since_s, seen.busy()));
  if (holders.size() > kNamed)
    lines.push_back(fmt::format("and {} more threads run", holders.size() - kNamed));
  if (looking_) {
    std::vector<pid_t> watchdogs;
    const Peer& peer = *peers_[*looking_];
    const Watch& watch = peer.region->watch;
    for (const Watch::Place& place : watch.places) {
      const std::uint32_t looked = place.looked.load();
      if (looked != 0 && looked != watch.wanted.load() + 1)
        watchdogs.push_back(place.thread.load());
    }
    for (const ThreadStack& stack : stacks_by_number(*looking_, watchdogs)) {
      lines.push_back(fmt::format(
          "rank {}: a watchdog has not looked at its collectives since {}: {}{}", peer.hello.rank,
          seconds_of(since_s), stack.calls.empty() ? "nothing tells where" : stack.calls.front(),
          calls_in_lines(stack.calls)));
    }
  }
  if (lines.empty()) {
    // Nobody's time is up before these stand still.
    for (const BusyThread& one : seen.busy()) {
      if (lines.size() == kNamed) break;
      const auto peer = std::find_if(peers_.begin(), peers_.end(), [&one](const auto& each) {
        return each->region && each->pid() == one.root;
      });
      const std::string whose =
          peer != peers_.end() ? fmt::format("rank {}: ", (*peer)->hello.rank) : "";
      lines.push_back(fmt::format("{}{} {} computes beside the run's time since {}", whose,
                                  program_of(one.process), one.thread, seconds_of(since_s)));
    }
  }
  if (lines.empty()) {
    for (const Holder& one : session_.outsiders()) {
      if (lines.size() == kNamed) break;
      if (peers_[one.process]->gone || !peers_[one.process]->region) continue;
      const ThreadStack stack = stacks(one.process, {one.thread}).front();
      lines.push_back(fmt::format(
          "rank {}, thread {} ({}): waits for what is not of the run, at {} since {}: {}{}",
          one.rank, stack.name, one.thread, short_time(one.at), seconds_of(since_s),
          stack.calls.empty() ? "nothing tells where" : stack.calls.front(),
          calls_in_lines(stack.calls)));
    }
  }
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : "\n") + line;
  return all;
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
    const auto times = thread > 0 ? times_of(peer.pid(), thread) : std::nullopt;
    if (!times || times->busy) continue;
    const std::pair who(holder.process, holder.thread);
    const auto before = stopped_.find(who);
    const bool the_same = before != stopped_.end() && before->second.runs == times->runs;
    still[who] = the_same ? before->second : StoppedThread{times->runs, now};
    if (now - still[who].since < kStopsFor || !Quiet().look(processes_alive(), clocked_threads()))
      continue;
    session_.stand_still(holder.process, holder.thread, true);
    still.erase(who);
  }
  stopped_ = std::move(still);
}

}  // namespace flopcast::live
