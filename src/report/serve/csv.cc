// An answer as a row, and its requests as rows.
#include <fmt/format.h>

#include "base/text/format.h"
#include "flopcast/report/serve.h"
#include "report/render/table.h"
#include "report/serve/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

/// Titles and cells of one line, filled together.
struct CsvLine {
  std::vector<Table::Column> titles;
  std::vector<std::string> cells;

  void text(const std::string& title, std::string value) {
    titles.push_back({title});
    cells.push_back(std::move(value));
  }
  void number(const std::string& title, double value) { text(title, exact_number(value)); }
  void percentiles(const std::string& quantity, const ServingPercentiles& p) {
    number(quantity + "_mean_s", p.mean.value);
    number(quantity + "_p50_s", p.p50.value);
    number(quantity + "_p90_s", p.p90.value);
    number(quantity + "_p95_s", p.p95.value);
    number(quantity + "_p99_s", p.p99.value);
  }
};

std::string time_cell(Time time) { return time == Time::max() ? "" : exact_seconds(time); }

}  // namespace

std::string serve_csv(const ServeAnswer& answer) {
  const ServeQuestion& q = answer.question;
  const ServeSummary& s = answer.summary;
  const Deployment& d = q.fleet.pool.deployment;
  CsvLine line;
  line.text("model", q.model);
  line.text("cluster", q.cluster);
  line.text("engine", std::string(name(d.settings.engine)));
  line.number("replicas", q.fleet.pool.replicas);
  line.number("decode_replicas", q.fleet.decode ? q.fleet.decode->replicas : 0);
  line.number("tp", d.layout.tp);
  line.number("dp", d.layout.dp);
  line.number("ep", d.layout.ep);
  line.number("pp", d.layout.pp);
  line.number("chips", s.chips);
  line.number("users", static_cast<double>(q.workload.users));
  line.number("rate", q.workload.rate);
  line.text("trace", q.trace_name);
  line.percentiles("ttft", s.ttft);
  line.percentiles("tpot", s.tpot);
  line.percentiles("inter_token", s.inter_token);
  line.percentiles("latency", s.latency);
  line.number("output_tokens_per_s", s.output_tokens_per_s);
  line.number("total_tokens_per_s", s.total_tokens_per_s);
  line.number("requests_per_s", s.requests_per_s);
  line.number("within", s.within);
  line.number("goodput_requests_per_s", s.goodput_requests_per_s);
  line.text("meets", s.meets ? "true" : "false");
  line.text("holds", answer.verdict ? std::string(name(*answer.verdict)) : "");
  const LoadMargin margin = answer.largest ? answer.largest->margin : LoadMargin{};
  line.number("largest_load", margin.load);
  line.number("slow_largest_load", margin.slow);
  line.number("fast_largest_load", margin.fast);
  line.number("usd_per_million_tokens", s.usd_per_million_tokens);
  line.number("answered", static_cast<double>(s.answered));
  line.number("lost", static_cast<double>(s.lost));
  line.number("unanswered", static_cast<double>(s.unanswered));
  line.number("preemptions", static_cast<double>(s.preemptions));
  Table table(line.titles);
  table.add(line.cells);
  return table.csv();
}

std::string serve_requests_csv(const ServeAnswer& answer) {
  Table table({{"request"},
               {"counted"},
               {"input"},
               {"output"},
               {"sent_s"},
               {"scheduled_s"},
               {"first_token_s"},
               {"done_s"},
               {"replica"},
               {"preemptions"},
               {"retries"}});
  std::size_t id = 0;
  for (const RequestOutcome& r : answer.run.requests) {
    table.add({fmt::format("{}", id++), r.counted ? "true" : "false", fmt::format("{}", r.input),
               fmt::format("{}", r.output), time_cell(r.sent), time_cell(r.scheduled),
               time_cell(r.first_token), time_cell(r.done), fmt::format("{}", r.replica),
               fmt::format("{}", r.preemptions), fmt::format("{}", r.retries)});
  }
  return table.csv();
}

}  // namespace flopcast
