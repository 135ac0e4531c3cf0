#include "flopcast/report/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "base/text/json_writer.h"
#include "base/text/shown.h"
#include "report/network/page.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;

std::string candidate_name(CollectiveAlgorithm algorithm, CollectiveProtocol protocol) {
  return fmt::format("{} {}", name(algorithm), name(protocol));
}

BytesPerSecond algorithm_bandwidth(Bytes size, Seconds time) {
  return time.value > 0 ? size / time : BytesPerSecond{0};
}

BytesPerSecond bus_bandwidth(const CollectiveReport& report, Bytes size, Seconds time) {
  return algorithm_bandwidth(size, time) * bus_bandwidth_factor(report.query.op, report.ranks);
}

std::string parts_text(const CollectiveTime& answer) {
  if (answer.parts.empty()) return {};
  Table table({{"level", Align::kLeft}, {"latency"}, {"transfer"}});
  for (const CollectiveTime::Part& part : answer.parts) {
    table.add({part.level, short_time(part.latency), short_time(part.transfer)});
  }
  return "\nBy level of the cluster\n" + table.text();
}

std::string candidates_text(const CollectiveReport& report) {
  if (report.answer.candidates.empty()) return {};
  Table table(
      {{"algorithm", Align::kLeft}, {"protocol", Align::kLeft}, {"time"}, {"bus bandwidth"}});
  for (const CollectiveTime::Candidate& c : report.answer.candidates) {
    table.add({std::string(name(c.algorithm)), std::string(name(c.protocol)), short_time(c.time),
               short_rate(bus_bandwidth(report, report.query.size, c.time))});
  }
  return "\nAlgorithms considered (by their own models)\n" + table.text();
}

void write_curve(JsonWriter& w, const CollectiveReport& report, const CollectiveCurve& curve) {
  w.begin_object();
  w.text("name", curve.name);
  w.boolean("chosen", curve.chosen);
  w.begin_array("points");
  for (const CollectiveCurve::Point& point : curve.points) {
    w.begin_object({}, Layout::kLine);
    w.ratio("bytes", point.size.value);
    w.ratio("time_s", point.time.value);
    w.ratio("bus_bandwidth", bus_bandwidth(report, point.size, point.time).value);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

void write_answer(JsonWriter& w, const CollectiveReport& report) {
  const CollectiveTime& answer = report.answer;
  const Bytes size = report.query.size;
  w.text("op", name(report.query.op));
  w.text("cluster", report.cluster);
  w.count("ranks", report.ranks);
  w.ratio("bytes", size.value);
  w.ratio("time_s", answer.time.value);
  w.ratio("low_s", answer.low.value);
  w.ratio("high_s", answer.high.value);
  w.ratio("algorithm_bandwidth", algorithm_bandwidth(size, answer.time).value);
  w.ratio("bus_bandwidth", bus_bandwidth(report, size, answer.time).value);
  w.text("basis", name(answer.basis));
  w.text("source", answer.source);
  write_fits(w, report.own_fits);
  w.text("algorithm", name(answer.algorithm));
  w.text("protocol", name(answer.protocol));
  w.begin_array("parts");
  for (const CollectiveTime::Part& part : answer.parts) {
    w.begin_object({}, Layout::kLine);
    w.text("level", part.level);
    w.ratio("latency_s", part.latency.value);
    w.ratio("transfer_s", part.transfer.value);
    w.end_object();
  }
  w.end_array();
  w.begin_array("candidates");
  for (const CollectiveTime::Candidate& c : answer.candidates) {
    w.begin_object({}, Layout::kLine);
    w.text("algorithm", name(c.algorithm));
    w.text("protocol", name(c.protocol));
    w.ratio("time_s", c.time.value);
    w.end_object();
  }
  w.end_array();
}

/// The forecast at one size, and every candidate of it.
Result<CollectiveTime> at_size(const CollectiveModel& model, CollectiveQuery query, Bytes size) {
  query.size = size;
  return model.time(query);
}

}  // namespace

Result<std::vector<CollectiveCurve>> collective_curves(const CollectiveModel& model,
                                                       const CollectiveQuery& query) {
  constexpr double kLeast = 1024;
  constexpr int kDoublings = 24;
  std::vector<CollectiveCurve> curves = {{"forecast", true, {}}};
  for (int i = 0; i <= kDoublings; ++i) {
    const Bytes size{kLeast * static_cast<double>(1 << i)};
    const Result<CollectiveTime> answer = at_size(model, query, size);
    if (!answer) return answer.error();
    curves[0].points.push_back({size, answer->time});
    for (const CollectiveTime::Candidate& c : answer->candidates) {
      const std::string title = candidate_name(c.algorithm, c.protocol);
      auto found = std::find_if(curves.begin() + 1, curves.end(),
                                [&](const CollectiveCurve& curve) { return curve.name == title; });
      if (found == curves.end()) found = curves.insert(curves.end(), {title, false, {}});
      found->points.push_back({size, c.time});
    }
  }
  return curves;
}

std::string collective_text(const CollectiveReport& report) {
  const CollectiveTime& a = report.answer;
  const Bytes size = report.query.size;
  return fmt::format(
             "{} of {} over {} of {}\n"
             "  time           {}  (10-90 %: {} to {})\n"
             "  bus bandwidth  {}\n"
             "  rests on       {}: {}\n"
             "  algorithm      {}\n",
             name(report.query.op), short_bytes(size), counted(report.ranks, "chip"),
             escaped(report.cluster), short_time(a.time), short_time(a.low), short_time(a.high),
             short_rate(bus_bandwidth(report, size, a.time)), name(a.basis), a.source,
             candidate_name(a.algorithm, a.protocol)) +
         parts_text(a) + candidates_text(report);
}

std::string collective_json(const CollectiveReport& report) {
  JsonWriter w;
  w.begin_object();
  write_answer(w, report);
  w.end_object();
  return std::move(w).take();
}

std::string collective_html(const CollectiveReport& report) {
  JsonWriter w;
  const std::string title = fmt::format("{} on {}", name(report.query.op), report.cluster);
  w.begin_object();
  w.text("kind", "time");
  w.text("title", title);
  write_answer(w, report);
  w.begin_array("curves");
  for (const CollectiveCurve& curve : report.curves) write_curve(w, report, curve);
  w.end_array();
  w.end_object();
  return network_page(title, std::move(w).take());
}

}  // namespace flopcast
