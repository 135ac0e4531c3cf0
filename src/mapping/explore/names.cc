#include "mapping/explore/names.h"

#include <algorithm>

#include "mapping/system/settings.h"

namespace flopcast::mapping {
namespace {

struct OwnName {
  std::string_view name;
  SweepKind kind;
};
constexpr OwnName kOwnNames[] = {
    {"topology", SweepKind::kWord},  {"memory", SweepKind::kWord},
    {"link", SweepKind::kWord},      {"chip", SweepKind::kWord},
    {"chips", SweepKind::kCount},    {"workload", SweepKind::kWord},
    {"sequence", SweepKind::kCount}, {"global-batch", SweepKind::kCount},
    {"tp", SweepKind::kCount},       {"pp", SweepKind::kCount},
    {"dp", SweepKind::kCount},       {"microbatch", SweepKind::kCount},
    {"tile", SweepKind::kCount},     {"partitions", SweepKind::kCount},
    {"overlap", SweepKind::kWord},   {"utilisation", SweepKind::kShare},
    {"mode", SweepKind::kWord},      {"kernel-by-kernel", SweepKind::kWord},
};

std::string_view canonical(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"model", "mode"},
      {"batch", "global-batch"},
      {"utilization", "utilisation"},
      {"n", "chips"},
      {"dram-bandwidth", "memory-bandwidth"},
      {"on-chip", "sram"},
      {"dram-capacity", "memory-capacity"},
  };
  for (const auto& [other, own] : kOthers) {
    if (other == name) return own;
  }
  return name;
}

}  // namespace

std::optional<SweepName> find_sweep_name(std::string_view text) {
  const std::string_view wanted = canonical(text);
  for (const OwnName& own : kOwnNames) {
    if (own.name == wanted) return SweepName{std::string(wanted), own.kind, UnitKind::kNone};
  }
  const std::optional<UnitKind> unit = setting_unit(wanted);
  if (!unit) return std::nullopt;
  return SweepName{std::string(wanted), SweepKind::kQuantity, *unit};
}

std::optional<MappingOverlap> parse_overlap(std::string_view text) {
  for (const MappingOverlap overlap :
       {MappingOverlap::kPerfect, MappingOverlap::kComputeMemory, MappingOverlap::kNone}) {
    if (text == name(overlap)) return overlap;
  }
  return std::nullopt;
}

std::optional<MappingModel> parse_mode(std::string_view text) {
  for (MappingModel model : {full_model(), paper_model()}) {
    if (text == model.name) return model;
  }
  return std::nullopt;
}

std::string with_commas(std::string_view value) {
  std::string text(value);
  std::replace(text.begin(), text.end(), '+', ',');
  return text;
}

}  // namespace flopcast::mapping

namespace flopcast {

using namespace mapping;  // the room's own names

std::vector<std::string> explore_names() {
  std::vector<std::string> names;
  for (const mapping::OwnName& own : mapping::kOwnNames) names.emplace_back(own.name);
  for (const std::string& setting : system_settings()) {
    if (mapping::setting_unit(setting)) names.push_back(setting);
  }
  return names;
}

}  // namespace flopcast
