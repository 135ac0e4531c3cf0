#include "report/plan_scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace flopcast {
namespace {

constexpr std::size_t kWidth = 64, kHeight = 12;

/// An axis from the least to the most, a little room beside both.
struct Axis {
  double low = 0, high = 1;
  Axis(std::span<const ScatterPoint> points, double ScatterPoint::*value) {
    const auto [least, most] = std::minmax_element(
        points.begin(), points.end(),
        [&](const ScatterPoint& a, const ScatterPoint& b) { return a.*value < b.*value; });
    low = (*least).*value;
    high = (*most).*value;
    const double room = high > low ? (high - low) * 0.04 : std::max(std::abs(low) * 0.04, 1e-12);
    low -= room;
    high += room;
  }
  std::size_t cell(double value, std::size_t cells) const {
    const double part = (value - low) / (high - low) * static_cast<double>(cells);
    return std::min(static_cast<std::size_t>(std::max(part, 0.0)), cells - 1);
  }
};

}  // namespace

std::string scatter_text(std::span<const ScatterPoint> points, std::string_view x_title,
                         std::string_view y_title) {
  if (points.empty()) return {};
  const Axis x(points, &ScatterPoint::x), y(points, &ScatterPoint::y);
  std::vector<std::string> rows(kHeight, std::string(kWidth, ' '));
  for (const ScatterPoint& point : points) {
    char& cell = rows[kHeight - 1 - y.cell(point.y, kHeight)][x.cell(point.x, kWidth)];
    if (cell == ' ') cell = point.mark;
  }
  const std::string top = fmt::format("{:.4g}", y.high), bottom = fmt::format("{:.4g}", y.low);
  const std::size_t margin = std::max(top.size(), bottom.size());
  std::string text = fmt::format("  {}\n", y_title);
  for (std::size_t i = 0; i < kHeight; ++i) {
    const std::string& label = i == 0 ? top : i + 1 == kHeight ? bottom : "";
    const std::string& row = rows[i];
    text +=
        fmt::format("  {:>{}} |{}\n", label, margin, row.substr(0, row.find_last_not_of(' ') + 1));
  }
  const std::string left = fmt::format("{:.4g}", x.low), right = fmt::format("{:.4g}", x.high);
  text += fmt::format("  {:{}} +{}\n", "", margin, std::string(kWidth, '-'));
  text += fmt::format("  {:{}}  {}{:^{}}{}\n", "", margin, left, x_title,
                      kWidth - std::min(kWidth, left.size() + right.size()), right);
  return text;
}

}  // namespace flopcast
