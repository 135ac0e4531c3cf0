#include <fmt/format.h>

#include <algorithm>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "flopcast/report/trace.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

using replaying::kNoIndex;

/// The program behind a recording as text.
class ModelText {
 public:
  ModelText(const TraceSet& set, const replaying::Recording& recording, const TraceModel& model)
      : set_(set), recording_(recording), model_(model) {}

  std::string run() const {
    std::string text = head() + groups() + stages();
    for (const ModelStage* stage : shown_stages()) text += units(*stage);
    return text;
  }

 private:
  std::string head() const {
    std::string text = fmt::format("{}: {}", escaped(set_.label),
                                   counted(recording_.ranks.size(), "recorded rank"));
    text += fmt::format(", PP {} x DP {} x TP {}", model_.pp, model_.dp, model_.tp);
    if (model_.cp > 1) text += fmt::format(" x CP {}", model_.cp);
    if (model_.ep > 1) text += fmt::format(", EP {}", model_.ep);
    if (model_.zero) text += ", sharded over DP";
    text += fmt::format("\n  layers        {}: {}\n",
                        model_.layers > 0 ? std::to_string(model_.layers) : "not found",
                        model_.layer_evidence);
    text += fmt::format("  microbatches  {} a step\n", model_.microbatches);
    text += fmt::format("  schedule      {}{}: {}\n",
                        model_.schedule.empty() ? "none" : model_.schedule,
                        model_.chunks > 1 ? fmt::format(", {} chunks a stage", model_.chunks) : "",
                        model_.schedule_evidence);
    text += fmt::format("  recomputation {}\n", model_.recompute ? "yes" : "no");
    text += fmt::format("  recorded      host rows: {}; shapes: {}\n",
                        model_.has_host ? "yes" : "no", model_.has_shapes ? "yes" : "no");
    return text;
  }

