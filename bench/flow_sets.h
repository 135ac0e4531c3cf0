// Flow sets of the network benches: who sends how much to whom, when, over which links.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "flopcast/network/flows.h"

namespace flopcast::bench {

constexpr double kLinkBytesPerSecond = 50e9;
constexpr std::int64_t kLinkRate = 50'000'000'000 * 1024;

/// Two-level non-blocking fat tree, routed by destination (D-mod-k): a leaf has as many spines as
/// hosts, and a message climbs to the spine that its destination names.
struct FatTree {
  std::uint32_t hosts, leaf_hosts;

  std::uint32_t leaves() const { return hosts / leaf_hosts; }
  std::vector<Rate> capacities() const { return std::vector<Rate>(4 * hosts, Rate{kLinkRate}); }
  void route(std::uint32_t src, std::uint32_t dst, std::vector<LinkId>& path) const {
    const std::uint32_t from = src / leaf_hosts, to = dst / leaf_hosts, spine = dst % leaf_hosts;
    path.push_back(src);
    if (from != to) {
      path.push_back(2 * hosts + from * leaf_hosts + spine);
      path.push_back(3 * hosts + to * leaf_hosts + spine);
    }
    path.push_back(hosts + dst);
  }
};
inline FatTree fat_tree(std::uint32_t hosts) {
  std::uint32_t leaf = 1;
  while (leaf * leaf < hosts) leaf *= 2;
  return {hosts, leaf};
}

struct FlowSet {
  std::uint32_t hosts = 0;
  std::vector<std::uint32_t> src, dst;
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> start_ps;
  std::vector<std::uint32_t> after_begin{0}, after;  ///< rows of dependencies
  std::vector<Rate> capacities;
  std::vector<std::uint32_t> path_begin{0};
  std::vector<LinkId> links;

  std::size_t size() const { return src.size(); }
  void add(std::uint32_t from, std::uint32_t to, std::int64_t size, std::int64_t start) {
    src.push_back(from);
    dst.push_back(to);
    bytes.push_back(size);
    start_ps.push_back(start);
    after_begin.push_back(static_cast<std::uint32_t>(after.size()));
  }
  void wait_for(std::uint32_t flow) {
    after.push_back(flow);
    ++after_begin.back();
  }
  void route_over(const FatTree& tree) {
    capacities = tree.capacities();
    links.clear();
    path_begin.assign(1, 0);
    for (std::size_t i = 0; i < size(); ++i) {
      tree.route(src[i], dst[i], links);
      path_begin.push_back(static_cast<std::uint32_t>(links.size()));
    }
  }
};

inline std::int64_t to_ps(double seconds) { return std::llround(seconds * 1e12); }

/// Steps of a ring: a rank sends when its last message has left and the one before it has arrived.
/// @param jitter_ps ranks start within this time.
inline FlowSet ring(std::uint32_t ranks, std::uint32_t steps, std::int64_t jitter_ps) {
  FlowSet set;
  set.hosts = ranks;
  std::mt19937_64 random(1);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      // No step takes less than 20 us, so the start of later ones says nothing new; it tells
      // run_set() when they may be submitted.
      std::int64_t start = step * std::int64_t{20'000'000};
      if (step == 0 && jitter_ps > 0) start = static_cast<std::int64_t>(random() % jitter_ps);
      set.add(rank, (rank + 1) % ranks, 1'000'000, start);
      if (step == 0) continue;
      set.wait_for((step - 1) * ranks + rank);
      set.wait_for((step - 1) * ranks + (rank + ranks - 1) % ranks);
    }
  }
  set.route_over(fat_tree(ranks));
  return set;
}

/// Poisson arrivals between random pairs, exponential sizes of 1 MB on average.
/// @param load of a host's link.
inline FlowSet random_pairs(std::uint32_t hosts, std::uint32_t flows, double load) {
  FlowSet set;
  set.hosts = hosts;
  std::mt19937_64 random(2);
  const auto uniform = [&] {
    return (static_cast<double>(random() >> 11) + 0.5) / 9007199254740992.0;
  };
  const double gap = 1e6 / (kLinkBytesPerSecond * load * hosts);
  double time = 0;
  for (std::uint32_t i = 0; i < flows; ++i) {
    time -= gap * std::log(uniform());
    const auto from = static_cast<std::uint32_t>(random() % hosts);
    auto to = static_cast<std::uint32_t>(random() % (hosts - 1));
    if (to >= from) ++to;
    set.add(from, to, 1 + static_cast<std::int64_t>(-1e6 * std::log(uniform())), to_ps(time));
  }
  set.route_over(fat_tree(hosts));
  return set;
}

