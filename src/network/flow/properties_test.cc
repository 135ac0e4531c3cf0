// What must hold whatever the flows: conservation, saturation, and that the result is a function of
// the flows, not of the order of calls or of what was thrown away.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "flopcast/network/flows.h"

namespace flopcast::network {
namespace {

constexpr std::int64_t kGigabyte = 1'024'000'000'000;  // per second

struct Flow {
  std::vector<LinkUse> path;
  std::int64_t bytes, start;
};
struct Problem {
  std::vector<Rate> links;
  std::vector<Flow> flows;
};

/// Flows of about 1 ms over 1 to 4 links of 10 to 60 GB/s.
Problem make(std::uint64_t seed, std::size_t links, std::size_t flows) {
  std::mt19937_64 random(seed);
  Problem problem;
  for (std::size_t l = 0; l < links; ++l) {
    problem.links.push_back({static_cast<std::int64_t>(10 + random() % 51) * kGigabyte});
  }
  for (std::size_t f = 0; f < flows; ++f) {
    Flow flow{{},
              1 + static_cast<std::int64_t>(random() % 40'000'000),
              static_cast<std::int64_t>(random() % 2'000'000'000)};
    std::vector<LinkId> order(links);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    for (std::size_t i = 0; i < 1 + random() % 4; ++i) {
      flow.path.push_back({order[i], random() % 8 == 0 ? 3U : 1U});
    }
    problem.flows.push_back(flow);
  }
  return problem;
}

FlowId submit(FlowSimulator& simulator, const Flow& flow) {
  FlowSpec spec;
  spec.path = flow.path;
  spec.bytes = flow.bytes;
  return simulator.submit(spec, {flow.start}).value();
}

std::vector<Time> ends_in_order(const Problem& problem) {
  FlowSimulator simulator(problem.links);
  for (const Flow& flow : problem.flows) submit(simulator, flow);
  simulator.advance();
  std::vector<Time> ends;
  for (FlowId f = 0; f < problem.flows.size(); ++f) ends.push_back(simulator.query(f).end);
  return ends;
}

/// Links carry what their flows send, within capacity; every flow is held back on a link that is full
/// to the last share and where nobody is faster.
void expect_fair(const FlowSimulator& simulator, const Problem& problem) {
  std::vector<std::int64_t> used(problem.links.size()), fastest(used.size()), weight(used.size());
  for (FlowId f = 0; f < problem.flows.size(); ++f) {
    const FlowStatus status = simulator.query(f);
    if (status.phase != FlowPhase::kActive) continue;
    for (const LinkUse& use : problem.flows[f].path) {
      used[use.link] += status.rate.value * use.weight;
      weight[use.link] += use.weight;
      fastest[use.link] = std::max(fastest[use.link], status.rate.value);
    }
  }
  for (LinkId l = 0; l < used.size(); ++l) {
    ASSERT_EQ(simulator.link_rate(l).value, used[l]);
    ASSERT_LE(used[l], problem.links[l].value);
  }
  for (FlowId f = 0; f < problem.flows.size(); ++f) {
    const FlowStatus status = simulator.query(f);
    if (status.phase != FlowPhase::kActive) continue;
    const auto& path = problem.flows[f].path;
    ASSERT_TRUE(std::any_of(path.begin(), path.end(),
                            [&](const LinkUse& use) {
                              return status.rate.value == fastest[use.link] &&
                                     problem.links[use.link].value - used[use.link] <
                                         weight[use.link];
                            }))
        << "flow " << f;
  }
}

TEST(FlowProperties, FairAtEveryMoment) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem problem = make(seed, 12, 40);
    FlowSimulator simulator(problem.links);
    for (const Flow& flow : problem.flows) submit(simulator, flow);
    for (int i = 1; i <= 100; ++i) {
      simulator.advance({i * std::int64_t{40'000'000}});
      expect_fair(simulator, problem);
      if (HasFatalFailure()) return;
    }
  }
}

/// The integral of a flow's rate is its size: no more than what the last picosecond carries on top.
TEST(FlowProperties, RatesAddUpToTheSize) {
  const Problem problem = make(1, 8, 30);
  FlowSimulator simulator(problem.links);
  for (const Flow& flow : problem.flows) submit(simulator, flow);
  simulator.advance();
  std::vector<std::int64_t> times;
  for (FlowId f = 0; f < problem.flows.size(); ++f) {
    times.push_back(simulator.query(f).start.ps);
    times.push_back(simulator.query(f).end.ps);
  }
  std::sort(times.begin(), times.end());
  __extension__ using Wide = __int128;
  for (FlowId f = 0; f < problem.flows.size(); ++f) {
    Wide work = 0;
    std::int64_t last_rate = 0;
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
      const std::int64_t rate = simulator.query(f, {times[i]}).rate.value;
      work += Wide{rate} * (times[i + 1] - times[i]);
      if (rate != 0) last_rate = rate;
    }
    const Wide size = Wide{1024} * 1'000'000'000'000 * problem.flows[f].bytes;
    EXPECT_GE(work, size);
    EXPECT_LT(work, size + last_rate);
  }
}

TEST(FlowProperties, OrderOfSubmissionDoesNotMatter) {
  const Problem problem = make(2, 10, 60);
  const std::vector<Time> ends = ends_in_order(problem);
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::size_t> order(problem.flows.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    FlowSimulator::Options options;
    options.repair = round % 2 == 0;
    FlowSimulator simulator(problem.links, options);
    for (std::size_t i = 0; i < order.size(); ++i) {
      submit(simulator, problem.flows[order[i]]);
      if (random() % 3 == 0) simulator.advance({static_cast<std::int64_t>(i) * 60'000'000});
    }
    simulator.advance();
    for (std::size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(simulator.query(static_cast<FlowId>(i)).end, ends[order[i]]) << "round " << round;
    }
  }
}

/// Everybody to everybody over a two-level tree, unsynchronised: the regions grow to everything.
Problem make_all_to_all(std::uint64_t seed, std::uint32_t hosts, std::uint32_t leaf_hosts) {
  std::mt19937_64 random(seed);
  Problem problem;
  // Up from hosts, down to hosts, up from leaves, down to leaves.
  problem.links.assign(4 * std::size_t{hosts}, Rate{50 * kGigabyte});
  for (std::uint32_t from = 0; from < hosts; ++from) {
    for (std::uint32_t to = 0; to < hosts; ++to) {
      if (from == to) continue;
      Flow flow{{{from, 1}}, 1'000'000, static_cast<std::int64_t>(random() % 40'000'000)};
      const std::uint32_t leaf = from / leaf_hosts, other = to / leaf_hosts;
      const std::uint32_t spine = static_cast<std::uint32_t>(random() % leaf_hosts);
      if (leaf != other) {
        flow.path.push_back({2 * hosts + leaf * leaf_hosts + spine, 1});
        flow.path.push_back({3 * hosts + other * leaf_hosts + spine, 1});
      }
      flow.path.push_back({hosts + to, 1});
      problem.flows.push_back(flow);
    }
  }
  return problem;
}

/// Submits the flows, every fourth of them late, and looks at all rates on the way.
std::vector<std::int64_t> rates_of(const Problem& problem, const FlowSimulator::Options& options) {
  FlowSimulator simulator(problem.links, options);
  std::vector<std::int64_t> rates;
  for (std::size_t f = 0; f < problem.flows.size(); ++f) {
    if (f % 4 != 0) submit(simulator, problem.flows[f]);
  }
  std::size_t next = 0;
  for (std::int64_t time = 0; time <= 400'000'000; time += 7'000'000) {
    simulator.advance({time});
    for (int i = 0; i < 3 && next < problem.flows.size(); ++i, next += 4) {
      submit(simulator, problem.flows[next]);
    }
    for (FlowId f = 0; f < problem.flows.size() * 3 / 4; ++f) {
      rates.push_back(simulator.query(f).rate.value);
      if (f % 16 == 0) rates.push_back(simulator.query(f, {time / 2}).rate.value);
    }
  }
  simulator.advance();
  for (FlowId f = 0; f < problem.flows.size(); ++f) rates.push_back(simulator.query(f).end.ps);
  return rates;
}

TEST(FlowProperties, PoolsOfDenseTrafficHaveTheRatesOfTheFullSolve) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Problem problem = make_all_to_all(seed, 16, 4);
    FlowSimulator::Options full, pools;
    full.solver = FlowSimulator::Solver::kFull;
    pools.solver = FlowSimulator::Solver::kPools;
    const std::vector<std::int64_t> expected = rates_of(problem, full);
    EXPECT_EQ(rates_of(problem, {}), expected);
    EXPECT_EQ(rates_of(problem, pools), expected);
  }
}

TEST(FlowProperties, TheHorizonDoesNotMatter) {
  std::uint64_t late = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Problem problem = make(seed, 10, 80);
    const std::vector<Time> ends = ends_in_order(problem);
    FlowSimulator simulator(problem.links);
    std::vector<std::size_t> order(problem.flows.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return problem.flows[a].start < problem.flows[b].start;
    });
    for (const std::size_t f : order) {
      // Late by up to 0.1 ms, the horizon right behind.
      simulator.advance({problem.flows[f].start + 100'000'000});
      simulator.set_horizon({problem.flows[f].start});
      submit(simulator, problem.flows[f]);
    }
    simulator.advance();
    for (std::size_t i = 0; i < order.size(); ++i) {
      EXPECT_EQ(simulator.query(static_cast<FlowId>(i)).end, ends[order[i]]);
    }
    late += simulator.work().repairs + simulator.work().rollbacks;
  }
  EXPECT_GT(late, 100U);
}

}  // namespace
}  // namespace flopcast::network
