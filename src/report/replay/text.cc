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
#include "report/render/table.h"
#include "report/replay/anomaly_list.h"
#include "report/replay/summary.h"
#include "report/replay/verdict.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr std::size_t kNameWidth = 64;
constexpr std::size_t kMostSteps = 200;     // more rows than this: the worst are shown
constexpr std::size_t kMostTableRows = 12;  // of every other table

using Align::kLeft;

std::string title(std::string_view text) { return fmt::format("\n{}\n", text); }

std::string left_out(std::size_t all, std::size_t shown, std::string_view where) {
  if (all <= shown) return {};
  return fmt::format("  ... and {} more{}\n", grouped(all - shown), where);
}

std::string head(const SetResult& set) {
  std::uint64_t steps = 0;
  for (const RankSummary& rank : set.summary.ranks) {
    steps = std::max<std::uint64_t>(steps, rank.steps.size());
  }
  std::string text = fmt::format("{}: {}, {} each, {} and {}\n", escaped(set.name),
                                 counted(set.summary.ranks.size(), "rank"), counted(steps, "step"),
                                 counted(set.task_count, "task"), counted(set.edge_count, "edge"));
  text += fmt::format("lags: {}, model: {}", lag_mode_name(set.lags), baseline_name(set.baseline));
  if (!set.structure_from.empty()) {
    text += fmt::format(", structure of step {} with the durations of step {}", set.structure_from,
                        set.durations_from);
  }
  text += '\n';
  if (set.lags == LagMode::kRecorded) {
    text += "Recorded lags make any replay nearly exact: these errors say nothing of accuracy.\n";
  }
  return text;
}

std::string damage_text(const SetResult& set) {
  if (set.damage.empty()) return {};
  std::string text = title("DAMAGED RECORDING: the numbers below are no forecast");
  for (const std::string& why : set.damage) text += fmt::format("  - {}\n", why);
  return text;
}

std::string truncated_text(const SetResult& set) {
  if (set.truncated.empty()) return {};
  std::string text = title("CUT SHORT: what was recorded after the cut is missing below");
  for (const std::string& file : set.truncated) text += fmt::format("  - {}\n", file);
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
  std::vector<std::string> parts;
  if (q.steps > 0) {
    parts.push_back(fmt::format("|error| of host steps: mean {:.2f} %, worst {:.2f} %",
                                q.mean_abs_error * 100, q.max_abs_error * 100));
  }
  if (q.gpu_steps > 0) {
    parts.push_back(fmt::format(
        "|error| of GPU steps: mean {:.2f} %, worst {:.2f} %; GPU starts off by {:.3f} % of the "
        "window (median)",
        q.mean_abs_gpu_error * 100, q.max_abs_gpu_error * 100, q.start_error_median * 100));
  }
  std::string text;
  for (const std::string& part : parts) text += fmt::format("  {}\n", part);
  return text;
}

std::string steps_text(const SetResult& set) {
  std::size_t all = 0;
  const std::vector<StepRow> rows = step_rows(set, all);
  if (rows.empty()) return {};
  Table table({{"rank"},
               {"step", kLeft},
               {"host ms"},
               {"replayed"},
               {"error"},
               {"GPU ms"},
               {"replayed"},
               {"error"},
               {"GPU start off"}});
  for (const StepRow& row : rows) {
    const StepSummary& s = *row.step;
    table.add({std::to_string(row.rank->rank), shortened(s.name, kNameWidth),
               in_ms(s.host.measured), in_ms(s.host.replayed), signed_percent(s.error),
               s.gpu ? in_ms(s.gpu->measured) : "-", s.gpu ? in_ms(s.gpu->replayed) : "-",
               signed_percent(s.gpu_error),
               fmt::format("{:.1f} us", s.start_error_median_s * 1e6)});
  }
  return title("Steps: measured against replayed") + table.text() +
         left_out(all, rows.size(), ", all of them nearer (--csv prints every row)") +
         errors_text(set.summary.quality);
}

std::string before_after(Time part0, Time whole0, Time part1, Time whole1) {
  return fmt::format("{:5.1f} > {:5.1f}", share(part0, whole0) * 100, share(part1, whole1) * 100);
}

