// Launches of engines where measured points come from: catalog/serving/launches.toml.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/measured/serving.h"

namespace flopcast::measured {

/// The model's name as launches and the catalogue have it: no organisation, no suffix of a checkpoint.
std::string plain_model(std::string_view told);

/// The machine of a chip as tables name it, "dgx-h200", and its chips; the chip itself and 1 where nothing is known.
struct MeasuredSystem {
  std::string node;
  unsigned chips = 1;
};
MeasuredSystem system_of(std::string_view chip);

/// What the public benchmark client sends.
struct PublicClient {
  std::int64_t requests = 1, warm_up = 0;  ///< a user's
  double spread = 0;                       ///< lengths are uniform in [(1 - spread) L, L]
  std::string warm_up_since;               ///< the date
};
const PublicClient& public_client();

/// How published maxima of throughput were run.
struct OfflineRuns {
  double memory_share = 1;
  std::int64_t max_requests = 1, batch_tokens = 1, requests = 1;
  std::optional<DataType> kv_cache;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>
      counts;  ///< requests, by tokens in, out
};
const OfflineRuns& offline_runs();

/// What an aggregated row by itself tells to be wrong with it: the rule's name; "": nothing.
std::string_view launched_defect(const ServingPoint& point);
/// These rules, in the order in which they are tried.
std::vector<ServingRule> defect_rules();

/// When rows contradict each other: shares (`same`, `most_of_peak`), and factors.
struct ContradictionLimits {
  double same = 0, repeats = 0, twins = 0;
  double most_of_peak = 0;
  double falls = 0, stays = 0, fewer_users = 0, explodes = 0;
};
const ContradictionLimits& contradiction_limits();

/// Whether attention was data parallel where labels say tp = dp = `chips` alike.
bool launched_data_parallel(const ServingPoint& point, unsigned tp, unsigned ep);

/// Whether the launch had drafts, which no row tells.
enum class LaunchedDrafts : std::uint8_t { kNever, kEither, kAlways };
LaunchedDrafts launched_drafts(const ServingPoint& point);

/// Puts the settings of the point's launch into `deployment` (one of its two, where disaggregated); a point of another client
/// has the engine's defaults. What is wrong with the catalogue's file, if anything is.
std::optional<Diagnostic> apply_launches(const ServingPoint& point, Deployment& deployment);

}  // namespace flopcast::measured
