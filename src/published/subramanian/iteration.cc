#include "published/subramanian/iteration.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace flopcast::published {
namespace {

// Products of dimensions below this fit std::int64_t.
constexpr std::int64_t kMostElements = std::int64_t{1} << 60;
constexpr std::int64_t kMostGpus = std::int64_t{1} << 31;

Diagnostic refusal(std::string what, std::string hint) {
  return {ErrorCode::kUsage, "plan", std::move(what), std::move(hint)};
}

/// Transfers between neighbouring stages, averaged over the links of the pipeline.
CollectiveCost stage_link(const Rates& rates, std::int64_t stages, std::int64_t in_domain,
                          const PaperDefects& defects) {
  if (stages == 1) return {};
  const auto p2p = [&](std::int64_t k) {
    return collective_cost(rates, PaperCollective::kPointToPoint, 2, k, defects);
  };
  if (in_domain == 1) return p2p(1);
  const double slow = real(stages / in_domain - 1) / real(stages - 1);
  const double fast = 1 - slow;
  const CollectiveCost near = p2p(2);
  const CollectiveCost far = defects.p2p_between_domains_free ? CollectiveCost{} : p2p(1);
  return {fast * near.fixed + slow * far.fixed, fast * near.per_byte + slow * far.per_byte};
}

/// A degree and what it must divide.
struct Division {
  std::string_view degree;
  std::int64_t by = 1;
  std::string_view of;
  std::int64_t whole = 1;
};

/// In double: degrees nobody has checked may overflow.
double product(const PaperPlan::Groups& g) {
  return real(g.tp1) * real(g.tp2) * real(g.pp) * real(g.dp);
}

std::optional<Diagnostic> refuse_placement(const PaperCase& c, const PaperPlan& plan) {
  const double used = product(plan.domain);
  if (used > real(c.system.domain)) {
    return refusal(
        fmt::format("{:g} GPUs are placed in NVLink domains of {}", used, c.system.domain),
        "the product of the GPUs of each group in a domain is at most its size");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> refuse(const PaperCase& c) {
  const PaperModel& m = c.model;
  const auto below_one = [](std::int64_t n) { return n < 1; };
  if (below_one(m.sequence) || below_one(m.embed) || below_one(m.heads) || below_one(m.depth) ||
      below_one(m.hidden) || below_one(c.global_batch)) {
    return refusal(fmt::format("model '{}': a dimension or the global batch is below 1", m.name),
                   "give sequence, embed, heads, depth, hidden and global batch");
  }
  const double largest = real(c.global_batch) * real(m.sequence) *
                         real(std::max({m.hidden, m.heads, 3 * std::min(m.embed, kMostElements)}));
  if (largest > real(kMostElements)) {
    return refusal(fmt::format("model '{}': a tensor of {:.3g} elements", m.name, largest),
                   "check sequence, embed, hidden and global batch");
  }
  const PaperSystem& s = c.system;
  const std::array<double, 8> rates = {s.matrix.value,          s.vector.value,
                                       s.hbm_bandwidth.value,   s.nvlink.bandwidth.value,
                                       s.nvlink.efficiency,     s.infiniband.bandwidth.value,
                                       s.infiniband.efficiency, s.nics_per_gpu};
  for (const double rate : rates) {
    if (!(rate > 0) || !std::isfinite(rate)) {
      return refusal(fmt::format("system '{}': a rate is not above 0", s.name),
                     "give peaks, bandwidths, efficiencies and NICs per GPU");
    }
  }
  if (below_one(s.domain)) {
    return refusal(fmt::format("system '{}': no GPU in an NVLink domain", s.name),
                   "the size of a domain is 1 or more");
  }
  return std::nullopt;
}

std::optional<Diagnostic> refuse(std::int64_t gpus) {
  if (gpus >= 1 && gpus <= kMostGpus) return std::nullopt;
  return refusal(fmt::format("{} GPUs", gpus), fmt::format("1 to {}", kMostGpus));
}

std::optional<Diagnostic> refuse(const PaperCase& c, const PaperPlan& plan) {
  if (auto refused = refuse(c)) return refused;
  const PaperPlan::Groups& n = plan.size;
  const PaperPlan::Groups& k = plan.domain;
  for (const std::int64_t degree :
       {n.tp1, n.tp2, n.pp, n.dp, k.tp1, k.tp2, k.pp, k.dp, plan.microbatch, plan.panels}) {
    if (degree < 1) return refusal("a degree is below 1", "every degree is 1 or more");
  }
  if (product(n) > real(kMostGpus) || plan.microbatch > c.global_batch) {
    return refusal(fmt::format("{:g} GPUs with microbatches of {}", product(n), plan.microbatch),
                   fmt::format("at most {} GPUs, and a microbatch is at most the global batch {}",
                               kMostGpus, c.global_batch));
  }
  if (c.strategy == PaperStrategy::k1d && n.tp2 != 1) {
    return refusal(fmt::format("1-D tensor parallelism with tp2 = {}", n.tp2), "tp2 must be 1");
  }
  const std::array<Division, 9> divisions = {{
      {"tp1", n.tp1, "the number of heads", c.model.heads},
      {"tp1", n.tp1, "the embedding", c.model.embed},
      {"pp", n.pp, "the depth", c.model.depth},
      {"dp", n.dp, "the global batch", c.global_batch},
      {"the microbatch", plan.microbatch, "a replica's share of the global batch",
       c.global_batch / n.dp},
      {"tp1 in a domain", k.tp1, "tp1", n.tp1},
      {"tp2 in a domain", k.tp2, "tp2", n.tp2},
      {"pp in a domain", k.pp, "pp", n.pp},
      {"dp in a domain", k.dp, "dp", n.dp},
  }};
  for (const Division& d : divisions) {
    if (d.whole % d.by == 0) continue;
    return refusal(
        fmt::format("{} is {}, which does not divide {}, {}", d.degree, d.by, d.of, d.whole),
        fmt::format("choose a divisor of {}", d.whole));
  }
  return refuse_placement(c, plan);
}

LayerShape shape_of(const PaperModel& model, const PaperPlan& plan) {
  return {.sequence = model.sequence,
          .embed = model.embed,
          .heads = model.heads,
          .hidden = model.hidden,
          .microbatch = plan.microbatch,
          .tp1 = plan.size.tp1,
          .tp2 = plan.size.tp2,
          .panels = plan.panels};
}

Memory memory_of(const PaperCase& c, const PaperPlan::Groups& size, std::int64_t microbatches,
                 const LayerSums& sums) {
  const double layers = real(c.model.depth / size.pp);
  const bool over_tp2 = c.strategy == PaperStrategy::k2d && !c.defects.optimizer_not_cut_over_tp2;
  const double replicas = real(over_tp2 ? size.dp * size.tp2 : size.dp);
  Memory memory;
  memory.weights = sums.weights * layers;
  memory.gradients = memory.weights;
  memory.optimizer =
      6 * (memory.weights / replicas);  // fp32 weights and two moments, 12 B a weight
  // 1F1B keeps at most one microbatch per stage behind.
  memory.activations = sums.activations * layers * real(std::min(size.pp, microbatches));
  return memory;
}

Schedule schedule_of(const PaperCase& c, const Rates& rates, const PaperPlan::Groups& size,
                     const PaperPlan::Groups& domain) {
  // 2-D replicates weights over tp2: their gradients are summed over both.
  const bool both = c.strategy == PaperStrategy::k2d;
  Schedule schedule;
  schedule.layers = real(c.model.depth / size.pp);
  schedule.stages = real(size.pp);
  schedule.weights_exchange =
      collective_cost(rates, PaperCollective::kAllGather, both ? size.dp * size.tp2 : size.dp,
                      both ? domain.dp * domain.tp2 : domain.dp, c.defects);
  schedule.stage_to_stage = stage_link(rates, size.pp, domain.pp, c.defects);
  return schedule;
}

}  // namespace flopcast::published

namespace flopcast {
namespace {

PaperOperator::Phase phase(double flops, const published::Parts& parts) {
  return {.flops = {flops},
          .time = {parts.total()},
          .compute = {parts.compute},
          .exposed_memory = {parts.exposed_memory},
          .communication = {parts.communication}};
}

}  // namespace

Result<PaperEstimate> paper_estimate(const PaperCase& c, const PaperPlan& plan) {
  if (auto refused = published::refuse(c, plan)) return *std::move(refused);
  const published::Rates rates(c.system);
  const published::Layer layer = published::layer_operators(
      c.strategy, published::shape_of(c.model, plan), rates.matrix_per_vector, c.defects);
  const published::LayerSums sums = published::layer_sums(layer);
  const published::LayerCosts costs(rates, plan.size, plan.domain, c.defects);
  const auto [forward, backward] = published::layer_time(layer, plan.panels, rates, costs);
  const published::Schedule schedule = published::schedule_of(c, rates, plan.size, plan.domain);
  const std::int64_t microbatches = c.global_batch / plan.size.dp / plan.microbatch;
  const auto m = static_cast<double>(microbatches);
  const published::IterationTime time = published::iteration_time(
      schedule, m, sums.boundary, schedule.weights_exchange.time(sums.weights), forward.total(),
      backward.total());
  const published::Memory memory = published::memory_of(c, plan.size, microbatches, sums);

  const double times = m * schedule.layers;
  PaperEstimate estimate;
  estimate.time = {time.total()};
  estimate.compute = {(forward.compute + backward.compute) * times};
  estimate.exposed_memory = {(forward.exposed_memory + backward.exposed_memory) * times};
  estimate.tensor_communication = {(forward.communication + backward.communication) * times};
  estimate.pipeline_communication = {time.pipeline_communication};
  estimate.data_communication = {time.data_communication};
  estimate.bubble = {time.bubble};
  estimate.flops = {sums.flops * times};
  estimate.memory = {memory.total()};
  estimate.weights = {memory.weights};
  estimate.gradients = {memory.gradients};
  estimate.optimizer = {memory.optimizer};
  estimate.activations = {memory.activations};
  estimate.microbatches = microbatches;
  estimate.fits = memory.total() <= c.system.hbm_capacity.value;
  return estimate;
}

Result<std::vector<PaperOperator>> paper_operators(const PaperCase& c, const PaperPlan& plan) {
  if (auto refused = published::refuse(c, plan)) return *std::move(refused);
  const published::Rates rates(c.system);
  const published::LayerCosts costs(rates, plan.size, plan.domain, c.defects);
  std::vector<PaperOperator> operators;
  for (const published::Operator& op : published::layer_operators(
           c.strategy, published::shape_of(c.model, plan), rates.matrix_per_vector, c.defects)) {
    operators.push_back({
        .name = op.name,
        .forward = phase(op.forward.flops,
                         published::operator_time(op, op.forward, plan.panels, rates, costs)),
        .backward = phase(op.backward.flops,
                          published::operator_time(op, op.backward, plan.panels, rates, costs)),
        .weights = {op.weights},
        .activations = {op.activations},
    });
  }
  return operators;
}

double paper_training_days(const PaperCase& c, Seconds iteration) {
  constexpr double kDay = 86400;
  return c.model.training_samples / static_cast<double>(c.global_batch) * iteration.value / kDay;
}

}  // namespace flopcast
