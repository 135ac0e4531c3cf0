// Names of paper mode: the models and systems of the study, strategies, defects.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/text/numbers.h"
#include "flopcast/published/subramanian.h"

namespace flopcast {
namespace {

constexpr std::int64_t kUsualDomain = 8;

// models.py: GPT-3 and a GPT of 1e12 parameters (tokens / sequence length samples), and a vision
// transformer on ERA5 (0.25 degrees in patches of 4, 350,000 samples, 80 epochs).
std::array<PaperModel, 3> models() {
  return {{
      {"gpt3", 2048, 12288, 96, 96, 4 * 12288, 300e9 / 2048},
      {"gpt3_1T", 2048, 25600, 160, 128, 4 * 25600, 1e12 / 2048},
      {"vit_era5", 64800, 12288, 64, 48, 4 * 12288, 350e3 * 80},
  }};
}

PaperSystem system(std::string name, double matrix, double vector, double hbm, double capacity,
                   PaperSystem::Network nvlink, PaperSystem::Network infiniband) {
  return {.name = std::move(name),
          .matrix = {matrix * 1e12},
          .vector = {vector * 1e12},
          .hbm_bandwidth = {hbm * 1e9},
          .hbm_capacity = {capacity * 1e9},
          .nvlink = nvlink,
          .infiniband = infiniband,
          .domain = kUsualDomain,
          .nics_per_gpu = 1};
}

PaperSystem::Network network(double gigabytes, double efficiency, double latency) {
  return {.bandwidth = {gigabytes * 1e9}, .efficiency = efficiency, .latency = {latency}};
}

// The published code's system files (table A3 of the paper has H200 as 990 and 134).
std::array<PaperSystem, 4> systems() {
  return {
      system("A100", 312, 78, 1555, 80, network(300, 0.7, 2.5e-6), network(25, 0.7, 5e-6)),
      system("H200", 989.4, 133.8, 4800, 141, network(450, 0.7, 2.5e-6), network(50, 0.7, 5e-6)),
      system("B200", 2500, 339, 8000, 192, network(900, 0.7, 2.5e-6), network(100, 0.7, 5e-6)),
      system("B200-next", 3750, 508.5, 16000, 384, network(3600, 0.8, 5e-6),
             network(200, 0.8, 1e-5))};
}

/// Regardless of case, and of dashes for underscores.
bool same(std::string_view a, std::string_view b) {
  const auto plain = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c == '-' ? '_' : c;
  };
  return std::ranges::equal(a, b, {}, plain, plain);
}

template <typename Named>
Diagnostic unknown(std::string_view kind, std::string_view asked, const Named& known) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const auto& one : known) names.push_back(one.name);
  return {ErrorCode::kUsage, std::string(asked), fmt::format("no such {} in paper mode", kind),
          fmt::format("known: {}", fmt::join(names, ", "))};
}

/// "B200-NVS64" is "B200" and 64.
std::pair<std::string_view, std::int64_t> split_domain(std::string_view text) {
  constexpr std::string_view kMark = "-NVS";
  const std::size_t at = text.rfind('-');
  if (at == std::string_view::npos || !same(text.substr(at, kMark.size()), kMark)) {
    return {text, kUsualDomain};
  }
  const std::int64_t domain = parse_whole(text.substr(at + kMark.size())).value_or(0);
  return domain > 0 ? std::pair(text.substr(0, at), domain) : std::pair(text, kUsualDomain);
}

constexpr std::array<std::string_view, 6> kDefectNames = {
    "p2p-free", "summa-norm", "allreduce-once", "biases-1d", "notebook-optimizer", "serial-study"};
constexpr std::array<bool PaperDefects::*, 6> kDefects = {
    &PaperDefects::p2p_between_domains_free,   &PaperDefects::summa_norm_as_wide_as_sequence,
    &PaperDefects::allreduce_moves_once,       &PaperDefects::replicated_biases_1d,
    &PaperDefects::optimizer_not_cut_over_tp2, &PaperDefects::serial_study_drops_sizes};

PaperDefects no_defects() {
  PaperDefects none;
  for (bool PaperDefects::*const defect : kDefects) none.*defect = false;
  return none;
}

}  // namespace

std::string_view name(PaperStrategy strategy) {
  constexpr std::array<std::string_view, 3> kNames = {"1d", "2d", "summa"};
  return kNames[static_cast<std::size_t>(strategy)];
}

std::optional<PaperStrategy> parse_paper_strategy(std::string_view text) {
  if (same(text, "1d")) return PaperStrategy::k1d;
  if (same(text, "2d") || same(text, "2d-seqp")) return PaperStrategy::k2d;
  if (same(text, "summa") || same(text, "2d-summa")) return PaperStrategy::kSumma;
  return std::nullopt;
}

std::optional<PaperCollective> parse_paper_collective(std::string_view text) {
  constexpr std::array<std::string_view, 6> kNames = {"allgather", "reducescatter", "allreduce",
                                                      "broadcast", "reduce",        "p2p"};
  const auto* const found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<PaperCollective>(found - kNames.begin());
}

Result<PaperModel> paper_model(std::string_view name) {
  if (same(name, "gpt3_175b")) name = "gpt3";
  auto known = models();
  for (PaperModel& model : known) {
    if (same(model.name, name)) return std::move(model);
  }
  return unknown("model", name, known);
}

Result<PaperSystem> paper_system(std::string_view name) {
  const auto [bare, domain] = split_domain(name);
  auto known = systems();
  for (PaperSystem& one : known) {
    if (!same(one.name, bare)) continue;
    one.domain = domain;
    if (bare.size() < name.size()) one.name += fmt::format("-NVS{}", domain);
    return std::move(one);
  }
  return unknown("system", name, known);
}

PaperDefects PaperDefects::repaired() {
  PaperDefects defects;
  defects.p2p_between_domains_free = false;
  defects.summa_norm_as_wide_as_sequence = false;
  defects.allreduce_moves_once = false;
  return defects;
}

std::span<const std::string_view> paper_defect_names() { return kDefectNames; }

Result<PaperDefects> parse_paper_defects(std::string_view text) {
  if (text == "published") return PaperDefects::published();
  if (text == "repaired") return PaperDefects::repaired();
  PaperDefects defects = no_defects();
  if (text == "none") return defects;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const std::string_view asked = text.substr(from, to - from);
    const auto* const found = std::ranges::find(kDefectNames, asked);
    if (found == kDefectNames.end()) {
      return Diagnostic{
          ErrorCode::kUsage, std::string(asked), "no such defect of the paper's code",
          fmt::format("published, repaired, none, or some of: {}", fmt::join(kDefectNames, ","))};
    }
    defects.*kDefects[static_cast<std::size_t>(found - kDefectNames.begin())] = true;
    from = to + 1;
  }
  return defects;
}

}  // namespace flopcast
