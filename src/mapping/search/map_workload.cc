// The search: candidates in order of their bounds, until none left can be better.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "base/numeric/divisors.h"
#include "flopcast/base/quantity.h"
#include "mapping/partition/mps.h"
#include "mapping/search/check_answer.h"
#include "mapping/search/layer_solver.h"
#include "mapping/search/shapes.h"

namespace flopcast {
namespace {

using namespace mapping;  // the room's own names

constexpr std::size_t kBatch = 8;  // candidates looked at together, whatever the threads

/// What a sharding and a layer's bound depend on; candidates share it.
struct ShardedKey {
  std::vector<unsigned> tensor,
      data;  ///< chips per dimension; data only where gradients are hidden
  std::int64_t microbatch = 1, microbatches = 0;
  auto operator<=>(const ShardedKey&) const = default;
};

/// A graph at a microbatch, sharded for a tensor-parallel group.
struct ShardedCase {
  DataflowWorkload workload;
  ShardedGraph sharded;
  MappingShape shape;
  ProgramCase of;
  LayerTime bound;  ///< for any tile
};

/// The same at a tile: its programs and their partitions, made when first needed.
struct LayerCase {
  std::shared_ptr<ShardedCase> sharded;
  ProgramCase of;
  std::vector<PassProgram> programs;
  LayerTime bound;
  std::optional<LayerPlan> plan;  ///< with all the DRAM it wants
  bool built = false, solved = false;
};

struct Candidate {
  std::size_t shape = 0;
  std::shared_ptr<LayerCase> layer;
  std::int64_t microbatch = 1, microbatches = 1;
  double bound_s = 0;
};

class MappingProblem {
 public:
  explicit MappingProblem(const MappingRequest& request)
      : request_(request), quick_model_(request.model) {
    if (request.model.utilisation != 0) return;
    // No cycle count is below this share of the peak.
    const TileArray& tiles = request.system.chip.tiles;
    const double array = 2.0 * tiles.count * tiles.width * tiles.height * tiles.hertz;
    quick_model_.utilisation = std::max(1.0, array / request.system.peak.value);
  }

  Result<Mapping> solve() {
    if (auto error = prepare()) return *error;
    if (auto error = make_candidates()) return *error;
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const auto& a, const auto& b) { return a.bound_s < b.bound_s; });
    std::size_t at = 0;
    for (; at < candidates_.size(); at += kBatch) {
      if (best_ && candidates_[at].bound_s >= best_->step.value) break;
      look_at(at, std::min(at + kBatch, candidates_.size()));
      if (stopped()) return stop();
    }
    if (!best_) return shortage();
    best_->counts = counts_;
    best_->counts.bounded += candidates_.size() - std::min(at, candidates_.size());
    best_->bound = {std::min(bound_s_, best_->step.value)};
    best_->exact = best_->bound == best_->step;
    return std::move(*best_);
  }

 private:
  bool stopped() const { return request_.search.go_on && !request_.search.go_on(); }
  Diagnostic stop() const {
    return {ErrorCode::kNoAnswer, request_.workload.graph.name, "the search was stopped", {}};
  }

  std::optional<Diagnostic> prepare() {
    const Result<bool> sound = check_dataflow(request_.workload.graph);
    if (!sound) return sound.error();
    if (request_.model.utilisation == 0 && request_.system.chip.tiles.count == 0) {
      return Diagnostic{ErrorCode::kUsage, request_.system.chip.name,
                        "its compute tiles are not known, so cycles cannot be counted",
                        "give a utilisation (--utilisation 0.9), or --set tiles=..."};
    }
    Result<GraphPasses> passes = GraphPasses::make(request_.workload.graph, request_.search);
    if (!passes) return passes.error();
    passes_.emplace(std::move(*passes));
    Result<std::vector<MappingShape>> shapes = all_shapes(request_.system, request_.search);
    if (!shapes) return shapes.error();
    shapes_ = std::move(*shapes);
    counts_.ideals = passes_->ideals();
    return std::nullopt;
  }

