// Who is waited for, when nothing goes on.
#include <algorithm>

#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

Holder holder_of(const Session::State& state, const Process& process, std::uint32_t number,
                 const Thread& thread) {
  Holder holder{process.number, number, process.rank, thread.clock, {}, !thread.waits_for.empty()};
  if (thread.last != kNoGrowingTask) holder.call = state.names[state.run.name(thread.last)];
  return holder;
}

void sort_by_time(std::vector<Holder>& holders) {
  std::stable_sort(holders.begin(), holders.end(),
                   [](const Holder& a, const Holder& b) { return a.at < b.at; });
}

}  // namespace

std::vector<Holder> Session::holders() const {
  std::vector<Holder> found;
  for (const Process& process : state_->processes) {
    for (const auto& [number, thread] : process.threads) {
      if (thread.doing == Doing::kRuns && !thread.helper)
        found.push_back(holder_of(*state_, process, number, thread));
    }
  }
  sort_by_time(found);
  return found;
}

std::vector<Holder> Session::outsiders() const {
  std::vector<Holder> found;
  for (const Process& process : state_->processes) {
    const Thread* first = nullptr;
    std::uint32_t its_number = 0;
    bool only_idles = true;
    for (const auto& [number, thread] : process.threads) {
      if (thread.helper || thread.doing == Doing::kEnded) continue;
      only_idles = only_idles && (thread.doing == Doing::kIdles || thread.doing == Doing::kSleeps);
      if (first) continue;
      first = &thread;  // the process's main thread, as a rule
      its_number = number;
    }
    if (first && only_idles) found.push_back(holder_of(*state_, process, its_number, *first));
  }
  sort_by_time(found);
  return found;
}

void Session::stand_still(std::uint32_t process, std::uint32_t number, bool unheard) {
  const auto found = state_->processes[process].threads.find(number);
  if (found == state_->processes[process].threads.end()) return;
  Thread& thread = found->second;
  if (thread.doing != Doing::kRuns) return;
  thread.doing = Doing::kIdles;
  state_->changed();
  thread.unheard = unheard;
  if (!unheard) return;
  for (SessionListener* const one : state_->listeners) one->stopped(process, number);
}

std::uint64_t Session::progress() const { return state_->progress; }

}  // namespace flopcast::live
