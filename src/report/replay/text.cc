// Everything about one replayed set, as aligned tables. Each function prints one table, with its
// title.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/text/format.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "flopcast/report/sets.h"
#include "report/render/paragraph.h"
#include "report/render/table.h"
#include "report/replay/anomaly_list.h"
#include "report/replay/summary.h"
#include "report/replay/verdict.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::size_t kNameWidth = 44;
constexpr std::size_t kStepWidth = 20;
constexpr std::size_t kMostRanks = 16;      // of a table with a row each
constexpr std::size_t kMostLateRanks = 4;   // ranks that come last
constexpr std::size_t kMostSteps = 200;     // more rows than this: the worst are shown
constexpr std::size_t kMostTableRows = 12;  // of every other table

using Align::kLeft;

std::string title(std::string_view text) { return fmt::format("\n{}\n", text); }

std::string left_out(std::size_t all, std::size_t shown, std::string_view where) {
  if (all <= shown) return {};
  return fmt::format("  ... and {} more{}\n", grouped(all - shown), where);
}

/// "4 steps each, ProfilerStep#10 to ProfilerStep#13"
std::string steps_words(const SetResult& set) {
  const std::vector<StepSummary>* most = nullptr;
  for (const RankSummary& rank : set.summary.ranks) {
    if (most == nullptr || rank.steps.size() > most->size()) most = &rank.steps;
  }
  if (most == nullptr || most->empty()) return counted(0, "step");
  const std::string words = fmt::format("{} each, {}", counted(most->size(), "step"),
                                        shortened(most->front().name, kStepWidth));
  return most->size() == 1 ? words : words + " to " + shortened(most->back().name, kStepWidth);
}

std::string head(const SetResult& set) {
  std::string text =
      paragraph("", fmt::format("{}: {}, {}", escaped(set.name),
                                counted(set.summary.ranks.size(), "rank"), steps_words(set)));
  text += paragraph("", fmt::format("lags: {}, model: {}; {} and {}", lag_mode_name(set.lags),
                                    baseline_name(set.baseline), counted(set.task_count, "task"),
                                    counted(set.edge_count, "edge")));
  if (!set.structure_from.empty()) {
    text += paragraph("", fmt::format("structure of step {} with the durations of step {}",
                                      set.structure_from, set.durations_from));
  }
  if (set.lags == LagMode::kRecorded) {
    text += "Recorded lags make any replay nearly exact: its errors say nothing of accuracy.\n";
  }
  return text;
}

std::string damage_text(const SetResult& set) {
  if (set.damage.empty()) return {};
  std::string text = title("DAMAGED RECORDING: the numbers below are no forecast");
  for (const std::string& why : set.damage) text += paragraph("  - ", why);
  return text;
}

std::string truncated_text(const SetResult& set) {
  if (set.truncated.empty()) return {};
  std::string text = title("CUT SHORT: what was recorded after the cut is missing below");
  for (const std::string& file : set.truncated) text += paragraph("  - ", file);
  return text;
}

struct StepRow {
  const RankSummary* rank;
  const StepSummary* step;
  double worst() const {
    return std::max(std::abs(step->error.value_or(0)), std::abs(step->gpu_error.value_or(0)));
  }
};

/// In order of ranks and steps; the worst ones where there are too many.
std::vector<StepRow> step_rows(const SetResult& set, std::size_t& all) {
  std::vector<StepRow> rows;
  for (const RankSummary& rank : set.summary.ranks) {
    for (const StepSummary& step : rank.steps) rows.push_back({&rank, &step});
  }
  all = rows.size();
  if (all <= kMostSteps) return rows;
  std::stable_sort(rows.begin(), rows.end(),
                   [](const StepRow& a, const StepRow& b) { return a.worst() > b.worst(); });
  rows.resize(kMostSteps);
  return rows;
}

