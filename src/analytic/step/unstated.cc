#include "analytic/step/unstated.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "flopcast/machine/training.h"

namespace flopcast::analytic {
namespace {

/// What the file has, whatever is asked.
struct UnstatedBands {
  std::array<StepBand, 2> of_models;  ///< dense; with experts
  double unseen = 1;                  ///< factor either way, where `architectures` lack the chip's
  std::vector<std::string> architectures;

  StepBand of(const Chip& chip, bool experts) const {
    const StepBand band = of_models[experts ? 1 : 0];
    const bool seen = std::find(architectures.begin(), architectures.end(), chip.architecture) !=
                      architectures.end();
    const double wider = seen ? 1 : unseen;
    return {band.low / wider, band.high * wider};
  }
};

Diagnostic no_band(const std::string& where, std::string what) {
  return {ErrorCode::kBadInput, where, std::move(what), "tools/training_bands.py writes this file"};
}

Result<UnstatedBands> read_unstated(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  UnstatedBands out;
  for (const auto& [name, band] :
       {std::pair{"dense", &out.of_models[0]}, std::pair{"experts", &out.of_models[1]}}) {
    const auto table = file->root["unstated"][name];
    *band = {table["low"].value_or(0.0), table["high"].value_or(0.0)};
    if (band->low > 0 && band->low <= 1 && band->high >= 1) continue;
    return no_band(where, std::string("[unstated.") + name + "] has no low <= 1 <= high");
  }
  const Result<double> unseen = unseen_chip_factor();
  if (!unseen) return unseen.error();
  out.unseen = *unseen;
  const toml::array* seen = file->root["seen_chips"]["architectures"].as_array();
  if (seen == nullptr) return no_band(where, "[seen_chips] has no architectures");
  for (const toml::node& architecture : *seen) {
    out.architectures.push_back(architecture.value_or(std::string()));
  }
  return out;
}

}  // namespace

Result<StepBand> parse_unstated_band(std::string_view text, const std::string& where,
                                     const Chip& chip, bool experts) {
  const Result<UnstatedBands> bands = read_unstated(text, where);
  if (!bands) return bands.error();
  return bands->of(chip, experts);
}

StepBand unstated_band(const Chip& chip, bool experts) {
  static const UnstatedBands bands = [] {
    // Compiled in and read by a test.
    const auto read =
        read_unstated(catalog_data::training_bands_toml(), "catalog/training/bands.toml");
    return read ? *read : UnstatedBands{};
  }();
  return bands.of(chip, experts);
}

}  // namespace flopcast::analytic
