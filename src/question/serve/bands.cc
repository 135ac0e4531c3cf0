// How far a run may lie from its forecast: what measured deployments say of the engine.
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

}  // namespace

void add_bands(ServeAnswer& answer) {
  const Fleet& fleet = answer.question.fleet;
  const ServingBands bands =
      serving_bands(name(fleet.pool.deployment.settings.engine), fleet.decode.has_value());
  const bool closed = answer.question.workload.kind == ServingWorkload::Kind::kClosed;
  answer.low = at_end(answer.summary, bands.ttft.low, bands.tpot.low, closed);
  answer.high = at_end(answer.summary, bands.ttft.high, bands.tpot.high, closed);
}

}  // namespace flopcast::question
