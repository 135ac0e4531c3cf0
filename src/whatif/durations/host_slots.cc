#include "whatif/durations/host_slots.h"

#include <algorithm>

#include "whatif/change/stretch.h"

namespace flopcast::whatif {

using namespace replaying;

HostSlots::HostSlots(const Recording& recording, std::uint32_t rank, std::uint32_t thread,
                     Durations::Rank& durations)
    : pieces_(recording.ranks[rank].threads[thread].pieces),
      thread_(thread),
      durations_(durations),
      waits_(slots(), false),
      scale_(slots(), 1) {
  for (const SyncWait& wait : recording.sync_waits[rank].waits) {
    const Call& call = recording.ranks[rank].calls[wait.call];
    if (call.thread == thread) waits_[2 * call.first_piece + 1] = true;
  }
  for (const ThreadEdge& edge : recording.thread_edges[rank]) {
    if (edge.to_thread == thread && edge.hand_over) waits_[2 * edge.to_piece] = true;
  }
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    const Time recorded = to(slot) - from(slot);
    if (recorded > Time{} && recorded != time(slot))
      scale_[slot] = time(slot).seconds() / recorded.seconds();
  }
}

Time HostSlots::from(std::size_t slot) const {
  const std::size_t piece = slot / 2;
  if (slot % 2 == 1) return pieces_[piece].start;
  return piece == 0 ? pieces_[0].start : pieces_[piece - 1].end;
}
Time HostSlots::to(std::size_t slot) const {
  return slot % 2 == 1 ? pieces_[slot / 2].end : pieces_[slot / 2].start;
}

std::uint32_t HostSlots::before(Time at) const {
  const auto piece = std::lower_bound(pieces_.begin(), pieces_.end(), at,
                                      [](const Piece& p, Time t) { return p.end < t; });
  if (piece == pieces_.end()) return kNone;
  const auto gap = 2 * static_cast<std::uint32_t>(piece - pieces_.begin());
  const std::uint32_t slot = piece->start < at ? gap + 1 : gap;
  return from(slot) < at ? slot : kNone;
}

std::uint32_t HostSlots::after(Time at) const {
  const auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), at,
                                      [](Time t, const Piece& p) { return t < p.end; });
  if (piece == pieces_.end()) return kNone;
  const auto gap = 2 * static_cast<std::uint32_t>(piece - pieces_.begin());
  const std::uint32_t slot = piece->start <= at ? gap + 1 : gap;
  return from(slot) <= at ? slot : kNone;
}

Time HostSlots::take(std::uint32_t slot, Time cost) {
  if (slot == kNone || cost <= Time{} || waits_[slot] || scale_[slot] <= 0) return cost;
  const Time there = std::max(Time{}, time(slot));
  const Time taken = std::min(there, stretched(cost, scale_[slot]));
  time(slot) -= taken;
  return taken == there ? std::max(Time{}, cost - stretched(taken, 1 / scale_[slot])) : Time{};
}

Time HostSlots::take_between(Time begin, Time end) {
  const auto first = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                                      [](Time t, const Piece& p) { return t < p.end; });
  Time taken;
  for (auto slot = 2 * static_cast<std::uint32_t>(first - pieces_.begin());
       slot < slots() && from(slot) < end; ++slot) {
    const Time inside = std::min(to(slot), end) - std::max(from(slot), begin);
    if (inside > Time{}) taken += inside - take(slot, inside);
  }
  return taken;
}

Time HostSlots::work() const {
  Time sum;
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    if (!waits_[slot]) sum += std::max(Time{}, time(slot));
  }
  return sum;
}

void HostSlots::stretch(double k) {
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    if (!waits_[slot]) time(slot) = stretched(time(slot), k);
  }
}

}  // namespace flopcast::whatif
