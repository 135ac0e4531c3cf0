#include "flopcast/report/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/format.h"
#include "base/text/json_writer.h"
#include "base/text/shown.h"
#include "report/network/page.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using Layout = JsonWriter::Layout;
constexpr std::size_t kMostRows = 20;

std::string ends_of(const TrafficRow& row) {
  if (!row.op) return fmt::format("{} > {}", row.src, row.dst);
  return row.ranks.empty()
             ? fmt::format("{}, all", name(*row.op))
             : fmt::format("{}, {}", name(*row.op), counted(row.ranks.size(), "chip"));
}

Table flow_table(const TrafficReport& report, std::size_t most) {
  Table table(
      {{"flow", Align::kLeft}, {"what", Align::kLeft}, {"bytes"}, {"start"}, {"end"}, {"takes"}});
  for (std::size_t i = 0; i < std::min(most, report.traffic.size()); ++i) {
    const TrafficRow& row = report.traffic[i];
    const TrafficResult::Row& result = report.result.rows[i];
    table.add({row.id, ends_of(row), short_bytes(row.bytes), short_time(result.start),
               short_time(result.end), short_time(result.end - result.start)});
  }
  return table;
}

std::string links_text(const TrafficReport& report) {
  const auto& links = report.result.links;
  if (links.empty()) return {};
  Table table({{"link", Align::kLeft}, {"carried"}, {"mean use"}, {"fullest interval"}});
  for (std::size_t i = 0; i < std::min(kMostRows, links.size()); ++i) {
    const float most = *std::max_element(links[i].used.begin(), links[i].used.end());
    table.add({report.link_names[i], short_bytes(std::llround(links[i].carried.value)),
               percent(links[i].mean), percent(most)});
  }
  return "\nBusiest links\n" + table.text();
}

std::string more(std::size_t all) {
  return all <= kMostRows
             ? std::string()
             : fmt::format("  ... {} more (--csv and --json have all)\n", grouped(all - kMostRows));
}

void write_flows(JsonWriter& w, const TrafficReport& report) {
  w.begin_array("flows");
  for (std::size_t i = 0; i < report.traffic.size(); ++i) {
    w.begin_object({}, Layout::kLine);
    w.text("id", report.traffic[i].id);
    w.integer("bytes", report.traffic[i].bytes);
    w.seconds("start_s", report.result.rows[i].start);
    w.seconds("end_s", report.result.rows[i].end);
    w.end_object();
  }
  w.end_array();
}

void write_links(JsonWriter& w, const TrafficReport& report) {
  w.begin_array("links");
  for (std::size_t i = 0; i < report.result.links.size(); ++i) {
    const TrafficResult::LinkUse& link = report.result.links[i];
    w.begin_object({}, Layout::kLine);
    w.text("name", report.link_names[i]);
    w.ratio("carried_bytes", link.carried.value);
    w.ratio("mean", link.mean);
    w.begin_array("used");
    for (const float used : link.used) w.ratio({}, static_cast<double>(used));
    w.end_array();
    w.end_object();
  }
  w.end_array();
}

void write_report(JsonWriter& w, const TrafficReport& report) {
  w.text("cluster", report.cluster);
  w.seconds("end_s", report.result.end);
  w.seconds("interval_s", report.result.interval);
  write_flows(w, report);
  write_links(w, report);
}

}  // namespace

TrafficReport make_traffic_report(const Cluster& cluster, const Topology& topology,
                                  std::vector<TrafficRow> traffic, TrafficResult result) {
  TrafficReport report{cluster.name, std::move(traffic), std::move(result), {}};
  for (const TrafficResult::LinkUse& link : report.result.links) {
    report.link_names.push_back(topology.link_name(link.link));
  }
  return report;
}

std::string traffic_text(const TrafficReport& report) {
  return fmt::format("{} on {}: complete after {}\n\n", counted(report.traffic.size(), "flow"),
                     escaped(report.cluster), short_time(report.result.end)) +
         flow_table(report, kMostRows).text() + more(report.traffic.size()) + links_text(report);
}

std::string traffic_json(const TrafficReport& report) {
  JsonWriter w;
  w.begin_object();
  write_report(w, report);
  w.end_object();
  return std::move(w).take();
}

std::string traffic_csv(const TrafficReport& report) {
  Table table({{"id"}, {"bytes"}, {"start_s"}, {"end_s"}});
  for (std::size_t i = 0; i < report.traffic.size(); ++i) {
    table.add({report.traffic[i].id, std::to_string(report.traffic[i].bytes),
               exact_seconds(report.result.rows[i].start),
               exact_seconds(report.result.rows[i].end)});
  }
  return table.csv();
}

std::string traffic_html(const TrafficReport& report) {
  JsonWriter w;
  const std::string title = "Flows on " + report.cluster;
  w.begin_object();
  w.text("kind", "run");
  w.text("title", title);
  write_report(w, report);
  w.end_object();
  return network_page(title, std::move(w).take());
}

}  // namespace flopcast
