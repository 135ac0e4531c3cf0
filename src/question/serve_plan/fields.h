// What JSON of a search for a fleet holds, once for writing and for reading: each visit tells names and fields in order.
#pragma once

#include "flopcast/question/serve_plan.h"

namespace flopcast::question {

template <typename Percentiles, typename Visit>
void visit_percentiles(Percentiles& p, Visit&& visit) {
  visit("mean_s", p.mean);
  visit("p50_s", p.p50);
  visit("p90_s", p.p90);
  visit("p95_s", p.p95);
  visit("p99_s", p.p99);
  visit("max_s", p.max);
  visit("count", p.count);
}

template <typename Pool, typename Visit>
void visit_pool(Pool& pool, Visit&& visit) {
  visit("replicas", pool.replicas);
  visit("tp", pool.layout.tp);
  visit("dp", pool.layout.dp);
  visit("ep", pool.layout.ep);
  visit("pp", pool.layout.pp);
}

template <typename Choice, typename Visit>
void visit_choice(Choice& choice, Visit&& visit) {
  visit("engine", choice.engine);
  visit("precision", choice.precision);
  visit("batch_tokens", choice.batch_tokens);
  visit("max_requests", choice.max_requests);
}

template <typename Candidate, typename Visit>
void visit_result(Candidate& candidate, Visit&& visit) {
  visit("number", candidate.number);
  visit("output_tokens_per_s", candidate.output_tokens_per_s);
  visit("output_tokens_per_s_per_chip", candidate.output_tokens_per_s_per_chip);
  visit("requests_per_s", candidate.requests_per_s);
  visit("cost_per_million_tokens", candidate.cost_per_million_tokens);
  visit("limit_ratio", candidate.ratio);
  visit("slow_limit_ratio", candidate.slow_ratio);
  visit("largest_load", candidate.largest.load);
  visit("next_load", candidate.largest.next);
  visit("slow_largest_load", candidate.largest.slow);
  visit("fast_largest_load", candidate.largest.fast);
  visit("preemptions", candidate.preemptions);
}

template <typename Counts, typename Visit>
void visit_counts(Counts& counts, Visit&& visit) {
  visit("configurations", counts.configurations);
  visit("impossible", counts.impossible);
  visit("out_of_memory", counts.out_of_memory);
}

template <typename Launch, typename Visit>
void visit_launch(Launch& launch, Visit&& visit) {
  visit("role", launch.role);
  visit("replicas", launch.replicas);
  visit("checkpoint", launch.checkpoint);
  visit("command", launch.command);
  visit("file_name", launch.file_name);
  visit("file", launch.file);
}

template <typename Report, typename Visit>
void visit_asked(Report& report, Visit&& visit) {
  visit("model", report.model);
  visit("on", report.on);
  visit("cluster", report.cluster);
  visit("chip", report.chip);
  visit("chips", report.chips);
  visit("front", report.front);
  visit("largest", report.largest);
  visit("load_unit", report.load_unit);
  visit("best", report.best);
  visit("usd_per_chip_hour", report.chip_usd_per_hour);
  visit("flopcast", report.version);
}

}  // namespace flopcast::question