  std::optional<Diagnostic> make_candidates() {
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      const MappingShape& shape = shapes_[s];
      const std::int64_t batch = request_.workload.global_batch;
      if (batch % shape.dp() != 0 || (cut(shape) && !can_cut())) continue;
      ++counts_.shapes;
      for (const std::int64_t microbatch : microbatches(batch / shape.dp())) {
        for (const std::int64_t tile : tiles()) {
          if (auto error = add_candidate(s, microbatch, batch / shape.dp() / microbatch, tile)) {
            return error;
          }
        }
      }
    }
    counts_.candidates = candidates_.size();
    if (!candidates_.empty()) return std::nullopt;
    return Diagnostic{
        ErrorCode::kUsage, request_.system.name,
        fmt::format("no shape suits {} layers and a global batch of {}", request_.workload.layers,
                    request_.workload.global_batch),
        "DP times the microbatch must divide the batch; PP may be at most the number of layers, "
        "but "
        "where there is one layer, no backward pass of its own, and nothing is pinned"};
  }

  /// A pipeline with more stages than layers is one through the graph itself.
  bool cut(const MappingShape& shape) const { return request_.workload.layers < shape.pp(); }
  bool can_cut() const {
    const auto& kernels = request_.workload.graph.kernels;
    const bool one_pass =
        request_.search.mix_passes ||
        std::none_of(kernels.begin(), kernels.end(),
                     [](const DataflowKernel& kernel) { return kernel.backward; });
    return one_pass && request_.workload.layers == 1 && request_.search.pins.empty() &&
           request_.search.partitions == 0 && passes_->lattice(0) != nullptr;
  }

  std::vector<std::int64_t> microbatches(std::int64_t batch) const {
    if (request_.search.microbatch == 0) return divisors(batch);
    if (batch % request_.search.microbatch != 0) return {};
    return {request_.search.microbatch};
  }
  std::vector<std::int64_t> tiles() const {
    if (request_.search.tile != 0) return {request_.search.tile};
    // Without cycles a small tile costs nothing and needs the least SRAM.
    if (request_.model.utilisation != 0) return {1};
    return request_.search.every_tile ? distinct_tiles(request_.workload.tokens)
                                      : divisors(request_.workload.tokens);
  }

  std::optional<Diagnostic> add_candidate(std::size_t s, std::int64_t microbatch,
                                          std::int64_t microbatches, std::int64_t tile) {
    if (stopped()) return stop();
    ShardedKey key{{}, {}, microbatch, 0};
    for (const auto& dimension : shapes_[s].factors) key.tensor.push_back(dimension[0]);
    if (request_.model.hide_gradients) {
      for (const auto& dimension : shapes_[s].factors) key.data.push_back(dimension[2]);
      key.microbatches = microbatches;
    }
    std::shared_ptr<ShardedCase>& sharded = sharded_[key];
    if (!sharded) {
      Result<std::shared_ptr<ShardedCase>> made = shard(shapes_[s], microbatch, microbatches);
      if (!made) return made.error();
      sharded = std::move(*made);
    }
    std::shared_ptr<LayerCase>& layer = layers_[{sharded.get(), tile}];
    if (!layer) {
      layer = std::make_shared<LayerCase>();
      layer->sharded = sharded;
      layer->of = sharded->of;
      layer->of.tile = tile;
    }
    Candidate candidate{s, layer, microbatch, microbatches, 0};
    const ProgramCase of = case_of(candidate);
    candidate.bound_s = StepModel(of).step_s(per_stage(of, sharded->bound));
    candidates_.push_back(std::move(candidate));
    return std::nullopt;
  }

  Result<std::shared_ptr<ShardedCase>> shard(const MappingShape& shape, std::int64_t microbatch,
                                             std::int64_t microbatches) const {
    auto made = std::make_shared<ShardedCase>();
    made->workload = request_.workload;
    made->workload.graph = at_microbatch(request_.workload.graph, microbatch);
    made->workload.boundary = request_.workload.boundary * static_cast<double>(microbatch);
    made->shape = shape;
    const GroupNetwork group(request_.system, shape, Parallelism::kTensor, request_.model.latency);
    Result<ShardedGraph> sharded =
        shard_graph(made->workload, group, request_.model, request_.search.shardings);
    if (!sharded) return sharded.error();
    made->sharded = std::move(*sharded);
    made->of = {&made->workload,
                &request_.system,
                &request_.model,
                &made->shape,
                &made->sharded,
                microbatch,
                microbatches,
                1,
                request_.search.mix_passes};
    ProgramCase quick = made->of;
    quick.model = &quick_model_;
    made->bound = layer_bound(build_programs(quick));
    return made;
  }

  /// The slowest stage of a cut takes at least the mean.
  static LayerTime per_stage(const ProgramCase& of, LayerTime bound) {
    if (of.cut) bound.forward_s /= of.shape->pp();
    return bound;
  }

  ProgramCase case_of(const Candidate& candidate) const {
    ProgramCase of = candidate.layer->of;
    of.shape = &shapes_[candidate.shape];
    of.cut = cut(*of.shape);
    of.microbatches = candidate.microbatches;
    return of;
  }

  /// Solves what the candidates need, in parallel, then takes them one by one. Where the search is
  /// stopped, some are neither solved nor taken.
  void look_at(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> open;
    for (std::size_t i = begin; i < end; ++i) {
      LayerCase& layer = *candidates_[i].layer;
      if (layer.built && (layer.solved || !promising(candidates_[i]))) continue;
      const bool mine = std::none_of(open.begin(), open.end(), [&](std::size_t other) {
        return candidates_[other].layer == candidates_[i].layer;
      });
      if (mine && StepModel(case_of(candidates_[i])).live_room() > 0) open.push_back(i);
    }
    parallel_for(open.size(), request_.search.threads, [&](std::size_t i) {
      if (stopped()) return;
      LayerCase& layer = *candidates_[open[i]].layer;
      if (!layer.built) {
        layer.programs = build_programs(layer.of);
        layer.bound = layer_bound(layer.programs);
        layer.built = true;
      }
      if (cut(shapes_[candidates_[open[i]].shape]) || !promising(candidates_[open[i]])) return;
      layer.plan = solve_layer(layer.programs, *passes_, request_.system, request_.search,
                               std::numeric_limits<double>::infinity());
      layer.solved = true;
    });
    for (const std::size_t i : open) {
      const LayerCase& layer = *candidates_[i].layer;
      if (layer.plan) counts_.transitions += layer.plan->transitions;
    }
    for (std::size_t i = begin; i < end && !stopped(); ++i) take(candidates_[i]);
  }

  /// Its own bound says that it may still be the best.
  bool promising(const Candidate& candidate) const {
    const ProgramCase of = case_of(candidate);
    return !best_ ||
           StepModel(of).step_s(per_stage(of, candidate.layer->bound)) < best_->step.value;
  }

  void take(const Candidate& candidate) {
    const ProgramCase of = case_of(candidate);
    const StepModel model(of);
    const double room = model.live_room();
    LayerCase& layer = *candidate.layer;
    if (room <= 0) {
      ++counts_.unfit;
      note_memory(candidate, room);
      return;
    }
    if (!promising(candidate)) {
      ++counts_.bounded;
      return;
    }
    std::optional<LayerPlan> own;
    const LayerPlan* plan = nullptr;
    if (of.cut) {
      if (!layer.built) layer.programs = build_programs(layer.of);
      own = solve_pipeline(of, layer.programs[0], *passes_->lattice(0));
      plan = own ? &*own : nullptr;
      if (own) counts_.transitions += own->transitions;
    } else {
      if (!layer.solved) solve_late(layer);
      plan = layer.plan ? &*layer.plan : nullptr;
    }
    if (plan != nullptr && !of.cut && plan->live_bytes > room) {
      // What is fastest with all the DRAM it wants does not fit: look for what does.
      own = solve_layer(layer.programs, *passes_, request_.system, request_.search, room);
      plan = own ? &*own : nullptr;
    }
    if (plan == nullptr) {
      ++counts_.unfit;
      note_sram(candidate);
      return;
    }
    bound_s_ = std::min(bound_s_, model.step_s(plan->bound));
    if (best_ && model.step_s(plan->time) >= best_->step.value) return;
    Mapping mapping;
    model.fill(plan->time, plan->live_bytes, mapping);
    if (of.cut) mapping.memory.weights = {plan->stage_weight_bytes};
    finish(candidate, *plan, mapping);
    best_ = std::move(mapping);
  }

  /// Several candidates of a batch share a layer; the one it was solved for did not promise enough.
  void solve_late(LayerCase& layer) {
    if (!layer.built) layer.programs = build_programs(layer.of);
    layer.plan = solve_layer(layer.programs, *passes_, request_.system, request_.search,
                             std::numeric_limits<double>::infinity());
    layer.built = layer.solved = true;
    if (layer.plan) counts_.transitions += layer.plan->transitions;
  }

  void finish(const Candidate& candidate, const LayerPlan& plan, Mapping& mapping) const {
    const LayerCase& layer = *candidate.layer;
    for (const ShardedKernel& kernel : layer.sharded->sharded.kernels) {
      mapping.sharding.push_back(kernel.sharding);
    }
    for (const ShardedTensor& tensor : layer.sharded->sharded.tensors) {
      mapping.layout.push_back(tensor.layout);
    }
    mapping.partitions = describe_partitions(layer.programs, plan);
    double flop = 0, dram = 0, wire = 0;
    for (const MappedPartition& partition : mapping.partitions) {
      flop += partition.work.value;
      dram += partition.dram.value;
      wire += partition.wire.value;
    }
    const GroupNetwork group(request_.system, mapping.shape, Parallelism::kTensor, false);
    MappingRoofline& roofline = mapping.roofline;
    roofline.peak = request_.system.peak;
    roofline.achieved = {flop / mapping.layer.value};
    roofline.memory_bandwidth = request_.system.memory_bandwidth;
    roofline.network_bandwidth = {group.size() > 1 ? group.bandwidth() : 0};
    roofline.memory_intensity = dram > 0 ? flop / dram : 0;
    roofline.network_intensity = wire > 0 ? flop / wire : 0;
  }

  std::string words(const Candidate& candidate) const {
    const MappingShape& shape = shapes_[candidate.shape];
    return fmt::format("TP {} PP {} DP {}, microbatch {}, tile {}", shape.tp(), shape.pp(),
                       shape.dp(), candidate.microbatch, candidate.layer->of.tile);
  }

  /// Remembers the candidate whose DRAM comes closest to fitting.
  void note_memory(const Candidate& candidate, double room) {
    const double capacity = request_.system.memory_capacity.value;
    if (capacity - room >= least_needed_) return;
    least_needed_ = capacity - room;
    memory_words_ = fmt::format(
        "a chip needs {} of DRAM for weights, gradients, optimiser state and activations, it has "
        "{}: {} short at {}",
        quantity_text(capacity - room, UnitKind::kBytes), quantity_text(capacity, UnitKind::kBytes),
        quantity_text(-room, UnitKind::kBytes), words(candidate));
  }
  /// Remembers the first candidate that has the DRAM and not the SRAM.
  void note_sram(const Candidate& candidate) {
    if (!sram_words_.empty()) return;
    sram_words_ = misfit(candidate.layer->programs, candidate.layer->sharded->workload.graph);
    if (sram_words_.empty()) {
      const unsigned most = request_.search.partitions;
      sram_words_ = fmt::format(
          "no sequence of {}partitions keeps its weights and buffers within {} of SRAM and its "
          "tensors within DRAM",
          most == 0 ? std::string() : fmt::format("at most {} ", most),
          quantity_text(request_.system.sram.value, UnitKind::kBytes));
    }
    sram_words_ += "; tried first: " + words(candidate);
  }

  Diagnostic shortage() const {
    return {ErrorCode::kTooLarge, request_.system.name,
            fmt::format("{} fits none of {} candidates: {}", request_.workload.graph.name,
                        candidates_.size(), sram_words_.empty() ? memory_words_ : sram_words_),
            "take more chips, a larger memory, smaller tiles, or free the degrees"};
  }

  const MappingRequest& request_;
  MappingModel quick_model_;  ///< for bounds: without cycles
  std::optional<GraphPasses> passes_;
  std::vector<MappingShape> shapes_;
  std::vector<Candidate> candidates_;
  std::map<ShardedKey, std::shared_ptr<ShardedCase>> sharded_;
  std::map<std::pair<const ShardedCase*, std::int64_t>, std::shared_ptr<LayerCase>> layers_;
  std::optional<Mapping> best_;
  double bound_s_ = std::numeric_limits<double>::infinity();
  double least_needed_ = std::numeric_limits<double>::infinity();
  std::string memory_words_, sram_words_;
  MappingCounts counts_;
};

}  // namespace

