// What a profiler wants to know: calls as they come, clocks beside each other.
#include "live/standin/observe/profiler.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "live/standin/link/link.h"

namespace flopcast::live {
namespace {

struct PushedId {
  int kind = 0;
  std::uint64_t id = 0;
};
thread_local std::vector<PushedId> pushed_ids;
thread_local std::int64_t call_begin = 0;
/// The call that launched the graph whose work is told now.
thread_local std::uint32_t graph_call = 0;

bool is_device_work(Act act) {
  return act == Act::kKernel || act == Act::kCopy || act == Act::kFill || act == Act::kCollective;
}

}  // namespace

Profiler& Profiler::get() {
  static Profiler* const profiler = new Profiler;  // work is told while the process ends
  return *profiler;
}

void Profiler::start(std::uint64_t kinds) {
  kinds_ = kinds;
  watcher.store(this, std::memory_order_release);
  at_jumps.store([] { get().looked(); });
}
void Profiler::stop() {
  watcher.store(nullptr, std::memory_order_release);
  at_jumps.store(nullptr);
}

void Profiler::use_clock(std::uint64_t (*clock)()) {
  const std::lock_guard guard(lock_);
  clock_ = clock;
  first_.reset();
  last_.reset();
}

/// The program's clock counts cycles of the machine that runs the script. Programs make times of it by what the wall
/// clock shows at two moments; the first and the last reading tell us how.
void Profiler::read_clock() {
  if (!clock_) return;
  const std::int64_t virtual_ns = Link::get().now_ns();
  if (!readings_.empty()) {
    readings_.add(clock_(), Link::start_ns() + virtual_ns);
    return;
  }
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const ClockReading now{virtual_ns, wall.tv_sec * 1'000'000'000LL + wall.tv_nsec, clock_()};
  if (!first_) first_ = now;
  if (!last_ || now.virtual_ns >= last_->virtual_ns) last_ = now;
}

void Profiler::begin_readings(std::uint64_t stamp) {
  const std::lock_guard guard(lock_);
  readings_.clear();
  readings_.add(stamp, Link::start_ns() + Link::get().now_ns());
}

ClockReadings Profiler::end_readings(std::uint64_t stamp) {
  const std::lock_guard guard(lock_);
  readings_.add(stamp, Link::start_ns() + Link::get().now_ns());
  return readings_;
}

std::uint64_t Profiler::program_time(std::int64_t virtual_ns) const {
  const std::lock_guard guard(lock_);
  if (!first_ || !readings_.empty())
    return static_cast<std::uint64_t>(Link::start_ns() + virtual_ns);
  const std::int64_t passed = last_->wall_ns - first_->wall_ns;
  const double rate = passed > 0 ? static_cast<double>(last_->program - first_->program) /
                                       static_cast<double>(passed)
                                 : 1;
  const double since = static_cast<double>(virtual_ns - first_->virtual_ns) * rate;
  return first_->program + static_cast<std::uint64_t>(static_cast<std::int64_t>(since));
}

void Profiler::push_external(int kind, std::uint64_t id) { pushed_ids.push_back({kind, id}); }

std::optional<std::uint64_t> Profiler::pop_external(int kind) {
  const auto last = std::find_if(pushed_ids.rbegin(), pushed_ids.rend(),
                                 [kind](const PushedId& one) { return one.kind == kind; });
  if (last == pushed_ids.rend()) return std::nullopt;
  const std::uint64_t id = last->id;
  pushed_ids.erase(std::prev(last.base()));
  return id;
}

std::uint32_t Profiler::new_call(Act act, std::int64_t begin) {
  const std::uint32_t number = ++calls_;
  // As CUPTI has them by default: the lower half of the thread's handle.
  const auto thread = static_cast<std::uint32_t>(pthread_self());
  profile_.calls.push_back({act, number, thread, begin, Link::get().now_ns(), kinds_});
  for (std::size_t i = 0; i < pushed_ids.size(); ++i) {
    const PushedId& own = pushed_ids[i];
    const bool covered =
        std::any_of(pushed_ids.begin() + static_cast<std::ptrdiff_t>(i) + 1, pushed_ids.end(),
                    [&](const PushedId& other) { return other.kind == own.kind; });
    if (!covered) profile_.external.push_back({own.kind, own.id, number, kinds_});
  }
  return number;
}

void Profiler::begins(const Work&, Record& record) {
  call_begin = Link::get().now_ns();
  looked();
  if (is_device_work(record.act)) record.flags |= kWatched;
}

void Profiler::told(const Work& work, const Record& record, std::uint32_t number) {
  const std::lock_guard guard(lock_);
  read_clock();
  const bool of_graph = (record.flags & kOfGraph) != 0;
  const std::uint32_t call = of_graph ? graph_call : new_call(record.act, call_begin);
  if (record.act == Act::kGraphLaunch) graph_call = call;
  if (!is_device_work(record.act)) return;
  profile_.work.push_back({record, number, call, work.grid, work.block, work.shared, kinds_});
}

void Profiler::waited(Act act, std::int64_t begin) {
  const std::lock_guard guard(lock_);
  read_clock();
  new_call(act, begin);
}

void Profiler::looked() {
  const std::lock_guard guard(lock_);
  read_clock();
}

Profile Profiler::take() {
  const std::lock_guard guard(lock_);
  return std::exchange(profile_, {});
}

void Profiler::keep(ProfiledWork work) {
  const std::lock_guard guard(lock_);
  profile_.work.push_back(std::move(work));
}

}  // namespace flopcast::live
