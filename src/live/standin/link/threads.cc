// Threads that stand still, and what they take over from those who wake them. docs/theory/live.md has the rules.
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "live/standin/link/link.h"

namespace flopcast::live {
namespace {

/// Threads are named by who made them and in which order, so that a name is the same in every run. Those
/// that the first thread made have small numbers.
constexpr std::uint64_t kOfOthers = std::uint64_t{1} << 40;
/// Of threads that nobody of the run made.
constexpr std::uint64_t kFoundlings = std::uint64_t{1} << 41;

std::uint64_t name_of(std::uint64_t maker, std::uint64_t number) {
  if (maker == 0) return number;
  const std::uint64_t mixed = (maker ^ number << 20) * 0x9e3779b97f4a7c15u;
  return kOfOthers + (mixed >> 24);
}

/// By this its thread is found when it does not go on.
void be_known(Ring& ring) {
  ring.thread.store(static_cast<std::int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  ring.handle.store(static_cast<std::uint64_t>(::pthread_self()), std::memory_order_release);
}

Record woken_by(const Moment& moment) {
  Record record;
  record.act = Act::kWoken;
  record.word[0] = moment.ring;
  record.word[1] = moment.records;
  record.word[2] = static_cast<std::uint64_t>(moment.after_ns);
  record.word[3] = static_cast<std::uint64_t>(moment.ns);
  return record;
}

}  // namespace

// --- beginning and end --------------------------------------------------------------------------

/// Under the lock. Rings of threads that have ended are used again.
Speaker& Link::take_ring() {
  std::uint32_t index = 0;
  if (!free_rings_.empty()) {
    index = free_rings_.back();
    free_rings_.pop_back();
  } else {
    index = region_->threads.load(std::memory_order_relaxed);
    if (index >= Region::kThreads) give_up("a process has more threads than can be followed (256)");
    region_->threads.store(index + 1, std::memory_order_release);
  }
  Speaker& speaker = speakers_[index];
  const std::uint32_t answers = speaker.answers, records = speaker.records;
  std::destroy_at(&speaker);
  std::construct_at(&speaker);
  speaker.ring = &region_->rings[index];
  speaker.ring->thread.store(0, std::memory_order_relaxed);
  speaker.ring->left_behind.store(0, std::memory_order_relaxed);
  speaker.index = index;
  speaker.answers = answers;
  speaker.records = records;
  speaker.in_use.store(true, std::memory_order_release);
  return speaker;
}

/// This thread, of which nothing was known: the first of its process, or started behind our back.
Speaker& Link::newcomer() {
  std::unique_lock guard(threads_lock_);
  Speaker& speaker = take_ring();
  if (own_speaker) {
    speaker.clock_ns = own_speaker->now_ns();
    speaker.host_ns = own_speaker->host_ns;
  }
  speaker.name = speaker.index == 0 ? 0 : kFoundlings + speaker.index;
  guard.unlock();
  enter(speaker);
  speaker.cpu_ns = real_ns(CLOCK_THREAD_CPUTIME_ID);
  Record record;
  record.act = Act::kThreadStart;
  record.flags = kAnswerWanted;
  record.word[2] = static_cast<std::uint64_t>(speaker.clock_ns);
  record.word[3] = speaker.name;
  write(speaker, record);
  answered(speaker);
  return speaker;
}

Speaker& Link::helper() {
  const std::lock_guard guard(threads_lock_);
  // The first ring is that of the program's first thread, should it use a device.
  const bool is_first = region_->threads.load(std::memory_order_relaxed) == 0;
  Speaker* const of_program = is_first ? &take_ring() : nullptr;
  Speaker& speaker = take_ring();
  speaker.helper = true;
  be_known(*speaker.ring);
  if (of_program) {
    of_program->in_use.store(false, std::memory_order_release);
    free_rings_.push_back(of_program->index);
  }
  return speaker;
}

void Link::enter(Speaker& speaker) {
  own_speaker = &speaker;
  if (speaker.ring) be_known(*speaker.ring);
}

Speaker& Link::make_thread() {
  Speaker& maker = speaker();
  const Moment from = moment();
  const std::lock_guard guard(threads_lock_);
  Speaker& made = take_ring();
  made.name = name_of(maker.name, ++maker.made);
  made.clock_ns = from.ns;
  Record record;
  record.act = Act::kThreadStart;
  record.word[0] = from.ring;
  record.word[1] = from.records;
  record.word[2] = static_cast<std::uint64_t>(from.after_ns);
  record.word[3] = made.name;
  write(made, record);
  return made;
}

Moment Link::end_thread(Speaker& speaker) {
  Record record;
  record.act = Act::kThreadEnd;
  const std::lock_guard guard(threads_lock_);
  write(speaker, record);
  const Moment end = moment_of(speaker);
  speaker.in_use.store(false, std::memory_order_release);
  free_rings_.push_back(speaker.index);
  return end;
}

std::int64_t Link::host_ns() const {
  std::int64_t all = 0;
  for (std::uint32_t i = 0; i < region_->threads.load(std::memory_order_acquire); ++i)
    all += speakers_[i].host_ns + speakers_[i].gap_ns;
  return all;
}

// --- hand-overs ---------------------------------------------------------------------------------

Moment Link::moment_of(const Speaker& speaker) {
  return {speaker.now_ns(), speaker.index, speaker.records, speaker.gap_ns};
}

Moment Link::moment() {
  measure();
  return moment_of(*own_speaker);
}

void Link::go_on_after(const Moment& moment) {
  Speaker& me = *own_speaker;
  if (moment.ns <= me.now_ns() || !me.ring) return;
  show_jump();
  write(me, woken_by(moment));
  me.clock_ns = std::max(me.clock_ns, moment.ns);
  show_jump();
}

// --- standing still -----------------------------------------------------------------------------

/// Many things share a count.
std::atomic<std::uint16_t>& Link::waiting_for(const void* at) {
  return waiting_[reinterpret_cast<std::uintptr_t>(at) * 0x9e3779b97f4a7c15u >> 56];
}

void Link::block(Standing why, const void* at) {
  measure();
  Speaker& me = *own_speaker;
  if (me.keeper) me.keeper->let_go();
  me.at.store(at, std::memory_order_relaxed);
  me.looks = 0;
  me.move();
  if (!me.again) me.since_ns.store(real_ns(CLOCK_MONOTONIC), std::memory_order_relaxed);
  me.standing.store(why, std::memory_order_release);
  waiting_for(at).fetch_add(1, std::memory_order_seq_cst);
}

void Link::unblock() {
  Speaker& me = *own_speaker;
  waiting_for(me.at.load(std::memory_order_relaxed)).fetch_sub(1, std::memory_order_relaxed);
  Standing was = me.standing.load(std::memory_order_relaxed);
  // Nobody speaks for it unless it is told of, or being told of.
  if (was < Standing::kBeingTold &&
      me.standing.compare_exchange_strong(was, Standing::kRuns, std::memory_order_acquire))
    return;
  std::unique_lock guard(threads_lock_);
  was = me.standing.exchange(Standing::kRuns, std::memory_order_relaxed);
  if (was != Standing::kIdle) return;
  guard.unlock();
  go_on_from_idle(me);
}

/// Nobody of the run woke it: the engine says from when on.
void Link::go_on_from_idle(Speaker& me) {
  Record record = woken_by(Moment());
  record.flags = kAnswerWanted;
  write(me, record);
  answered(me);
}

/// Under the lock. @return whether there was something to tell
bool Link::tell(Speaker& speaker, Standing was) {
  if (!speaker.standing.compare_exchange_strong(was, Standing::kBeingTold,
                                                std::memory_order_acquire))
    return false;
  Record record;
  record.act = Act::kIdle;
  write(speaker, record);
  speaker.standing.store(Standing::kIdle, std::memory_order_release);
  return true;
}

void Link::tell_own() {
  const std::lock_guard guard(threads_lock_);
  tell(*own_speaker, own_speaker->standing.load(std::memory_order_relaxed));
}

void Link::tell_blocked(Tell which) {
  const std::uint32_t threads = region_->threads.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < threads; ++i) {
    Speaker& other = speakers_[i];
    const Standing standing = other.standing.load(std::memory_order_acquire);
    if (standing != Standing::kBlocked && standing != Standing::kForLock) continue;
    if (which == Tell::kLongSince || standing == Standing::kForLock) {
      const std::int64_t since = other.since_ns.load(std::memory_order_relaxed);
      if (real_ns(CLOCK_MONOTONIC) - since < kLongNs) continue;
    }
    const std::lock_guard guard(threads_lock_);
    if (other.in_use.load(std::memory_order_relaxed)) tell(other, standing);
  }
}

void Link::note(const void* at) {
  if (waiting_for(at).load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard guard(threads_lock_);
  for (std::uint32_t i = 0; i < region_->threads.load(std::memory_order_relaxed); ++i) {
    Speaker& other = speakers_[i];
    if (other.at.load(std::memory_order_relaxed) == at)
      other.notified.fetch_add(1, std::memory_order_release);
  }
}

void Link::wake(const void* at, bool all) {
  if (waiting_for(at).load(std::memory_order_seq_cst) == 0) return;
  const Moment now = moment();
  const std::int64_t real_now = real_ns(CLOCK_MONOTONIC);
  const std::lock_guard guard(threads_lock_);
  for (std::uint32_t i = 0; i < region_->threads.load(std::memory_order_relaxed); ++i) {
    Speaker& other = speakers_[i];
    if (other.at.load(std::memory_order_relaxed) != at || &other == own_speaker) continue;
    Standing was = other.standing.load(std::memory_order_acquire);
    if (was == Standing::kIdle) {
      write(other, woken_by(now));
      other.clock_ns = std::max(other.clock_ns, now.ns);
      other.timed = false;
    } else if (was != Standing::kBlocked && was != Standing::kForLock) {
      continue;
    }
    other.since_ns.store(real_now, std::memory_order_relaxed);
    if (!other.standing.compare_exchange_strong(was, Standing::kForLock, std::memory_order_acq_rel))
      continue;
    if (!all) return;
  }
}

void Link::wake_from_outside(const void* at, bool all) {
  if (waiting_for(at).load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard guard(threads_lock_);
  for (std::uint32_t i = 0; i < region_->threads.load(std::memory_order_relaxed); ++i) {
    Speaker& other = speakers_[i];
    if (other.at.load(std::memory_order_relaxed) != at || !other.timed) continue;
    if (other.standing.load(std::memory_order_acquire) != Standing::kIdle) continue;
    write(other, woken_by(Moment()));
    other.timed = false;
    other.since_ns.store(real_ns(CLOCK_MONOTONIC), std::memory_order_relaxed);
    other.standing.store(Standing::kForLock, std::memory_order_release);
    if (!all) return;
  }
}

// --- until a time -------------------------------------------------------------------------------

void Link::block_until(std::int64_t after_ns, const void* at) {
  Speaker& me = speaker();
  if (me.keeper) me.keeper->let_go();
  show_jump();
  me.at.store(at, std::memory_order_relaxed);
  Record record;
  record.act = Act::kIdle;
  record.flags = kAnswerWanted;
  record.word[0] = static_cast<std::uint64_t>(std::max<std::int64_t>(after_ns, 1));
  const std::lock_guard guard(threads_lock_);
  me.timed = true;
  me.ring->clocked.store(static_cast<std::int32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
  write(me, record);
  me.standing.store(Standing::kIdle, std::memory_order_release);
  waiting_for(at).fetch_add(1, std::memory_order_seq_cst);
}

bool Link::expired() const {
  const Speaker& me = *own_speaker;
  return me.ring->answer.count.load(std::memory_order_acquire) != me.answers;
}

bool Link::unblock_timed() {
  Speaker& me = *own_speaker;
  std::unique_lock guard(threads_lock_);
  me.ring->clocked.store(0, std::memory_order_relaxed);
  const bool idle =
      me.standing.exchange(Standing::kRuns, std::memory_order_relaxed) == Standing::kIdle;
  const bool timed = std::exchange(me.timed, false);
  waiting_for(me.at.load(std::memory_order_relaxed)).fetch_sub(1, std::memory_order_relaxed);
  if (idle && timed && !expired()) write(me, woken_by(Moment()));
  guard.unlock();
  const std::int64_t woken_at = me.clock_ns;
  const bool woken = answered(me).status == 0;
  me.clock_ns = std::max(me.clock_ns, woken_at);
  if (idle && !timed) go_on_from_idle(me);  // it was woken, and told of again before it ran
  show_jump();
  return woken;
}

}  // namespace flopcast::live
