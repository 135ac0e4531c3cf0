// Random instances with tiny capacities (many ties), dependencies, cancellations, moved starts and
// late arrivals, against the definition written out (network/flow/testing.h): bit for bit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "flopcast/network/flows.h"
#include "network/flow/testing.h"

namespace flopcast::network {
namespace {

using test::kForever;
using test::PlainFlow;
using test::PlainSimulator;
using test::PlainState;

/// What is allowed to occur in an instance.
struct Features {
  bool late = true, cancels = true, moves = true, groups = false, horizon = true;
  FlowSimulator::Options options;
  std::uint32_t max_flows = 14, max_links = 7;
};

class Instance {
 public:
  Instance(std::uint64_t seed, const Features& features)
      : random_(seed),
        features_(features),
        capacities_(make_links()),
        simulator_(capacities_, features.options) {}

  FlowSimulator::Work work() const { return simulator_.work(); }

  /// One random script; every state that is asked for on the way is compared.
  void run() {
    const std::uint32_t steps = 4 + below(2 * features_.max_flows);
    for (std::uint32_t i = 0; i < steps && !::testing::Test::HasFailure(); ++i) step();
    compare(simulator_.advance(Time::max()).ps);
    take_changes();
    const PlainSimulator plain = reference(kForever);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      ASSERT_EQ(reported_[static_cast<FlowId>(i)], plain.completion(i)) << "flow " << i;
    }
  }

 private:
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }

