// Threads of the application: their calls, hand-overs and waits.
#include <algorithm>
#include <utility>

#include "live/engine/session/record_check.h"
#include "live/engine/session/state.h"

namespace flopcast::live {
namespace {

/// Hand-overs name a record of the waker's that is at most so old.
constexpr std::size_t kRemembered = 4096;

}  // namespace

/// A call on its thread.
GrowingTask Session::State::host_task(Thread& thread, const Record& record, TaskKind kind,
                                      std::uint32_t name, std::span<const Dependency> after,
                                      const RecordedEvent& event) {
  const Time gap = Time::from_ns(record.gap_ns);
  NewTask task{thread.track, kind, name, Time::from_ns(record.duration_ns), thread.gap + gap};
  task.note = note_of(record, kNoGrowingTask, event);
  if (record.act == Act::kSleep)
    task.duration += Time::from_ns(static_cast<std::int64_t>(record.word[0]));
  if (thread.not_before != Time::min()) task.release = thread.not_before + gap;
  // A gap is from the task before; the first comes after the thread's start.
  if (thread.last == kNoGrowingTask) task.release = std::max(task.release, thread.clock + gap);
  if (thread.helper) task.release = std::max(task.release, passed);
  std::vector<Dependency> all = std::exchange(thread.next, {});
  const std::size_t wakers = all.size();
  for (Dependency& waker : all) waker.lag += gap;
  all.insert(all.end(), after.begin(), after.end());
  thread.last = run.add(task, all);
  for (std::size_t i = 0; i < wakers; ++i) run.let_go(all[i].source);
  thread.gap = Time();
  thread.not_before = Time::min();
  if (run.settled(thread.last)) thread.clock = run.end(thread.last);
  remember(thread);
  return thread.last;
}

/// A call that puts nothing on a device. How often helpers ask is up to the real scheduler: no task.
void Session::State::host_call(Thread& thread, const Record& record, std::string_view name) {
  if (thread.helper) return pass(thread, record);
  host_task(thread, record, TaskKind::kHostCall, names.intern(name));
}

void Session::State::remember(Thread& thread) {
  if (thread.last != kNoGrowingTask) run.keep(thread.last);
  thread.points.push_back({thread.records, thread.last, thread.clock});
  if (thread.points.size() <= kRemembered) return;
  if (thread.points.front().task != kNoGrowingTask) run.let_go(thread.points.front().task);
  thread.points.pop_front();
}

/// Where a thread was after its first so many records; null if it was nowhere or that is too long ago.
const Point* Session::State::point_at(const Process& process, std::uint64_t thread,
                                      std::uint64_t records) {
  const auto found = process.threads.find(static_cast<std::uint32_t>(thread));
  if (records == 0 || found == process.threads.end()) return nullptr;
  const auto& points = found->second.points;
  const auto after = std::upper_bound(
      points.begin(), points.end(), records,
      [](std::uint64_t count, const Point& point) { return count < point.records; });
  return after == points.begin() ? nullptr : &*std::prev(after);
}

/// A record that is no task of its own.
void Session::State::pass(Thread& thread, const Record& record) {
  const Time step = Time::from_ns(record.gap_ns + record.duration_ns);
  thread.clock += step;
  thread.gap += step;
  if (thread.not_before != Time::min()) thread.not_before += step;
  for (Dependency& waker : thread.next) waker.lag += step;
  remember(thread);
}

void Session::State::wait_until(Thread& thread, Time at) {
  if (at <= thread.clock) return;
  thread.clock = at;
  thread.not_before = at;
  if (!thread.points.empty()) thread.points.back().at = at;
}

/// The thread does not go on before another one was where the record says.
void Session::State::follow(const Process& process, Thread& thread, const Record& record) {
  const Point* const other = point_at(process, record.word[0], record.word[1]);
  if (!other) {
    const bool woken = record.act == Act::kWoken;  // it says when that was
    return wait_until(thread,
                      woken ? Time::from_ns(static_cast<std::int64_t>(record.word[3])) : passed);
  }
  const Time at = other->at + Time::from_ns(static_cast<std::int64_t>(record.word[2]));
  const GrowingTask task = other->task;
  if (task == kNoGrowingTask || !run.settled(task)) return wait_until(thread, at);
  if (at <= thread.clock) return;
  thread.clock = at;
  thread.points.back().at = at;
  run.keep(task);
  thread.next.push_back({task, at - run.end(task), EdgeKind::kThread});
}

/// A thread is known by its ring. One that has ended leaves the ring to another.
Thread& Session::State::thread_of(Process& process, std::uint32_t number, const Record& record) {
  const auto [found, is_new] = process.threads.try_emplace(number);
  Thread& thread = found->second;
  if (is_new) threads.push_back(&thread);
  // A ring serves another thread when its own has ended. Helpers do not say that they begin.
  const bool begins = record.act == Act::kThreadStart || (record.flags & kOfHelper) != 0;
  if (is_new || (thread.doing == Doing::kEnded && begins))
    start_thread(process, number, thread, record);
  return thread;
}

void Session::State::start_thread(Process& process, std::uint32_t number, Thread& thread,
                                  const Record& record) {
  Thread fresh;
  fresh.process = process.number;
  fresh.records = thread.records;
  fresh.points = std::move(thread.points);
  fresh.helper = (record.flags & kOfHelper) != 0;
  fresh.clock = number == 0 && process.begins ? *process.begins : passed;
  if (record.act == Act::kThreadStart) {
    fresh.name = record.word[3];
    if (record.word[1] > 0) fresh.clock = Time();  // its maker says when
  }
  const std::int64_t id =
      static_cast<std::int64_t>(process.instance) << 48 | static_cast<std::int64_t>(fresh.name);
  fresh.track = run.add_processor(Processor::Kind::kThread, process.rank, id, fresh.clock);
  thread = std::move(fresh);
  std::erase(actors, &thread);
  if (!thread.helper) actors.push_back(&thread);
  changed();
}

/// A woken thread is in its waker's time, if that is later than its own. What nobody of the run woke goes
/// on where the run is.
void Session::State::go_on(Process& process, std::uint32_t number, Thread& thread,
                           const Record& record) {
  pass(thread, record);
  if (record.word[1] == 0) {
    wait_until(thread, passed);
  } else {
    follow(process, thread, record);
  }
  const bool timed = std::exchange(thread.until, Time::max()) != Time::max();
  thread.doing = Doing::kRuns;
  if (timed || (record.flags & kAnswerWanted) != 0)
    ready.push_back({process.number, number, 0, thread.clock, 0});
}

/// A thread that another one has made follows it; one that nobody has made says itself when it is.
void Session::State::begin(Process& process, std::uint32_t number, Thread& thread,
                           const Record& record) {
  pass(thread, record);
  if (record.word[1] > 0) return follow(process, thread, record);
  wait_until(thread, Time::from_ns(static_cast<std::int64_t>(record.word[2])));
  if ((record.flags & kAnswerWanted) != 0)
    ready.push_back({process.number, number, 0, thread.clock, 0});
}

void Session::State::idle(Thread& thread, const Record& record) {
  pass(thread, record);
  thread.doing = Doing::kIdles;
  if (record.word[0] > 0) {
    // Programs that would wait for ever say a time of years: threading.TIMEOUT_MAX.
    const auto left =
        static_cast<std::uint64_t>((kLastTime - std::min(thread.clock, kLastTime)).ps) / 1000;
    thread.until = record.word[0] > left
                       ? kNotInThisRun
                       : thread.clock + Time::from_ns(static_cast<std::int64_t>(record.word[0]));
  }
  if (was_woken(thread)) thread.doing = Doing::kRuns;
}

void Session::State::sleep(Thread& thread, const Record& record) {
  if (record.word[0] == 0) return pass(thread, record);
  host_task(thread, record, TaskKind::kHostCall, names.intern("sleep"));
  if ((record.flags & kAnswerWanted) != 0) thread.doing = Doing::kSleeps;
}

/// The thread says nothing until all of these have ended.
void Session::State::wait_for(Thread& thread, const Record& record, std::string_view name,
                              const std::vector<GrowingTask>& ends, const RecordedEvent& event) {
  std::vector<Dependency> after;
  for (const GrowingTask end : ends) {
    after.push_back({end, times.wake, EdgeKind::kSync, false, true});
  }
  host_task(thread, record, TaskKind::kSync, names.intern(name), after, event);
  if ((record.flags & kAnswerWanted) != 0) thread.doing = Doing::kWaits;
}

/// It has waited until this time for bytes that a collective brings.
void Session::State::wait_for_values(Thread& thread, Time at) {
  NewTask task{thread.track, TaskKind::kSync, names.intern("wait for values")};
  task.gap = std::exchange(thread.gap, Time());
  task.release = at;
  thread.not_before = Time::min();
  thread.last = run.add(task);
}

void Session::State::ask(Thread& thread, const Record& record, std::string_view name,
                         Question question) {
  for (const GrowingTask task : question.about) run.keep(task);
  // PyTorch asks of what its watchdog, in real time, has not yet seen the end of: how often must show nowhere.
  if (question.kind == Question::Kind::kEnded) {
    pass(thread, record);
  } else {
    host_call(thread, record, name);
  }
  thread.question = std::move(question);
  thread.doing = Doing::kAsks;
}

}  // namespace flopcast::live
