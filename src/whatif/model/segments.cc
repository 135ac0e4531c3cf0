#include "whatif/model/segments.h"

#include <algorithm>
#include <map>

namespace flopcast::whatif {
namespace {

using replaying::kNoIndex;
using replaying::RankModel;

/// What makes segments copies of one unit.
struct UnitKey {
  UnitPart part = UnitPart::kRest;
  Pass pass = Pass::kOther;
  std::vector<std::uint32_t> tokens;
  std::vector<bool> recomputed;
  auto operator<=>(const UnitKey&) const = default;
};

UnitPart part_of_label(std::int32_t label) {
  return label == kBeforeLayers  ? UnitPart::kBefore
         : label == kAfterLayers ? UnitPart::kAfter
                                 : UnitPart::kLayer;
}

/// Cuts stretches into segments and groups them into units.
class SegmentMaker {
 public:
  SegmentMaker(const RankModel& rank, const Program& program, const Passes& passes,
               const PassLabels& labels, const LayerPlan& plan, const Pipeline& pipeline,
               ModelStage& stage)
      : rank_(rank),
        program_(program),
        passes_(passes),
        labels_(labels),
        plan_(plan),
        pipeline_(pipeline),
        stage_(stage) {}

  void run() {
    for (std::uint32_t s = 0; s < passes_.stretches.size(); ++s) cut(s);
    for (const Rider& rider : passes_.riders) add_bucket(rider);
  }

 private:
  void cut(std::uint32_t s) {
    const Stretch& stretch = passes_.stretches[s];
    starts_.push_back({static_cast<std::uint32_t>(stage_.segments.size()), {}});
    std::vector<std::uint32_t>& starts = starts_.back().second;
    for (std::uint32_t i = 0; i < stretch.works.size(); ++i) {
      const bool new_layer = labels_[s] && i > 0 && (*labels_[s])[i] != (*labels_[s])[i - 1];
      if (i == 0 || new_layer) starts.push_back(i);
    }
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const auto until =
          k + 1 < starts.size() ? starts[k + 1] : static_cast<std::uint32_t>(stretch.works.size());
      add_segment(s, starts[k], until);
    }
  }

  void add_segment(std::uint32_t s, std::uint32_t from, std::uint32_t until) {
    const Stretch& stretch = passes_.stretches[s];
    ModelSegment segment;
    segment.step = stretch.step;
    segment.microbatch = stretch.microbatch;
    segment.chunk = stretch.chunk;
    segment.thread = stretch.thread;
    UnitKey key;
    key.pass = stretch.pass;
    if (stretch.sort == Stretch::Sort::kExchange) {
      key.part = UnitPart::kExchange;
    } else if (stretch.sort == Stretch::Sort::kPass) {
      key.part = UnitPart::kWhole;
      if (labels_[s]) {
        const std::int32_t label = (*labels_[s])[from];
        key.part = part_of_label(label);
        const std::uint32_t part = pipeline_.part_of(pipeline_.stage[stage_.rank], stretch.chunk);
        if (key.part == UnitPart::kLayer) {
          segment.layer = plan_.parts[part].first_layer + static_cast<std::uint32_t>(label);
        }
      }
    }
    const std::vector<std::uint32_t> works = works_of(stretch, from, until);
    for (const std::uint32_t w : works) {
      const Work& work = program_.works[w];
      segment.tasks.push_back(work.task);
      key.tokens.push_back(work.token);
      key.recomputed.push_back(work.recomputed);
    }
    const auto [known, fresh] =
        units_.try_emplace(key, static_cast<std::uint32_t>(stage_.units.size()));
    segment.unit = known->second;
    if (fresh) add_unit(works, key);
    stage_.units[segment.unit].segments.push_back(
        static_cast<std::uint32_t>(stage_.segments.size()));
    stage_.segments.push_back(std::move(segment));
  }

  /// In launch order; where launches order nothing, stream by stream.
  std::vector<std::uint32_t> works_of(const Stretch& stretch, std::uint32_t from,
                                      std::uint32_t until) const {
    std::vector<std::uint32_t> works(stretch.works.begin() + from, stretch.works.begin() + until);
    if (!plan_.stream) return works;
    const auto stream_of = [this](std::uint32_t w) {
      return rank_.streams[rank_.gpu[program_.works[w].task].stream].id;
    };
    std::stable_sort(works.begin(), works.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return stream_of(a) < stream_of(b); });
    return works;
  }

  void add_unit(const std::vector<std::uint32_t>& works, const UnitKey& key) {
    ModelUnit unit;
    unit.pass = key.pass;
    unit.part = key.part;
    unit.recomputes =
        std::find(key.recomputed.begin(), key.recomputed.end(), true) != key.recomputed.end();
    unit.name = key.part == UnitPart::kRest ? pass_name(key.pass)
                : key.part == UnitPart::kExchange
                    ? "exchange"
                    : std::string(pass_name(key.pass)) + ' ' + unit_part_name(key.part);
    for (const std::uint32_t w : works) {
      const Work& work = program_.works[w];
      ModelKernel kernel;
      kernel.op = work.op_row;
      kernel.group = work.group;
      kernel.recomputed = work.recomputed;
      unit.kernels.push_back(std::move(kernel));
    }
    stage_.units.push_back(std::move(unit));
  }

  void add_bucket(const Rider& rider) {
    const Work& work = program_.works[rider.work];
    ModelBucket bucket;
    bucket.task = work.task;
    bucket.step = work.step;
    bucket.group = work.group;
    if (!starts_.empty()) {
      const auto& [first, starts] = starts_[rider.stretch];
      const auto next = rider.for_next
                            ? std::upper_bound(starts.begin(), starts.end(), rider.position)
                            : std::lower_bound(starts.begin(), starts.end(), rider.position);
      const auto k = static_cast<std::uint32_t>(next - starts.begin());
      bucket.segment = first + (k > 0 ? k - 1 : 0);
      bucket.position = k > 0 ? rider.position - starts[k - 1] : 0;
    }
    stage_.buckets.push_back(bucket);
  }

  const RankModel& rank_;
  const Program& program_;
  const Passes& passes_;
  const PassLabels& labels_;
  const LayerPlan& plan_;
  const Pipeline& pipeline_;
  ModelStage& stage_;
  std::map<UnitKey, std::uint32_t> units_;
  /// Of every stretch: its first segment, and at which of its works segments begin.
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> starts_;
};

}  // namespace

void make_segments(const RankModel& rank, const Program& program, const Passes& passes,
                   const PassLabels& labels, const LayerPlan& plan, const Pipeline& pipeline,
                   ModelStage& stage) {
  SegmentMaker(rank, program, passes, labels, plan, pipeline, stage).run();
}

}  // namespace flopcast::whatif
