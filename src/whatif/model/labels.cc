#include "whatif/model/labels.h"

#include <algorithm>
#include <map>

namespace flopcast::whatif {
namespace {

using replaying::kNoIndex;
using replaying::RankModel;

/// Where layers known by their tokens stand in a sequence.
std::vector<LayerSpan> find_units(const std::vector<std::uint32_t>& tokens,
                                  const std::vector<std::vector<std::uint32_t>>& units) {
  std::vector<LayerSpan> found;
  for (std::uint32_t at = 0; at < tokens.size();) {
    const auto unit = std::find_if(units.begin(), units.end(), [&](const auto& u) {
      return u.size() <= tokens.size() - at && std::equal(u.begin(), u.end(), tokens.begin() + at);
    });
    if (unit == units.end()) {
      ++at;
      continue;
    }
    found.push_back({at, at + static_cast<std::uint32_t>(unit->size())});
    at = found.back().last;
  }
  return found;
}

std::vector<std::int32_t> labels_of(const std::vector<LayerSpan>& layers, std::size_t size,
                                    std::uint32_t model_layers) {
  std::vector<std::int32_t> labels(size, kBeforeLayers);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::size_t until = i + 1 < layers.size() ? layers[i + 1].first : size;
    for (std::size_t w = layers[i].first; w < until; ++w) {
      labels[w] = w < layers[i].last ? static_cast<std::int32_t>(i % model_layers) : kAfterLayers;
    }
  }
  return labels;
}

/// Labels the passes of one rank.
class Labeller {
 public:
  Labeller(const RankModel& model, const Program& program, const Passes& passes,
           const LayerPlan& plan, const Pipeline& pipeline, std::uint32_t rank)
      : model_(model),
        program_(program),
        passes_(passes),
        plan_(plan),
        pipeline_(pipeline),
        rank_(rank) {}

  PassLabels run() {
    labels_.resize(passes_.stretches.size());
    if (plan_.units.empty()) return std::move(labels_);
    for (const Pass pass : {Pass::kForward, Pass::kBackward, Pass::kWeights}) {
      for (std::uint32_t s = 0; s < passes_.stretches.size(); ++s) {
        const Stretch& stretch = passes_.stretches[s];
        if (stretch.sort != Stretch::Sort::kPass || stretch.pass != pass) continue;
        labels_[s] = pass == Pass::kForward ? forward_by_stream(stretch) : backward(stretch);
      }
    }
    return std::move(labels_);
  }

 private:
  const PartCut* part_of(const Stretch& s) const {
    const std::uint32_t part = pipeline_.part_of(pipeline_.stage[rank_], s.chunk);
    return part < plan_.parts.size() ? &plan_.parts[part] : nullptr;
  }

  using Labels = std::optional<std::vector<std::int32_t>>;

  /// Work of other streams belongs to the layer that the main stream is in when it starts.
  Labels forward_by_stream(const Stretch& s) const {
    if (!plan_.stream) return forward(s);
    Stretch main = s;
    std::erase_if(main.works, [&](std::uint32_t w) { return !is_main(w); });
    const Labels found = forward(main);
    if (!found) return std::nullopt;
    std::vector<std::int32_t> labels;
    std::size_t next = 0;
    for (const std::uint32_t w : s.works) {
      if (is_main(w)) ++next;
      labels.push_back(next == 0 ? kBeforeLayers : (*found)[next - 1]);
    }
    return labels;
  }

  bool is_main(std::uint32_t w) const {
    const replaying::Stream& stream = model_.streams[model_.gpu[program_.works[w].task].stream];
    return std::pair(stream.device, stream.id) == *plan_.stream;
  }

  Labels forward(const Stretch& s) const {
    const PartCut* part = part_of(s);
    if (part == nullptr || part->layers.empty()) return std::nullopt;
    const std::vector<std::uint32_t> tokens = tokens_of(program_.works, s.works, plan_.level);
    const auto count = static_cast<std::uint32_t>(part->layers.size());
    if (plan_.repeats == 1 && tokens == part->tokens) {
      return labels_of(part->layers, tokens.size(), count);
    }
    const std::vector<LayerSpan> found = find_units(tokens, plan_.units);
    if (found.empty() || found.size() % count != 0) return std::nullopt;
    if (plan_.repeats == 1 && found.size() != count) return std::nullopt;
    return labels_of(found, tokens.size(), count);
  }

  Labels backward(const Stretch& s) const {
    if (s.forward != kNoIndex && labels_[s.forward]) {
      if (Labels labels = by_numbers(s)) return labels;
    }
    return by_repeats(s);
  }

