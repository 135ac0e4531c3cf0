// Bands by engine, of aggregated and disaggregated serving.
#include "serving/measured/bands.h"

#include <fmt/format.h>

#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::serving {
namespace {

constexpr std::string_view kBandFile = "serving/bands.toml";

toml::table read_bands() {
  for (const CatalogFile& file : catalog_files()) {
    if (file.path != kBandFile) continue;
    const Result<TomlFile> read = parse_toml(file.text, "catalog/" + std::string(kBandFile), false);
    if (read) return read->root;
  }
  return {};
}

ServingBands::Factors band_in(const toml::node_view<const toml::node>& group,
                              std::string_view key) {
  constexpr ServingBands::Factors kUnknown{0.5, 2};
  return {group[key]["low"].value_or(kUnknown.low), group[key]["high"].value_or(kUnknown.high)};
}

}  // namespace

ServingBands bands_of(const ServingPoint& point, Basis /*basis*/) {
  return serving_bands(point.engine, point.disaggregated);
}

}  // namespace flopcast::serving

namespace flopcast {

ServingBands serving_bands(std::string_view engine, bool disaggregated) {
  static const toml::table bands = serving::read_bands();
  const toml::table& root = bands;
  const auto group = root[disaggregated ? "disaggregated" : "aggregated"][engine];
  return {serving::band_in(group, "ttft"), serving::band_in(group, "tpot")};
}

}  // namespace flopcast
