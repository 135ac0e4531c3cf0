#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "flopcast/trace.h"
#include "flopcast/whatif/model.h"
#include "whatif/model/groups.h"
#include "whatif/model/units.h"

namespace flopcast {

using namespace whatif;  // the room's own names

namespace {

using replaying::kNoIndex;
using replaying::Recording;

/// Puts a model together.
class ModelMaker {
 public:
  ModelMaker(const TraceSet& set, const Recording& recording)
      : set_(set), recording_(recording), facts_(set) {}

  TraceModel run() {
    Tokens tokens;
    for (std::uint32_t r = 0; r < recording_.ranks.size(); ++r) {
      programs_.push_back(make_program(set_, facts_, recording_, r, tokens));
    }
    model_.groups = find_groups(set_, recording_, programs_);
    for (std::size_t r = 0; r < programs_.size(); ++r) {
      passes_.push_back(cut_passes(recording_.ranks[r], programs_[r], model_.groups));
    }
    pipeline_ = find_pipeline(recording_, programs_, model_.groups, passes_);
    plan_ = plan_layers(set_, recording_, facts_, programs_, passes_, pipeline_);
    doubt_layers();
    take_shape();
    const replaying::Durations durations = replaying::recorded_durations(recording_);
    model_.stages.resize(recording_.ranks.size());
    parallel_for(recording_.ranks.size(), 0,
                 [&](std::size_t r) { make_stage(static_cast<std::uint32_t>(r), durations); });
    settle_groups();
    add_planned_group();
    take_degrees();
    sort_groups();
    return std::move(model_);
  }

 private:
  /// Takes the count of layers back where it may be that of a part.
  void doubt_layers() {
    if (plan_.layers == 0) return;
    const bool unknown_stages = std::any_of(
        model_.groups.begin(), model_.groups.end(),
        [](const ModelGroup& g) { return g.use == GroupUse::kPipeline && g.ranks.empty(); });
    const bool hidden_passes = std::any_of(programs_.begin(), programs_.end(),
                                           [](const Program& p) { return p.hidden_passes; });
    std::string doubt;
    if (unknown_stages) doubt = "of one stage, and how many there are is unknown";
    if (hidden_passes)
      doubt =
          "but forward and backward cannot be told apart: launches are missing, or are those of "
          "graphs";
    if (!truncated_files(set_).empty()) {
      doubt = "but the recording is cut short, and there may have been more";
    }
    if (doubt.empty()) return;
    plan_.evidence += "; " + doubt;
    plan_.layers = 0;
  }

  void take_shape() {
    model_.pp = pipeline_.stages;
    model_.schedule = pipeline_.schedule;
    model_.schedule_evidence = pipeline_.evidence;
    model_.chunks = pipeline_.chunks;
    model_.microbatches = pipeline_.microbatches;
    model_.layers = plan_.layers;
    model_.layer_evidence = plan_.evidence;
    for (const Program& p : programs_) {
      model_.has_host = model_.has_host || p.has_host;
      for (const Work& w : p.works) model_.recompute = model_.recompute || w.recomputed;
    }
    for (const Trace& trace : set_.traces) {
      model_.has_shapes =
          model_.has_shapes || std::any_of(trace.ops.begin(), trace.ops.end(),
                                           [](const OpDetail& op) { return op.input_dims != 0; });
    }
  }

  void make_stage(std::uint32_t r, const replaying::Durations& durations) {
    ModelStage& stage = model_.stages[r];
    stage.rank = r;
    stage.stage = pipeline_.stage[r];
    stage.microbatches = pipeline_.microbatches;
    stage.chunks = pipeline_.chunks;
    stage.steps = programs_[r].steps;
    for (std::uint32_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
      const std::uint32_t part = pipeline_.part_of(stage.stage, chunk);
      if (part < plan_.parts.size()) {
        stage.layers += static_cast<std::uint32_t>(plan_.parts[part].layers.size());
      }
    }
    if (pipeline_.stages == 1 && stage.layers == 0) stage.layers = plan_.layers;
    const PassLabels labels =
        label_passes(recording_.ranks[r], programs_[r], passes_[r], plan_, pipeline_, r);
    make_units(set_, recording_, durations, programs_[r], passes_[r], labels, plan_, pipeline_,
               stage);
    tell_order(r, stage);
  }

  void tell_order(std::uint32_t r, ModelStage& stage) const {
    for (const Stretch& s : passes_[r].stretches) {
      if (s.sort != Stretch::Sort::kPass || s.microbatch == kNoIndex) continue;
      if (s.step != programs_[r].steps / 2) continue;
      const char letter = s.pass == Pass::kForward ? 'F' : s.pass == Pass::kWeights ? 'W' : 'B';
      std::string name = fmt::format("{}{}", letter, s.microbatch);
      if (pipeline_.chunks > 1) name += fmt::format(".{}", s.chunk);
      stage.order.push_back(std::move(name));
    }
  }

