#include "live/standin/link/not_ended.h"

#include <mutex>
#include <unordered_map>

#include "live/standin/link/link.h"
#include "live/standin/link/spinlock.h"

namespace flopcast::live {
namespace {

/// So often an answer serves for others.
constexpr int kServes = 64;

struct First {
  std::uint64_t order = 0;
  std::int64_t shown_ns = 0;
  int serves = 0;
};

struct Streams {
  Spinlock lock;
  std::unordered_map<std::uint64_t, First> first;  // event of each that is known not to have ended
};

Streams& streams() {
  static Streams& all = *new Streams;  // threads ask while the process ends
  return all;
}

}  // namespace

std::int64_t shown_to_watchdogs() {
  return Link::get().watch().now_ns.load(std::memory_order_acquire);
}

bool has_not_ended(const EventPlace& place) {
  Streams& all = streams();
  const std::lock_guard guard(all.lock);
  const auto found = all.first.find(place.stream);
  if (found == all.first.end()) return false;
  First& first = found->second;
  return first.order < place.order && first.shown_ns == shown_to_watchdogs() && first.serves-- > 0;
}

void note_not_ended(const EventPlace& place, std::int64_t shown_ns) {
  Streams& all = streams();
  const std::lock_guard guard(all.lock);
  First& first = all.first[place.stream];
  const bool ahead = first.shown_ns == shown_ns && first.serves > 0 && first.order < place.order;
  if (!ahead) first = {place.order, shown_ns, kServes};
}

}  // namespace flopcast::live
