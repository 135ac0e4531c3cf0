// Every schedule is executed on data for all rank counts up to 17, and its cost in lockstep is the
// closed form.
#include "network/collective/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "network/collective/testing.h"

namespace flopcast::network {
namespace {

using Op = CollectiveOp;
using closed_form::Hop;

constexpr unsigned kMost = 17;
constexpr Hop kWire{{2e-6}, {50e9}};
constexpr Bytes kBuffer{8e6};

bool power_of_two(unsigned p) { return (p & (p - 1)) == 0; }

/// data[rank][id]: the sum of 2^r over the ranks r whose contribution is in it.
using Data = std::vector<std::vector<std::uint64_t>>;

unsigned id_count(const Schedule& schedule, Op op) {
  return op == Op::kAllToAll ? schedule.parts * schedule.ranks : schedule.parts;
}

/// Which rank's own part `id` is, in operations that spread the buffer over ranks.
unsigned owner(const Schedule& schedule, unsigned id) {
  return id / (schedule.parts / schedule.ranks);
}

Data initial(const Schedule& schedule, Op op) {
  Data data(schedule.ranks, std::vector<std::uint64_t>(id_count(schedule, op), 0));
  for (unsigned r = 0; r < schedule.ranks; ++r) {
    for (unsigned id = 0; id < data[r].size(); ++id) {
      const bool mine = op == Op::kAllGather   ? owner(schedule, id) == r
                        : op == Op::kBroadcast ? r == 0
                        : op == Op::kAllToAll  ? id / schedule.ranks == r
                                               : true;
      if (mine) data[r][id] = std::uint64_t{1} << r;
    }
  }
  return data;
}

/// All messages of a repetition read what was there before it.
void execute(const Schedule& schedule, Data& data) {
  for (const Schedule::Round& round : schedule.rounds) {
    for (std::uint32_t k = 0; k < round.repeat; ++k) {
      const Data before = data;
      for (const Schedule::Message& message : round.messages) {
        for (std::uint32_t i = 0; i < message.count; ++i) {
          const std::uint32_t id = schedule.id(round, message, i, k);
          const std::uint64_t value = before[message.src][id];
          ASSERT_NE(value, 0U) << "rank " << message.src << " sends part " << id << " it lacks";
          data[message.dst][id] = round.reduces ? data[message.dst][id] + value : value;
        }
      }
    }
  }
}

void expect_result(const Schedule& schedule, Op op, const Data& data, const std::string& what) {
  const unsigned p = schedule.ranks;
  const std::uint64_t all = (std::uint64_t{1} << p) - 1;
  for (unsigned r = 0; r < p; ++r) {
    for (unsigned id = 0; id < data[r].size(); ++id) {
      const bool checked = op == Op::kReduceScatter ? owner(schedule, id) == r
                           : op == Op::kReduce      ? r == 0
                           : op == Op::kAllToAll    ? id % p == r
                                                    : true;
      if (!checked) continue;
      const std::uint64_t want = op == Op::kAllGather   ? std::uint64_t{1} << owner(schedule, id)
                                 : op == Op::kBroadcast ? 1
                                 : op == Op::kAllToAll  ? std::uint64_t{1} << id / p
                                                        : all;
      ASSERT_EQ(data[r][id], want) << what << " p=" << p << " rank " << r << " part " << id;
    }
  }
}

/// How messages share the network.
enum class Ports { kSwitch, kFullyConnected };

/// Rounds one after the other; the slowest port (or link) of a round paces it.
Seconds lockstep(const Schedule& schedule, Bytes size, const Hop& hop, Ports ports) {
  Seconds total;
  for (const Schedule::Round& round : schedule.rounds) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> load;
    double most = 0;
    const auto add = [&](std::uint32_t from, std::uint32_t to, double parts) {
      most = std::max(most, load[{from, to}] += parts);
    };
    constexpr std::uint32_t kPort = UINT32_MAX;
    for (const Schedule::Message& message : round.messages) {
      if (ports == Ports::kFullyConnected) {
        add(message.src, message.dst, message.count);
      } else {
        add(message.src, kPort, message.count);
        add(kPort, message.dst, message.count);
      }
    }
    const Seconds once =
        hop.latency * round.latencies + size * (most / schedule.parts) / hop.bandwidth;
    total += round.repeat * once;
  }
  return total;
}

struct Case {
  const char* what;
  Op op;
  std::function<bool(unsigned)> applies;
  std::function<Schedule(unsigned, Detail)> make;
  std::function<Seconds(unsigned)> closed;  ///< empty: none
  Ports ports = Ports::kSwitch;
};

bool any(unsigned) { return true; }

std::vector<Case> cases() {
  namespace s = schedules;
  namespace c = closed_form;
  const auto of = [](auto make, Op op) {
    return [=](unsigned p, Detail d) { return make(op, p, d); };
  };
  const auto time = [](auto form) { return [=](unsigned p) { return form(p, kBuffer, kWire); }; };
  const auto twice = [](auto form) {
    return [=](unsigned p) { return 2 * form(p, kBuffer, kWire); };
  };
  return {
      {"ring", Op::kReduceScatter, any, of(s::ring, Op::kReduceScatter), time(c::ring_pass)},
      {"ring", Op::kAllGather, any, of(s::ring, Op::kAllGather), time(c::ring_pass)},
      {"ring", Op::kAllReduce, any, of(s::ring, Op::kAllReduce), time(c::ring_all_reduce)},
      {"two-way ring", Op::kAllReduce, [](unsigned p) { return p > 2; },
       of(s::bidirectional_ring, Op::kAllReduce), time(c::bidirectional_ring_all_reduce),
       Ports::kFullyConnected},
      {"two-way ring", Op::kAllGather, [](unsigned p) { return p > 2; },
       of(s::bidirectional_ring, Op::kAllGather), time(c::bidirectional_ring_pass),
       Ports::kFullyConnected},
      {"halving", Op::kReduceScatter, power_of_two, of(s::halving_doubling, Op::kReduceScatter),
       time(c::halving_pass)},
      {"doubling", Op::kAllGather, power_of_two, of(s::halving_doubling, Op::kAllGather),
       time(c::halving_pass)},
      {"halving-doubling", Op::kAllReduce, any, of(s::halving_doubling, Op::kAllReduce),
       time(c::halving_doubling_all_reduce)},
      {"binomial", Op::kBroadcast, any, of(s::binomial, Op::kBroadcast), time(c::binomial_tree)},
      {"binomial", Op::kReduce, any, of(s::binomial, Op::kReduce), time(c::binomial_tree)},
      {"chain", Op::kBroadcast, any,
       [](unsigned p, Detail d) { return schedules::chain(Op::kBroadcast, p, 16, d); },
       [](unsigned p) { return closed_form::chain(p, kBuffer, kWire, 16); }},
      {"chain", Op::kReduce, any,
       [](unsigned p, Detail d) { return schedules::chain(Op::kReduce, p, 5, d); },
       [](unsigned p) { return closed_form::chain(p, kBuffer, kWire, 5); }},
      {"Bruck", Op::kAllGather, any, of(s::bruck, Op::kAllGather), time(c::bruck_all_gather)},
      {"Bruck", Op::kAllToAll, power_of_two, of(s::bruck, Op::kAllToAll),
       time(c::bruck_all_to_all)},
      {"Bruck", Op::kAllToAll, any, of(s::bruck, Op::kAllToAll), {}},
      {"pairwise", Op::kAllToAll, any, s::pairwise, time(c::pairwise_all_to_all)},
      {"direct", Op::kAllToAll, any, of(s::direct, Op::kAllToAll), time(c::direct_pass)},
      {"direct", Op::kAllGather, any, of(s::direct, Op::kAllGather), time(c::direct_pass)},
      {"direct", Op::kReduceScatter, any, of(s::direct, Op::kReduceScatter), time(c::direct_pass)},
      {"direct", Op::kAllReduce, any, of(s::direct, Op::kAllReduce), twice(c::direct_pass)},
      {"fully connected", Op::kAllReduce, any, of(s::direct, Op::kAllReduce),
       twice(c::fully_connected_pass), Ports::kFullyConnected},
      {"fully connected", Op::kAllToAll, any, of(s::direct, Op::kAllToAll),
       time(c::fully_connected_pass), Ports::kFullyConnected},
      {"direct", Op::kBroadcast, any, of(s::direct, Op::kBroadcast), {}},
      {"direct", Op::kReduce, any, of(s::direct, Op::kReduce), {}},
      {"PAT", Op::kAllGather, any, of(s::pat, Op::kAllGather), time(c::bruck_all_gather)},
      {"PAT", Op::kReduceScatter, any, of(s::pat, Op::kReduceScatter), time(c::bruck_all_gather)},
      {"double tree",
       Op::kAllReduce,
       any,
       [](unsigned p, Detail) { return schedules::double_tree(p, 8, Detail::kParts); },
       {}},
  };
}

TEST(Schedule, EveryScheduleComputesItsCollective) {
  for (const Case& c : cases()) {
    for (unsigned p = 2; p <= kMost; ++p) {
      if (!c.applies(p)) continue;
      const Schedule schedule = c.make(p, Detail::kParts);
      ASSERT_EQ(schedule.ranks, p);
      Data data = initial(schedule, c.op);
      SCOPED_TRACE(std::string(c.what) + " " + std::string(name(c.op)));
      execute(schedule, data);
      expect_result(schedule, c.op, data, c.what);
    }
  }
}

TEST(Schedule, LockstepCostIsTheClosedForm) {
  for (const Case& c : cases()) {
    if (!c.closed) continue;
    for (unsigned p = 2; p <= kMost; ++p) {
      if (!c.applies(p)) continue;
      const double want = c.closed(p).value;
      for (const Detail detail : {Detail::kParts, Detail::kTraffic}) {
        const double cost = lockstep(c.make(p, detail), kBuffer, kWire, c.ports).value;
        EXPECT_NEAR(cost, want, 1e-12 * want) << c.what << " " << name(c.op) << " p=" << p;
      }
    }
  }
}

TEST(Schedule, DimensionOrderComputesAndCostsWhatBlueConnectSays) {
  using Order = schedules::DimensionOrder;
  const std::vector<std::vector<schedules::ScheduleDimension>> shapes = {
      {{4}, {4}},
      {{2}, {3}, {4}},
      {{5}, {2}},
      {{1}, {7}},
      {{8}, {2}, {1}},
      {{4, Order::kDirect}, {3}},
      {{2}, {4, Order::kDirect}}};
  for (const auto& sizes : shapes) {
    double pass = 0;
    Bytes left = kBuffer;
    for (const auto& [size, order] : sizes) {
      // On a switch direct sends take as long as a ring's transfers, at one latency.
      const auto kind = order == Order::kDirect ? closed_form::Dimension::kFullyConnected
                                                : closed_form::Dimension::kRing;
      const closed_form::DimensionHop hop{size, kWire, kind};
      pass += closed_form::dimension_ordered_pass(left, std::array{hop}).value;
      left = left / size;
    }
    for (const Op op : {Op::kReduceScatter, Op::kAllGather, Op::kAllReduce}) {
      const Schedule schedule = schedules::dimension_ordered(op, sizes, Detail::kParts);
      Data data = initial(schedule, op);
      execute(schedule, data);
      expect_result(schedule, op, data, "dimension order");
      const double want = op == Op::kAllReduce ? 2 * pass : pass;
      EXPECT_NEAR(lockstep(schedule, kBuffer, kWire, Ports::kSwitch).value, want, 1e-12 * want);
    }
  }
}

TEST(Schedule, BothWaysAroundATorusUseHalfTheTime) {
  using Order = schedules::DimensionOrder;
  const std::vector<schedules::ScheduleDimension> sizes = {{4, Order::kBothWays},
                                                           {3, Order::kBothWays}};
  const Schedule schedule = schedules::dimension_ordered(Op::kAllReduce, sizes, Detail::kParts);
  Data data = initial(schedule, Op::kAllReduce);
  execute(schedule, data);
  expect_result(schedule, Op::kAllReduce, data, "torus");
  const Hop both{kWire.latency, kWire.bandwidth * 2};
  const std::array hops = {closed_form::DimensionHop{4, both}, closed_form::DimensionHop{3, both}};
  const double want = closed_form::dimension_ordered_all_reduce(kBuffer, hops).value;
  EXPECT_NEAR(lockstep(schedule, kBuffer, kWire, Ports::kFullyConnected).value, want, 1e-12 * want);
}

/// Links of a ring of p in both directions; messages take the shorter way, halves of a message to
/// the antipode one way each.
double ring_link_load(const Schedule& schedule) {
  const unsigned p = schedule.ranks;
  std::vector<double> up(p), down(p);
  const auto walk = [&](std::vector<double>& links, unsigned from, unsigned hops, double amount,
                        int step) {
    for (unsigned i = 0; i < hops; ++i, from = (from + p + static_cast<unsigned>(step)) % p) {
      links[from] += amount;
    }
  };
  for (const Schedule::Message& m : schedule.rounds[0].messages) {
    const unsigned forward = (m.dst + p - m.src) % p, back = p - forward;
    const double ahead = forward < back ? 1 : forward > back ? 0 : 0.5;
    if (ahead > 0) walk(up, m.src, forward, ahead * m.count, 1);
    if (ahead < 1) walk(down, m.src, back, (1 - ahead) * m.count, -1);
  }
  return std::max(*std::ranges::max_element(up), *std::ranges::max_element(down));
}

TEST(Schedule, AllToAllOnARingLoadsItsLinksAsTheFormulaSays) {
  for (unsigned p = 2; p <= kMost; ++p) {
    const Schedule schedule = schedules::direct(Op::kAllToAll, p, Detail::kTraffic);
    const double bytes = ring_link_load(schedule) * kBuffer.value / p;
    const double want =
        closed_form::ring_all_to_all_transfer(p, kBuffer, kWire.bandwidth, true).value;
    EXPECT_NEAR(bytes / kWire.bandwidth.value, want, 1e-12 * want) << p;
  }
}

TEST(Schedule, DoubleTreePipelineApproachesItsClosedForm) {
  for (unsigned p = 2; p <= kMost; ++p) {
    const unsigned chunks = 256;
    const Schedule schedule = schedules::double_tree(p, chunks, Detail::kParts);
    std::size_t rounds = 0;
    for (const Schedule::Round& round : schedule.rounds) rounds += round.repeat;
    // Every part goes up once and down once through each port: 2 rounds a part, and the fill.
    // Sending the oldest part first is not the best two-colouring of the edges.
    EXPECT_GE(rounds, p == 2 ? chunks : 2 * chunks - 2);
    EXPECT_LE(rounds, 2.7 * chunks + 8 * closed_form::ceil_log2(p)) << p;
    const Seconds steady = lockstep(schedules::double_tree(p, chunks, Detail::kTraffic), kBuffer,
                                    kWire, Ports::kSwitch);
    const Seconds closed = closed_form::double_binary_tree_all_reduce(p, kBuffer, kWire);
    EXPECT_LE(steady.value, closed.value * (1 + 1e-12)) << p;
    if (p > 3) {
      EXPECT_GE(steady.value, closed.value * 0.74) << p;
    }
  }
}

}  // namespace
}  // namespace flopcast::network