/// Every host sends `waves` times 1 MB to a random host that nobody else sends to, all at once but
/// for 1 us.
inline FlowSet permutations(std::uint32_t hosts, std::uint32_t waves) {
  FlowSet set;
  set.hosts = hosts;
  std::mt19937_64 random(3);
  std::vector<std::uint32_t> to(hosts);
  for (std::uint32_t wave = 0; wave < waves; ++wave) {
    std::iota(to.begin(), to.end(), 0U);
    for (std::uint32_t i = hosts; i > 1; --i) std::swap(to[i - 1], to[random() % i]);
    for (std::uint32_t i = 0; i < hosts; ++i) {
      if (to[i] != i) set.add(i, to[i], 1'000'000, static_cast<std::int64_t>(random() % 1'000'000));
    }
  }
  set.route_over(fat_tree(hosts));
  return set;
}

/// @param spread_ps flows start at random within this time.
inline FlowSet all_to_all(std::uint32_t hosts, std::int64_t spread_ps) {
  FlowSet set;
  set.hosts = hosts;
  std::mt19937_64 random(4);
  for (std::uint32_t i = 0; i < hosts; ++i) {
    for (std::uint32_t j = 0; j < hosts; ++j) {
      const auto start =
          spread_ps > 0
              ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread_ps))
              : 0;
      if (i != j) set.add(i, j, 1'000'000, start);
    }
  }
  set.route_over(fat_tree(hosts));
  return set;
}

/// Submits flows of a set, in an order that puts a flow after what it waits for.
class Submitter {
 public:
  Submitter(FlowSimulator& simulator, const FlowSet& set)
      : simulator_(simulator), set_(set), ids_(set.size()) {}
  void operator()(std::size_t flow) {
    path_.clear();
    for (std::uint32_t l = set_.path_begin[flow]; l < set_.path_begin[flow + 1]; ++l) {
      path_.push_back({set_.links[l], 1});
    }
    after_.clear();
    for (std::uint32_t a = set_.after_begin[flow]; a < set_.after_begin[flow + 1]; ++a) {
      after_.push_back(ids_[set_.after[a]]);
    }
    FlowSpec spec;
    spec.path = path_;
    spec.bytes = set_.bytes[flow];
    spec.after = after_;
    ids_[flow] = simulator_.submit(spec, {set_.start_ps[flow]}).value();
  }

 private:
  FlowSimulator& simulator_;
  const FlowSet& set_;
  std::vector<FlowId> ids_, after_;
  std::vector<LinkUse> path_;
};

/// Flows by start: flow i of the result is the one with FlowId i in run_set().
inline std::vector<std::uint32_t> by_start(const FlowSet& set) {
  std::vector<std::uint32_t> order(set.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return set.start_ps[a] < set.start_ps[b];
  });
  return order;
}

/// Runs a set up to a time. Flows are submitted shortly before they start, the horizon follows.
inline void run_set(FlowSimulator& simulator, const FlowSet& set, std::int64_t until_ps) {
  Submitter submit(simulator, set);
  const std::vector<std::uint32_t> order = by_start(set);
  constexpr std::size_t kAtOnce = 16;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t start = set.start_ps[order[i]];
    if (i % kAtOnce == 0 && start > simulator.now().ps + 1) {
      simulator.advance({std::min(start - 1, until_ps)});
      simulator.set_horizon(simulator.now());
    }
    if (start > until_ps) break;
    submit(order[i]);
  }
  constexpr std::int64_t kSlice = 20'000'000;
  while (simulator.now().ps < until_ps) {
    const Time next{until_ps - simulator.now().ps > kSlice ? simulator.now().ps + kSlice
                                                           : until_ps};
    const std::uint64_t events = simulator.work().events;
    simulator.advance(next);
    simulator.set_horizon(simulator.now());
    if (simulator.work().events == events) break;
  }
  simulator.advance({until_ps});
}

}  // namespace flopcast::bench