/// Of what was measured: a recording may lack the GPU, and a model the host.
std::string errors_text(const Quality& q) {
  std::string text;
  if (q.steps > 0) {
    text += fmt::format("  |error| of host steps: mean {:.2f} %, worst {:.2f} %\n",
                        q.mean_abs_error * 100, q.max_abs_error * 100);
  }
  if (q.gpu_steps > 0) {
    text += fmt::format(
        "  |error| of GPU steps: mean {:.2f} %, worst {:.2f} %\n"
        "  GPU starts off by {:.3f} % of the window (median)\n",
        q.mean_abs_gpu_error * 100, q.max_abs_gpu_error * 100, q.start_error_median * 100);
  }
  return text;
}

std::string steps_text(const SetResult& set) {
  std::size_t all = 0;
  const std::vector<StepRow> rows = step_rows(set, all);
  if (rows.empty()) return {};
  Table table({{"rank"},
               {"step", kLeft},
               {"host ms"},
               {"error"},
               {"GPU ms"},
               {"error"},
               {"GPU starts off"}});
  for (const StepRow& row : rows) {
    const StepSummary& s = *row.step;
    table.add({std::to_string(row.rank->rank), shortened(s.name, kStepWidth),
               in_ms(s.host.measured), signed_percent(s.error),
               s.gpu ? in_ms(s.gpu->measured) : "-", signed_percent(s.gpu_error),
               fmt::format("{:.1f} us", s.start_error_median_s * 1e6)});
  }
  return title("Steps: measured against replayed") + table.text() +
         left_out(all, rows.size(), ", all of them nearer (--csv prints every row)");
}

/// Of one run of the two: where the time of every GPU goes.
std::string breakdown_text(const SetResult& set, Time Pair<Time>::*window,
                           Breakdown Pair<Breakdown>::*parts, double Pair<double>::*sms,
                           std::string_view whose) {
  Table table({{"rank"},
               {"window ms"},
               {"compute"},
               {"both"},
               {"transfer"},
               {"GPU"},
               {"host"},
               {"stage"},
               {"idle"},
               {"SMs"}});
  for (const RankSummary& r : set.summary.ranks) {
    if (table.size() == kMostRanks) break;
    const Breakdown& b = r.parts.*parts;
    const auto of = [&](Time part) {
      return fmt::format("{:.1f}", share(part, r.window.*window) * 100);
    };
    table.add({std::to_string(r.rank), in_ms(r.window.*window), of(b.exposed_compute),
               of(b.overlapped), of(b.transfer()), of(b.waiting_for_rank()), of(b.waiting_for_host),
               of(b.waiting_for_stage), of(b.idle),
               r.sms_used.*sms < 0 ? "-" : fmt::format("{:.1f}", r.sms_used.*sms * 100)});
  }
  return title(fmt::format("GPU time{}, percent of each window", whose)) +
         "  compute alone, both at once, transfer alone; waiting for another rank's\n"
         "  GPU, for its host, for another stage; idle; SM time with blocks\n" +
         table.text() +
         left_out(set.summary.ranks.size(), table.size(), " (--json prints every rank)");
}

std::string recorded_breakdown_text(const SetResult& set) {
  return breakdown_text(set, &Pair<Time>::measured, &Pair<Breakdown>::measured,
                        &Pair<double>::measured, "");
}
std::string replayed_breakdown_text(const SetResult& set) {
  return breakdown_text(set, &Pair<Time>::replayed, &Pair<Breakdown>::replayed,
                        &Pair<double>::replayed, " as replayed");
}

/// Whom the others wait for.
std::string late_ranks_text(const SetResult& set) {
  if (set.summary.late.empty()) return {};
  Table table({{"rank"}, {"last to"}, {"others wait ms"}, {"of all"}, {"for its host"}});
  Time all;
  for (const LateRank& late : set.summary.late) all += late.waited;
  for (const LateRank& late : set.summary.late) {
    if (table.size() == kMostLateRanks) break;
    table.add({std::to_string(late.rank), grouped(late.last), in_ms(late.waited),
               percent(share(late.waited, all)), percent(share(late.for_host, late.waited))});
  }
  return title("Who comes last to collectives; who waits for another stage is left out") +
         table.text() + left_out(set.summary.late.size(), table.size(), " (--json prints all)");
}

