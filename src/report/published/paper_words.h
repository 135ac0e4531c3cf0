// What texts and JSON of the transformer model of Subramanian et al. have in common.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/report/published.h"

namespace flopcast::report {

/// Where an iteration's time goes; sums to it.
struct PaperPart {
  std::string_view key;   ///< "exposed_memory"
  std::string_view name;  ///< "exposed memory traffic"
  Seconds value;
};
std::array<PaperPart, 6> paper_parts(const PaperEstimate& estimate);
struct PaperShare {
  std::string_view name;
  Bytes value;
};
std::array<PaperShare, 4> paper_memory(const PaperEstimate& estimate);

/// Whose model this is and with which defects.
std::string paper_source_text(const PaperDefects& defects);
/// Names of the defects that are on.
std::vector<std::string_view> paper_defects_on(const PaperDefects& defects);

}  // namespace flopcast::report
