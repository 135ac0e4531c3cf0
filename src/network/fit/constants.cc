#include "network/fit/constants.h"

#include <fmt/format.h>

#include <array>

#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::network {
namespace {

using C = FitConstants;

struct FitConstant {
  std::string_view table, name;
  double C::*member;
};
constexpr std::array kFitConstants = {
    FitConstant{"kinship", "shape", &C::shape},
    FitConstant{"kinship", "system", &C::system},
    FitConstant{"kinship", "build", &C::build},
    FitConstant{"kinship", "run", &C::run},
    FitConstant{"kinship", "noise", &C::noise},
    FitConstant{"kinship", "host_noise", &C::host_noise},
    FitConstant{"kinship", "any_system", &C::any_system},
    FitConstant{"kinship", "same_fabric", &C::same_fabric},
    FitConstant{"kinship", "same_generation", &C::same_generation},
    FitConstant{"kinship", "any_library", &C::any_library},
    FitConstant{"kinship", "same_mode", &C::same_mode},
    FitConstant{"kinship", "same_kernel", &C::same_kernel},
    FitConstant{"kinship", "same_build", &C::same_build},
    FitConstant{"kinship", "mirrored_op", &C::mirrored_op},
    FitConstant{"kinship", "other_op", &C::other_op},
    FitConstant{"kinship", "other_mode", &C::other_mode},
    FitConstant{"kinship", "point_to_point", &C::point_to_point},
    FitConstant{"kinship", "per_ranks", &C::per_ranks},
    FitConstant{"kinship", "per_nodes", &C::per_nodes},
    FitConstant{"kinship", "run_per_ranks", &C::run_per_ranks},
    FitConstant{"kinship", "run_per_nodes", &C::run_per_nodes},
    FitConstant{"kinship", "other_links", &C::other_links},
    FitConstant{"kinship", "bridge", &C::bridge},
    FitConstant{"kinship", "least_variance", &C::least_variance},
    FitConstant{"kinship", "middle_log2", &C::middle_log2},
    FitConstant{"kinship", "large_log2", &C::large_log2},
    FitConstant{"mean", "eager_floor_s", &C::eager_floor_s},
    FitConstant{"mean", "eager_factor", &C::eager_factor},
    FitConstant{"mean", "pcie_start_s", &C::pcie_start_s},
    FitConstant{"mean", "pcie_step_s", &C::pcie_step_s},
    FitConstant{"band", "repeat", &C::repeat},
    FitConstant{"band", "pooled_misfit", &C::pooled_misfit},
    FitConstant{"band", "usual_curves", &C::usual_curves},
    FitConstant{"band", "scores_per_curve", &C::scores_per_curve},
    FitConstant{"band", "enough_scores", &C::enough_scores},
    FitConstant{"band", "seen", &C::seen},
    FitConstant{"moved", "per_fold", &C::per_fold},
};

Diagnostic no_constant(const TomlFile& file, std::string_view table, std::string_view name,
                       std::string_view what) {
  return {ErrorCode::kBadInput, fmt::format("{}: [{}] {}", file.name, table, name),
          std::string(what), "give a number with a source of [sources]"};
}

/// A number, or a table of its value and source; the source may be the table's.
std::optional<double> number_in(const TomlFile& file, const toml::table& table,
                                std::string_view name) {
  const auto node = table[name];
  const bool own = node.is_table();
  const auto source =
      own ? node["source"].value<std::string>() : table["source"].value<std::string>();
  if (!source || !file.sources.contains(*source)) return std::nullopt;
  return own ? node["value"].value<double>() : node.value<double>();
}

std::optional<Bands> bands_in(const toml::table& table, std::string_view name) {
  const toml::array* list = table[name].as_array();
  if (list == nullptr || list->size() != kSizeClasses) return std::nullopt;
  Bands bands;
  for (std::size_t i = 0; i < kSizeClasses; ++i) {
    const toml::array* pair = (*list)[i].as_array();
    if (pair == nullptr || pair->size() != 2) return std::nullopt;
    bands[i] = {(*pair)[0].value_or(1.0), (*pair)[1].value_or(-1.0)};
    if (bands[i].low > 0 || bands[i].high < 0) return std::nullopt;
  }
  return bands;
}

}  // namespace

Result<FitConstants> parse_fit_constants(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  FitConstants out;
  for (const FitConstant& constant : kFitConstants) {
    const toml::table* table = file->root[constant.table].as_table();
    const auto value = table != nullptr ? number_in(*file, *table, constant.name) : std::nullopt;
    if (!value) {
      return no_constant(*file, constant.table, constant.name, "is no number with a source");
    }
    out.*constant.member = *value;
  }
  const toml::table* unmeasured = file->root["band"]["unmeasured"].as_table();
  for (const auto& [name, bands] : {std::pair{"nvlink", &FitConstants::unmeasured_nvlink},
                                    std::pair{"pcie", &FitConstants::unmeasured_pcie}}) {
    const auto read = unmeasured != nullptr ? bands_in(*unmeasured, name) : std::nullopt;
    if (!read)
      return no_constant(*file, "band.unmeasured", name, "is no band of four size classes");
    out.*bands = *read;
  }
  return out;
}

const FitConstants& fit_constants() {
  static const FitConstants constants = [] {
    // Compiled in and read by a test.
    const auto read = parse_fit_constants(catalog_data::collectives_constants_toml(),
                                          "catalog/collectives/constants.toml");
    return read ? *read : FitConstants{};
  }();
  return constants;
}

}  // namespace flopcast::network