double mean(const std::vector<float>& values) {
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

/// A line of blocks, each as high as the mean of its share of the values.
std::string sparkline(const std::vector<float>& values) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kWidth = 48;
  const std::size_t width = std::min(kWidth, values.size());
  std::string line;
  for (std::size_t i = 0; i < width; ++i) {
    const auto at = [&](std::size_t n) {
      return values.begin() + static_cast<std::ptrdiff_t>(n * values.size() / width);
    };
    const double level = mean({at(i), at(i + 1)});
    line += kBlocks[std::min<std::size_t>(static_cast<std::size_t>(level * 8), 7)];
  }
  return line;
}

std::string utilisation_text(const SetResult& set) {
  Table table({{"rank"}, {"any stream"}, {"SMs used"}, {"as recorded, over time", kLeft}});
  for (const RankSummary& rank : set.summary.ranks) {
    const Utilisation& curve = rank.utilisation.measured;
    if (curve.active.empty() || table.size() == kMostRanks) continue;
    const bool known = rank.sms_used.measured >= 0;
    table.add({std::to_string(rank.rank),
               percent(1 - share(rank.parts.measured.idle, rank.window.measured)),
               known ? percent(rank.sms_used.measured) : "-",
               sparkline(known ? curve.sms_used : curve.active)});
  }
  if (table.empty()) return {};
  return title("Utilisation: any stream at work; SM time with blocks (drawn, where known)") +
         table.text();
}

std::string collectives_text(const SetResult& set) {
  if (set.summary.collectives.empty()) return {};
  Table table({{"collective", kLeft},
               {"group", kLeft},
               {"times"},
               {"ranks"},
               {"bytes"},
               {"waiting"},
               {"transfer"}});
  for (const CollectiveSummary& c : set.summary.collectives) {
    if (table.size() == kMostTableRows) break;
    table.add({shortened(c.name, 20), shortened(c.group, 12), std::to_string(c.count),
               std::to_string(c.ranks), c.bytes == 0 ? "-" : short_bytes(c.bytes),
               in_ms(c.wait.measured), in_ms(c.transfer.measured)});
  }
  return title("Collectives: ms of waiting for the last rank, then of transfer, all ranks") +
         table.text() + left_out(set.summary.collectives.size(), table.size(), "");
}

std::string network_text(const SetResult& set) {
  if (!set.network) return {};
  Table table(
      {{"operation", kLeft}, {"times"}, {"kept"}, {"transfer ms"}, {"modelled"}, {"change"}});
  std::string notes;
  for (const NetworkUse::Operation& o : set.network->operations) {
    table.add({shortened(o.name, 18), grouped(o.collectives), o.kept == 0 ? "-" : grouped(o.kept),
               in_ms(o.recorded), in_ms(o.modelled),
               signed_percent(relative_error(o.recorded, o.modelled))});
    if (o.kept > 0)
      notes += paragraph("  - ", fmt::format("{}: {} kept as recorded: {}", o.name, grouped(o.kept),
                                             o.kept_because));
    if (!o.source.empty()) notes += paragraph("  - ", fmt::format("{}: {}", o.name, o.source));
  }
  return title("Transfers taken from the network model of " + set.network->cluster) + table.text() +
         notes;
}

/// Which ranks the path runs on, and how much of it nothing can make shorter.
std::string path_ranks_text(const PathSummary& path) {
  constexpr std::size_t kMostPathRanks = 5;
  std::vector<PathShare> ranks = path.ranks;
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
  std::string words;
  for (std::size_t i = 0; i < ranks.size() && i < kMostPathRanks; ++i) {
    words += fmt::format("{}rank {} ({})", i == 0 ? "" : ", ", ranks[i].name,
                         percent(share(ranks[i].time, path.length)));
  }
  if (ranks.size() > kMostPathRanks)
    words += fmt::format(" and {} more", ranks.size() - kMostPathRanks);
  std::string text = paragraph("  runs on ", words);
  text += fmt::format("  ends with rank {}, whose window is {}\n", path.last_rank,
                      short_time(path.window));
  if (path.pinned_starts == 0) return text;
  return text + fmt::format("  pinned: its first {}, up to the last of {} as recorded\n",
                            percent(share(path.pinned, path.length)),
                            counted(path.pinned_starts, "start"));
}

