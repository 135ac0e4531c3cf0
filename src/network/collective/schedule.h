// Floor 2: explicit message schedules of collectives: who sends which parts of the buffer to whom,
// round by round. Tests execute them on data to prove that they compute the collective, and their
// lockstep cost is what closed_form.h says; levels 1 and 2 of the network are made of them.
//
// The buffer is cut into `parts` equal parts. What a part is depends on the operation:
//   all_reduce, reduce_scatter   part i is summed over ranks; reduce_scatter leaves it with rank i
//   all_gather                   part i comes from rank i
//   broadcast, reduce            pieces of the root's buffer (root: rank 0)
//   all_to_all                   id s * p + d: what rank s has for rank d (1/p of the buffer)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flopcast/network/collectives.h"

namespace flopcast::network {

struct Schedule {
  struct Message {
    std::uint32_t src = 0, dst = 0;
    std::uint32_t first = 0;  ///< of `ids`
    std::uint32_t count = 0;  ///< parts it carries
    std::int32_t turn = -1;   ///< what the ids' digit changes by at every repetition
  };
  /// Messages that go at the same time, `repeat` times over. At every repetition the ids' digit of
  /// weight `place` and base `radix` changes by `turn`: rings hand on the part they just got.
  struct Round {
    std::vector<Message> messages;
    std::uint32_t repeat = 1;
    std::uint32_t place = 1, radix = 1;
    std::uint32_t latencies = 1;  ///< message latencies a repetition costs
    bool reduces = false;         ///< the receiver adds to what it has, else it takes over
  };
  unsigned ranks = 1;
  unsigned parts = 1;
  std::vector<Round> rounds;
  std::vector<std::uint32_t> ids;  ///< empty where a schedule was made for its traffic alone

  /// Id number `i` of a message in the k-th repetition of its round.
  std::uint32_t id(const Round& round, const Message& message, std::uint32_t i,
                   std::uint32_t k) const;
};

/// With or without the ids of parts: without, a ring of 8,192 ranks is 8,192 messages, with them
/// some schedules grow with the square of the ranks.
enum class Detail : std::uint8_t { kTraffic, kParts };

namespace schedules {

Schedule ring(CollectiveOp op, unsigned p, Detail detail);
/// Half of every part goes the other way around.
Schedule bidirectional_ring(CollectiveOp op, unsigned p, Detail detail);
/// Recursive halving and doubling; for all_reduce any p, else a power of two.
Schedule halving_doubling(CollectiveOp op, unsigned p, Detail detail);
/// broadcast or reduce.
Schedule binomial(CollectiveOp op, unsigned p, Detail detail);
/// broadcast or reduce down a chain in `chunks` parts.
Schedule chain(CollectiveOp op, unsigned p, unsigned chunks, Detail detail);
/// all_gather (any p), all_to_all (any p).
Schedule bruck(CollectiveOp op, unsigned p, Detail detail);
/// all_to_all, one peer a round.
Schedule pairwise(unsigned p, Detail detail);
/// Everything at once: all_to_all, all_gather, reduce_scatter, all_reduce, broadcast, reduce.
Schedule direct(CollectiveOp op, unsigned p, Detail detail);
/// all_gather and reduce_scatter as NCCL's PAT: far partners first, all aggregated.
Schedule pat(CollectiveOp op, unsigned p, Detail detail);
/// How dimension_ordered passes parts along one dimension.
enum class DimensionOrder : std::uint8_t {
  kRing,      ///< one way around
  kBothWays,  ///< half of every part each way; parts are numbered twice, see bidirectional_ring
  kDirect,    ///< to all others of the line at once
};
struct ScheduleDimension {
  unsigned size = 1;
  DimensionOrder order = DimensionOrder::kRing;
};
/// all_reduce, all_gather, reduce_scatter over dimensions, innermost first. Hierarchical (NVSwitch
/// and rails) is {chips per node, nodes}.
Schedule dimension_ordered(CollectiveOp op, std::span<const ScheduleDimension> dimensions,
                           Detail detail);
/// all_reduce in `chunks` parts over two binary trees, each with half of them; every rank sends and
/// receives at most one part a round. kTraffic: one round of all edges of both trees both ways, the
/// pipeline's steady state.
Schedule double_tree(unsigned p, unsigned chunks, Detail detail);
/// send_recv: one message from rank 0 to rank 1.
Schedule point_to_point();

}  // namespace schedules
}  // namespace flopcast::network
