// A live run for a terminal: how long it took, where the time went, and what the answer rests on.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/numeric/median.h"
#include "base/text/format.h"
#include "base/text/shown.h"
#include "base/text/utf8.h"
#include "flopcast/report/live.h"
#include "report/live/words.h"
#include "report/render/bar.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

LiveTimes report::mean_times(const std::vector<LiveRank>& ranks) {
  LiveTimes mean;
  const auto add = [&](Time LiveTimes::*part) {
    long double sum = 0;
    for (const LiveRank& rank : ranks) sum += static_cast<long double>((rank.times.*part).ps);
    if (!ranks.empty())
      (mean.*part).ps = std::llround(sum / static_cast<long double>(ranks.size()));
  };
  add(&LiveTimes::window);
  for (const TimePart& part : kTimeParts) add(part.time);
  return mean;
}

std::vector<Time> report::step_times(const LiveRank& rank) {
  std::vector<Time> times;
  for (const LiveStep& step : rank.steps) times.push_back(step.end - step.start);
  return times;
}

UnknownWork report::unknown_work(const LiveReport& r) {
  UnknownWork all;
  for (const LiveUnknown& one : r.unknown) {
    all.kernels += one.kernels;
    all.bytes += one.bytes;
    if (one.bytes == 0) all.unbounded += one.kernels;
    all.time += one.time;
    all.floor += one.floor;
  }
  Time window;
  for (const LiveRank& rank : r.ranks) window += rank.times.window;
  const Time whole = window - all.time + all.floor;
  if (whole > Time{}) all.share = share(all.floor, whole);
  return all;
}

std::vector<double> report::shares(const LiveReport& r) {
  const UnknownWork unknown = unknown_work(r);
  Time whole = unknown.floor - unknown.time;
  for (const LiveCoverage& one : r.coverage) whole += one.time;
  std::vector<double> all;
  for (const LiveCoverage& one : r.coverage)
    all.push_back(share(one.what == kUnknownBasis ? unknown.floor : one.time, whole));
  return all;
}

namespace {

constexpr unsigned kLiveBarWidth = 28;
constexpr std::size_t kMostUnknown = 10;
constexpr std::size_t kMostNamed = 8;  // functions, places
constexpr std::size_t kNameWidth = 72;
constexpr std::size_t kUnknownWidth = 36;

std::string first_line(const LiveReport& r) {
  const std::size_t ranks = r.folded.empty() ? r.ranks.size() : r.of_ranks;
  return fmt::format("{} on {}: {} of virtual time, {} of real time, {}\n", counted(ranks, "rank"),
                     escaped(r.cluster), short_time(r.virtual_time), short_time(Seconds{r.real_s}),
                     counted(r.tasks, "task"));
}

/// Who stood for whom.
std::string folded_text(const LiveReport& r) {
  if (r.folded.empty()) return {};
  std::string text = fmt::format("{} of them ran, and stood for those that are like them:\n",
                                 counted(r.ranks.size(), "rank"));
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(kShown, r.folded.size()); ++i)
    text += fmt::format("  {} by {}\n", r.folded[i].ranks, r.folded[i].there);
  if (r.folded.size() > kShown)
    text += fmt::format("  and {} more kinds\n", r.folded.size() - kShown);
  if (r.other_lengths > 0)
    text += fmt::format(
        "  assumed alike: {} of theirs had sequences of other lengths and as much work\n",
        counted(r.other_lengths, "call"));
  return text;
}

std::string_view words_for(LiveStepsBy by) {
  switch (by) {
    case LiveStepsBy::kOptimizer:
      return "by optimizer";
    case LiveStepsBy::kMarks:
      return "as marked";
    case LiveStepsBy::kRepetition:
      return "by repetition";
    case LiveStepsBy::kNothing:
      break;
  }
  return "";
}

/// What a restart takes is nobody's work on the cluster, and is said not to be there.
std::string restarts_text(const LiveReport& r) {
  std::string text;
  for (const LiveRestart& restart : r.restarts) {
    text += fmt::format(
        "started again at {}, when rank {} had failed; what that itself takes is left out\n",
        short_time(restart.at), restart.rank);
  }
  return text;
}

/// Of the first rank that has steps: ranks of one run step together.
std::string steps_line(const LiveReport& r) {
  const auto found = std::find_if(r.ranks.begin(), r.ranks.end(),
                                  [](const LiveRank& rank) { return !rank.steps.empty(); });
  if (found == r.ranks.end()) {
    const bool once = std::any_of(r.ranks.begin(), r.ranks.end(), [](const LiveRank& rank) {
      return rank.steps_by == LiveStepsBy::kOptimizer;
    });
    return once ? "no steps found: an optimizer has stepped, and nothing tells where that step "
                  "begins\n"
                : "no steps found: no optimizer steps, and nothing that the GPUs did repeats\n";
  }
  std::vector<Time> times = step_times(*found);
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  const std::string range = fmt::format("{} to {}", short_time(*least), short_time(*most));
  std::vector<std::int64_t> lengths;
  for (const Time time : times) lengths.push_back(time.ps);
  return fmt::format("{} of {} (median; {}) on rank {}, {}\n", counted(times.size(), "step"),
                     short_time(Time{upper_median(lengths)}), range, found->rank,
                     words_for(found->steps_by));
}

/// From this share on it stands before all else.
constexpr double kToldFirst = 0.01;

