// Processes that others of the run start, and that wake each other: what one puts into a pipe, a socket or a semaphore that
// another one waits for.
#include <algorithm>
#include <utility>

#include "live/engine/session/record_check.h"
#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

/// Whoever is about to stand still knows of all wakes but the last few.
constexpr std::size_t kWakesKept = 256;

}  // namespace

/// The child's first thread begins where this one is.
std::optional<Diagnostic> Session::State::fork(Process& process, std::uint32_t number,
                                               Thread& thread, const Record& record) {
  pass(thread, record);
  const std::uint64_t index = record.word[0];
  if (index >= processes.size() || !processes[index].child || processes[index].begins)
    return overwritten(process.rank, "has said that it starts a process which is none of the run");
  Process& child = processes[index];
  child.begins = thread.clock;
  Thread& first = thread_of(child, 0, Record());
  if (thread.last != kNoGrowingTask && run.settled(thread.last)) {
    run.keep(thread.last);
    first.next.push_back({thread.last, thread.clock - run.end(thread.last), EdgeKind::kThread});
  }
  ready.push_back({process.number, number, 0, thread.clock, 0});
  return std::nullopt;
}

/// Those who wait at the channel may go on, but not before now. Whose own time comes before does so then.
void Session::State::wake(Thread& waker, const Record& record) {
  pass(waker, record);
  const std::uint64_t channel = record.word[0];
  const Wake wake{static_cast<std::uint32_t>(record.word[1]), waker.helper ? passed : waker.clock};
  std::deque<Wake>& known = wakes[channel];
  known.push_back(wake);
  if (known.size() > kWakesKept) known.pop_front();
  for (Process& process : processes) {
    for (auto& [number, thread] : process.threads) {
      if (thread.doing == Doing::kIdles && was_woken(thread)) thread.doing = Doing::kRuns;
    }
  }
}

/// Whether another process has woken this thread, which stands still, since it looked at its channels.
bool Session::State::was_woken(Thread& thread) {
  Time first = Time::max();
  for (const auto& [channel, seen] : thread.waits_for) {
    const auto known = wakes.find(channel);
    if (known == wakes.end()) continue;
    for (const Wake& wake : known->second) {
      const bool is_new = static_cast<std::int32_t>(wake.number - seen) > 0;
      if (is_new) first = std::min(first, wake.at);
    }
  }
  if (first == Time::max() || first >= thread.until) return false;
  thread.woken_at = first;
  return true;
}

}  // namespace flopcast::live
