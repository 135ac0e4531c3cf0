#include "whatif/structure/recorded/recorded_passes.h"

#include <algorithm>

#include "base/numeric/median.h"

namespace flopcast::whatif::structure {
namespace {

using replaying::kNoIndex;

/// The recorded stage that a new one is like: the first, the last, or one between.
std::uint32_t like_stage(std::uint32_t stage, std::uint32_t stages, std::uint32_t recorded) {
  if (stage == 0) return 0;
  if (stage + 1 == stages) return recorded - 1;
  return recorded > 2 ? 1 : kNoIndex;
}

}  // namespace

RecordedPasses::RecordedPasses(const TraceModel& model, const Library& library)
    : model_(model), library_(library) {
  preludes_.resize(model.pp);
  postludes_.resize(model.pp);
  for (const ModelStage& stage : model.stages) read_rank(stage);
  read_buckets();
  choose_messages();
}

void RecordedPasses::read_rank(const ModelStage& stage) {
  const auto& steps = library_.programs[stage.rank];
  if (steps.empty()) return;
  for (const auto& program : steps) {
    for (const RecordedStretch& at : program) read_segment(stage, at);
  }
  // Before and after the passes: of the last step, which nothing cold precedes.
  std::vector<std::uint32_t>& before = preludes_[stage.stage];
  std::vector<std::uint32_t>& after = postludes_[stage.stage];
  if (!before.empty() || !after.empty()) return;
  const auto rest = [&](const RecordedStretch& at) {
    return library_.stretches[at.stretch].key.part == UnitPart::kRest;
  };
  const auto& program = steps.back();
  const auto first = std::find_if_not(program.begin(), program.end(), rest);
  const auto last = std::find_if_not(program.rbegin(), program.rend(), rest).base();
  for (auto it = program.begin(); it != first; ++it) before.push_back(it->stretch);
  if (first == program.end()) return;
  for (auto it = last; it != program.end(); ++it) after.push_back(it->stretch);
}

void RecordedPasses::read_segment(const ModelStage& stage, const RecordedStretch& at) {
  const ModelSegment& segment = stage.segments[at.segment];
  const StretchKey& key = library_.stretches[at.stretch].key;
  if (key.bucket) return;
  if (key.part == UnitPart::kLayer) {
    layers_.try_emplace({key.pass, segment.layer}, at.stretch);
  } else if (key.part == UnitPart::kBefore || key.part == UnitPart::kAfter ||
             key.part == UnitPart::kWhole) {
    const std::uint32_t part = segment.chunk * model_.pp + stage.stage;
    auto& list = edges_[{key.pass, key.part, part}];
    if (list.empty()) list.push_back(at.stretch);
  }
}

void RecordedPasses::choose_messages() {
  std::map<MessageWay, std::uint32_t> copies;
  for (std::uint32_t s = 0; s < library_.stretches.size(); ++s) {
    const Stretch& stretch = library_.stretches[s];
    if (stretch.key.part != UnitPart::kExchange || stretch.key.bucket) continue;
    // A send and a receive in a row are no message, but two.
    const auto messages = std::count_if(stretch.tasks.begin(), stretch.tasks.end(),
                                        [](const StretchTask& task) { return task.communication; });
    if (messages != 1) continue;
    if (stretch.copies > copies[stretch.way]) {
      copies[stretch.way] = stretch.copies;
      messages_[stretch.way] = s;
    }
  }
}

void RecordedPasses::read_buckets() {
  if (library_.made_bucket) {
    buckets_.stretch = library_.made_bucket;
    buckets_.bucket_bytes = buckets_.layer_bytes = library_.made_bucket_bytes;
    return;
  }
  std::vector<double> bytes;
  double layer_bytes = 0;
  double layers = 0;
  std::uint32_t most = 0;
  for (const ModelStage& stage : model_.stages) {
    for (const ModelBucket& bucket : stage.buckets) {
      if (bucket.first_layer > bucket.last_layer) continue;
      bytes.push_back(static_cast<double>(bucket.bytes));
      layer_bytes += static_cast<double>(bucket.bytes);
      layers += bucket.last_layer - bucket.first_layer + 1;
      const ModelUnit& unit = stage.units[stage.segments[bucket.segment].unit];
      if (unit.pass == Pass::kWeights) buckets_.in_weights = true;
    }
  }
  for (std::uint32_t s = 0; s < library_.stretches.size(); ++s) {
    const Stretch& stretch = library_.stretches[s];
    if (!stretch.key.bucket || stretch.copies <= most) continue;
    most = stretch.copies;
    buckets_.stretch = s;
  }
  buckets_.bucket_bytes = upper_median(bytes);
  buckets_.layer_bytes = layers > 0 ? layer_bytes / layers : 0;
}

std::optional<std::uint32_t> RecordedPasses::layer(Pass pass, std::uint32_t number) const {
  std::uint32_t recorded = model_.layers;
  if (number >= recorded) {
    // The period with which the last layers repeat.
    std::uint32_t period = 1;
    const auto of = [&](std::uint32_t n) {
      const auto it = layers_.find({pass, n});
      return it == layers_.end() ? kNoIndex : it->second;
    };
    for (; period < 8 && 2 * period <= recorded; ++period) {
      bool repeats = true;
      for (std::uint32_t i = 0; i < period; ++i) {
        repeats = repeats && of(recorded - 1 - i) == of(recorded - 1 - i - period);
      }
      if (repeats) break;
    }
    if (2 * period > recorded) period = 1;
    number = recorded - period + (number - recorded) % period;
  }
  const auto it = layers_.find({pass, number});
  if (it == layers_.end()) return std::nullopt;
  return it->second;
}

std::vector<std::uint32_t> RecordedPasses::edge(Pass pass, UnitPart side, std::uint32_t part,
                                                std::uint32_t parts) const {
  const std::uint32_t recorded = model_.pp * model_.chunks;
  std::uint32_t like = like_stage(part, parts, recorded);
  if (like == kNoIndex) {
    // Between the ends: what the last stage has before its layers is no embedding, what the first
    // has after them no head.
    if (recorded == 1 || side == UnitPart::kWhole) return {};
    like = side == UnitPart::kBefore ? recorded - 1 : 0;
  } else if (recorded == 1 && parts > 1) {
    // One recorded stage is both ends.
    if ((side == UnitPart::kBefore && part > 0) || (side == UnitPart::kAfter && part + 1 < parts)) {
      return {};
    }
  }
  if (parts == 1 && side == UnitPart::kAfter) like = recorded - 1;
  const auto it = edges_.find({pass, side, like});
  return it == edges_.end() ? std::vector<std::uint32_t>() : it->second;
}

const std::vector<std::uint32_t>& RecordedPasses::prelude(std::uint32_t stage,
                                                          std::uint32_t stages) const {
  const std::uint32_t like = like_stage(stage, stages, model_.pp);
  return preludes_[like == kNoIndex ? model_.pp - 1 : like];
}

const std::vector<std::uint32_t>& RecordedPasses::postlude(std::uint32_t stage,
                                                           std::uint32_t stages) const {
  const std::uint32_t like = like_stage(stage, stages, model_.pp);
  return postludes_[like == kNoIndex ? model_.pp - 1 : like];
}

double RecordedPasses::parameters(std::uint32_t stage, std::uint32_t stages,
                                  std::uint32_t layers) const {
  std::uint32_t like = like_stage(stage, stages, model_.pp);
  if (like == kNoIndex) like = model_.pp - 1;
  for (const ModelStage& recorded : model_.stages) {
    if (recorded.stage != like || recorded.layers == 0) continue;
    double others = 0;  // layers' worth of parameters outside of layers
    for (const ModelBucket& bucket : recorded.buckets) {
      if (bucket.step != 0 || bucket.first_layer <= bucket.last_layer) continue;
      if (buckets_.layer_bytes > 0) {
        others += static_cast<double>(bucket.bytes) / buckets_.layer_bytes;
      }
    }
    return (others + layers) / (others + recorded.layers);
  }
  return 1;
}

std::optional<std::uint32_t> RecordedPasses::message(MessageWay way) const {
  for (const MessageWay found : {way, MessageWay::kBoth, MessageWay::kReceive, MessageWay::kSend}) {
    if (const auto it = messages_.find(found); it != messages_.end()) return it->second;
  }
  return std::nullopt;
}

}  // namespace flopcast::whatif::structure
