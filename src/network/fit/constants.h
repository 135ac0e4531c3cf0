// Floor 2, private to the fit of collectives: its constants, catalog/collectives/constants.toml.
#pragma once

#include <string_view>

#include "flopcast/base.h"
#include "network/fit/bands.h"

namespace flopcast::network {

/// The file has what each is.
struct FitConstants {
  // [kinship]
  double shape = 0, system = 0, build = 0, run = 0, noise = 0, host_noise = 0;
  double any_system = 0, same_fabric = 0, same_generation = 0;
  double any_library = 0, same_mode = 0, same_kernel = 0, same_build = 0;
  double mirrored_op = 0, other_op = 0, other_mode = 0, point_to_point = 0;
  double per_ranks = 0, per_nodes = 0, run_per_ranks = 0, run_per_nodes = 0;
  double other_links = 0, bridge = 0, least_variance = 0, middle_log2 = 0, large_log2 = 0;
  // [mean]
  double eager_floor_s = 0, eager_factor = 0, pcie_start_s = 0, pcie_step_s = 0;
  // [band]
  double repeat = 0, pooled_misfit = 0, usual_curves = 0, scores_per_curve = 0, enough_scores = 0,
         seen = 0;
  Bands unmeasured_nvlink{}, unmeasured_pcie{};
  // [moved]
  double per_fold = 0;

  double same_library() const { return 1 - any_library - same_mode - same_kernel - same_build; }
};
/// From the text of such a file. Errors name the constant that is missing, no number, or without a source.
Result<FitConstants> parse_fit_constants(std::string_view text, const std::string& where);
/// The catalogue's, read once.
const FitConstants& fit_constants();

}  // namespace flopcast::network
