#include "serving/fleet/checks.h"
#include "serving/fleet/simulation.h"

namespace flopcast {

using namespace serving;

namespace serving {

/// A pool with its prices.
struct PricedPool {
  const ReplicaPool* pool;
  IterationModel model;
  ServingMemory memory;
};

}  // namespace serving

namespace {

Result<PricedPool> priced(const ReplicaPool& pool, const Catalog& catalog) {
  const std::vector<Diagnostic> problems = deployment_problems(pool.deployment);
  if (!problems.empty()) return problems.front();
  const Result<ServingMemory> memory = serving_memory(pool.deployment);
  if (!memory) return memory.error();
  Result<IterationModel> model = IterationModel::make(pool.deployment, catalog, pool.factors);
  if (!model) return model.error();
  return PricedPool{&pool, std::move(*model), *memory};
}

class ReplicaEngine final : public FleetEngine {
 public:
  ReplicaEngine(const PricedPool& priced, const Replica::Options& options)
      : replica_(priced.model, priced.pool->deployment, priced.memory, options) {}
  std::optional<Diagnostic> submit(const ReplicaRequest& request, Time at) override {
    return replica_.submit(request, at);
  }
  Time next() const override { return replica_.next(); }
  void advance(Time until, std::vector<ReplicaEvent>& events) override {
    replica_.advance(until, events);
  }
  void cancel(std::uint32_t id) override { replica_.cancel(id); }
  std::int64_t cached_tokens(std::span<const std::uint64_t> prefix,
                             std::int64_t prefix_block) const override {
    return replica_.cached_tokens(prefix, prefix_block);
  }
  const ReplicaCounts& counts() const override { return replica_.counts(); }
  std::span<const IterationSample> samples() const override { return replica_.samples(); }

 private:
  Replica replica_;
};

PoolPlan plan_of(const PricedPool& priced, unsigned replicas, const FleetOptions& asked) {
  PoolPlan plan;
  plan.replicas = replicas;
  plan.front = priced.model.front();
  plan.back = priced.model.back();
  plan.make = [&priced, leap = asked.leap,
               record = asked.record_samples](TokenGaps* gaps) -> std::unique_ptr<FleetEngine> {
    Replica::Options options;
    options.leap = leap;
    options.record_samples = record;
    options.gaps = gaps;
    return std::make_unique<ReplicaEngine>(priced, options);
  };
  return plan;
}

}  // namespace

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
  Result<PricedPool> pool = priced(state->fleet.pool, catalog);
  if (!pool) return pool.error();
  state->pool.emplace(std::move(*pool));
  if (fleet.decode) {
    Result<PricedPool> decode = priced(*state->fleet.decode, catalog);
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
  const unsigned replicas = most_replicas(fleet);
  FleetPlan plan;
  plan.pool = plan_of(*state_->pool, replicas, options);
  plan.router = fleet.router;
  plan.autoscaling = fleet.autoscaling;
  plan.faults = fleet.faults;
  if (state_->decode) {
    plan.decode = plan_of(*state_->decode, fleet.decode->replicas, options);
    plan.transfers.topology = &*state_->topology;
    plan.transfers.from = fleet.pool.deployment.layout;
    plan.transfers.to = fleet.decode->deployment.layout;
    plan.transfers.first_to = replicas * plan.transfers.from.chips();
    plan.transfers.bytes_per_token = state_->decode->memory.kv_per_token;
    plan.transfers.bytes_per_request = state_->decode->memory.kv_per_request;
  }
  Result<FleetRun> run = FleetSimulation(plan, workload, *list, options).run();
  if (run) run->kv_blocks = memory(state_->decode.has_value()).blocks;
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