Result<Mapping> map_workload(const MappingRequest& request) {
  Result<Mapping> mapping = MappingProblem(request).solve();
  if (!mapping) return mapping;
  if (auto problem = check_answer(*mapping)) return *std::move(problem);
  return mapping;
}

Result<std::string> mapping_mps(const MappingRequest& request, const Mapping& mapping,
                                unsigned partitions) {
  DataflowWorkload workload = request.workload;
  workload.graph = at_microbatch(request.workload.graph, mapping.microbatch);
  workload.boundary = request.workload.boundary * static_cast<double>(mapping.microbatch);
  const GroupNetwork group(request.system, mapping.shape, Parallelism::kTensor,
                           request.model.latency);
  const Result<ShardedGraph> sharded =
      shard_graph(workload, group, request.model, request.search.shardings);
  if (!sharded) return sharded.error();
  const ProgramCase of{
      &workload,          &request.system,      &request.model, &mapping.shape,           &*sharded,
      mapping.microbatch, mapping.microbatches, mapping.tile,   request.search.mix_passes};
  std::vector<PassProgram> programs = build_programs(of);
  const double room = StepModel(of).live_room();
  for (PassProgram& pass : programs) pass.program.live_bytes = room;
  return partition_mps(programs, workload.graph.name, partitions);
}

}  // namespace flopcast