  std::vector<Rate> make_links() {
    std::vector<Rate> links(1 + below(features_.max_links));
    const std::uint32_t scale = chance(50) ? 12 : chance(50) ? 60 : 1'000'000;
    for (Rate& link : links) link.value = chance(3) ? 0 : 1 + below(scale);
    tick_ = scale > 1000 ? 1'000'000'000 : 50'000'000'000'000;
    return links;
  }
  std::int64_t draw_time(std::int64_t from) {
    const std::int64_t time = from + below(12) * tick_;
    return chance(70) ? time : time + below(1000);
  }
  /// In the past as often as in the future.
  std::int64_t draw_edit_time() {
    const std::int64_t earliest = simulator_.horizon().ps, now = simulator_.now().ps;
    if (!features_.late || chance(40)) return draw_time(now);
    if (!events_.empty() && chance(30)) {
      const std::int64_t seen = events_[below(static_cast<std::uint32_t>(events_.size()))];
      if (seen >= earliest) return seen;
    }
    return earliest +
           static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(now - earliest + 1));
  }

  PlainFlow make_flow() {
    PlainFlow flow;
    for (LinkId link = 0; link < capacities_.size(); ++link) {
      if (below(features_.max_links) >= 3) continue;
      flow.path.push_back({link, chance(85) ? 1 : 1 + below(3)});
    }
    flow.bytes = chance(5) ? 0 : 1 + below(12);
    flow.start = draw_edit_time();
    if (chance(20)) flow.latency = below(3) * tick_ + below(3);
    if (chance(20)) flow.limit = 1 + below(static_cast<std::uint32_t>(capacities_[0].value) + 4);
    if (features_.groups && chance(50)) flow.group = 1 + below(3);
    while (!flows_.empty() && flow.after.size() < 3 && chance(35)) {
      const FlowId before = below(static_cast<std::uint32_t>(flows_.size()));
      if (std::find(flow.after.begin(), flow.after.end(), before) == flow.after.end()) {
        flow.after.push_back(before);
      }
    }
    if (!flow.after.empty() && chance(30)) flow.delay = below(3) * tick_;
    flow.background = chance(4);
    if (flow.background) flow.bytes = 0;
    return flow;
  }

  void step() {
    const std::uint32_t kind = below(100);
    if (flows_.size() < features_.max_flows && (kind < 45 || flows_.empty())) {
      submit(make_flow());
    } else if (kind < 75) {
      const std::int64_t until = draw_time(simulator_.now().ps);
      simulator_.advance({until});
      compare(until);
    } else if (kind < 82 && features_.cancels) {
      cancel(below(static_cast<std::uint32_t>(flows_.size())), draw_edit_time());
    } else if (kind < 90 && features_.moves) {
      move(below(static_cast<std::uint32_t>(flows_.size())), draw_edit_time());
    } else if (kind < 95) {
      take_changes();
    } else if (features_.horizon) {
      const std::int64_t window = simulator_.now().ps - simulator_.horizon().ps;
      simulator_.set_horizon({simulator_.now().ps - (chance(50) ? 0 : window / 2)});
    }
  }

  void submit(const PlainFlow& flow) {
    FlowSpec spec;
    spec.path = flow.path;
    spec.bytes = flow.bytes;
    spec.latency = {flow.latency};
    spec.limit = {flow.limit};
    spec.group = flow.group;
    spec.after = flow.after;
    spec.delay = {flow.delay};
    spec.background = flow.background;
    const auto id = simulator_.submit(spec, {flow.start});
    ASSERT_TRUE(id.ok()) << id.error().text();
    ASSERT_EQ(id.value(), flows_.size());
    flows_.push_back(flow);
  }
  void cancel(FlowId flow, std::int64_t at) {
    if (!simulator_.cancel(flow, {at})) flows_[flow].cancel = at;
  }
  void move(FlowId flow, std::int64_t start) {
    if (!simulator_.update_start(flow, {start})) flows_[flow].start = start;
  }

  PlainSimulator reference(std::int64_t until) const {
    PlainSimulator plain(capacities_, flows_);
    plain.run(until);
    return plain;
  }

  void compare(std::int64_t now) {
    const PlainSimulator plain = reference(now);
    compare_flows(plain, now);
    for (LinkId link = 0; link < capacities_.size(); ++link) {
      ASSERT_EQ(simulator_.link_rate(link).value, plain.used(link)) << "link " << link;
    }
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      if (plain.states()[i].end < now) events_.push_back(plain.states()[i].end);
    }
    const std::int64_t earlier = simulator_.horizon().ps + (now - simulator_.horizon().ps) / 2;
    if (earlier < now) compare_flows(reference(earlier), earlier);
  }
  void compare_flows(const PlainSimulator& plain, std::int64_t time) {
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const PlainState& want = plain.states()[i];
      const FlowStatus got = simulator_.query(static_cast<FlowId>(i), {time});
      ASSERT_EQ(got.rate.value, want.rate) << "flow " << i << " at " << time;
      const bool complete = plain.completion(i) <= time;
      if (want.phase == FlowPhase::kDone) {
        ASSERT_EQ(got.phase, complete ? FlowPhase::kDone : FlowPhase::kActive) << "flow " << i;
        ASSERT_EQ(got.end.ps, plain.completion(i)) << "flow " << i << " at " << time;
      } else {
        ASSERT_EQ(got.phase, want.phase) << "flow " << i << " at " << time;
      }
      if (want.start != kForever) {
        ASSERT_EQ(got.start.ps, want.start) << "flow " << i;
      }
      const test::Wide total = test::Wide{1024} * 1'000'000'000'000 * flows_[i].bytes;
      const test::Wide sent =
          flows_[i].background ? -want.left + total : total - std::max<test::Wide>(want.left, 0);
      ASSERT_EQ(got.sent.value, static_cast<double>(sent) / 1.024e15) << "flow " << i;
    }
  }

  void take_changes() {
    for (const CompletionChange& change : simulator_.take_changes()) {
      const auto known = reported_.try_emplace(change.flow, kForever).first;
      ASSERT_EQ(known->second, change.before.ps);
      ASSERT_NE(change.before, change.after);
      known->second = change.after.ps;
    }
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      reported_.try_emplace(static_cast<FlowId>(i), kForever);
    }
  }

  std::mt19937_64 random_;
  Features features_;
  std::int64_t tick_ = 0;
  std::vector<Rate> capacities_;
  FlowSimulator simulator_;
  std::vector<PlainFlow> flows_;
  std::vector<std::int64_t> events_;
  std::map<FlowId, std::int64_t> reported_;
};

