// Limits on percentiles: read, shown, and held against what a run came to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/numeric/rank.h"
#include "base/text/format.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/base/quantity.h"
#include "flopcast/serving/search.h"

namespace flopcast {
namespace {

using Quantity = ServiceLimit::Quantity;

constexpr std::array<std::pair<std::string_view, Quantity>, 7> kQuantities = {{
    {"ttft", Quantity::kTtft},
    {"tpot", Quantity::kTpot},
    {"itl", Quantity::kInterToken},
    {"latency", Quantity::kLatency},
    // Other words for them; names are the first of each.
    {"inter_token", Quantity::kInterToken},
    {"e2e", Quantity::kLatency},
    {"e2el", Quantity::kLatency},
}};
constexpr std::string_view kLimitHint = "write it like ttft.p99<1s,tpot.p99<50ms";

Diagnostic bad_limit(std::string_view found, std::string_view what) {
  return usage_error("limits", fmt::format("{}, found '{}'", what, found), std::string(kLimitHint));
}

/// 0 of "mean", 100 of "max", 99.9 of "p99.9".
std::optional<double> parse_percentile(std::string_view text) {
  if (text == "mean" || text == "avg") return 0;
  if (text == "max") return 100;
  if (!text.starts_with('p')) return std::nullopt;
  const std::optional<double> value = parse_number(text.substr(1));
  if (!value || !(*value > 0) || *value > 100) return std::nullopt;
  return value;
}

/// The percentiles that are kept of gaps between tokens, of which there are too many to sort.
const Seconds* kept_percentile(const ServingPercentiles& all, double percentile) {
  if (percentile == 0) return &all.mean;
  if (percentile == 50) return &all.p50;
  if (percentile == 90) return &all.p90;
  if (percentile == 95) return &all.p95;
  if (percentile == 99) return &all.p99;
  if (percentile == 100) return &all.max;
  return nullptr;
}

/// "ttft.p99" into the limit.
std::optional<Diagnostic> read_subject(std::string_view text, ServiceLimit& limit) {
  const std::size_t dot = std::min(text.find_first_of(". "), text.size());  // "ttft p99" too
  const std::string_view quantity = text.substr(0, dot);
  const auto known = std::find_if(kQuantities.begin(), kQuantities.end(), [&](const auto& one) {
    return name_key(one.first) == name_key(quantity);
  });
  if (known == kQuantities.end()) {
    return bad_limit(quantity, "expected ttft, tpot, itl or latency");
  }
  limit.quantity = known->second;
  const std::string_view percentile = trim(text.substr(std::min(dot + 1, text.size())));
  const std::optional<double> read = parse_percentile(percentile);
  if (!read) return bad_limit(percentile, "expected mean, max or a percentile such as p99");
  limit.percentile = *read;
  if (limit.quantity == Quantity::kInterToken && !kept_percentile({}, *read)) {
    return bad_limit(percentile,
                     "of gaps between tokens there are mean, p50, p90, p95, p99 and max");
  }
  return std::nullopt;
}

Result<ServiceLimit> parse_limit(std::string_view text) {
  const std::size_t sign = text.find('<');
  if (sign == std::string_view::npos) return bad_limit(text, "expected QUANTITY.PERCENTILE<TIME");
  ServiceLimit limit;
  if (auto problem = read_subject(trim(text.substr(0, sign)), limit)) return *std::move(problem);
  std::string_view time = text.substr(sign + 1);
  if (time.starts_with('=')) time.remove_prefix(1);  // times are real numbers: "<" and "<=" are one
  const Result<Seconds> below = parse_seconds(trim(time));
  if (!below) return bad_limit(trim(time), "expected a time such as 50ms");
  if (!(below->value > 0)) return bad_limit(trim(time), "expected a time above 0");
  limit.below = *below;
  return limit;
}

Time time_of(const RequestOutcome& request, Quantity quantity) {
  if (quantity == Quantity::kTtft) return request.ttft();
  if (quantity == Quantity::kTpot) return request.tpot();
  return request.done - request.sent;
}

const ServingPercentiles& percentiles_at(const FleetRun& run, Quantity quantity) {
  switch (quantity) {
    case Quantity::kTtft:
      return run.ttft;
    case Quantity::kTpot:
      return run.tpot;
    case Quantity::kInterToken:
      return run.inter_token;
    case Quantity::kLatency:
      return run.latency;
  }
  return run.ttft;
}

}  // namespace

Result<std::vector<ServiceLimit>> parse_service_limits(std::string_view text) {
  std::vector<ServiceLimit> limits;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    Result<ServiceLimit> limit = parse_limit(trim(text.substr(0, comma)));
    if (!limit) return limit.error();
    limits.push_back(*limit);
    if (comma == text.size()) return limits;
    text.remove_prefix(comma + 1);
  }
}

std::string name(const ServiceLimit& limit) {
  const auto known = std::find_if(kQuantities.begin(), kQuantities.end(),
                                  [&](const auto& one) { return one.second == limit.quantity; });
  std::string percentile = "mean";
  if (limit.percentile == 100) percentile = "max";
  if (limit.percentile > 0 && limit.percentile < 100) {
    percentile = "p" + exact_number(limit.percentile);
  }
  // 0.05 s is 50 ms, not 50.000000000000003.
  const double ms = std::round(limit.below.value * 1e12) / 1e9;
  const bool short_one = limit.below.value < 1 && ms > 0;
  return fmt::format("{}.{}<{}{}", known->first, percentile,
                     exact_number(short_one ? ms : limit.below.value), short_one ? "ms" : "s");
}

Seconds limited_value(const FleetRun& run, const ServiceLimit& limit) {
  if (const Seconds* kept =
          kept_percentile(percentiles_at(run, limit.quantity), limit.percentile)) {
    return *kept;
  }
  std::vector<Time> times;
  times.reserve(run.requests.size());
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted || request.done == Time::max()) continue;
    times.push_back(time_of(request, limit.quantity));
  }
  if (times.empty()) return {};
  const auto count = static_cast<std::int64_t>(times.size());
  const auto place = times.begin() + nearest_rank(count, limit.percentile);
  std::nth_element(times.begin(), place, times.end());
  return {place->seconds()};
}

double limit_ratio(const FleetRun& run, std::span<const ServiceLimit> limits) {
  if (run.unanswered > 0 || run.lost > 0 || run.answered == 0) {
    return std::numeric_limits<double>::infinity();
  }
  double worst = 0;
  for (const ServiceLimit& limit : limits) {
    worst = std::max(worst, limited_value(run, limit) / limit.below);
  }
  return worst;
}

bool meets(const FleetRun& run, std::span<const ServiceLimit> limits) {
  return limit_ratio(run, limits) < 1;
}

}  // namespace flopcast
