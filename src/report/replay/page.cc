// The page of a replay: its numbers, and the rows of both timelines.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/json_writer.h"
#include "base/text/utf8.h"
#include "flopcast/report/replay.h"
#include "flopcast/report/sets.h"
#include "report/render/page_template.h"
#include "report/render/varints.h"
#include "report/replay/page_rows.h"
#include "report/replay/summary.h"
#include "web_assets.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::size_t kMostRows = 450'000;    // of all ranks: about 6 MB of page
constexpr std::size_t kFewestRows = 400;      // of one rank
constexpr std::size_t kMostPoints = 120'000;  // of all utilisation curves
constexpr std::size_t kMostLate = 200;        // late starts listed

using Layout = JsonWriter::Layout;

struct Span {
  Time from = Time::max(), to = Time::min();
  bool empty() const { return from > to; }
};

void widen(Span& span, const Timeline& times, const Trace& trace, std::size_t t) {
  for (std::size_t row = 0; row < trace.events.size(); ++row) {
    const Category c = trace.events.category[row];
    if (!is_gpu_work(c) && !is_host_call(c) && c != Category::kCpuOp) continue;
    span.from = std::min(span.from, times.start[t][row]);
    span.to = std::max(span.to, times.end[t][row]);
  }
}

/// First to last row that the page draws, in both runs.
Span span_of(const TraceSet& set, const Replay& replay) {
  Span span;
  for (std::size_t t = 0; t < set.traces.size(); ++t) {
    widen(span, replay.recorded, set.traces[t], t);
    widen(span, replay.replayed, set.traces[t], t);
    for (const StepResult& step : replay.steps[t]) {
      span.from = std::min({span.from, step.measured_start, step.replayed_start});
      span.to = std::max({span.to, step.measured_end, step.replayed_end});
    }
  }
  return span.empty() ? Span{Time{}, Time{}} : span;
}

/// 1 ms as the papers; finer for short runs, coarser where there would be too many points. A round
/// number.
Time curve_interval(Time length, std::size_t ranks) {
  const std::size_t per_curve = kMostPoints / 4 / std::max<std::size_t>(ranks, 1);
  const auto most = static_cast<std::int64_t>(std::clamp<std::size_t>(per_curve, 50, 2000));
  const Time usual = length < Time::from_us(100'000) ? Time{length.ps / 400} : Time::from_us(1000);
  const Time least = std::max(usual, Time{length.ps / most});
  Time interval = Time::from_us(1);
  // 1, 2, 5, 10, 20, 50, ...
  for (int step = 0; interval < least; ++step)
    interval.ps = interval.ps * (step % 3 == 1 ? 5 : 4) / 2;
  return interval;
}

/// Fractions as one byte each, 0 to 200.
std::string curve_text(const std::vector<float>& fractions) {
  std::string bytes;
  for (const float f : fractions) {
    bytes += static_cast<char>(std::lround(std::clamp(f, 0.0F, 1.0F) * 200));
  }
  return base64_of(bytes);
}

void write_curves(JsonWriter& w, const TraceSet& set, const Replay& replay, std::size_t t,
                  const Span& span, Time interval) {
  const auto of = [&](const Timeline& times) {
    return utilisation(set.traces[t], times.start[t], times.end[t], span.from, span.to, interval);
  };
  const std::array<Utilisation, 2> runs = {of(replay.recorded), of(replay.replayed)};
  w.begin_object("curve", Layout::kLine);
  w.integer("interval_ns", runs[0].interval.ps / 1000);
  w.begin_array("active");
  for (const Utilisation& run : runs) w.text({}, curve_text(run.active));
  w.end_array();
  w.begin_array("sms");
  for (const Utilisation& run : runs) w.text({}, curve_text(run.sms_used));
  w.end_array();
  w.end_object();
}

void write_steps(JsonWriter& w, const std::vector<StepResult>& steps, Time origin) {
  const auto ns = [origin](Time t) { return (t - origin).ps / 1000; };
  w.begin_array("steps", Layout::kLine);
  for (const StepResult& step : steps) {
    w.begin_array();
    w.text({}, step.name);
    for (const Time t :
         {step.measured_start, step.measured_end, step.replayed_start, step.replayed_end}) {
      w.integer({}, ns(t));
    }
    w.end_array();
  }
  w.end_array();
}

std::vector<PageRank> write_ranks(JsonWriter& w, const TraceSet& set, const Replay& replay,
                                  const Span& span, PageNames& names) {
  const std::size_t ranks = set.traces.size();
  const std::size_t most = std::max(kFewestRows, kMostRows / std::max<std::size_t>(ranks, 1));
  const Time interval = curve_interval(span.to - span.from, ranks);
  std::vector<PageRank> pages;
  w.begin_array("ranks");
  for (std::size_t t = 0; t < ranks; ++t) {
    pages.push_back(page_rank(set, t, page_runs(replay, t, span.from), most, names));
    w.begin_object();
    w.integer("rank", rank_of(set, t));
    w.integer("merged_below_ns", pages.back().merged_below.ps / 1000);
    write_lanes(w, pages.back());
    write_steps(w, replay.steps[t], span.from);
    write_curves(w, set, replay, t, span, interval);
    w.text("rows", pages.back().rows);
    w.end_object();
  }
  w.end_array();
  return pages;
}

std::string page_data(const TraceSet& set, const Replay& replay) {
  const Span span = span_of(set, replay);
  PageNames names(set.strings);
  JsonWriter w;
  w.begin_object();
  w.integer("length_ns", (span.to - span.from).ps / 1000);
  const std::vector<PageRank> pages = write_ranks(w, set, replay, span, names);
  write_path_pieces(
      w, set, replay.critical_path.pieces,
      [&pages](const PathPiece& p) -> PagePlace {
        return {p.trace, pages[p.trace].place[p.row]};
      },
      span.from);
  w.begin_object("path_titles");
  for (const PathShare& share : summarise_path(set, replay).classes) {
    w.text(share.name, path_class_title(share.name));
  }
  w.end_object();
  w.begin_array("names");
  for (const std::string& name : names.list()) w.text({}, name);
  w.end_array();
  w.end_object();
  return std::move(w).take();
}

/// The numbers of the page: lists and texts that could be of any length are cut.
SetResult page_result(const TraceSet& set, const Replay& replay) {
  constexpr std::size_t kTextLength = 300;
  SetResult result = make_set_result(set, replay);
  for (std::string& file : result.truncated) file = shortened(file, kTextLength);
  if (result.late_starts.size() > kMostLate) result.late_starts.resize(kMostLate);
  for (SetResult::Late& late : result.late_starts) late.name = shortened(late.name, kTextLength);
  for (KernelTotal& kernel : result.top_kernels) kernel.name = shortened(kernel.name, kTextLength);
  for (RankedAnomaly& a : result.anomalies)
    a.anomaly.first = shortened(a.anomaly.first, kTextLength);
  for (EdgeCount& edge : result.edges) edge.example = shortened(edge.example, kTextLength);
  return result;
}

}  // namespace

std::string replay_html(const TraceSet& set, const Replay& replay) {
  return html_of(
      {.title = set.label,
       .kind = "replay",
       .scripts = {web::numbers_js(), web::page_js(), web::colours_js(), web::bars_js(),
                   web::canvas_js(), web::sortable_js(), web::decode_js(), web::replayed_js(),
                   web::tables_js(), web::curves_js(), web::lanes_js(), web::timeline_js(),
                   web::sensitivity_js(), web::report_js()},
       .documents = {{"rows", page_data(set, replay)},
                     {"report", sets_json({page_result(set, replay)})}}});
}

}  // namespace flopcast