  static std::string ranks_text(const std::vector<std::int32_t>& ranks) {
    std::string text;
    for (const std::int32_t rank : ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
    return text.empty() ? "unknown" : shortened(text, 40);
  }

  std::string groups() const {
    Table table({{"use", Align::kLeft},
                 {"size"},
                 {"name", Align::kLeft},
                 {"ranks", Align::kLeft},
                 {"evidence", Align::kLeft}});
    for (const ModelGroup& g : model_.groups) {
      table.add({group_use_name(g.use), g.size > 0 ? std::to_string(g.size) : "-",
                 shortened(set_.strings[g.name], 20), ranks_text(g.ranks), g.evidence});
    }
    return table.empty() ? "" : "\nGroups\n" + table.text();
  }

  std::string stages() const {
    Table table({{"rank"}, {"stage"}, {"layers"}, {"steps"}, {"units"}, {"passes", Align::kLeft}});
    for (const ModelStage& s : model_.stages) {
      std::string order;
      for (const std::string& pass : s.order) order += (order.empty() ? "" : " ") + pass;
      table.add({std::to_string(recording_.ranks[s.rank].rank), std::to_string(s.stage),
                 s.layers > 0 ? std::to_string(s.layers) : "-", std::to_string(s.steps),
                 std::to_string(s.units.size()), shortened(order, 60)});
    }
    return table.empty() ? "" : "\nRanks\n" + table.text();
  }

  /// The first recorded rank of each stage.
  std::vector<const ModelStage*> shown_stages() const {
    std::vector<const ModelStage*> shown;
    for (const ModelStage& s : model_.stages) {
      const bool known = std::any_of(shown.begin(), shown.end(), [&](const ModelStage* other) {
        return other->stage == s.stage;
      });
      if (!known && !s.segments.empty()) shown.push_back(&s);
    }
    std::sort(shown.begin(), shown.end(),
              [](const ModelStage* a, const ModelStage* b) { return a->stage < b->stage; });
    return shown;
  }

  std::string units(const ModelStage& stage) const {
    std::string text =
        fmt::format("\nStage {} (rank {})\n", stage.stage, recording_.ranks[stage.rank].rank);
    Table table(
        {{"unit"}, {"what", Align::kLeft}, {"copies"}, {"GPU tasks"}, {"GPU ms"}, {"host ms"}});
    for (std::size_t u = 0; u < stage.units.size(); ++u) {
      const ModelUnit& unit = stage.units[u];
      Time gpu, host = unit.host_end;
      for (const ModelKernel& k : unit.kernels) {
        gpu += k.duration;
        host += k.host + k.launch;
      }
      table.add({fmt::format("u{}", u), unit.name + (unit.recomputes ? ", recomputed" : ""),
                 std::to_string(unit.segments.size()), std::to_string(unit.kernels.size()),
                 in_ms(gpu), in_ms(host)});
    }
    text += table.text() + buckets(stage);
    for (std::size_t u = 0; u < stage.units.size(); ++u) {
      const UnitPart part = stage.units[u].part;
      if (part != UnitPart::kWhole && part != UnitPart::kRest) text += positions(stage, u);
    }
    return text;
  }

  std::string buckets(const ModelStage& stage) const {
    Table table({{"bytes"},
                 {"group", Align::kLeft},
                 {"layers", Align::kLeft},
                 {"launched in", Align::kLeft}});
    for (const ModelBucket& b : stage.buckets) {
      if (b.step != stage.buckets.front().step) break;
      const ModelSegment& segment = stage.segments[b.segment];
      table.add(
          {b.bytes > 0 ? short_bytes(b.bytes) : "-", group_text(b.group),
           b.first_layer > b.last_layer ? "-" : fmt::format("{}..{}", b.first_layer, b.last_layer),
           fmt::format("u{} after {}", segment.unit, b.position)});
    }
    return table.empty()
               ? ""
               : "\n  Collectives of gradients and parameters, first step\n" + table.text();
  }

  std::string group_text(std::uint32_t group) const {
    if (group == kNoIndex) return "";
    const ModelGroup& g = model_.groups[group];
    return g.size > 0 ? fmt::format("{} of {}", group_use_name(g.use), g.size)
                      : group_use_name(g.use);
  }

  std::string positions(const ModelStage& stage, std::size_t u) const {
    const ModelUnit& unit = stage.units[u];
    Table table({{"", Align::kRight},
                 {"GPU us"},
                 {"spread"},
                 {"host us"},
                 {"blocks"},
                 {"bytes"},
                 {"group", Align::kLeft},
                 {"after", Align::kLeft},
                 {"shapes", Align::kLeft},
                 {"name", Align::kLeft}});
    for (std::size_t p = 0; p < unit.kernels.size(); ++p) {
      const ModelKernel& k = unit.kernels[p];
      std::string after;
      for (const ModelEdge& e : k.after) {
        after += fmt::format("{}u{}.{}", after.empty() ? "" : " ", e.unit, e.position);
        if (e.back > 0) after += fmt::format("-{}", e.back);
      }
      table.add({std::to_string(p), fmt::format("{:.1f}", k.duration.us()), percent(k.spread),
                 fmt::format("{:.1f}", (k.host + k.launch).us()),
                 k.blocks > 0 ? grouped(k.blocks) : "-", k.bytes > 0 ? short_bytes(k.bytes) : "-",
                 group_text(k.group), after, shortened(set_.strings[k.dims], 40),
                 (k.recomputed ? "again: " : "") + shortened(set_.strings[k.name], 50)});
    }
    return fmt::format("\n  u{}: {}\n", u, unit.name) + table.text();
  }

  const TraceSet& set_;
  const replaying::Recording& recording_;
  const TraceModel& model_;
};

}  // namespace

std::string trace_model_text(const TraceSet& set, const replaying::Recording& recording,
                             const TraceModel& model) {
  return ModelText(set, recording, model).run();
}

}  // namespace flopcast
