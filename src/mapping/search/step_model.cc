#include "mapping/search/step_model.h"

#include <algorithm>
#include <cmath>

namespace flopcast::mapping {
namespace {

constexpr double kGradientBytes = 4;  // fp32 sums

}  // namespace

StepModel::StepModel(const ProgramCase& of) : of_(of) {
  const DataflowWorkload& workload = *of.workload;
  const MappingModel& model = *of.model;
  const unsigned tp = of.shape->tp();
  stages_ = of.shape->pp();
  layers_ = std::ceil(static_cast<double>(workload.layers) / stages_);
  microbatches_ = static_cast<double>(of.microbatches);
  for (std::size_t i = 0; i < workload.graph.kernels.size(); ++i) {
    const DataflowKernel& kernel = workload.graph.kernels[i];
    const double share = kernel_share(kernel, of.sharded->kernels[i].sharding, tp).weight;
    // A backward kernel reads the weight that its forward twin holds already.
    const bool counted = !kernel.backward || !workload.training || !model.training_state;
    if (counted && !of.cut)  // a stage's share of the graph's weights is checked with its cut
      weight_bytes_ += kernel.weight.value * share;
    gradient_bytes_ += kernel.gradient.value / tp;
  }
  parameters_ = weight_bytes_ / workload.word;
  const GroupNetwork data(*of.system, *of.shape, Parallelism::kData, model.latency);
  const GroupNetwork pipe(*of.system, *of.shape, Parallelism::kPipeline, model.latency);
  if (!model.hide_gradients) {
    gradients_s_ = model.gradient_factor * data.pass_s(gradient_bytes_ * layers_);
  }
  if (model.optimizer_step && workload.training) {
    optimizer_s_ =
        2 * model.optimizer_bytes * parameters_ * layers_ / of.system->memory_bandwidth.value;
  }
  if (stages_ <= 1) return;
  const double directions = workload.training ? 2 : 1;
  if (model.send_per_microbatch) {
    microbatch_send_s_ = directions * pipe.send_s(workload.boundary.value / tp);
  } else if (workload.training) {
    // Published for one sample a microbatch.
    published_send_s_ = directions * workload.boundary.value / static_cast<double>(of.microbatch) *
                        static_cast<double>(workload.layers) / pipe.link_bandwidth();
  }
}

double StepModel::stage_s(const LayerTime& layer) const {
  const double compute_s = layers_ * layer.time_s();
  return of_.model->overlap == MappingOverlap::kPerfect ? std::max(compute_s, microbatch_send_s_)
                                                        : compute_s + microbatch_send_s_;
}

double StepModel::exposed_gradients_s(const LayerTime& layer) const {
  if (of_.model->overlap == MappingOverlap::kNone) return gradients_s_;
  return std::max(0.0, gradients_s_ - layers_ * layer.backward_s);
}

double StepModel::step_s(const LayerTime& layer) const {
  if (of_.model->published_bubble) {
    const double bubble = 1 + (stages_ - 1) / (microbatches_ * std::max(layers_ - 1, 1.0));
    return layer.time_s() * bubble * layers_ * microbatches_ + published_send_s_;
  }
  return (microbatches_ + stages_ - 1) * stage_s(layer) + (stages_ - 1) * microbatch_send_s_ +
         published_send_s_ + exposed_gradients_s(layer) + optimizer_s_;
}

double StepModel::stash_bytes() const {
  if (!of_.model->training_state || !of_.workload->training) return 0;
  const DataflowGraph& graph = of_.workload->graph;
  double bytes = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const DataflowTensor& tensor = graph.tensors[i];
    if (graph.kernels[tensor.producer].backward) continue;
    const bool kept = std::any_of(tensor.uses.begin(), tensor.uses.end(), [&](const auto& use) {
      return graph.kernels[use.kernel].backward;
    });
    if (kept) bytes += tensor.bytes.value * of_.sharded->tensors[i].share;
  }
  // 1F1B: the first stage holds PP microbatches; one layer's are among the live tensors already.
  const double in_flight = std::min(stages_, microbatches_);
  return bytes * (layers_ * in_flight - 1);
}

MappingMemory StepModel::memory(double live_bytes) const {
  MappingMemory memory;
  memory.weights = {weight_bytes_ * layers_};
  memory.activations = {stash_bytes()};
  memory.live = {live_bytes};
  if (of_.model->training_state && of_.workload->training) {
    memory.gradients = {kGradientBytes * parameters_ * layers_};
    memory.optimizer = {(of_.model->optimizer_bytes - kGradientBytes - of_.workload->word) *
                        parameters_ * layers_};
  }
  return memory;
}

double StepModel::live_room() const {
  const double capacity = of_.system->memory_capacity.value;
  if (capacity <= 0) return std::numeric_limits<double>::infinity();
  return capacity - memory(0).total().value;
}

void StepModel::fill(const LayerTime& layer, double live_bytes, Mapping& mapping) const {
  const DataflowWorkload& workload = *of_.workload;
  const MappingSystem& system = *of_.system;
  mapping.shape = *of_.shape;
  mapping.microbatch = of_.microbatch;
  mapping.microbatches = of_.microbatches;
  mapping.tile = of_.tile;
  mapping.layers_per_stage = static_cast<std::int64_t>(layers_);
  mapping.layer = {layer.time_s()};
  mapping.stage = {stage_s(layer)};
  mapping.send = {published_send_s_ + (stages_ - 1) * microbatch_send_s_};
  mapping.gradients = {exposed_gradients_s(layer)};
  mapping.optimizer = {optimizer_s_};
  mapping.step = {step_s(layer)};
  mapping.bubble = of_.model->published_bubble
                       ? 1 + (stages_ - 1) / (microbatches_ * std::max(layers_ - 1, 1.0))
                       : (microbatches_ + stages_ - 1) / microbatches_;
  mapping.memory = memory(live_bytes);
  mapping.samples_per_second = static_cast<double>(workload.global_batch) / mapping.step.value;
  const double work = workload.graph.work().value / static_cast<double>(of_.microbatch) *
                      static_cast<double>(workload.layers * workload.global_batch);
  mapping.utilisation = work / mapping.step.value / (system.peak.value * system.chips());
  mapping.price_usd = system_price(system);
  mapping.power_w = system_power(system);
}

}  // namespace flopcast::mapping
