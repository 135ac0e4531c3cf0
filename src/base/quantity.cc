#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/base/quantity.h"

namespace flopcast {
namespace {

/// How the units of a kind are written: prefix, then one of the spellings.
struct Spelling {
  std::string_view text;
  UnitKind kind;
  double factor;
  bool small_prefixes;  ///< m, u, n, p as well as k, M, G, ...
};
constexpr Spelling kSpellings[] = {
    {"B/s", UnitKind::kBytesPerSecond, 1, false},
    {"Bps", UnitKind::kBytesPerSecond, 1, false},
    {"b/s", UnitKind::kBytesPerSecond, 0.125, false},
    {"bps", UnitKind::kBytesPerSecond, 0.125, false},
    {"bit/s", UnitKind::kBytesPerSecond, 0.125, false},
    {"bits/s", UnitKind::kBytesPerSecond, 0.125, false},
    {"bit/sec", UnitKind::kBytesPerSecond, 0.125, false},
    {"bits/sec", UnitKind::kBytesPerSecond, 0.125, false},
    {"b/sec", UnitKind::kBytesPerSecond, 0.125, false},
    {"byte/s", UnitKind::kBytesPerSecond, 1, false},
    {"bytes/s", UnitKind::kBytesPerSecond, 1, false},
    {"B/sec", UnitKind::kBytesPerSecond, 1, false},
    {"B", UnitKind::kBytes, 1, false},
    {"FLOP/s", UnitKind::kFlopsPerSecond, 1, false},
    {"FLOPS", UnitKind::kFlopsPerSecond, 1, false},
    {"FLOPs", UnitKind::kFlopsPerSecond, 1, false},
    {"OP/s", UnitKind::kFlopsPerSecond, 1, false},
    {"OPS", UnitKind::kFlopsPerSecond, 1, false},
    {"s", UnitKind::kSeconds, 1, true},
    {"min", UnitKind::kSeconds, 60, false},
    {"h", UnitKind::kSeconds, 3600, false},
    {"days", UnitKind::kSeconds, 86400, false},
    {"W", UnitKind::kWatts, 1, true},
    {"USD", UnitKind::kDollars, 1, false},
    {"Hz", UnitKind::kHertz, 1, false},
};

std::optional<double> prefix_factor(std::string_view prefix, bool small_prefixes) {
  struct Prefix {
    std::string_view text;
    double factor;
  };
  constexpr Prefix kLarge[] = {
      {"", 1},        {"k", 1e3},     {"K", 1e3},     {"M", 1e6},     {"G", 1e9},
      {"T", 1e12},    {"P", 1e15},    {"E", 1e18},    {"Ki", 1024.0}, {"Mi", 1048576.0},
      {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50},
  };
  constexpr Prefix kSmall[] = {
      {"m", 1e-3}, {"u", 1e-6}, {"\xC2\xB5", 1e-6}, {"\xCE\xBC", 1e-6}, {"n", 1e-9}, {"p", 1e-12},
  };
  for (const Prefix& p : kLarge) {
    if (p.text == prefix) return p.factor;
  }
  if (!small_prefixes) return std::nullopt;
  for (const Prefix& p : kSmall) {
    if (p.text == prefix) return p.factor;
  }
  return std::nullopt;
}

struct Unit {
  UnitKind kind;
  double factor;
};

std::optional<Unit> parse_unit(std::string_view text) {
  for (const Spelling& spelling : kSpellings) {
    if (!text.ends_with(spelling.text)) continue;
    const std::string_view prefix = text.substr(0, text.size() - spelling.text.size());
    if (const auto factor = prefix_factor(prefix, spelling.small_prefixes)) {
      return Unit{spelling.kind, *factor * spelling.factor};
    }
  }
  return std::nullopt;
}

std::string_view article_name(UnitKind kind) {
  constexpr std::string_view kNames[] = {
      "a plain number", "a size in bytes",  "a bandwidth",           "a time",
      "a rate of work", "a power in watts", "a price in US dollars", "a frequency",
  };
  return kNames[static_cast<int>(kind)];
}

std::string_view example(UnitKind kind) {
  constexpr std::string_view kExamples[] = {
      "8", "80GB or 64MiB", "50GB/s or 400Gb/s", "2.5us", "989TFLOP/s", "700W", "25000", "1.4GHz"};
  return kExamples[static_cast<int>(kind)];
}

Diagnostic refuse(std::string_view text, UnitKind kind, std::string_view found) {
  return {ErrorCode::kBadInput, "",
          fmt::format("expected {}, found {}'{}'", article_name(kind), found, text),
          fmt::format("write it like {}", example(kind))};
}

template <typename Q>
Result<Q> typed(std::string_view text, UnitKind kind) {
  const Result<double> value = parse_quantity(text, kind);
  if (!value) return value.error();
  return Q{*value};
}

}  // namespace

std::string_view unit_name(UnitKind kind) {
  constexpr std::string_view kNames[] = {"", "B", "B/s", "s", "FLOP/s", "W", "USD", "Hz"};
  return kNames[static_cast<int>(kind)];
}

Result<double> parse_quantity(std::string_view text, UnitKind kind) {
  const std::string_view body = trim(text);
  std::string_view rest = body;
  const std::optional<double> read = take_number(rest);
  if (!read) return refuse(body, kind, "");
  const double number = *read;
  const std::string_view unit_text = trim(rest);
  double factor = 1;
  if (!unit_text.empty()) {
    const std::optional<Unit> unit = parse_unit(unit_text);
    if (!unit) return refuse(body, kind, "an unknown unit: ");
    if (unit->kind != kind)
      return refuse(body, kind, fmt::format("{}: ", article_name(unit->kind)));
    factor = unit->factor;
  }
  if (number < 0) {
    return Diagnostic{
        ErrorCode::kBadInput, "",
        fmt::format("expected {}, found a negative one: '{}'", article_name(kind), body),
        "write it without the minus sign"};
  }
  if (!std::isfinite(number * factor)) return refuse(body, kind, "too large a number: ");
  return number * factor;
}

Result<Bytes> parse_bytes(std::string_view text) { return typed<Bytes>(text, UnitKind::kBytes); }
Result<BytesPerSecond> parse_bandwidth(std::string_view text) {
  return typed<BytesPerSecond>(text, UnitKind::kBytesPerSecond);
}
Result<Seconds> parse_seconds(std::string_view text) {
  return typed<Seconds>(text, UnitKind::kSeconds);
}

std::optional<Diagnostic> outside(const Limits& limits, double value, UnitKind kind,
                                  std::string_view text) {
  if (value >= limits.least && value <= limits.most) return std::nullopt;
  const bool low = value < limits.least;
  const std::string_view body = trim(text);
  const bool bare = !unit_name(kind).empty() &&
                    body.find_first_not_of("0123456789.+-eE") == std::string_view::npos;
  return Diagnostic{
      ErrorCode::kBadInput, "",
      fmt::format("expected {} of {} {}, found '{}'", article_name(kind),
                  low ? "at least" : "at most",
                  quantity_text(low ? limits.least : limits.most, kind), body),
      bare ? fmt::format("a number without a unit is in {}: write it like {}", unit_name(kind),
                         example(kind))
           : fmt::format(
                 "check {}{}", unit_name(kind).empty() ? "the number" : "the unit",
                 unit_name(kind).empty() ? "" : fmt::format("; write it like {}", example(kind)))};
}

Result<QuantityChange> parse_change(std::string_view text, UnitKind kind) {
  const std::string_view body = trim(text);
  const bool factor = body.ends_with('x');
  Result<double> value = parse_quantity(factor ? body.substr(0, body.size() - 1) : body,
                                        factor ? UnitKind::kNone : kind);
  const bool bare = body.find_first_not_of("0123456789.+-eE") == std::string_view::npos;
  const bool by_itself = kind == UnitKind::kNone || kind == UnitKind::kWatts ||
                         kind == UnitKind::kDollars;  // nothing else is written so
  if (value && !factor && bare && !by_itself) {
    return Diagnostic{
        ErrorCode::kUsage, std::string(body),
        fmt::format("expected {} with its unit, or a factor, found '{}'", article_name(kind), body),
        fmt::format("write it like {}, or 2x", example(kind))};
  }
  if (value && *value > 0) return QuantityChange{*value, factor};
  Diagnostic error = value ? Diagnostic{ErrorCode::kUsage, std::string(body), "is not above zero",
                                        "give a factor such as 2x, or a value"}
                           : value.error();
  error.code = ErrorCode::kUsage;
  return error;
}

std::string quantity_text(double value, UnitKind kind) {
  const std::string_view unit = unit_name(kind);
  if (unit.empty() || kind == UnitKind::kDollars || kind == UnitKind::kWatts || value == 0) {
    return fmt::format("{:.10g}{}{}", value, unit.empty() ? "" : " ", unit);
  }
  constexpr std::string_view kPrefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int kPlain = 4;
  int step = static_cast<int>(std::floor(std::log10(value) / 3 + 1e-12));
  step = std::min(std::max(step, kind == UnitKind::kSeconds ? -kPlain : 0), 6);
  return fmt::format("{:.4g} {}{}", value / std::pow(1000.0, step), kPrefixes[step + kPlain], unit);
}

}  // namespace flopcast
