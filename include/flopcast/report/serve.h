// Floor 8: forecasts of `flopcast serve` as tables, JSON, CSV, a page and a timeline.
#pragma once

#include <string>

#include "flopcast/question/serve.h"
#include "flopcast/trace.h"

namespace flopcast {

/// Aligned tables for a terminal: what clients see, what it delivers, where an iteration's time goes, what would
/// change it.
std::string serve_text(const ServeAnswer& answer);
/// Documented in docs/reference/json.md; the field names are a contract. Its question is one that
/// parse_serve_file reads.
std::string serve_json(const ServeAnswer& answer);
/// A line of titles and one of values: the question, percentiles, rates, cost. SI units in the titles.
std::string serve_csv(const ServeAnswer& answer);
/// A line for each request: when it was sent, scheduled, answered, and by whom. Empty cells: never.
std::string serve_requests_csv(const ServeAnswer& answer);
/// One self-contained page: percentiles, latency against throughput, batch and memory over time, an iteration's parts.
std::string serve_html(const ServeAnswer& answer);
/// A process a replica with its iterations, and one of requests: waiting, prompt, answer.
TraceSet serve_trace(const ServeAnswer& answer);

}  // namespace flopcast
