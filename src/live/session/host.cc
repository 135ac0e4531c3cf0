// Threads of the application: their calls, hand-overs and waits.
#include <algorithm>

#include "live/session/state.h"

namespace flopcast::live {
namespace {

/// Hand-overs name a record of the waker's that is at most so old.
constexpr std::size_t kRemembered = 4096;

}  // namespace

/// A call on its thread.
GrowingTask Session::State::host_task(Thread& thread, const Record& record, TaskKind kind,
                                      std::string_view name, std::span<const Dependency> after) {
  NewTask task{thread.track, kind, names.intern(name), Time::from_ns(record.duration_ns),
               Time::from_ns(record.gap_ns)};
  task.note = note_of(record);
  // A gap is from the task before; the first comes after the thread's start.
  if (thread.last == kNoGrowingTask) task.release = thread.clock + task.gap;
  thread.last = run.add(task, after);
  if (run.settled(thread.last)) thread.clock = run.end(thread.last);
  run.keep(thread.last);
  thread.tasks.emplace_back(thread.records, thread.last);
  if (thread.tasks.size() > kRemembered) {
    run.let_go(thread.tasks.front().second);
    thread.tasks.pop_front();
  }
  return thread.last;
}

/// The last task of a thread's first so many records; none if they made none or are too long ago.
std::optional<GrowingTask> Session::State::task_at(const Process& process, std::uint64_t thread,
                                                   std::uint64_t records) const {
  const auto found = process.threads.find(static_cast<std::uint32_t>(thread));
  if (records == 0 || found == process.threads.end()) return std::nullopt;
  const auto& tasks = found->second.tasks;
  const auto after =
      std::upper_bound(tasks.begin(), tasks.end(), records,
                       [](std::uint64_t count, const auto& task) { return count < task.first; });
  if (after == tasks.begin()) return std::nullopt;
  return std::prev(after)->second;
}

/// Threads are known by what they say; the first record of one that another made says so.
Thread& Session::State::thread_of(Process& process, std::uint32_t number, const Record& record) {
  const auto found = process.threads.find(number);
  if (found != process.threads.end()) return found->second;
  Thread& thread = process.threads[number];
  Time from;
  if (record.act == Act::kThreadStart) {
    const auto maker = task_at(process, record.word[0], record.word[1]);
    if (maker && run.settled(*maker)) from = run.end(*maker);
  }
  const auto id = static_cast<std::int64_t>(process.instance) << 32 | number;
  thread.track = run.add_processor(Processor::Kind::kThread, process.rank, id, from);
  thread.clock = from;
  return thread;
}

/// A woken thread is in its waker's time, if that is later than its own.
void Session::State::go_on(Process& process, Thread& thread, const Record& record) {
  const auto wake =
      std::find_if(process.wakes.begin(), process.wakes.end(), [&record](const Wake& one) {
        return one.thread == record.word[0] && one.records == record.word[1];
      });
  if (wake != process.wakes.end()) process.wakes.erase(wake);
  thread.doing = Doing::kRuns;
  std::vector<Dependency> after;
  if (const auto waker = task_at(process, record.word[0], record.word[1])) {
    after.push_back({*waker, times.hand_over, EdgeKind::kThread});
  }
  host_task(thread, record, TaskKind::kHostCall, "woken", after);
}

/// The thread says nothing until all of these have ended.
void Session::State::wait_for(Thread& thread, const Record& record, std::string_view name,
                              const std::vector<GrowingTask>& ends) {
  std::vector<Dependency> after;
  for (const GrowingTask end : ends) {
    after.push_back({end, times.wake, EdgeKind::kSync, false, true});
  }
  host_task(thread, record, TaskKind::kSync, name, after);
  if ((record.flags & kAnswerWanted) != 0) thread.doing = Doing::kWaits;
}

/// It has waited until this time for bytes that a collective brings.
void Session::State::wait_for_values(Thread& thread, Time at) {
  NewTask task{thread.track, TaskKind::kSync, names.intern("wait for values")};
  task.release = at;
  thread.last = run.add(task);
}

void Session::State::ask(Thread& thread, const Record& record, std::string_view name,
                         Question question) {
  for (const GrowingTask task : question.about) run.keep(task);
  host_task(thread, record, TaskKind::kHostCall, name);
  thread.question = std::move(question);
  thread.doing = Doing::kAsks;
}

}  // namespace flopcast::live
