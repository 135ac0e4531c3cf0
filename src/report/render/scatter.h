// Points in a plane for a terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace flopcast::report {

struct ScatterPoint {
  double x = 0, y = 0;
  char mark = '*';  ///< of several in one place the first is shown
};

/// A frame with the points in it; the ends of both axes as numbers. Indented by two.
/// @param x_title, y_title with their units
std::string scatter_text(std::span<const ScatterPoint> points, std::string_view x_title,
                         std::string_view y_title);

}  // namespace flopcast::report
