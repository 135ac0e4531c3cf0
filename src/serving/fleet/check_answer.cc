#include "serving/fleet/check_answer.h"

#include <algorithm>

#include "base/numeric/answer_check.h"

namespace flopcast::serving {
namespace {

void check_percentiles(AnswerCheck& check, std::string_view name, const ServingPercentiles& p) {
  Seconds before;
  for (const Seconds each : {p.p50, p.p90, p.p95, p.p99, p.max}) {
    check.time(name, each);
    check.at_least(name, each.value, "a lower percentile", before.value);
    before = each;
  }
  check.time(name, p.mean);
  check.at_least(name, p.max.value, "its mean", p.mean.value);
}

/// What never came is Time::max(), and so later than all else.
void check_request(AnswerCheck& check, const RequestOutcome& request) {
  const bool in_order = request.sent >= Time{} && request.sent <= request.scheduled &&
                        request.scheduled <= request.first_token &&
                        request.first_token <= request.done;
  if (!in_order) check.time("a request that ends before it begins", -Time::from_us(1));
}

/// The largest dense peak of any type: no token takes fewer multiply-adds than it meets parameters.
double most_tokens_per_s(const ReplicaPool& pool) {
  const Chip& chip = pool.deployment.cluster.chip;
  double peak = 0;
  for (const FlopsPerSecond rate : chip.matrix) peak = std::max(peak, rate.value);
  const Parameters parameters = count_parameters(pool.deployment.model);
  const double work = 2 * static_cast<double>(parameters.active - parameters.embedding);
  return work > 0 ? peak * pool.replicas * pool.deployment.layout.chips() / work : 0;
}

/// Drafts bring several tokens with the work of a pass: more than one each is the model's own.
double tokens_of_a_pass(const ReplicaPool& pool) {
  return std::max(1.0, pool.deployment.settings.speculation.accepted);
}

}  // namespace

std::optional<Diagnostic> check_answer(const FleetRun& run, const Fleet& fleet) {
  AnswerCheck check("the fleet");
  check_percentiles(check, "TTFT", run.ttft);
  check_percentiles(check, "TPOT", run.tpot);
  check_percentiles(check, "latency", run.latency);
  check_percentiles(check, "gap between tokens", run.inter_token);
  for (const RequestOutcome& request : run.requests) check_request(check, request);
  check.amount("answers' tokens per second", run.output_tokens_per_s);
  check.amount("all tokens per second", run.total_tokens_per_s);
  check.amount("requests per second", run.requests_per_s);
  check.amount("paid time", run.replica_seconds);
  const ReplicaPool& answering = fleet.decode ? *fleet.decode : fleet.pool;
  if (const double most = most_tokens_per_s(answering); most > 0 && !fleet.autoscaling) {
    check.at_least("peak by its tokens", most * tokens_of_a_pass(answering), "the tokens it makes",
                   run.output_tokens_per_s);
  }
  return check.problem();
}

}  // namespace flopcast::serving
