// Launches of engines where measured points come from: catalog/serving/launches.toml.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flopcast/serving/measured.h"

namespace flopcast::serving {

/// The model's name as launches and the catalogue have it: no organisation, no suffix of a checkpoint.
std::string plain_model(std::string_view told);

/// The machine of a chip as tables name it, "dgx-h200", and its chips; the chip itself and 1 where nothing is known.
struct MeasuredSystem {
  std::string node;
  unsigned chips = 1;
};
MeasuredSystem system_of(std::string_view chip);

/// Whether attention was data parallel where labels say tp = dp = `chips` alike.
bool launched_data_parallel(const ServingPoint& point, unsigned tp, unsigned ep);

/// Whether the launch had drafts, which no row tells.
enum class LaunchedDrafts : std::uint8_t { kNever, kEither, kAlways };
LaunchedDrafts launched_drafts(const ServingPoint& point);

/// What launches set beside an engine's settings.
struct LaunchMemory {
  double static_share = 0;  ///< SGLang mem-fraction-static; 0: not told
  double free_share = 0;    ///< TensorRT-LLM free_gpu_memory_fraction; 0: not told
};
/// Puts the point's launch into the deployment of `point` (one of its two, where disaggregated).
/// Errors (kBadInput): the catalogue's file is wrong.
Result<LaunchMemory> apply_launches(const ServingPoint& point, Deployment& deployment);

}  // namespace flopcast::serving