  /// What layers say of a group: how often a layer uses it; and all-to-all outside of layers is no
  /// expert's.
  void settle_groups() {
    std::vector<std::uint32_t> most(model_.groups.size(), 0);
    bool layers = false;
    for (const ModelStage& stage : model_.stages) {
      for (const ModelUnit& unit : stage.units) {
        if (unit.part != UnitPart::kLayer) continue;
        layers = true;
        std::map<std::uint32_t, std::uint32_t> count;
        for (const ModelKernel& k : unit.kernels) {
          if (k.group != kNoIndex) ++count[k.group];
        }
        for (const auto& [group, times] : count) most[group] = std::max(most[group], times);
      }
    }
    for (std::uint32_t g = 0; g < model_.groups.size(); ++g) {
      ModelGroup& group = model_.groups[g];
      if (most[g] > 0) group.evidence += fmt::format("; {} in a layer", most[g]);
      if (most[g] > 0 || group.use != GroupUse::kExpert) continue;
      group.use = GroupUse::kUnknown;
      group.evidence += layers ? "; none in a layer" : "; no layers were found to hold them";
    }
  }

  /// A planned step names no groups, but has sends.
  void add_planned_group() {
    if (programs_.size() < 2 || !programs_.front().planned || pipeline_.stages < 2) return;
    ModelGroup group;
    group.use = GroupUse::kPipeline;
    for (const replaying::RankModel& rank : recording_.ranks) group.ranks.push_back(rank.rank);
    std::sort(group.ranks.begin(), group.ranks.end());
    group.size = static_cast<std::uint32_t>(group.ranks.size());
    group.evidence = "a planned step: one chip of each stage, sends between them";
    model_.groups.push_back(std::move(group));
  }

  /// Gradients are shared by replicas and by the ranks that share a replica's sequence.
  std::uint32_t replicas_of(const ModelGroup& data) const {
    const std::uint32_t size = data.size;
    for (const ModelGroup& g : model_.groups) {
      if (g.use == GroupUse::kContext && !g.ranks.empty() &&
          std::includes(data.ranks.begin(), data.ranks.end(), g.ranks.begin(), g.ranks.end())) {
        return size / static_cast<std::uint32_t>(g.ranks.size());
      }
    }
    return size;
  }

  void take_degrees() {
    for (const ModelGroup& g : model_.groups) {
      const std::uint32_t size = g.size;
      const auto grow = [size](std::uint32_t& degree) { degree = std::max(degree, size); };
      switch (g.use) {
        case GroupUse::kTensor:
          grow(model_.tp);
          break;
        case GroupUse::kContext:
          grow(model_.cp);
          break;
        case GroupUse::kSharded:
          model_.zero = true;
          model_.dp = std::max(model_.dp, replicas_of(g));
          break;
        case GroupUse::kData:
          model_.dp = std::max(model_.dp, replicas_of(g));
          break;
        case GroupUse::kExpert:
          grow(model_.ep);
          break;
        default:
          break;
      }
    }
  }

  /// By use, then ranks; kernels and buckets point to the new places.
  void sort_groups() {
    std::vector<std::uint32_t> order(model_.groups.size()), place(model_.groups.size());
    for (std::uint32_t g = 0; g < order.size(); ++g) order[g] = g;
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const ModelGroup& x = model_.groups[a];
      const ModelGroup& y = model_.groups[b];
      return std::tie(x.use, x.ranks) < std::tie(y.use, y.ranks);
    });
    std::vector<ModelGroup> sorted;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(std::move(model_.groups[order[i]]));
    }
    model_.groups = std::move(sorted);
    for (ModelStage& stage : model_.stages) {
      for (ModelUnit& unit : stage.units) {
        for (ModelKernel& k : unit.kernels) {
          if (k.group != kNoIndex) k.group = place[k.group];
        }
      }
      for (ModelBucket& b : stage.buckets) {
        if (b.group != kNoIndex) b.group = place[b.group];
      }
    }
  }

  const TraceSet& set_;
  const Recording& recording_;
  NameFacts facts_;
  std::vector<Program> programs_;
  std::vector<Passes> passes_;
  Pipeline pipeline_;
  LayerPlan plan_;
  TraceModel model_;
};

}  // namespace

const char* group_use_name(GroupUse use) {
  static constexpr const char* kNames[] = {"tp", "cp",   "dp",    "pp",
                                           "ep", "zero", "model", "unknown"};
  return kNames[static_cast<std::size_t>(use)];
}

const char* pass_name(Pass pass) {
  static constexpr const char* kNames[] = {"forward", "backward", "weights", "optimizer", "other"};
  return kNames[static_cast<std::size_t>(pass)];
}

const char* unit_part_name(UnitPart part) {
  static constexpr const char* kNames[] = {"layer", "before", "after", "whole", "exchange", "rest"};
  return kNames[static_cast<std::size_t>(part)];
}

TraceModel make_trace_model(const TraceSet& set, const Recording& recording) {
  return ModelMaker(set, recording).run();
}

}  // namespace flopcast
