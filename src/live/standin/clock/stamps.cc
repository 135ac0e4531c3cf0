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

}  // namespace

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
