// From what somebody asks in words to a request for the search.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text/numbers.h"
#include "flopcast/question/mapping.h"

namespace flopcast {
namespace {

constexpr Sharding kShardings[] = {Sharding::kNone,   Sharding::kOuter, Sharding::kM,
                                   Sharding::kN,      Sharding::kK,     Sharding::kKSplitM,
                                   Sharding::kKSplitN};

Result<MappingOverlap> parse_overlap(const std::string& text) {
  std::string known;
  for (const MappingOverlap overlap :
       {MappingOverlap::kPerfect, MappingOverlap::kComputeMemory, MappingOverlap::kNone}) {
    if (name(overlap) == text) return overlap;
    known += (known.empty() ? "" : ", ") + std::string(name(overlap));
  }
  return usage_error("overlap", fmt::format("expected one of {}, found '{}'", known, text), "");
}

}  // namespace

Result<MappingModel> mapping_model(const MappingQuestion& question) {
  if (question.mode != "full" && question.mode != "paper") {
    return usage_error("mode", fmt::format("expected full or paper, found '{}'", question.mode),
                       "");
  }
  MappingModel model = question.mode == "paper" ? paper_model() : full_model();
  if (!question.overlap.empty()) {
    const Result<MappingOverlap> overlap = parse_overlap(question.overlap);
    if (!overlap) return overlap.error();
    model.overlap = *overlap;
  }
  if (!(question.utilisation <= 1)) {
    return usage_error("utilisation",
                       fmt::format("{} is no share from 0 to 1", question.utilisation),
                       "give the share of the peak that kernels reach: 0.9");
  }
  if (!(question.search.gap >= 0 && question.search.gap <= 1)) {
    return usage_error("gap", fmt::format("{} is no share", question.search.gap),
                       "give a number from 0 to 1: 0.001");
  }
  if (question.utilisation >= 0) model.utilisation = question.utilisation;
  return model;
}

Result<std::vector<MappingPin>> parse_mapping_pin(std::string_view text, bool forbidden) {
  const auto wrong = [&] {
    return usage_error(forbidden ? "forbid" : "pin",
                       fmt::format("expected KERNEL=PARTITION, found '{}'", text),
                       "write ffn_up=1; partitions of a pass are counted from 0");
  };
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return wrong();
  std::vector<MappingPin> pins;
  std::string_view rest = text.substr(equals + 1);
  for (;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto partition = parse_whole<decltype(MappingPin::partition)>(rest.substr(0, comma));
    if (!partition) return wrong();
    pins.push_back({std::string(text.substr(0, equals)), *partition, forbidden});
    if (comma == rest.size()) return pins;
    rest.remove_prefix(comma + 1);
  }
}

Result<std::vector<MappingPin>> mapping_pins(const MappingQuestion& question) {
  std::vector<MappingPin> all = question.search.pins;
  for (const bool forbidden : {false, true}) {
    for (const std::string& text : forbidden ? question.forbids : question.pins) {
      const Result<std::vector<MappingPin>> pins = parse_mapping_pin(text, forbidden);
      if (!pins) return pins.error();
      all.insert(all.end(), pins->begin(), pins->end());
    }
  }
  return all;
}

Result<std::vector<ShardingPin>> sharding_pins(const MappingQuestion& question) {
  std::vector<ShardingPin> pins = question.search.shardings;
  for (const std::string& text : question.shardings) {
    const std::size_t equals = std::min(text.rfind('='), text.size());
    const auto found =
        std::find_if(std::begin(kShardings), std::end(kShardings), [&](Sharding sharding) {
          return equals < text.size() &&
                 name(sharding) == std::string_view(text).substr(equals + 1);
        });
    if (found == std::end(kShardings) || equals == 0) {
      return usage_error("sharding", fmt::format("expected KERNEL=SHARDING, found '{}'", text),
                         "write ffn_up=m; none, outer, m, n, k, k->m and k->n are shardings");
    }
    pins.push_back({text.substr(0, equals), *found});
  }
  return pins;
}

Result<MappingRequest> mapping_request(const MappingQuestion& question) {
  Result<MappingModel> model = mapping_model(question);
  if (!model) return model.error();
  Result<DataflowWorkload> workload = load_dataflow(question.workload, question.dataflow);
  if (!workload) return workload.error();
  Result<MappingSystem> system = mapping_system(question.on, question.system, Catalog::builtin());
  if (!system) return system.error();
  Result<std::vector<MappingPin>> pins = mapping_pins(question);
  if (!pins) return pins.error();
  Result<std::vector<ShardingPin>> shardings = sharding_pins(question);
  if (!shardings) return shardings.error();
  MappingRequest request{std::move(*workload), std::move(*system), *model, question.search};
  request.search.pins = std::move(*pins);
  request.search.shardings = std::move(*shardings);
  return request;
}

}  // namespace flopcast
