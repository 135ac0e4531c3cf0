// Fleets whose prices are made: for many workloads.
#include "serving/fleet/check_answer.h"
#include "serving/fleet/checks.h"
#include "serving/fleet/priced.h"
#include "serving/fleet/simulation.h"

namespace flopcast {

using namespace serving;  // the room's own names

struct PreparedFleet::State {
  Fleet fleet;
  std::optional<PricedPool> pool, decode;
  std::optional<Topology> topology;  // of fleets whose prompts travel
};

PreparedFleet::PreparedFleet(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreparedFleet::PreparedFleet(PreparedFleet&&) noexcept = default;
PreparedFleet& PreparedFleet::operator=(PreparedFleet&&) noexcept = default;
PreparedFleet::~PreparedFleet() = default;

Result<PreparedFleet> PreparedFleet::make(const Fleet& fleet, const Catalog& catalog) {
  if (auto wrong = wrong_fleet(fleet)) return *wrong;
  auto state = std::make_unique<State>();
  state->fleet = fleet;
  Result<PricedPool> pool = price_pool(state->fleet.pool, catalog);
  if (!pool) return pool.error();
  state->pool.emplace(std::move(*pool));
  if (fleet.decode) {
    Result<PricedPool> decode = price_pool(*state->fleet.decode, catalog);
    if (!decode) return decode.error();
    state->decode.emplace(std::move(*decode));
    Result<Topology> topology = Topology::build(fleet.pool.deployment.cluster);
    if (!topology) return topology.error();
    state->topology.emplace(std::move(*topology));
  }
  return PreparedFleet(std::move(state));
}

Result<FleetRun> PreparedFleet::run(const ServingWorkload& workload,
                                    const FleetOptions& options) const {
  const Result<RequestList> list = make_requests(workload);
  if (!list) return list.error();
  const Fleet& fleet = state_->fleet;
  PricedReplicas decode;
  if (state_->decode) decode = {&*state_->decode, fleet.decode->replicas};
  FleetPlan plan = plan_fleet({&*state_->pool, most_replicas(fleet)}, decode,
                              state_->topology ? &*state_->topology : nullptr, options);
  plan.router = fleet.router;
  plan.autoscaling = fleet.autoscaling;
  plan.faults = fleet.faults;
  Result<FleetRun> run = FleetSimulation(plan, workload, *list, options).run();
  if (!run) return run;
  run->kv_blocks = memory(state_->decode.has_value()).blocks;
  if (auto problem = check_answer(*run, fleet)) return *std::move(problem);
  return run;
}

const Fleet& PreparedFleet::fleet() const { return state_->fleet; }

const IterationModel& PreparedFleet::model(bool decode) const {
  return decode && state_->decode ? state_->decode->model : state_->pool->model;
}

const ServingMemory& PreparedFleet::memory(bool decode) const {
  return decode && state_->decode ? state_->decode->memory : state_->pool->memory;
}

Result<FleetRun> simulate(const Fleet& fleet, const ServingWorkload& workload,
                          const Catalog& catalog, const FleetOptions& options) {
  const Result<PreparedFleet> prepared = PreparedFleet::make(fleet, catalog);
  return prepared ? prepared->run(workload, options) : prepared.error();
}

}  // namespace flopcast
