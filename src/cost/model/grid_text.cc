#include "cost/model/grid_text.h"

#include <algorithm>
#include <cmath>

namespace flopcast::cost {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr double kLevels = 4095;

constexpr int kMostCurve = 45;
constexpr double kCurveScale = 0.1415, kCurveBend = 12;

char curve_character(int q) {
  const int code = '#' + q + kMostCurve;
  return static_cast<char>(code >= '\\' ? code + 1 : code);
}

std::optional<int> curve_number(char c) {
  if (c == '\\') return std::nullopt;
  const int q = (c > '\\' ? c - 1 : c) - '#' - kMostCurve;
  if (q < -kMostCurve || q > kMostCurve) return std::nullopt;
  return q;
}

float curve_value(int q) { return static_cast<float>(kCurveScale * std::sinh(q / kCurveBend)); }

}  // namespace

PackedGrid pack_grid(std::span<const float> values) {
  PackedGrid out;
  if (values.empty()) return out;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  out.low = *low;
  out.step = (static_cast<double>(*high) - out.low) / kLevels;
  for (const float v : values) {
    const double q = out.step > 0 ? std::round((v - out.low) / out.step) : 0;
    const auto level = static_cast<std::size_t>(std::clamp(q, 0.0, kLevels));
    out.text += kDigits[level / 64];
    out.text += kDigits[level % 64];
  }
  return out;
}

std::optional<std::vector<float>> unpack_grid(const PackedGrid& packed, std::size_t count) {
  if (packed.text.size() != 2 * count) return std::nullopt;
  std::vector<float> values;
  values.reserve(count);
  for (std::size_t i = 0; i < packed.text.size(); i += 2) {
    const std::size_t high = kDigits.find(packed.text[i]), low = kDigits.find(packed.text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    const auto level = static_cast<double>(high * 64 + low);
    values.push_back(static_cast<float>(packed.low + packed.step * level));
  }
  return values;
}

std::string pack_curves(std::span<const float> values) {
  std::string text;
  for (const float v : values) {
    const double q = std::round(kCurveBend * std::asinh(static_cast<double>(v) / kCurveScale));
    text += curve_character(static_cast<int>(std::clamp(q, -1.0 * kMostCurve, 1.0 * kMostCurve)));
  }
  return text;
}

std::optional<std::vector<float>> unpack_curves(std::string_view text, std::size_t count) {
  if (text.size() != count) return std::nullopt;
  std::vector<float> values;
  values.reserve(count);
  for (const char c : text) {
    const std::optional<int> q = curve_number(c);
    if (!q) return std::nullopt;
    values.push_back(curve_value(*q));
  }
  return values;
}

void round_as_packed(std::vector<float>& grid) {
  grid = unpack_grid(pack_grid(grid), grid.size()).value_or(grid);
}

void round_curves_as_packed(std::vector<float>& curves) {
  curves = unpack_curves(pack_curves(curves), curves.size()).value_or(curves);
}

}  // namespace flopcast::cost
