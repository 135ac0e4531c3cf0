// Floor 8: sweeps over systems and mappings as tables, CSV and a page of heat maps.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "flopcast/question/explore.h"

namespace flopcast {

/// The best points, the front, and all of them where they are few.
std::string explore_text(std::span<const ExploreRow> rows);
/// A line for each row, with titles; SI units in them.
std::string explore_csv(std::span<const ExploreRow> rows);
/// A page: heat maps of time, utilisation, cost and power efficiency over any two sweeps.
std::string explore_html(std::span<const ExploreRow> rows, std::string_view title);

}  // namespace flopcast