std::string unknown_text(const std::vector<LiveUnknown>& list) {
  if (list.empty()) return {};
  Table table({{"kernels whose work is unknown", Align::kLeft},
               {"kernels"},
               {"bytes"},
               {"GPU time"},
               {"at least"}});
  for (std::size_t i = 0; i < std::min(list.size(), kMostUnknown); ++i) {
    const LiveUnknown& one = list[i];
    table.add({shortened(escaped(one.what), kUnknownWidth), grouped(one.kernels),
               one.bytes > 0 ? short_bytes(static_cast<std::int64_t>(one.bytes)) : "unknown",
               short_time(one.time), short_time(one.floor)});
  }
  std::string text = '\n' + table.text();
  if (list.size() > kMostUnknown)
    text += fmt::format("  and {} more\n", grouped(list.size() - kMostUnknown));
  return text;
}

std::string times_text(const LiveReport& r) {
  const LiveTimes mean = mean_times(r.ranks);
  if (mean.window <= Time{}) return {};
  Table table(
      {{"where the time of a GPU goes", Align::kLeft}, {"time"}, {"share"}, {"", Align::kLeft}});
  for (const TimePart& part : kTimeParts) {
    const double of_all = share(mean.*part.time, mean.window);
    table.add(
        {part.title, short_time(mean.*part.time), percent(of_all), bar(of_all, kLiveBarWidth)});
  }
  std::string text = '\n' + table.text();
  if (r.host_spread > 1 && mean.host_bound > Time{}) {
    text += fmt::format(
        "host times are known to x{:.1f} either way (flopcast calibrate host fits them to a "
        "machine)\n",
        r.host_spread);
  }
  return text;
}

std::string memory_text(const LiveReport& r) {
  const auto less = [](const LiveRank& a, const LiveRank& b) {
    return a.most_memory < b.most_memory;
  };
  const auto [least, most] = std::minmax_element(r.ranks.begin(), r.ranks.end(), less);
  if (most == r.ranks.end() || most->most_memory == 0) return {};
  const auto bytes = [](const LiveRank& rank) {
    return short_bytes(static_cast<std::int64_t>(rank.most_memory));
  };
  if (least->most_memory == most->most_memory)
    return fmt::format("\npeak memory of a GPU: {}\n", bytes(*most));
  return fmt::format("\npeak memory of a GPU: {} (rank {}) to {} (rank {})\n", bytes(*least),
                     least->rank, bytes(*most), most->rank);
}

/// Where work is unknown, it takes its floor or more, and all else has that share or less.
std::string coverage_text(const LiveReport& r) {
  const std::vector<double> parts = shares(r);
  const bool unknown = !r.unknown.empty();
  Table table({{"what kernel times rest on", Align::kLeft}, {"kernels"}, {"GPU time"}, {"share"}});
  for (std::size_t i = 0; i < r.coverage.size(); ++i) {
    const LiveCoverage& one = r.coverage[i];
    const std::string limit = !unknown ? "" : one.what == kUnknownBasis ? "at least " : "at most ";
    table.add({shortened(escaped(one.what), kNameWidth), grouped(one.kernels),
               short_time(one.what == kUnknownBasis ? unknown_work(r).floor : one.time),
               limit + percent(parts[i])});
  }
  return r.coverage.empty() ? std::string() : '\n' + table.text();
}

std::string named(const std::vector<std::string>& names) {
  std::vector<std::string> few;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    few.push_back(escaped(names[i]));
  std::string text = fmt::format("{}", fmt::join(few, ", "));
  if (names.size() > kMostNamed) text += fmt::format(" and {} more", names.size() - kMostNamed);
  return text;
}

std::string indented(const std::string& lines) {
  std::string text;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    text += "  " + escaped(lines.substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  return text;
}

std::string host_work_text(const LiveHostWork& work) {
  return fmt::format(
      "\nwork of the host that takes no virtual time: within its steps rank {} computed\n"
      "  {} for 10 ms or more between two calls, {:.2f} s of this machine's\n"
      "  in all (--host measured:1 counts it)\n",
      work.rank, counted(work.stretches, "time"), work.taken_s);
}

std::string remarks_text(const LiveReport& r) {
  std::string text;
  if (r.host_work) text += host_work_text(*r.host_work);
  if (r.tainted_reads > 0) {
    text += fmt::format("\n{} of values that nobody computed; the first:\n",
                        counted(r.tainted_reads, "read"));
    if (!r.tainted_where.empty()) text += indented(r.tainted_where.front());
    if (!r.values_end.empty())
      text +=
          "values end at the first work that was not computed:\n" + indented(r.values_end.front());
  }
  if (!r.unmatched.empty()) {
    text += fmt::format("\n{} of your operators that nothing here had: {}\n",
                        counted(r.unmatched.size(), "pattern"), named(r.unmatched));
  }
  if (!r.unsupported.empty()) {
    text += fmt::format("\n{} called that the stand-ins do not have: {}\n",
                        counted(r.unsupported.size(), "function"), named(r.unsupported));
  }
  return text;
}

}  // namespace

std::string live_unknown_work(const LiveReport& r) {
  const UnknownWork all = unknown_work(r);
  if (all.share <= kToldFirst) return {};
  return fmt::format(
      "{} {} of kernels whose work is unknown: at least {} of GPU time by the\n"
      "{} that they can reach, {}; what they compute is not in it\n",
      grouped(all.kernels), all.kernels == 1 ? "launch" : "launches", percent(all.share),
      short_bytes(static_cast<std::int64_t>(all.bytes)), short_time(all.floor));
}

std::string live_text(const LiveReport& r) {
  if (r.ranks.empty()) return first_line(r) + "no rank used a GPU\n";
  return first_line(r) + folded_text(r) + resolved_lines(r) + restarts_text(r) + steps_line(r) +
         live_unknown_work(r) + times_text(r) + memory_text(r) + coverage_text(r) +
         unknown_text(r.unknown) + remarks_text(r);
}

}  // namespace flopcast
