// How far a run may lie from its forecast: what measured deployments say of the engine.
#include <tuple>

#include "flopcast/measured/serving.h"
#include "question/serve/answer.h"

namespace flopcast::question {
namespace {

void scale_band(ServingPercentiles& p, double factor) {
  for (Seconds* value : {&p.mean, &p.p50, &p.p90, &p.p95, &p.p99, &p.max}) *value *= factor;
}

/// The summary with its times at one end of the bands. Clients that wait for answers ask less often when those take
/// longer; requests that come by themselves come all the same.
ServeSummary at_end(ServeSummary s, double ttft, double tpot, bool closed) {
  scale_band(s.ttft, ttft);
  scale_band(s.tpot, tpot);
  scale_band(s.inter_token, tpot);
  scale_band(s.latency, tpot);
  if (!closed) return s;
  s.output_tokens_per_s /= tpot;
  s.total_tokens_per_s /= tpot;
  s.requests_per_s /= tpot;
  s.goodput_requests_per_s /= tpot;
  s.usd_per_million_tokens *= tpot;
  return s;
}

/// The fleet with what it computes, and what its host does, so many times as long.
Fleet slowed(Fleet fleet, double ttft, double tpot) {
  const auto slow = [&](ReplicaPool& pool) {
    pool.factors.decode *= tpot;
    pool.factors.host *= tpot;
    pool.factors.prefill *= ttft;
  };
  slow(fleet.pool);
  if (fleet.decode) slow(*fleet.decode);
  return fleet;
}

/// The summary of the question's run on another fleet.
Result<ServeSummary> run_on(const ServeQuestion& question, const Fleet& fleet,
                            const Catalog& catalog, const ServeOptions& options) {
  const Result<PreparedFleet> prepared = PreparedFleet::make(fleet, catalog);
  if (!prepared) return prepared.error();
  FleetOptions run_options;
  run_options.leap = options.leap;
  const Result<FleetRun> run = prepared->run(question.workload, run_options);
  if (!run) return run.error();
  return summarize_serving(*run, fleet, question);
}

}  // namespace

std::optional<Diagnostic> add_bands(ServeAnswer& answer, const Catalog& catalog,
                                    const ServeOptions& options) {
  const Fleet& fleet = answer.question.fleet;
  const ServingBands bands =
      serving_bands(name(fleet.pool.deployment.settings.engine), fleet.decode.has_value());
  if (overloading_rate(answer)) {
    for (const auto& [end, ttft, tpot] :
         {std::tuple{&answer.low, bands.ttft.low, bands.tpot.low},
          std::tuple{&answer.high, bands.ttft.high, bands.tpot.high}}) {
      Result<ServeSummary> summary =
          run_on(answer.question, slowed(fleet, ttft, tpot), catalog, options);
      if (!summary) return summary.error();
      *end = std::move(*summary);
    }
    return std::nullopt;
  }
  const bool closed = answer.question.workload.kind == ServingWorkload::Kind::kClosed;
  answer.low = at_end(answer.summary, bands.ttft.low, bands.tpot.low, closed);
  answer.high = at_end(answer.summary, bands.ttft.high, bands.tpot.high, closed);
  return std::nullopt;
}

}  // namespace flopcast::question