std::string breakdown_text(const SetResult& set) {
  Table table({{"rank"},
               {"window ms"},
               {"replayed"},
               {"exposed compute"},
               {"exposed communication"},
               {"of it waiting for a rank"},
               {"overlapped"},
               {"other"},
               {"of it idle"},
               {"SMs used"}});
  for (const RankSummary& r : set.summary.ranks) {
    if (table.size() == kMostSteps) break;
    const Breakdown& a = r.parts.measured;
    const Breakdown& b = r.parts.replayed;
    const Time wa = r.window.measured;
    const Time wb = r.window.replayed;
    table.add({std::to_string(r.rank), in_ms(wa), in_ms(wb),
               before_after(a.exposed_compute, wa, b.exposed_compute, wb),
               before_after(a.exposed_communication, wa, b.exposed_communication, wb),
               before_after(a.waiting, wa, b.waiting, wb),
               before_after(a.overlapped, wa, b.overlapped, wb),
               before_after(a.other, wa, b.other, wb), before_after(a.idle, wa, b.idle, wb),
               r.sms_used.measured < 0 ? "-" : percent(r.sms_used.replayed)});
  }
  return title("GPU time by what ran, percent of the window, measured > replayed") + table.text() +
         left_out(set.summary.ranks.size(), table.size(), " (--json prints every rank)");
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
  Table table({{"rank"},
               {"any stream"},
               {"replayed"},
               {"SMs used"},
               {"replayed"},
               {"recorded, over time", kLeft},
               {"replayed", kLeft}});
  for (const RankSummary& rank : set.summary.ranks) {
    const Utilisation& a = rank.utilisation.measured;
    const Utilisation& b = rank.utilisation.replayed;
    if (a.active.empty() || table.size() == kMostSteps) continue;
    const bool known = rank.sms_used.measured >= 0 && rank.sms_used.replayed >= 0;
    table.add({std::to_string(rank.rank),
               percent(1 - share(rank.parts.measured.idle, rank.window.measured)),
               percent(1 - share(rank.parts.replayed.idle, rank.window.replayed)),
               known ? percent(rank.sms_used.measured) : "-",
               known ? percent(rank.sms_used.replayed) : "-",
               sparkline(known ? a.sms_used : a.active), sparkline(known ? b.sms_used : b.active)});
  }
  if (table.empty()) return {};
  return title(
             "Utilisation: time with any stream at work, SM time with blocks (drawn, where "
             "known)") +
         table.text();
}

std::string collectives_text(const SetResult& set) {
  if (set.summary.collectives.empty()) return {};
  Table table({{"collective", kLeft},
               {"group", kLeft},
               {"times"},
               {"ranks"},
               {"bytes"},
               {"waiting ms"},
               {"replayed"},
               {"transfer ms"},
               {"replayed"}});
  for (const CollectiveSummary& c : set.summary.collectives) {
    if (table.size() == kMostTableRows) break;
    table.add({shortened(c.name, kNameWidth), shortened(c.group, 24), std::to_string(c.count),
               std::to_string(c.ranks), c.bytes == 0 ? "-" : short_bytes(c.bytes),
               in_ms(c.wait.measured), in_ms(c.wait.replayed), in_ms(c.transfer.measured),
               in_ms(c.transfer.replayed)});
  }
  return title("Collectives: waiting for the last rank, then transfer; summed over ranks") +
         table.text() + left_out(set.summary.collectives.size(), table.size(), "");
}

std::string network_text(const SetResult& set) {
  if (!set.network) return {};
  Table table({{"operation", kLeft},
               {"collectives"},
               {"kept as recorded"},
               {"transfer ms"},
               {"modelled"},
               {"change"},
               {"rests on", kLeft}});
  for (const NetworkUse::Operation& o : set.network->operations) {
    table.add({shortened(o.name, kNameWidth), grouped(o.collectives),
               o.kept == 0 ? "-" : fmt::format("{} ({})", grouped(o.kept), o.kept_because),
               in_ms(o.recorded), in_ms(o.modelled),
               signed_percent(relative_error(o.recorded, o.modelled)), shortened(o.source, 90)});
  }
  return title("Transfers taken from the network model of " + set.network->cluster) + table.text();
}

