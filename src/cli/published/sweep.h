// --sweep and --must of plan in paper mode: texts that set members of a search.
//
//   chips=4..16384             4, 8, 16, ... 16384
//   hbm_capacity=80GB..1TB/32  32 values evenly spaced, both ends included
//   domain=4..64:4             4, 8, 12, ... 64
//   system=A100,B200           these
#pragma once

#include <string>
#include <vector>

#include "flopcast/published/subramanian.h"

namespace flopcast::cli {

/// Fixes degrees of `cell`, "pp=4" or "tp=8,microbatch=1". Error (kUsage): names the text.
Result<bool> apply_paper_musts(const std::vector<std::string>& texts, PaperCell& cell);

/// Every combination of the swept values on top of `base`, the last axis fastest. One text may hold
/// several axes: "domain=4,8,chips=64..512". Errors (kUsage) as above.
Result<std::vector<PaperCell>> paper_sweep_cells(const std::vector<std::string>& texts,
                                                 const PaperCell& base);
/// The first value of a swept axis; empty where it is not swept.
std::string paper_first_swept(const std::vector<std::string>& texts, std::string_view axis);

}  // namespace flopcast::cli
