#include "base/text/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"

namespace flopcast {
namespace {

/// "MB" of "150MB".
std::string_view suffix_of(std::string_view text) {
  std::size_t end = text.find_last_of("0123456789.");
  end = end == std::string_view::npos ? 0 : end + 1;
  return text.substr(end);
}

/// Every bound in the unit that the values are to be written in.
class RangeUnit {
 public:
  RangeUnit(UnitKind unit, std::string_view suffix) : suffix_(suffix) {
    factor_ = suffix == "x";
    unit_ = factor_ ? UnitKind::kNone : unit;
    const Result<double> one = parse_quantity(fmt::format("1{}", factor_ ? "" : suffix), unit_);
    if (one) scale_ = *one;
  }
  std::optional<double> read(std::string_view text) const {
    if (factor_ && text.ends_with('x')) text.remove_suffix(1);
    if (suffix_of(text).empty() && !factor_) return number(fmt::format("{}{}", text, suffix_));
    return number(text);
  }
  std::string write(double value) const {
    constexpr double kDigits = 1e15;  // whole numbers keep all of theirs
    const bool whole = value == std::floor(value) && value < kDigits;
    return whole ? fmt::format("{:.0f}{}", value, suffix_)
                 : fmt::format("{:.12g}{}", value, suffix_);
  }

 private:
  std::optional<double> number(std::string_view text) const {
    const Result<double> value = parse_quantity(text, unit_);
    if (!value || scale_ <= 0) return std::nullopt;
    return *value / scale_;
  }
  std::string suffix_;
  UnitKind unit_ = UnitKind::kNone;
  double scale_ = 0;
  bool factor_ = false;
};

std::optional<double> plain_number(std::string_view text) {
  const Result<double> value = parse_quantity(text, UnitKind::kNone);
  return value ? std::optional(*value) : std::nullopt;
}

/// Empty where it is no range.
std::vector<std::string> range_values(const SweepRange& range, UnitKind kind) {
  const bool named = !suffix_of(range.from).empty();
  const RangeUnit unit(kind, suffix_of(named ? range.from : range.to));
  const auto from = unit.read(range.from), to = unit.read(range.to);
  std::optional<double> by = 1.0;
  if (range.steps == SweepSteps::kBy) by = unit.read(range.by);
  if (range.steps == SweepSteps::kCount) by = plain_number(range.by);
  if (!from || !to || !by) return {};
  std::vector<std::string> values;
  for (const double value : range_numbers(*from, *to, range.steps, *by, kMostSweepValues)) {
    values.push_back(unit.write(value));
  }
  return values;
}

}  // namespace

std::optional<SweepText> split_sweep(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  SweepText sweep{trim(text.substr(0, equals)), {}};
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    sweep.values.push_back(trim(text.substr(at, end - at)));
    at = end + 1;
  }
  return sweep;
}

std::optional<SweepRange> split_range(std::string_view value) {
  const std::size_t dots = value.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  SweepRange range;
  range.from = trim(value.substr(0, dots));
  range.to = trim(value.substr(dots + 2));
  const std::size_t colon = range.to.find(':'), stroke = range.to.rfind('/');
  const auto cut = [&](std::size_t at, SweepSteps steps) {
    range.steps = steps;
    range.by = trim(range.to.substr(at + 1));
    range.to = trim(range.to.substr(0, at));
  };
  if (colon != std::string_view::npos) {
    cut(colon, SweepSteps::kBy);
  } else if (stroke != std::string_view::npos && plain_number(range.to.substr(stroke + 1))) {
    cut(stroke, SweepSteps::kCount);  // the stroke of "TB/s" is another
  }
  return range;
}

std::vector<double> range_numbers(double from, double to, SweepSteps steps, double by,
                                  std::size_t most) {
  if (!(from > 0) || !(to >= from) || !(by > 0)) return {};
  if (steps == SweepSteps::kCount && (by < 2 || by != std::floor(by))) return {};
  constexpr double kRounding = 1e-12;
  std::vector<double> numbers;
  for (double value = from; numbers.size() <= most;) {
    numbers.push_back(value);
    const double done = static_cast<double>(numbers.size());
    if (steps == SweepSteps::kDoubled) value *= 2;
    if (steps == SweepSteps::kBy) value = from + by * done;
    if (steps == SweepSteps::kCount) value = from + (to - from) * done / (by - 1);
    if (steps == SweepSteps::kCount ? done >= by : value > to * (1 + kRounding)) break;
  }
  return numbers;
}

Result<std::vector<std::string>> sweep_values(const SweepText& sweep, const SweepRule& rule) {
  std::vector<std::string> all;
  for (const std::string_view text : sweep.values) {
    std::vector<std::string> values = {std::string(text)};
    const std::optional<SweepRange> range = rule.ranges ? split_range(text) : std::nullopt;
    if (range) values = range_values(*range, rule.unit);
    if (values.empty()) {
      return usage_error(rule.name, fmt::format("'{}' is no range", text),
                         "write it like 64..1024 (doubling), 150MB..500MB:50MB or 1x..4x/7");
    }
    if (values.size() > kMostSweepValues) {
      return usage_error(rule.name, "has more than 1,000 values", "take a larger step");
    }
    for (std::string& value : values) {
      if (auto error = rule.check(value)) return *std::move(error);
      if (std::find(all.begin(), all.end(), value) == all.end()) all.push_back(std::move(value));
    }
    if (all.size() > kMostSweepValues) {
      return usage_error(rule.name, "has more than 1,000 values", "take fewer");
    }
  }
  return all;
}

}  // namespace flopcast