std::string straggler_text(const SetResult& set) {
  const std::optional<Straggler>& s = set.summary.straggler;
  if (!s) return {};
  return paragraph(
      "  straggler: ",
      fmt::format(
          "rank {}: {} of the path up to the last collective; it comes last to {} of {}, where "
          "others wait {}, {} of all waiting",
          s->rank, percent(s->share_of_path), grouped(s->last), grouped(s->collectives),
          short_time(s->waited), percent(s->share_of_waiting)));
}

std::string path_text(const SetResult& set) {
  const PathSummary& path = set.summary.path;
  if (path.pieces == 0) return {};
  Table table({{"class", kLeft}, {"pieces"}, {"ms"}, {"share"}});
  for (const PathShare& s : path.classes) {
    table.add({path_class_title(s.name), grouped(s.pieces), in_ms(s.time),
               percent(share(s.time, path.length))});
  }
  return title(fmt::format("Critical path of the replayed run: {}, {}", short_time(path.length),
                           counted(path.rank_changes, "change") + " of rank")) +
         table.text() + path_ranks_text(path) + straggler_text(set);
}

std::string sensitivity_text(const SetResult& set) {
  if (!set.sensitivity) return {};
  const SensitivityTable& worth = *set.sensitivity;
  Table table(
      {{"part of the work", kLeft}, {"work ms"}, {"10 % less"}, {"change"}, {"none"}, {"change"}});
  std::string stuck;
  for (const WorkSensitivity& s : worth.parts) {
    std::vector<std::string> row = {work_part_title(s.part), in_ms(s.work)};
    for (const std::optional<Time>& step : {s.gpu_step, s.limit}) {
      row.push_back(step ? in_ms(*step) : "-");
      row.push_back(signed_percent(worth.change(step)));
    }
    if (!s.gpu_step || !s.limit)
      stuck += paragraph(
          "  - ", row.front() + ": without it ranks wait for each other, the run cannot finish");
    table.add(std::move(row));
  }
  return title(fmt::format("What would shorten the GPU step, {}", short_time(worth.gpu_step))) +
         "  as recorded, run again with less of each part: as whatif --sensitivity tells\n" +
         table.text() + stuck;
}

std::string kernels_text(const SetResult& set) {
  if (set.top_kernels.empty()) return {};
  Table table({{"kernel", kLeft}, {"times"}, {"ms"}, {"replayed"}});
  for (const KernelTotal& k : set.top_kernels) {
    if (table.size() == kMostTableRows) break;
    table.add(
        {shortened(k.name, kNameWidth), grouped(k.count), in_ms(k.recorded), in_ms(k.replayed)});
  }
  return title("Kernels by total time, all ranks") + table.text();
}

std::string edges_text(const SetResult& set) {
  Table table({{"edge", kLeft}, {"kept"}, {"contradicted, dropped"}});
  std::string examples;
  for (const EdgeCount& e : set.edges) {
    table.add({edge_kind_name(e.kind), grouped(e.count), grouped(e.contradicted)});
    if (!e.example.empty())
      examples += paragraph(
          "  - ", fmt::format("{}, the first: {}", edge_kind_name(e.kind), escaped(e.example)));
  }
  return title("Dependencies") + table.text() + examples;
}

/// The median over ranks of one kind of lag, and the span.
std::string lags_text(const SetResult& set) {
  Table table({{"lag after", kLeft}, {"samples"}, {"typical, least rank"}, {"most"}, {"smallest"}});
  for (int kind = 0; kind < kEdgeKindCount; ++kind) {
    Time least = Time::max();
    Time most = Time::min();
    Time smallest = Time::max();
    std::uint64_t samples = 0;
    for (const Lag& lag : set.lag_table) {
      if (static_cast<int>(lag.kind) != kind || lag.samples == 0) continue;
      samples += lag.samples;
      least = std::min(least, lag.typical);
      most = std::max(most, lag.typical);
      smallest = std::min(smallest, lag.smallest);
    }
    if (samples == 0) continue;
    table.add({edge_kind_name(static_cast<EdgeKind>(kind)), grouped(samples), short_time(least),
               short_time(most), short_time(smallest)});
  }
  return table.empty() ? std::string() : table.text();
}

