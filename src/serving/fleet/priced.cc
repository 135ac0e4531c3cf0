#include "serving/fleet/priced.h"

namespace flopcast::serving {
namespace {

class ReplicaEngine final : public FleetEngine {
 public:
  ReplicaEngine(const PricedPool& priced, const Replica::Options& options)
      : replica_(priced.model, priced.deployment, priced.memory, options) {}
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

PoolPlan plan_pool(const PricedReplicas& asked, const FleetOptions& options) {
  PoolPlan plan;
  plan.replicas = asked.replicas;
  plan.front = asked.pool->model.front();
  plan.back = asked.pool->model.back();
  plan.make = [&priced = *asked.pool, leap = options.leap,
               record = options.record_samples](TokenGaps* gaps) -> std::unique_ptr<FleetEngine> {
    Replica::Options of_replica;
    of_replica.leap = leap;
    of_replica.record_samples = record;
    of_replica.gaps = gaps;
    return std::make_unique<ReplicaEngine>(priced, of_replica);
  };
  return plan;
}

}  // namespace

Result<PricedPool> price_pool(const ReplicaPool& pool, const Catalog& catalog) {
  const std::vector<Diagnostic> problems = deployment_problems(pool.deployment);
  if (!problems.empty()) return problems.front();
  const Result<ServingMemory> memory = serving_memory(pool.deployment);
  if (!memory) return memory.error();
  Result<IterationModel> model = IterationModel::make(pool.deployment, catalog, pool.factors);
  if (!model) return model.error();
  return PricedPool{pool.deployment, std::move(*model), *memory};
}

FleetPlan plan_fleet(const PricedReplicas& pool, const PricedReplicas& decode,
                     const Topology* topology, const FleetOptions& options) {
  FleetPlan plan;
  plan.pool = plan_pool(pool, options);
  if (decode.pool == nullptr) return plan;
  plan.decode = plan_pool(decode, options);
  plan.transfers.topology = topology;
  plan.transfers.from = pool.pool->deployment.layout;
  plan.transfers.to = decode.pool->deployment.layout;
  plan.transfers.first_to = pool.replicas * plan.transfers.from.chips();
  plan.transfers.bytes_per_token = decode.pool->memory.kv_per_token;
  plan.transfers.bytes_per_request = decode.pool->memory.kv_per_request;
  return plan;
}

}  // namespace flopcast::serving
