// Bands by engine, of aggregated and disaggregated serving.
#include "measured/serving/bands.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text/toml_file.h"
#include "catalog_files.h"

namespace flopcast::measured {
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

/// Both apart from each other: their logarithms add as squares.
ServingBands::Factors wider(const ServingBands::Factors& a, const ServingBands::Factors& b) {
  const auto both = [](double x, double y) { return std::hypot(std::log(x), std::log(y)); };
  return {std::exp(-both(a.low, b.low)), std::exp(both(a.high, b.high))};
}

}  // namespace

ServingBands bands_of(const ServingPoint& point, Basis /*basis*/) {
  return serving_bands(point.engine, point.disaggregated);
}

}  // namespace flopcast::measured

namespace flopcast {

ServingBands serving_bands(std::string_view engine, bool disaggregated) {
  static const toml::table bands = measured::read_bands();
  const toml::table& root = bands;
  const auto group = root[disaggregated ? "disaggregated" : "aggregated"][engine];
  const auto ttft = measured::band_in(group, "ttft"), tpot = measured::band_in(group, "tpot");
  return {ttft, tpot, measured::wider(ttft, measured::band_in(root["percentiles"], "ttft")),
          measured::wider(tpot, measured::band_in(root["percentiles"], "tpot"))};
}

}  // namespace flopcast
