// A made-up answer for tests: two replicas, four requests, numbers that can be checked by hand.
#pragma once

#include "flopcast/report/serve.h"

namespace flopcast::test {

inline Time serve_ms(std::int64_t n) { return Time::from_us(n * 1000); }

inline ServingPercentiles made_percentiles(double ms) {
  return {{ms * 1e-3}, {ms * 0.9e-3}, {ms * 1.2e-3}, {ms * 1.3e-3}, {ms * 1.5e-3}, {ms * 2e-3}, 4};
}

inline ServeSummary made_summary(double faster = 1) {
  ServeSummary s;
  s.chips = 8;
  s.ttft = made_percentiles(100 / faster);
  s.tpot = made_percentiles(20 / faster);
  s.inter_token = made_percentiles(20 / faster);
  s.latency = made_percentiles(2000 / faster);
  s.output_tokens_per_s = 800 * faster;
  s.total_tokens_per_s = 1600 * faster;
  s.requests_per_s = 0.5 * faster;
  s.within = 0.75;
  s.goodput_requests_per_s = 0.375 * faster;
  s.usd_per_million_tokens = 5 / faster;
  s.answered = 4;
  s.preemptions = 1;
  return s;
}

inline ServeQuestion made_question() {
  ServeQuestion q;
  q.model = "meta-llama-3-70b";
  q.cluster = "dgx-h100";
  q.settings = {{"tp", "4"},        {"users", "2"},         {"input", "100"},
                {"output", "100"},  {"slo", "ttft.p99<1s"}, {"set", "memory_share=0.85"},
                {"set", "block=32"}};
  Deployment& d = q.fleet.pool.deployment;
  d.model.name = "llama-3-70b";
  d.layout.tp = 4;
  d.settings.version = "0.19";
  q.fleet.pool.replicas = 2;
  q.workload.users = 2;
  q.workload.input = q.workload.output = 100;
  q.limits = {{ServiceLimit::Quantity::kTtft, 99, {1}}};
  q.slo = "ttft.p99<1s";
  q.assumed = {"no precision given: bf16"};
  return q;
}

/// Replica 0 has requests 0 and 2, replica 1 the others; the last is never answered.
inline FleetRun made_run() {
  FleetRun run;
  run.requests = {
      {serve_ms(0), serve_ms(10), serve_ms(60), serve_ms(1050), 100, 100, 0, 0, 0, true},
      {serve_ms(0), serve_ms(0), serve_ms(50), serve_ms(1040), 100, 100, 1, 0, 0, true},
      {serve_ms(500), serve_ms(510), serve_ms(560), serve_ms(1550), 100, 100, 0, 1, 0, true},
      {serve_ms(600), Time::max(), Time::max(), Time::max(), 100, 100, 1, 0, 0, true}};
  run.answered = 3;
  run.unanswered = 1;
  run.begin = serve_ms(0);
  run.end = serve_ms(1550);
  run.samples = {{{serve_ms(0), serve_ms(50), 1, 0, 100, 1, 10},
                  {serve_ms(50), serve_ms(1550), 99, 2, 0, 0, 50}},
                 {{serve_ms(0), serve_ms(50), 1, 0, 100, 0, 10}}};
  run.counts.preemptions = 1;
  return run;
}

inline ServePool made_pool() {
  ServePool pool;
  pool.role = "replica";
  pool.deployment = made_question().fleet.pool.deployment;
  pool.replicas = 2;
  pool.memory.weights = {35e9};
  pool.memory.kv = {30e9};
  pool.memory.blocks = 100;
  pool.memory.tokens = 1600;
  pool.kv_mean = 0.4;
  pool.kv_peak = 0.5;
  pool.busy = 0.6;
  pool.decodes = 1.9;
  pool.context = 150;
  pool.prefill_tokens = 100;
  pool.prefill_share = 0.1;
  pool.iteration = serve_ms(20);
  pool.parts = {{"host", {2e-3}, "host", Basis::kAssumed},
                {"feed-forward", {12e-3}, "bytes", Basis::kTable},
                {"attention decode", {6e-3}, "bytes", Basis::kFitted}};
  pool.prompt_iteration = serve_ms(50);
  pool.prompt_parts = {{"feed-forward", {50e-3}, "compute", Basis::kTable}};
  pool.basis = Basis::kTable;
  pool.source = "kernels of h100-sxm";
  return pool;
}

inline ServeAnswer made_serve_answer() {
  ServeAnswer a;
  a.question = made_question();
  a.run = made_run();
  a.summary = made_summary();
  a.low = made_summary(1.25);
  a.high = made_summary(0.8);
  a.pools = {made_pool()};
  a.windows = {{serve_ms(0), serve_ms(1550), 4, made_percentiles(100), made_percentiles(20), 800}};
  a.limits = {"90.0 % of it is reading memory"};
  a.next = {{"one replica more", made_summary(1.5), ""}, {"TP 8 instead of 4", {}, "no room"}};
  a.sensitivity = {{"HBM bandwidth +10 %", made_summary(1.08), ""}};
  a.load_unit = "users";
  a.verdict = ServeVerdict::kNot;
  a.curve = {{1, made_summary(0.5)}, {2, made_summary(1)}, {4, made_summary(1.7)}};
  return a;
}

}  // namespace flopcast::test
