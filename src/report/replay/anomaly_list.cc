#include "report/replay/anomaly_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "report/render/paragraph.h"
#include "report/replay/summary.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

struct Kind {
  Anomaly sum;
  std::uint64_t ranks = 0;
};

std::vector<Kind> by_kind(const std::vector<RankedAnomaly>& anomalies) {
  std::vector<Kind> kinds;
  for (const RankedAnomaly& a : anomalies) {
    auto known = std::find_if(kinds.begin(), kinds.end(),
                              [&](const Kind& k) { return k.sum.kind == a.anomaly.kind; });
    if (known == kinds.end()) {
      known = kinds.insert(kinds.end(), {{a.anomaly.kind, 0, a.anomaly.first}, 0});
    }
    known->sum.count += a.anomaly.count;
    if (a.rank >= 0) ++known->ranks;
  }
  return kinds;
}

}  // namespace

std::vector<RankedAnomaly> ranked_anomalies(const TraceSet& set) {
  std::vector<RankedAnomaly> list;
  for (const Anomaly& a : set.anomalies.list()) list.push_back({-1, a});
  for (std::size_t t = 0; t < set.traces.size(); ++t) {
    for (const Anomaly& a : set.traces[t].anomalies.list()) list.push_back({rank_of(set, t), a});
  }
  return list;
}

std::string report::anomaly_list(const std::vector<RankedAnomaly>& anomalies) {
  std::string text;
  for (const Kind& kind : by_kind(anomalies)) {
    text += fmt::format("  {}: {}", kind.sum.kind, counted(kind.sum.count, "time"));
    if (kind.ranks > 1) text += fmt::format(" in {} ranks", kind.ranks);
    text += '\n' + paragraph("      ", kind.sum.first);
  }
  return text;
}

void report::write_anomalies(JsonWriter& writer, const std::vector<RankedAnomaly>& anomalies) {
  writer.begin_array("anomalies");
  for (const RankedAnomaly& a : anomalies) {
    writer.begin_object({}, JsonWriter::Layout::kLine);
    if (a.rank < 0) {
      writer.null("rank");
    } else {
      writer.integer("rank", a.rank);
    }
    writer.text("kind", a.anomaly.kind);
    writer.count("count", a.anomaly.count);
    writer.text("first", a.anomaly.first);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace flopcast