  /// Autograd's number leads to the forward operator, and that to the layer.
  Labels by_numbers(const Stretch& s) const {
    std::map<std::int64_t, std::int32_t> first, again;  // label by number
    const Stretch& forward = passes_.stretches[s.forward];
    for (std::size_t i = 0; i < forward.works.size(); ++i) {
      const std::int64_t number = forward_number(program_.works[forward.works[i]]);
      if (number != kNoId) first[number] = (*labels_[s.forward])[i];
    }
    const PartCut* part = part_of(s);
    if (first.empty() || part == nullptr) return std::nullopt;
    constexpr std::int32_t kNone = -2;
    std::vector<std::int32_t> labels(s.works.size(), kNone);
    auto lowest = static_cast<std::int32_t>(part->layers.size());
    std::int32_t last = kNone;
    for (std::size_t i = 0; i < s.works.size(); ++i) {
      const Work& work = program_.works[s.works[i]];
      if (work.recomputed) {
        i = label_recomputed(s, i, lowest, again, labels) - 1;
        last = labels[i];
        continue;
      }
      const auto& numbers = work.of_recomputed ? again : first;
      if (work.sequence != kNoId && !numbers.empty()) {
        const auto next = numbers.upper_bound(work.sequence);
        last = next == numbers.begin() ? next->second : std::prev(next)->second;
        if (last >= 0 && last < lowest) lowest = last;
      }
      labels[i] = last;
    }
    for (std::size_t i = labels.size(); i-- > 1;) {
      if (labels[i - 1] == kNone) labels[i - 1] = labels[i];
    }
    if (labels.empty() || labels.back() == kNone) return std::nullopt;
    return labels;
  }

  /// A stretch of forward work inside a backward: as many layers as it holds, those below the ones
  /// that were met. @return one past its end.
  std::size_t label_recomputed(const Stretch& s, std::size_t begin, std::int32_t& lowest,
                               std::map<std::int64_t, std::int32_t>& again,
                               std::vector<std::int32_t>& labels) const {
    std::size_t end = begin;
    std::vector<std::uint32_t> works;
    while (end < s.works.size() && program_.works[s.works[end]].recomputed) {
      works.push_back(s.works[end++]);
    }
    const std::vector<LayerSpan> found =
        find_units(tokens_of(program_.works, works, plan_.level), plan_.units);
    const auto count = std::max<std::int32_t>(static_cast<std::int32_t>(found.size()), 1);
    lowest = std::max(lowest - count, 0);
    for (std::size_t i = begin, layer = 0; i < end; ++i) {
      if (layer + 1 < found.size() && i - begin >= found[layer + 1].first) ++layer;
      labels[i] = lowest + static_cast<std::int32_t>(layer);
      const std::int64_t number = program_.works[s.works[i]].sequence;
      if (number != kNoId) again[number] = labels[i];
    }
    return end;
  }

  /// As many repeats as there are layers; a part that is one layer and nothing else is one whole.
  Labels by_repeats(const Stretch& s) const {
    const PartCut* part = part_of(s);
    if (part == nullptr || part->layers.empty()) return std::nullopt;
    const auto count = static_cast<std::uint32_t>(part->layers.size());
    const std::vector<std::uint32_t> tokens = tokens_of(program_.works, s.works, plan_.level);
    if (count == 1 && part->layers.front().first == 0 &&
        part->layers.front().last == part->tokens.size()) {
      return std::vector<std::int32_t>(tokens.size(), 0);
    }
    for (const Repeat& run : find_repeats(tokens, 4)) {
      if (run.copies != count) continue;
      std::vector<std::int32_t> labels(tokens.size(), kBeforeLayers);
      for (std::uint32_t i = 0; i < tokens.size(); ++i) {
        if (i < run.start) labels[i] = kAfterLayers;
        if (i < run.start || i >= run.end()) continue;
        labels[i] = static_cast<std::int32_t>(count - 1 - (i - run.start) / run.period);
      }
      return labels;
    }
    return std::nullopt;
  }

  const RankModel& model_;
  const Program& program_;
  const Passes& passes_;
  const LayerPlan& plan_;
  const Pipeline& pipeline_;
  std::uint32_t rank_;
  PassLabels labels_;
};

}  // namespace

PassLabels label_passes(const RankModel& model, const Program& program, const Passes& passes,
                        const LayerPlan& plan, const Pipeline& pipeline, std::uint32_t rank) {
  return Labeller(model, program, passes, plan, pipeline, rank).run();
}

}  // namespace flopcast::whatif
