// How far a run may lie from its forecast: what measured deployments say of the engine.
#include <algorithm>
#include <utility>

#include "question/serve/answer.h"
#include "question/serve/banded.h"

namespace flopcast {

std::string_view name(ServeVerdict verdict) {
  constexpr std::string_view kNames[] = {"surely", "likely", "unlikely", "no"};
  return kNames[static_cast<int>(verdict)];
}

}  // namespace flopcast

namespace flopcast::question {
namespace {

using BandLoad = ServingWorkload::Kind;
using Quantity = ServiceLimit::Quantity;

double of_band(const ServingBands::Factors& band, BandEnd end) {
  return end == BandEnd::kForecast ? 1 : end == BandEnd::kFast ? band.low : band.high;
}

/// The fleet with all that it does so many times as long.
Fleet slowed(Fleet fleet, double factor) {
  const auto slow = [&](ReplicaPool& pool) {
    for (double* each :
         {&pool.factors.decode, &pool.factors.host, &pool.factors.prefill, &pool.factors.front}) {
      *each *= factor;
    }
  };
  slow(fleet.pool);
  if (fleet.decode) slow(*fleet.decode);
  return fleet;
}

}  // namespace

BandedFleet::BandedFleet(const Catalog& catalog, PreparedFleet forecast)
    : catalog_(&catalog), forecast_(std::move(forecast)) {
  const Fleet& fleet = forecast_.fleet();
  bands_ = serving_bands(name(fleet.pool.deployment.settings.engine), fleet.decode.has_value());
}

Result<BandedFleet> BandedFleet::make(const Fleet& fleet, const Catalog& catalog) {
  Result<PreparedFleet> forecast = PreparedFleet::make(fleet, catalog);
  if (!forecast) return forecast.error();
  return BandedFleet(catalog, std::move(*forecast));
}

Result<const PreparedFleet*> BandedFleet::at(BandEnd end) {
  if (end == BandEnd::kForecast) return &forecast_;
  std::optional<PreparedFleet>& known = ends_[end == BandEnd::kFast ? 0 : 1];
  if (!known) {
    Result<PreparedFleet> made =
        PreparedFleet::make(slowed(forecast_.fleet(), of_band(bands_.tpot, end)), *catalog_);
    if (!made) return made.error();
    known.emplace(std::move(*made));
  }
  return &*known;
}

Result<FleetRun> BandedFleet::run(BandEnd end, const ServingWorkload& workload,
                                  const FleetOptions& options) {
  if (workload.kind == BandLoad::kClosed) return forecast_.run(workload, options);
  const Result<const PreparedFleet*> fleet = at(end);
  if (!fleet) return fleet.error();
  return (*fleet)->run(workload, options);
}

/// What a time of that end's run is multiplied by.
double BandedFleet::factor(BandEnd end, BandLoad kind, Quantity quantity, bool mean) const {
  const bool first = quantity == Quantity::kTtft;
  const double whole =
      mean ? of_band(first ? bands_.ttft : bands_.tpot, end)
           : of_band(first ? bands_.ttft_percentiles : bands_.tpot_percentiles, end);
  // A fleet is as fast as its tokens are; by how much first tokens are off beyond that is theirs alone.
  return kind == BandLoad::kClosed ? whole : whole / of_band(bands_.tpot, end);
}

std::vector<ServiceLimit> BandedFleet::limits(BandEnd end, BandLoad kind,
                                              std::vector<ServiceLimit> limits) const {
  for (ServiceLimit& limit : limits) {
    limit.below.value /= factor(end, kind, limit.quantity, limit.percentile == 0);
  }
  return limits;
}

ServeSummary BandedFleet::summary(BandEnd end, BandLoad kind, const FleetRun& run,
                                  const std::vector<ServiceLimit>& limits,
                                  double usd_per_chip_hour) const {
  ServeSummary s =
      summarize_serving(run, forecast_.fleet(), this->limits(end, kind, limits), usd_per_chip_hour);
  const auto scale = [&](ServingPercentiles& p, Quantity quantity) {
    p.mean *= factor(end, kind, quantity, true);
    const double rest = factor(end, kind, quantity, false);
    for (Seconds* value : {&p.p50, &p.p90, &p.p95, &p.p99, &p.max}) *value *= rest;
  };
  scale(s.ttft, Quantity::kTtft);
  scale(s.tpot, Quantity::kTpot);
  scale(s.inter_token, Quantity::kInterToken);
  scale(s.latency, Quantity::kLatency);
  if (kind != BandLoad::kClosed) return s;
  const double slower = of_band(bands_.tpot, end);
  s.output_tokens_per_s /= slower;
  s.total_tokens_per_s /= slower;
  s.requests_per_s /= slower;
  s.goodput_requests_per_s /= slower;
  s.usd_per_million_tokens *= slower;
  return s;
}

Result<TriedLoad> BandedFleet::try_load(BandEnd end, const ServingWorkload& workload, double load,
                                        const std::vector<ServiceLimit>& limits) {
  FleetOptions options;
  options.inter_token = std::ranges::any_of(
      limits, [](const ServiceLimit& limit) { return limit.quantity == Quantity::kInterToken; });
  const Result<FleetRun> run = this->run(end, at_load(workload, load), options);
  if (!run) return run.error();
  const bool open = workload.kind != BandLoad::kClosed;
  const double ratio = limit_ratio(*run, this->limits(end, workload.kind, limits));
  return TriedLoad{load, ratio < 1 && !(open && outpaced(*run)), ratio};
}

ServeVerdict verdict_of(bool forecast, bool fast, bool slow) {
  if (forecast) return slow ? ServeVerdict::kSurely : ServeVerdict::kLikely;
  return fast ? ServeVerdict::kUnlikely : ServeVerdict::kNot;
}

std::optional<Diagnostic> add_bands(ServeAnswer& answer, BandedFleet& fleet,
                                    const ServeOptions& options) {
  const ServeQuestion& question = answer.question;
  const BandLoad kind = question.workload.kind;
  FleetOptions run_options;
  run_options.leap = options.leap;
  for (const auto& [end, summary] :
       {std::pair{BandEnd::kFast, &answer.low}, std::pair{BandEnd::kSlow, &answer.high}}) {
    if (kind == BandLoad::kClosed) {
      *summary = fleet.summary(end, kind, answer.run, question.limits, question.usd_per_chip_hour);
      continue;
    }
    const Result<FleetRun> run = fleet.run(end, question.workload, run_options);
    if (!run) return run.error();
    *summary = fleet.summary(end, kind, *run, question.limits, question.usd_per_chip_hour);
  }
  if (question.limits.empty()) return std::nullopt;
  answer.verdict = verdict_of(answer.summary.meets, answer.low->meets, answer.high->meets);
  return std::nullopt;
}

}  // namespace flopcast::question
