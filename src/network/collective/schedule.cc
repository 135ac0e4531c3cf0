// Schedules along rings and chains, and what all schedules share.
#include "network/collective/schedule.h"

#include "network/collective/schedule_builder.h"

namespace flopcast {

using namespace network;  // the room's own names

std::uint32_t Schedule::id(const Round& round, const Message& message, std::uint32_t i,
                           std::uint32_t k) const {
  const std::uint32_t start = ids[message.first + i];
  const std::int64_t digit = start / round.place % round.radix;
  const std::int64_t radix = round.radix;
  const std::int64_t turned = (digit + std::int64_t{message.turn} * k % radix + radix) % radix;
  return static_cast<std::uint32_t>(start + (turned - digit) * round.place);
}

namespace network::schedules {
namespace {

bool starts_reduced(CollectiveOp op) {
  return op == CollectiveOp::kAllReduce || op == CollectiveOp::kReduceScatter;
}
bool ends_gathered(CollectiveOp op) {
  return op == CollectiveOp::kAllReduce || op == CollectiveOp::kAllGather;
}

}  // namespace

namespace {

/// The passes around a ring that an operation takes. Without parts a second one is the first again.
/// @param pass adds a round: whether it reduces, by how many places the part that a rank sends first lies
/// behind its own, how often it goes around.
template <typename Pass>
void ring_passes(CollectiveOp op, Detail detail, Pass pass) {
  const bool reduced = starts_reduced(op), gathered = ends_gathered(op);
  if (reduced && gathered && detail == Detail::kTraffic) return pass(false, 0U, 2U);
  // Part c starts next to rank c and, summed up on the way, comes home after p-1 hops.
  if (reduced) pass(true, 1U, 1U);
  if (gathered) pass(false, 0U, 1U);
}

}  // namespace

Schedule ring(CollectiveOp op, unsigned p, Detail detail) {
  ScheduleBuilder builder(p, p, detail);
  ring_passes(op, detail, [&](bool reduces, unsigned behind, unsigned times) {
    builder.turning_round(reduces, times * (p - 1), 1, p);
    for (unsigned r = 0; r < p; ++r) {
      builder.send(r, r + 1 == p ? 0 : r + 1, 1, [&](unsigned) { return (r + p - behind) % p; });
    }
  });
  return std::move(builder).take();
}

Schedule bidirectional_ring(CollectiveOp op, unsigned p, Detail detail) {
  ScheduleBuilder builder(p, 2 * p, detail);
  ring_passes(op, detail, [&](bool reduces, unsigned behind, unsigned times) {
    builder.turning_round(reduces, times * (p - 1), 2, p);
    for (unsigned r = 0; r < p; ++r) {
      builder.send(
          r, (r + 1) % p, 1, [&](unsigned) { return 2 * ((r + p - behind) % p); }, -1);
      builder.send(
          r, (r + p - 1) % p, 1, [&](unsigned) { return 2 * ((r + behind) % p) + 1; }, 1);
    }
  });
  return std::move(builder).take();
}

Schedule chain(CollectiveOp op, unsigned p, unsigned chunks, Detail detail) {
  ScheduleBuilder builder(p, chunks, detail);
  const bool reduces = op == CollectiveOp::kReduce;
  for (unsigned t = 0; t + 2 < p + chunks + 1; ++t) {
    builder.round(reduces);
    for (unsigned hop = 0; hop + 1 < p; ++hop) {
      if (t < hop || t - hop >= chunks) continue;
      const unsigned src = reduces ? p - 1 - hop : hop;
      const unsigned dst = reduces ? src - 1 : src + 1;
      builder.send(src, dst, 1, [&](unsigned) { return t - hop; });
    }
  }
  return std::move(builder).take();
}

namespace {

/// Reduce-scatters and all-gathers along one dimension after the other. Every part has two halves,
/// ids 2i and 2i + 1, which only rings that go both ways keep apart.
class DimensionPasses {
 public:
  DimensionPasses(std::span<const ScheduleDimension> dimensions, Detail detail)
      : dimensions_(dimensions), n_(ranks(dimensions)), builder_(n_, 2 * n_, detail) {}

  /// Parts are numbered like ranks. Before dimension i a rank holds the parts that share its
  /// coordinates below i; a message carries those of them with one coordinate i.
  void pass(std::size_t dimension, bool reduces) {
    place_ = 1;
    for (std::size_t j = 0; j < dimension; ++j) place_ *= dimensions_[j].size;
    size_ = dimensions_[dimension].size;
    if (size_ < 2) return;
    if (dimensions_[dimension].order == DimensionOrder::kDirect) {
      direct(reduces);
    } else {
      around(reduces, dimensions_[dimension].order == DimensionOrder::kBothWays);
    }
  }
  Schedule take() && { return std::move(builder_).take(); }

 private:
  static unsigned ranks(std::span<const ScheduleDimension> dimensions) {
    unsigned n = 1;
    for (const ScheduleDimension& dimension : dimensions) n *= dimension.size;
    return n;
  }
  unsigned coordinate(unsigned r) const { return r / place_ % size_; }
  unsigned with(unsigned r, unsigned x) const { return r - coordinate(r) * place_ + x * place_; }

  /// From r to its neighbour at coordinate `to`, the parts with coordinate `x`; `half` 2: both.
  void send(unsigned r, unsigned to, unsigned x, unsigned half, int turn) {
    const unsigned below = place_ * size_, parts = n_ / below, base = r % place_ + x * place_;
    const unsigned halves = half == 2 ? 2 : 1;
    builder_.send(
        r, with(r, to), halves * parts,
        [&](unsigned i) {
          const unsigned part = base + i / halves * below;
          return 2 * part + (half == 2 ? i % 2 : half);
        },
        turn);
  }

  void around(bool reduces, bool both_ways) {
    builder_.turning_round(reduces, size_ - 1, 2 * place_, size_);
    const unsigned behind = reduces ? 1 : 0;
    for (unsigned r = 0; r < n_; ++r) {
      const unsigned x = coordinate(r);
      send(r, (x + 1) % size_, (x + size_ - behind) % size_, both_ways ? 0 : 2, -1);
      if (both_ways) send(r, (x + size_ - 1) % size_, (x + behind) % size_, 1, 1);
    }
  }

  void direct(bool reduces) {
    builder_.round(reduces);
    for (unsigned r = 0; r < n_; ++r) {
      const unsigned x = coordinate(r);
      for (unsigned d = 1; d < size_; ++d) {
        const unsigned peer = (x + d) % size_;
        send(r, peer, reduces ? peer : x, 2, 0);
      }
    }
  }

  std::span<const ScheduleDimension> dimensions_;
  unsigned n_, place_ = 1, size_ = 1;
  ScheduleBuilder builder_;
};

}  // namespace

Schedule dimension_ordered(CollectiveOp op, std::span<const ScheduleDimension> dimensions,
                           Detail detail) {
  DimensionPasses passes(dimensions, detail);
  if (starts_reduced(op)) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) passes.pass(i, true);
  }
  if (ends_gathered(op)) {
    for (std::size_t i = dimensions.size(); i-- > 0;) passes.pass(i, false);
  }
  return std::move(passes).take();
}

Schedule point_to_point() {
  ScheduleBuilder builder(2, 1, Detail::kParts);
  builder.round(false);
  builder.send(0, 1, 1, [](unsigned) { return 0U; });
  return std::move(builder).take();
}

}  // namespace network::schedules
}  // namespace flopcast