/// Which ranks the path runs on, and how much of it nothing can make shorter.
std::string path_ranks_text(const PathSummary& path) {
  constexpr std::size_t kMostRanks = 5;
  std::vector<PathShare> ranks = path.ranks;
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
  std::string text = "  runs on";
  for (std::size_t i = 0; i < ranks.size() && i < kMostRanks; ++i) {
    text += fmt::format("{} rank {} ({})", i == 0 ? "" : ",", ranks[i].name,
                        percent(share(ranks[i].time, path.length)));
  }
  if (ranks.size() > kMostRanks) text += fmt::format(" and {} more", ranks.size() - kMostRanks);
  text += fmt::format("\n  ends with rank {}, whose window is {}\n", path.last_rank,
                      short_time(path.window));
  if (path.pinned_starts == 0) return text;
  return text + fmt::format("  pinned: its first {}, up to the last of {} as recorded\n",
                            percent(share(path.pinned, path.length)),
                            counted(path.pinned_starts, "start"));
}

std::string straggler_text(const SetResult& set) {
  const std::optional<Straggler>& s = set.summary.straggler;
  if (!s) return {};
  return fmt::format(
      "  straggler: rank {}: {} of the path up to the last collective; it comes\n"
      "             last to {} of {}, where others wait {}, {} of all waiting\n",
      s->rank, percent(s->share_of_path), grouped(s->last), grouped(s->collectives),
      short_time(s->waited), percent(s->share_of_waiting));
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
  Table table({{"if this takes 10 % less time", kLeft}, {"work ms"}, {"GPU step ms"}, {"change"}});
  for (const WorkSensitivity& s : set.sensitivity->parts) {
    table.add({work_part_title(s.part), in_ms(s.work), s.gpu_step ? in_ms(*s.gpu_step) : "-",
               s.gpu_step ? signed_percent(relative_error(set.sensitivity->gpu_step, *s.gpu_step))
                          : "cannot finish"});
  }
  return title(fmt::format("What would shorten the GPU step, {} (mean over ranks and steps)",
                           short_time(set.sensitivity->gpu_step))) +
         table.text();
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
  Table table({{"edge", kLeft}, {"kept"}, {"contradicted, dropped"}, {"first of those", kLeft}});
  for (const EdgeCount& e : set.edges) {
    table.add({edge_kind_name(e.kind), grouped(e.count), grouped(e.contradicted),
               shortened(e.example, 90)});
  }
  return title("Dependencies") + table.text();
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
    text += fmt::format("  - {} ({}{})\n", pin.what, counted(pin.tasks, "task"),
                        pin.late.ps > 0 ? ", late by " + short_time(pin.late) + " together" : "");
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
  return title(fmt::format("Starts later than anything explains: {}, {} together, {:.2f} % of all "
                           "windows",
                           counted(set.late_starts.size(), "task"),
                           short_time(set.summary.quality.late),
                           set.summary.quality.late_share * 100)) +
         table.text() + left_out(set.late_starts.size(), table.size(), " (--json prints all)");
}

std::string anomalies_text(const SetResult& set) {
  std::string text;
  if (!set.anomalies.empty()) text += title("Oddities in the input") + anomaly_list(set.anomalies);
  for (const Diagnostic& d : set.unreadable) text += fmt::format("  not read: {}\n", d.text());
  return text;
}

std::string verdict_text(const SetResult& set) {
  std::string text;
  for (const std::string& line : verdict_of(set)) text += fmt::format("  - {}\n", line);
  return text.empty() ? text : title("Verdict") + text;
}

}  // namespace

std::string set_text(const SetResult& set) {
  if (set.failure) return fmt::format("{}: not replayed: {}\n", set.name, set.failure->text());
  return head(set) + truncated_text(set) + damage_text(set) + verdict_text(set) +
         breakdown_text(set) + path_text(set) + sensitivity_text(set) + collectives_text(set) +
         network_text(set) + kernels_text(set) + utilisation_text(set) + steps_text(set) +
         edges_text(set) + rests_on_text(set) + clocks_text(set) + late_text(set) +
         anomalies_text(set);
}

std::string replay_text(const TraceSet& set, const Replay& replay) {
  return set_text(make_set_result(set, replay));
}

}  // namespace flopcast