/// FLOPCAST_FLOW_INSTANCES: how many of them, in percent; fewer where a sanitizer makes each slow.
FlowSimulator::Work run_instances(std::uint64_t count, const Features& features) {
  const char* percent = std::getenv("FLOPCAST_FLOW_INSTANCES");
  if (percent != nullptr)
    count = (count * static_cast<std::uint64_t>(std::atoll(percent)) + 99) / 100;
  FlowSimulator::Work total;
  for (std::uint64_t seed = 0; seed < count && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("instance " + std::to_string(seed));
    Instance instance(seed, features);
    instance.run();
    const FlowSimulator::Work work = instance.work();
    total.rollbacks += work.rollbacks;
    total.repairs += work.repairs;
    total.solves += work.solves;
    total.flows_solved += work.flows_solved;
  }
  return total;
}

TEST(FlowRandom, InOrder) {
  Features features;
  features.late = features.cancels = features.moves = false;
  run_instances(6000, features);
}

TEST(FlowRandom, FullSolve) {
  Features features;
  features.options.solver = FlowSimulator::Solver::kFull;
  run_instances(3000, features);
}

TEST(FlowRandom, PoolsInOrder) {
  Features features;
  features.late = features.moves = false;
  features.options.solver = FlowSimulator::Solver::kPools;
  run_instances(6000, features);
}

/// What pools did is told flow by flow whenever the past changes.
TEST(FlowRandom, PoolsUndoAndReplay) {
  Features features;
  features.options.solver = FlowSimulator::Solver::kPools;
  features.options.repair = false;
  const FlowSimulator::Work work = run_instances(8000, features);
  EXPECT_GT(work.rollbacks, work.solves / 100);
}

TEST(FlowRandom, PoolsRepair) {
  Features features;
  features.options.solver = FlowSimulator::Solver::kPools;
  const FlowSimulator::Work work = run_instances(8000, features);
  EXPECT_GT(work.repairs, work.solves / 100);
}

TEST(FlowRandom, PoolsAndFairnessGroups) {
  Features features;
  features.groups = true;
  features.options.solver = FlowSimulator::Solver::kPools;
  run_instances(3000, features);
}

TEST(FlowRandom, PoolsOfManyFlows) {
  Features features;
  features.options.solver = FlowSimulator::Solver::kPools;
  features.max_flows = 200;
  features.max_links = 40;
  run_instances(20, features);
}

TEST(FlowRandom, UndoAndReplay) {
  Features features;
  features.options.repair = false;
  const FlowSimulator::Work work = run_instances(8000, features);
  EXPECT_GT(work.rollbacks, work.solves / 100);
  EXPECT_EQ(work.repairs, 0U);
}

TEST(FlowRandom, Repair) {
  const FlowSimulator::Work work = run_instances(12000, {});
  EXPECT_GT(work.repairs, work.solves / 100);
}

TEST(FlowRandom, FairnessGroups) {
  Features features;
  features.groups = true;
  run_instances(6000, features);
}

/// Enough flows that regions are smaller than the whole, and that some grow to it.
TEST(FlowRandom, ManyFlowsAndLinks) {
  Features features;
  features.max_flows = 200;
  features.max_links = 40;
  const FlowSimulator::Work work = run_instances(20, features);
  EXPECT_GT(work.repairs, work.solves / 100);
}

TEST(FlowRandom, ManyFlowsOnFewLinks) {
  Features features;
  features.max_flows = 200;
  features.max_links = 6;
  run_instances(30, features);
}

}  // namespace
}  // namespace flopcast::network