std::string rests_on_text(const SetResult& set) {
  std::string text = title("What this rests on: taken from the recording, not computed");
  for (const Pin& pin : set.pinned) {
    text += paragraph(
        "  - ",
        fmt::format("{} ({}{})", pin.what, counted(pin.tasks, "task"),
                    pin.late.ps > 0 ? ", late by " + short_time(pin.late) + " together" : ""));
  }
  return text + lags_text(set);
}

std::string clocks_text(const SetResult& set) {
  if (set.clocks.empty()) return {};
  Time least = Time::max();
  Time most = Time::min();
  Time gpu;
  for (const RankClock& clock : set.clocks) {
    least = std::min(least, clock.rank_offset);
    most = std::max(most, clock.rank_offset);
    gpu = std::max(gpu, clock.gpu_offset);
  }
  return title("Clocks") +
         fmt::format(
             "  ranks moved by {} to {}; ends of collectives then agree within {} (median)\n"
             "  GPU clocks moved by up to {}, so that no kernel starts before its launch\n",
             short_time(least), short_time(most), short_time(set.clock_residual), short_time(gpu));
}

std::string late_text(const SetResult& set) {
  if (set.late_starts.empty()) return {};
  Table table({{"rank"}, {"recorded at ms"}, {"late"}, {"task", kLeft}});
  for (const SetResult::Late& late : set.late_starts) {
    if (table.size() == kMostTableRows) break;
    table.add({std::to_string(late.rank), in_ms(late.recorded_start), short_time(late.late),
               shortened(late.name, kNameWidth)});
  }
  return title(fmt::format("Starts later than anything explains: {}, {}, {:.2f} % of the time",
                           counted(set.late_starts.size(), "task"),
                           short_time(set.summary.quality.late),
                           set.summary.quality.late_share * 100)) +
         table.text() + left_out(set.late_starts.size(), table.size(), " (--json prints all)");
}

std::string unreadable_text(const SetResult& set) {
  std::string text;
  for (const Diagnostic& d : set.unreadable) text += paragraph("  not read: ", d.text());
  return text.empty() ? text : "\n" + text;
}

std::string anomalies_text(const SetResult& set) {
  return set.anomalies.empty() ? std::string()
                               : title("Oddities in the input") + anomaly_list(set.anomalies);
}

std::string verdict_text(const SetResult& set) {
  std::string text;
  for (const std::string& line : verdict_of(set)) text += paragraph("  - ", line);
  return text.empty() ? text : title("Verdict") + text;
}

/// All there is to say of the replay itself.
std::string quality_text(const SetResult& set) {
  return steps_text(set) + errors_text(set.summary.quality) + replayed_breakdown_text(set) +
         edges_text(set) + rests_on_text(set) + clocks_text(set) + late_text(set) +
         anomalies_text(set);
}

std::string quality_in_brief(const SetResult& set) {
  std::uint64_t oddities = 0;
  for (const RankedAnomaly& a : set.anomalies) oddities += a.anomaly.count;
  return title("How near the replay is to its recording") + errors_text(set.summary.quality) +
         paragraph(
             "  ",
             fmt::format("--quality tells steps, dependencies, what was copied, clocks{}",
                         oddities == 0 ? std::string()
                                       : " and " + grouped(oddities) + " oddities of the input"));
}

}  // namespace

std::string set_text(const SetResult& set, bool quality) {
  if (set.failure)
    return paragraph("", fmt::format("{}: not replayed: {}", set.name, set.failure->text()));
  return head(set) + truncated_text(set) + damage_text(set) + verdict_text(set) +
         recorded_breakdown_text(set) + late_ranks_text(set) + sensitivity_text(set) +
         path_text(set) + collectives_text(set) + network_text(set) + kernels_text(set) +
         utilisation_text(set) + (quality ? quality_text(set) : quality_in_brief(set)) +
         unreadable_text(set);
}

std::string replay_text(const TraceSet& set, const Replay& replay) {
  return set_text(make_set_result(set, replay), true);
}

}  // namespace flopcast
