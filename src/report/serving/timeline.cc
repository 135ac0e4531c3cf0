// Measured timelines beside forecasts, and calibrated factors.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "base/text/json_writer.h"
#include "flopcast/report/serving.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;

namespace {

struct TimelineLine {
  std::string_view key, words;
  const ServingPercentiles TimelineForecast::*measured;
  const ServingPercentiles TimelineForecast::*forecast;
};
constexpr std::array kTimelineLines = {
    TimelineLine{"ttft", "TTFT", &TimelineForecast::measured_ttft, &TimelineForecast::ttft},
    TimelineLine{"tpot", "TPOT", &TimelineForecast::measured_tpot, &TimelineForecast::tpot},
    TimelineLine{"latency", "latency", &TimelineForecast::measured_latency,
                 &TimelineForecast::latency}};

struct TimelineColumn {
  std::string_view key;
  Seconds ServingPercentiles::*member;
};
constexpr std::array kTimelineColumns = {TimelineColumn{"mean", &ServingPercentiles::mean},
                                         TimelineColumn{"p50", &ServingPercentiles::p50},
                                         TimelineColumn{"p90", &ServingPercentiles::p90},
                                         TimelineColumn{"p95", &ServingPercentiles::p95},
                                         TimelineColumn{"p99", &ServingPercentiles::p99}};

double timeline_error(Seconds forecast, Seconds measured) {
  return measured.value > 0 ? forecast.value / measured.value - 1 : 0;
}

}  // namespace

std::string serving_timeline_text(const TimelineForecast& f) {
  Table table(
      {{"", Align::kLeft}, {"", Align::kLeft}, {"measured ms"}, {"forecast ms"}, {"error %"}});
  for (const TimelineLine& line : kTimelineLines) {
    for (const TimelineColumn& column : kTimelineColumns) {
      const Seconds measured = (f.*line.measured).*column.member;
      const Seconds forecast = (f.*line.forecast).*column.member;
      table.add({std::string(line.words), std::string(column.key),
                 fmt::format("{:.2f}", measured.value * 1e3),
                 fmt::format("{:.2f}", forecast.value * 1e3),
                 fmt::format("{:+.1f}", 100 * timeline_error(forecast, measured))});
    }
  }
  return table.text() +
         fmt::format(
             "\nanswers: {:.1f} tokens/s measured, {:.1f} forecast; {} requests, {} preemptions "
             "forecast, {} blocks of keys and values\n",
             f.measured_output_tokens_per_s, f.output_tokens_per_s, f.measured_ttft.count,
             f.preemptions, f.kv_blocks);
}

std::string serving_timeline_json(const TimelineForecast& f) {
  JsonWriter json;
  json.begin_object();
  json.count("requests", f.measured_ttft.count);
  json.text("basis", name(f.basis));
  for (const TimelineLine& line : kTimelineLines) {
    json.begin_object(line.key);
    for (const TimelineColumn& column : kTimelineColumns) {
      const Seconds measured = (f.*line.measured).*column.member;
      const Seconds forecast = (f.*line.forecast).*column.member;
      json.begin_object(column.key, JsonWriter::Layout::kLine);
      json.ratio("measured_s", measured.value);
      json.ratio("forecast_s", forecast.value);
      json.ratio("error", timeline_error(forecast, measured));
      json.end_object();
    }
    json.end_object();
  }
  json.ratio("measured_output_tokens_per_s", f.measured_output_tokens_per_s);
  json.ratio("output_tokens_per_s", f.output_tokens_per_s);
  json.integer("preemptions", f.preemptions);
  json.integer("kv_blocks", f.kv_blocks);
  json.end_object();
  return std::move(json).take();
}

std::string serving_calibration_text(std::span<const ServingCalibration> calibrations) {
  Table table({{"deployment", Align::kLeft},
               {"lengths"},
               {"users"},
               {"decode"},
               {"prefill"},
               {"front"},
               {"host"}});
  for (const ServingCalibration& c : calibrations) {
    table.add({fmt::format("{} {} on {} tp{}", c.engine, c.model, c.chip, c.layout.tp),
               fmt::format("{}/{}", c.input, c.output), fmt::format("{}", fmt::join(c.users, ",")),
               fmt::format("{:.3f}", c.factors.decode), fmt::format("{:.3f}", c.factors.prefill),
               fmt::format("{:.3f}", c.factors.front), fmt::format("{:.3f}", c.factors.host)});
  }
  return table.text() + "\nfactors on forecast times; 1: the forecast as it is\n";
}

std::string serving_calibration_json(std::span<const ServingCalibration> calibrations) {
  JsonWriter json;
  json.begin_object();
  json.begin_array("deployments");
  for (const ServingCalibration& c : calibrations) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("engine", c.engine);
    json.text("model", c.model);
    json.text("chip", c.chip);
    json.text("precision", c.precision);
    json.count("tp", c.layout.tp);
    json.count("dp", c.layout.dp);
    json.count("ep", c.layout.ep);
    json.count("pp", c.layout.pp);
    json.integer("input", c.input);
    json.integer("output", c.output);
    json.begin_array("users", JsonWriter::Layout::kLine);
    for (const std::int64_t n : c.users) json.integer({}, n);
    json.end_array();
    json.ratio("decode", c.factors.decode);
    json.ratio("prefill", c.factors.prefill);
    json.ratio("front", c.factors.front);
    json.ratio("host", c.factors.host);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
