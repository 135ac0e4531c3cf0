#include "whatif/structure/recorded/ranks.h"

#include <algorithm>

#include <fmt/format.h>

namespace flopcast::whatif::structure {
namespace {

std::size_t at(Dimension d) { return static_cast<std::size_t>(d); }

Diagnostic unknown_ranks(std::string what) {
  return {ErrorCode::kNoAnswer, "ranks", std::move(what),
          "record every rank of the run, with a profiler that writes process groups (PyTorch 2.4 "
          "or newer)"};
}

std::optional<Dimension> dimension_of(GroupUse use) {
  switch (use) {
    case GroupUse::kTensor:
      return Dimension::kTensor;
    case GroupUse::kContext:
      return Dimension::kContext;
    case GroupUse::kData:
    case GroupUse::kSharded:
      return Dimension::kData;
    case GroupUse::kPipeline:
      return Dimension::kPipeline;
    default:
      return std::nullopt;
  }
}

/// From one member of a dimension's groups to the next; 0 where no group tells.
std::uint32_t stride_of(const TraceModel& model, Dimension d) {
  for (const ModelGroup& group : model.groups) {
    if (dimension_of(group.use) == d && group.ranks.size() > 1) {
      return static_cast<std::uint32_t>(group.ranks[1] - group.ranks[0]);
    }
  }
  return 0;
}

}  // namespace

Result<RankGrid> RankGrid::of(const TraceModel& model, const replaying::Recording& recording) {
  RankGrid grid;
  grid.degrees_ = {model.tp, model.cp, model.dp, model.pp};
  if (grid.size() != recording.ranks.size()) {
    return unknown_ranks(fmt::format(
        "{} ranks were recorded of a run of tp {} x cp {} x dp {} x pp {}: what the others do is "
        "not known",
        recording.ranks.size(), model.tp, model.cp, model.dp, model.pp));
  }
  std::vector<std::pair<std::uint32_t, Dimension>> strides;
  std::vector<std::size_t> slots;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const Dimension d = grid.order_[i];
    if (grid.degree(d) == 1) continue;
    strides.emplace_back(stride_of(model, d), d);
    slots.push_back(i);
  }
  std::stable_sort(strides.begin(), strides.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < slots.size(); ++i) grid.order_[slots[i]] = strides[i].second;
  for (const ModelStage& stage : model.stages) {
    const auto rank = static_cast<std::uint32_t>(recording.ranks[stage.rank].rank);
    if (rank >= grid.size() || grid.place(rank)[at(Dimension::kPipeline)] != stage.stage) {
      return unknown_ranks(fmt::format(
          "rank {} is stage {}, which no order of the dimensions gives it", rank, stage.stage));
    }
  }
  return grid;
}

std::uint32_t RankGrid::size() const {
  std::uint32_t ranks = 1;
  for (const std::uint32_t degree : degrees_) ranks *= degree;
  return ranks;
}

RankGrid RankGrid::with(Dimension d, std::uint32_t degree) const {
  RankGrid other = *this;
  other.degrees_[at(d)] = degree;
  return other;
}

Place RankGrid::place(std::uint32_t rank) const {
  Place place{};
  for (const Dimension d : order_) {
    place[at(d)] = rank % degree(d);
    rank /= degree(d);
  }
  return place;
}

std::uint32_t RankGrid::rank(const Place& place) const {
  std::uint32_t rank = 0;
  for (std::size_t i = kDimensions; i-- > 0;) {
    rank = rank * degree(order_[i]) + place[at(order_[i])];
  }
  return rank;
}

std::vector<std::uint32_t> RankGrid::group(std::uint32_t member, DimensionSet dimensions) const {
  const Place own = place(member);
  std::vector<std::uint32_t> ranks;
  std::vector<Place> places{own};
  for (const Dimension d : order_) {
    if (!(dimensions & bit(d))) continue;
    std::vector<Place> more;
    for (const Place& p : places) {
      for (std::uint32_t i = 0; i < degree(d); ++i) {
        more.push_back(p);
        more.back()[at(d)] = i;
      }
    }
    places = std::move(more);
  }
  for (const Place& p : places) ranks.push_back(rank(p));
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

DimensionSet RankGrid::differences(const std::vector<std::uint32_t>& ranks) const {
  DimensionSet set = 0;
  for (const std::uint32_t other : ranks) {
    const Place a = place(ranks.front());
    const Place b = place(other);
    for (int d = 0; d < kDimensions; ++d) {
      if (a[static_cast<std::size_t>(d)] != b[static_cast<std::size_t>(d)]) {
        set = static_cast<DimensionSet>(set | (1u << d));
      }
    }
  }
  return set;
}

}  // namespace flopcast::whatif::structure
