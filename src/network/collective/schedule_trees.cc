// Schedules along trees.
#include <algorithm>

#include "flopcast/network/closed_form.h"
#include "network/collective/schedule.h"
#include "network/collective/schedule_builder.h"

namespace flopcast::network::schedules {

using closed_form::ceil_log2;

Schedule binomial(CollectiveOp op, unsigned p, Detail detail) {
  ScheduleBuilder builder(p, 1, detail);
  const bool in = op == CollectiveOp::kReduce;
  const unsigned rounds = ceil_log2(p);
  for (unsigned i = 0; i < rounds; ++i) {
    const unsigned d = 1U << (in ? rounds - 1 - i : i);
    builder.round(in);
    for (unsigned r = 0; r < d && r + d < p; ++r) {
      builder.send(in ? r + d : r, in ? r : r + d, 1, [](unsigned) { return 0U; });
    }
  }
  return std::move(builder).take();
}

namespace {

/// A binary tree over 0 .. p-1 in which the odd are leaves; 0 is the root. The parent of r is the
/// neighbour at the distance of r's lowest bit whose own lowest bit is the next higher one.
unsigned parent_in_tree(unsigned r, unsigned p) {
  const unsigned bit = r & (~r + 1);
  const unsigned up = r & (bit << 1) ? r - bit : r + bit;
  return up < p ? up : r - bit;
}

/// The second tree is the first one's mirror image (p even) or shifted by one (p odd), so that
/// inner ranks of one are leaves of the other (Sanders, Speck, Traff 2009).
unsigned rank_in_tree(unsigned node, unsigned tree, unsigned p) {
  if (tree == 0) return node;
  return p % 2 == 0 ? p - 1 - node : (node + 1) % p;
}

Schedule tree_traffic(unsigned p) {
  ScheduleBuilder builder(p, 2, Detail::kTraffic);
  builder.round(false).latencies = 2 * ceil_log2(p);
  for (unsigned tree = 0; tree < 2; ++tree) {
    for (unsigned node = 1; node < p; ++node) {
      const unsigned child = rank_in_tree(node, tree, p);
      const unsigned parent = rank_in_tree(parent_in_tree(node, p), tree, p);
      builder.send(child, parent, 1, [](unsigned) { return 0U; });
      builder.send(parent, child, 1, [](unsigned) { return 0U; });
    }
  }
  return std::move(builder).take();
}

/// Sends whatever is ready, oldest part first, one part out and one in per rank and round.
class TreePipeline {
 public:
  TreePipeline(unsigned p, unsigned chunks)
      : p_(p),
        chunks_(chunks),
        builder_(p, chunks, Detail::kParts),
        waiting_(chunks * p),
        state_(chunks * p, State::kCollecting) {
    for (unsigned c = 0; c < chunks; ++c) {
      for (unsigned node = 1; node < p; ++node) ++waiting_[c * p + parent_in_tree(node, p)];
    }
  }

  Schedule run() && {
    while (done_ < chunks_ * (p_ - 1)) {
      // Sums go up in one round, results down in the next: a round either reduces or copies.
      step(true);
      step(false);
    }
    return std::move(builder_).take();
  }

 private:
  enum class State : std::uint8_t { kCollecting, kSent, kHasResult };

  bool ready(unsigned c, unsigned node, bool up) const {
    const unsigned parent = parent_in_tree(node, p_);
    if (up) return state_[c * p_ + node] == State::kCollecting && waiting_[c * p_ + node] == 0;
    const bool at_root = parent == 0 && waiting_[c * p_] == 0;
    return state_[c * p_ + node] == State::kSent &&
           (at_root || state_[c * p_ + parent] == State::kHasResult);
  }

  void step(bool up) {
    builder_.round(up);
    std::vector<bool> sends(p_), receives(p_);
    std::vector<std::pair<unsigned, unsigned>> moved;
    for (unsigned c = 0; c < chunks_; ++c) {
      for (unsigned node = 1; node < p_; ++node) {
        if (!ready(c, node, up)) continue;
        const unsigned child = rank_in_tree(node, c % 2, p_);
        const unsigned parent = rank_in_tree(parent_in_tree(node, p_), c % 2, p_);
        const unsigned src = up ? child : parent, dst = up ? parent : child;
        if (sends[src] || receives[dst]) continue;
        sends[src] = receives[dst] = true;
        builder_.send(src, dst, 1, [&](unsigned) { return c; });
        moved.emplace_back(c, node);
      }
    }
    for (const auto& [c, node] : moved) finish(c, node, up);
  }

  void finish(unsigned c, unsigned node, bool up) {
    if (up) {
      --waiting_[c * p_ + parent_in_tree(node, p_)];
      state_[c * p_ + node] = State::kSent;
    } else {
      state_[c * p_ + node] = State::kHasResult;
      ++done_;
    }
  }

  unsigned p_, chunks_;
  ScheduleBuilder builder_;
  std::vector<unsigned> waiting_;  // children whose sum has not come, by part and tree node
  std::vector<State> state_;
  unsigned done_ = 0;
};

}  // namespace

Schedule double_tree(unsigned p, unsigned chunks, Detail detail) {
  return detail == Detail::kTraffic ? tree_traffic(p) : TreePipeline(p, chunks).run();
}

}  // namespace flopcast::network::schedules
