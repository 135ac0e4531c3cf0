#include "report/render/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace flopcast::report {
namespace {

constexpr std::size_t kWidth = 64, kHeight = 12;

/// An axis from the least to the most; logarithmic where these are far apart.
class Axis {
 public:
  Axis(std::span<const ScatterPoint> points, double ScatterPoint::*value) {
    const auto [least, most] = std::minmax_element(
        points.begin(), points.end(),
        [&](const ScatterPoint& a, const ScatterPoint& b) { return a.*value < b.*value; });
    low_ = (*least).*value;
    high_ = (*most).*value;
    constexpr double kFar = 8;
    logarithmic_ = low_ > 0 && high_ > kFar * low_;
  }
  std::size_t cell(double value, std::size_t cells) const {
    const double all = at(high_) - at(low_);
    if (all <= 0) return cells / 2;
    return static_cast<std::size_t>((at(value) - at(low_)) / all * static_cast<double>(cells - 1) +
                                    0.5);
  }
  std::string low() const { return fmt::format("{:.4g}", low_); }
  std::string high() const { return fmt::format("{:.4g}", high_); }
  std::string title(std::string_view words) const {
    return fmt::format("{}{}", words, logarithmic_ ? " (log)" : "");
  }

 private:
  double at(double value) const { return logarithmic_ ? std::log(value) : value; }

  double low_ = 0, high_ = 0;
  bool logarithmic_ = false;
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
  const std::string top = y.high(), bottom = y.low();
  const std::size_t margin = std::max(top.size(), bottom.size());
  std::string text = fmt::format("  {}\n", y.title(y_title));
  for (std::size_t i = 0; i < kHeight; ++i) {
    const std::string& label = i == 0 ? top : i + 1 == kHeight ? bottom : "";
    const std::string& row = rows[i];
    text +=
        fmt::format("  {:>{}} |{}\n", label, margin, row.substr(0, row.find_last_not_of(' ') + 1));
  }
  const std::string left = x.low(), right = x.high();
  text += fmt::format("  {:{}} +{}\n", "", margin, std::string(kWidth, '-'));
  text += fmt::format("  {:{}}  {}{:^{}}{}\n", "", margin, left, x.title(x_title),
                      kWidth - std::min(kWidth, left.size() + right.size()), right);
  return text;
}

}  // namespace flopcast::report
