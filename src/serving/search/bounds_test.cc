// Bounds beside the simulator.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "serving/search/demand.h"
#include "serving/search/part.h"
#include "serving/search/testing.h"

namespace flopcast::serving {
namespace {

FleetChoice drawn_choice() {
  FleetChoice choice;
  choice.engine =
      *rc::gen::element(ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm);
  choice.precision = *rc::gen::element<std::string>("bf16", "fp8");
  choice.batch_tokens = *rc::gen::element<std::int64_t>(2048, 3000, 8192);
  choice.pool.layout.tp = *rc::gen::element(1U, 2U, 4U);
  choice.pool.layout.pp = *rc::gen::element(1U, 2U);
  return choice;
}

ServingWorkload drawn_workload() {
  ServingWorkload load;
  const bool closed = *rc::gen::arbitrary<bool>();
  load.kind = closed ? ServingWorkload::Kind::kClosed : ServingWorkload::Kind::kRate;
  load.users = *rc::gen::element<std::int64_t>(1, 3, 16, 60);
  load.rate = *rc::gen::element(1.0, 10.0, 100.0);
  load.count = closed ? 3 * load.users : 60;
  load.input = *rc::gen::element<std::int64_t>(20, 500, 1900);
  load.output = *rc::gen::element<std::int64_t>(1, 2, 20, 150);
  load.spread = *rc::gen::element(0.0, 0.5);
  load.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  return load;
}

/// A fleet of the choice, run under the load.
struct Ran {
  FleetSearch search = small_search();
  Fleet fleet;
  ServingMemory memory;
  FleetRun run;
  std::optional<IterationModel> model;

  Ran(const FleetChoice& choice, const ServingWorkload& load) {
    search.cluster = *Catalog::builtin().cluster("2 x dgx-h100");
    search.workload = load;
    fleet = *fleet_of(search, choice);
    memory = *serving_memory(fleet.pool.deployment);
    model.emplace(std::move(*IterationModel::make(fleet.pool.deployment, Catalog::builtin())));
    run = *simulate(fleet, load, Catalog::builtin());
  }
  const EngineSettings& settings() const { return fleet.pool.deployment.settings; }
  const ServingLayout& layout() const { return fleet.pool.deployment.layout; }
};

RC_GTEST_PROP(ServingBounds, AreBelowEveryRequest, ()) {
  const Ran ran(drawn_choice(), drawn_workload());
  for (const RequestOutcome& request : ran.run.requests) {
    const auto input = static_cast<double>(request.input);
    RC_ASSERT(request.done != Time::max());
    RC_ASSERT(request.ttft().seconds() >=
              least_ttft(*ran.model, ran.settings(), ran.layout(), input));
    if (request.output == 1) continue;
    RC_ASSERT(request.tpot().seconds() >=
              least_tpot(*ran.model, ran.settings(), ran.layout(), input));
  }
}

RC_GTEST_PROP(ServingBounds, AreAboveTheThroughput, ()) {
  FleetChoice choice = drawn_choice();
  const Ran ran(choice, drawn_workload());
  const auto demand = Demand::make(ran.search.workload);
  RC_ASSERT(demand.ok());
  const TokenWorks works =
      least_works(*ran.model, ran.memory, ran.settings(), ran.layout(), demand->tokens());
  double prompts = 0, answers = 0;
  for (const RequestOutcome& request : ran.run.requests) {
    prompts += static_cast<double>(request.input);
    answers += static_cast<double>(request.output - 1);
  }
  const double took = (ran.run.end - ran.run.begin).seconds();
  RC_ASSERT(work_of(works, answers, prompts) <= took);
}

RC_GTEST_PROP(ServingBounds, LeaveOutOnlyFleetsThatAreTooSmall, ()) {
  FleetChoice choice = drawn_choice();
  choice.pool.layout.pp = 1;
  const Ran one(choice, drawn_workload());
  const auto demand = Demand::make(one.search.workload);
  RC_ASSERT(demand.ok());
  const TokenWorks works =
      least_works(*one.model, one.memory, one.settings(), one.layout(), demand->tokens());
  // Limits that so many replicas just meet, on whatever they are.
  const unsigned replicas = *rc::gen::inRange(1U, 4U);
  choice.pool.replicas = replicas;
  const Ran ran(choice, one.search.workload);
  const double ttft = *rc::gen::element(50.0, 90.0, 99.0, 100.0);
  const double tpot = *rc::gen::element(50.0, 90.0, 100.0);
  std::vector<ServiceLimit> limits = {{ServiceLimit::Quantity::kTtft, ttft, {1}},
                                      {ServiceLimit::Quantity::kTpot, tpot, {1}}};
  for (ServiceLimit& limit : limits) {
    limit.below = {std::max(1e-9, limited_value(ran.run, limit).value * 1.0001)};
  }
  RC_ASSERT(meets(ran.run, limits));
  RC_ASSERT(demand->least_replicas(works, limits, true, true) <= replicas);
}

RC_GTEST_PROP(ServingBounds, OfTheFirstPartHoldForTheWhole, ()) {
  const Ran ran(drawn_choice(), drawn_workload());
  const auto fleet = PreparedFleet::make(ran.fleet, Catalog::builtin());
  RC_ASSERT(fleet.ok());
  const double share = *rc::gen::element(0.1, 0.4, 0.9);
  FleetOptions options;
  options.longest = Time{whole(share * (ran.run.end - ran.run.begin).seconds() * 1e12)};
  const auto part = fleet->run(ran.search.workload, options);
  RC_ASSERT(part.ok());
  for (const double percentile : {50.0, 90.0, 99.0, 100.0}) {
    for (const auto quantity : {ServiceLimit::Quantity::kTtft, ServiceLimit::Quantity::kTpot,
                                ServiceLimit::Quantity::kLatency}) {
      const std::vector<ServiceLimit> limits = {{quantity, percentile, {0.01}}};
      const auto requests = static_cast<std::int64_t>(ran.run.requests.size());
      const double least = least_ratio_of(*part, options.longest, requests, limits);
      RC_ASSERT(least <= limit_ratio(ran.run, limits) * (1 + 1e-12));
    }
  }
}

}  // namespace
}  // namespace flopcast::serving
