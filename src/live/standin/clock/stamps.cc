#include "live/standin/clock/stamps.h"

#include <array>
#include <optional>

#include "live/standin/clock/real.h"

namespace flopcast::live {
namespace {

/// A slot belongs to one address for good; what it carries is read and written under its own lock.
struct Slot {
  std::atomic<const void*> object{nullptr};
  std::atomic<std::int64_t> ns{0};  ///< of the moment: most looks need no more
  Spinlock lock;
  Moment moment;
};

constexpr std::size_t kSlots = 1 << 14;
constexpr std::size_t kProbes = 32;
constinit std::array<Slot, kSlots> slots;

std::size_t first_slot(const void* object) {
  return (reinterpret_cast<std::uintptr_t>(object) >> 3) * 0x9e3779b97f4a7c15u >> 50;
}

Slot* find_slot(const void* object) {
  for (std::size_t i = 0, at = first_slot(object); i < kProbes; ++i, ++at) {
    Slot& slot = slots[at % kSlots];
    const void* const held = slot.object.load(std::memory_order_acquire);
    if (held == object) return &slot;
    if (!held) return nullptr;
  }
  return nullptr;
}

/// Where all places are taken, objects share the last one: a thread may then be told a later time than it need be.
Slot& make_slot(const void* object) {
  std::size_t at = first_slot(object);
  for (std::size_t i = 0; i < kProbes; ++i, ++at) {
    Slot& slot = slots[at % kSlots];
    const void* held = slot.object.load(std::memory_order_acquire);
    if (!held) slot.object.compare_exchange_strong(held, object, std::memory_order_acq_rel);
    if (!held || held == object) return slot;
  }
  return slots[(at - 1) % kSlots];
}

/// Who locked a mutex last; those of many mutexes are in one place, the latest stays.
struct Locker {
  std::uint16_t ring = 0;
  std::uint16_t mutex = 0;  ///< of its address, so that others are mostly told from it
  std::uint32_t moves = 0;  ///< the thread's, of which locking it is the last
};
constinit std::array<std::atomic<Locker>, 4096> lockers{};
static_assert(std::atomic<Locker>::is_always_lock_free);

/// So long the last one may compute between letting go and announcing, and so long it may take while others have its processor.
constexpr std::int64_t kHandoverCpuNs = 2'000'000, kHandoverNs = 200'000'000;

/// What a thread of this process has had of the processor; 0 if it has ended. The kernel's name of a thread's clock.
std::int64_t cpu_ns_of(std::int32_t thread) {
  constexpr unsigned kOfThread = 6;
  return real_ns(static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | kOfThread));
}

}  // namespace

void wait_for_last_locker(const void* mutex) {
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(mutex) * 0x9e3779b97f4a7c15u;
  Speaker& me = *own_speaker;
  const Locker mine{static_cast<std::uint16_t>(me.index), static_cast<std::uint16_t>(mixed >> 20),
                    me.move()};
  const Locker last = lockers[mixed >> 52].exchange(mine, std::memory_order_acq_rel);
  if (last.moves == 0 || last.ring == mine.ring || last.mutex != mine.mutex) return;
  const Speaker& other = Link::get().speaker_of(last.ring);
  const auto is_between = [&other, &last] {
    return other.moves.load(std::memory_order_acquire) == last.moves && other.in_use.load() &&
           other.standing.load() == Standing::kRuns;
  };
  if (!is_between()) return;
  const std::int32_t thread = other.ring ? other.ring->thread.load(std::memory_order_relaxed) : 0;
  const std::int64_t cpu_end = cpu_ns_of(thread) + kHandoverCpuNs;
  const std::int64_t end = real_ns(CLOCK_MONOTONIC) + kHandoverNs;
  while (is_between() && cpu_ns_of(thread) < cpu_end && real_ns(CLOCK_MONOTONIC) < end)
    ::syscall(SYS_sched_yield);
}

void stamp(const void* object, const Moment& moment) {
  Slot* const known = find_slot(object);
  Slot& slot = known ? *known : make_slot(object);
  if (slot.ns.load(std::memory_order_relaxed) >= moment.ns) return;
  slot.lock.lock();
  if (slot.moment.ns < moment.ns) {
    slot.moment = moment;
    slot.ns.store(moment.ns, std::memory_order_release);
  }
  slot.lock.unlock();
}

void clear_stamp(const void* object) {
  Slot* const slot = find_slot(object);
  if (!slot) return;
  slot->lock.lock();
  slot->moment = {};
  slot->ns.store(0, std::memory_order_release);
  slot->lock.unlock();
}

std::int64_t stamped_ns(const void* object) {
  const Slot* const slot = find_slot(object);
  return slot ? slot->ns.load(std::memory_order_acquire) : 0;
}

void take_stamp(const void* object) {
  Slot* const slot = find_slot(object);
  if (!slot || slot->ns.load(std::memory_order_acquire) <= own_speaker->now_ns()) return;
  slot->lock.lock();
  const Moment moment = slot->moment;
  slot->lock.unlock();
  Link::get().go_on_after(moment);
}

}  // namespace flopcast::live
