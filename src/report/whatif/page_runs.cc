#include "report/whatif/page_runs.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/text/json_writer.h"
#include "report/replay/page_rows.h"
#include "report/replay/summary.h"
#include "report/whatif/words.h"

namespace flopcast::report {
namespace {

constexpr std::size_t kMostDrawnRanks = 8;
constexpr std::size_t kMostDrawnRows = 120'000;  // of all ranks: about 2 MB of page

/// GPU time of each step of a rank; a step begins where the one before it ended.
std::vector<DrawnStep> steps_of_rank(const std::vector<StepResult>& steps) {
  std::vector<DrawnStep> drawn;
  std::optional<Time> last;
  for (const StepResult& step : steps) {
    if (!step.replayed_gpu) {
      drawn.push_back({step.name, step.replayed_start, step.replayed_end});
      continue;
    }
    const Time from = last.value_or(step.replayed_start);
    last = from + *step.replayed_gpu;
    drawn.push_back({step.name, from, *last});
  }
  return drawn;
}

Time all_work_start(const Replay& replay) {
  Time first = Time::max();
  for (const auto& starts : replay.replayed.start) {
    for (const Time start : starts) first = std::min(first, start);
  }
  return first == Time::max() ? Time{} : first;
}

Time all_work_end(const Replay& replay) {
  Time last;
  for (const auto& ends : replay.replayed.end) {
    for (const Time end : ends) last = std::max(last, end);
  }
  return last;
}

/// A rank of the page: which trace of each run it is, if any.
struct DrawnRank {
  std::int32_t rank = 0;
  std::array<std::optional<std::size_t>, 2> trace;
};

/// The same ranks of both runs where they are the same; else some of each.
std::vector<DrawnRank> ranks_of_page(const WhatIfRun& before, const WhatIfRun& after) {
  std::map<std::int32_t, DrawnRank> ranks;
  for (const auto& [run, place] : {std::pair(&before, 0), std::pair(&after, 1)}) {
    for (const std::size_t t : drawn_ranks(run->set->traces.size(), kMostDrawnRanks)) {
      DrawnRank& rank = ranks[rank_of(*run->set, t)];
      rank.rank = rank_of(*run->set, t);
      rank.trace[static_cast<std::size_t>(place)] = t;
    }
  }
  std::vector<DrawnRank> list;
  for (const auto& [number, rank] : ranks) list.push_back(rank);
  return list;
}

/// Waiting in the collectives of every trace of a run.
using RowWaits = std::vector<std::unordered_map<std::uint32_t, Time>>;
RowWaits waits_of(const WhatIfRun& run) {
  RowWaits waits(run.set->traces.size());
  for (const CollectiveInstance& c : run.replay.collectives) {
    for (const CollectiveInstance::Member& m : c.members) waits[m.trace][m.row] = m.replayed_wait;
  }
  return waits;
}

/// One run and the part of it that is drawn.
struct DrawnRun {
  const WhatIfRun& run;
  DrawnStep step;
  RowWaits waits;
  DrawnRun(const WhatIfRun& drawn, Time length)
      : run(drawn), step(drawn_step(drawn.replay, length)), waits(waits_of(drawn)) {}

  bool holds(std::size_t trace, std::uint32_t row) const {
    const Timeline& times = run.replay.replayed;
    return times.end[trace][row] > step.from && times.start[trace][row] < step.to;
  }
};

/// The rows of a trace in two runs; the same run twice where only one has them.
PageRuns two_runs(const DrawnRun& first, const DrawnRun& second, std::size_t trace) {
  PageRuns runs;
  for (const auto& [drawn, place] : {std::pair(&first, 0U), std::pair(&second, 1U)}) {
    runs.start[place] = &drawn->run.replay.replayed.start[trace];
    runs.end[place] = &drawn->run.replay.replayed.end[trace];
    runs.origin[place] = drawn->step.from;
  }
  for (const auto& [row, wait] : first.waits[trace]) runs.waits[row].first = wait;
  for (const auto& [row, wait] : second.waits[trace]) runs.waits[row].second = wait;
  runs.is_kept = [&first, &second, trace](std::uint32_t row) {
    return first.holds(trace, row) || second.holds(trace, row);
  };
  return runs;
}

void write_rows(JsonWriter& w, const PageRank& page) {
  w.integer("merged_below_ns", page.merged_below.ps / 1000);
  write_lanes(w, page);
  w.text("rows", page.rows);
}

/// Where the rows of a rank of the page are: rows of the run after count on from those before.
struct RankPlaces {
  std::optional<std::size_t> trace;  ///< of the run after
  std::vector<std::uint32_t> place;  ///< of its rows
  std::uint32_t first = 0;
};

std::uint32_t rows_of(const PageRank& page) {
  std::uint64_t rows = 0;
  for (const PageLane& lane : page.lanes) rows += lane.rows;
  return static_cast<std::uint32_t>(rows);
}

class RunsWriter {
 public:
  RunsWriter(const std::pair<WhatIfRun, WhatIfRun>& runs, const WhatIfAnswer& answer)
      : before_(runs.first, judged_step(answer).before),
        after_(runs.second, judged_step(answer).after),
        same_rows_(runs.first.set == runs.second.set),
        names_before_(runs.first.set->strings),
        names_after_(runs.second.set->strings) {}

  std::string write() {
    w_.begin_object();
    const Time length =
        std::max(before_.step.to - before_.step.from, after_.step.to - after_.step.from);
    w_.integer("length_ns", length.ps / 1000);
    w_.begin_array("runs", JsonWriter::Layout::kLine);
    w_.text({}, "before");
    w_.text({}, "after");
    w_.end_array();
    const std::vector<DrawnRank> ranks = ranks_of_page(before_.run, after_.run);
    w_.begin_array("ranks");
    for (const DrawnRank& rank : ranks) write_rank(rank, kMostDrawnRows / ranks.size());
    w_.end_array();
    write_after_path();
    write_names("names", names_before_);
    if (!same_rows_) write_names("names_after", names_after_);
    w_.end_object();
    return std::move(w_).take();
  }

 private:
  void write_rank(const DrawnRank& rank, std::size_t most) {
    w_.begin_object();
    w_.integer("rank", rank.rank);
    write_step();
    RankPlaces places{rank.trace[1], {}, 0};
    PageRank page;
    if (rank.trace[0]) {
      page = page_rank(*before_.run.set, *rank.trace[0],
                       two_runs(before_, same_rows_ ? after_ : before_, *rank.trace[0]), most,
                       names_before_);
    }
    write_rows(w_, page);
    if (same_rows_) {
      places.place = std::move(page.place);
    } else if (rank.trace[1]) {
      PageRank later = page_rank(*after_.run.set, *rank.trace[1],
                                 two_runs(after_, after_, *rank.trace[1]), most, names_after_);
      w_.begin_object("after");
      write_rows(w_, later);
      w_.end_object();
      places.first = rows_of(page);
      places.place = std::move(later.place);
    }
    places_.push_back(std::move(places));
    w_.end_object();
  }

  /// Name, and from when to when in both runs.
  void write_step() {
    w_.begin_array("steps", JsonWriter::Layout::kLine);
    w_.begin_array();
    w_.text({}, before_.step.name == after_.step.name ? before_.step.name : "a step");
    for (const DrawnRun* run : {&before_, &after_}) {
      w_.integer({}, 0);
      w_.integer({}, (run->step.to - run->step.from).ps / 1000);
    }
    w_.end_array();
    w_.end_array();
  }

  /// Of the run after, as much of it as is drawn.
  void write_after_path() {
    std::vector<PathPiece> pieces;
    for (PathPiece piece : after_.run.replay.critical_path.pieces) {
      if (piece.end <= after_.step.from || piece.start >= after_.step.to) continue;
      piece.start = std::max(piece.start, after_.step.from);
      piece.end = std::min(piece.end, after_.step.to);
      pieces.push_back(piece);
    }
    write_path_pieces(
        w_, *after_.run.set, pieces, [this](const PathPiece& piece) { return place_of(piece); },
        after_.step.from);
    w_.begin_object("path_titles");
    for (const PathShare& share : summarise_path(*after_.run.set, after_.run.replay).classes) {
      w_.text(share.name, path_class_title(share.name));
    }
    w_.end_object();
  }

  PagePlace place_of(const PathPiece& piece) const {
    for (std::size_t r = 0; r < places_.size(); ++r) {
      if (places_[r].trace != piece.trace) continue;
      const std::uint32_t row = places_[r].place[piece.row];
      return {r, row == kNoDetail ? row : row + places_[r].first};
    }
    return {};
  }

  void write_names(std::string_view key, const PageNames& names) {
    w_.begin_array(key);
    for (const std::string& name : names.list()) w_.text({}, name);
    w_.end_array();
  }

  DrawnRun before_, after_;
  bool same_rows_;
  PageNames names_before_, names_after_;
  std::vector<RankPlaces> places_;
  JsonWriter w_;
};

}  // namespace

DrawnStep drawn_step(const Replay& replay, Time length) {
  std::vector<std::vector<DrawnStep>> ranks;
  std::map<std::string, std::pair<Time, std::int64_t>> sums;  // of the lengths, and how many
  for (const std::vector<StepResult>& steps : replay.steps) {
    ranks.push_back(steps_of_rank(steps));
    for (const DrawnStep& step : ranks.back()) {
      auto& [sum, count] = sums[step.name];
      sum += step.to - step.from;
      ++count;
    }
  }
  const auto off = [&](const DrawnStep& step) {
    const auto& [sum, count] = sums[step.name];
    const Time error = Time{sum.ps / count} - length;
    return error < Time{} ? -error : error;
  };
  const DrawnStep* nearest = nullptr;
  for (const std::vector<DrawnStep>& rank : ranks) {
    for (const DrawnStep& step : rank) {
      if (!nearest || off(step) < off(*nearest)) nearest = &step;
    }
  }
  if (!nearest) return {"", all_work_start(replay), all_work_end(replay)};
  DrawnStep whole{nearest->name, Time::max(), Time::min()};
  for (const std::vector<DrawnStep>& rank : ranks) {
    for (const DrawnStep& step : rank) {
      if (step.name != whole.name) continue;
      whole.from = std::min(whole.from, step.from);
      whole.to = std::max(whole.to, step.to);
    }
  }
  return whole;
}

std::vector<std::size_t> drawn_ranks(std::size_t count, std::size_t most) {
  std::vector<std::size_t> ranks;
  const std::size_t shown = std::min(count, most);
  for (std::size_t i = 0; i < shown; ++i) {
    ranks.push_back(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  }
  return ranks;
}

std::string drawn_runs(const std::pair<WhatIfRun, WhatIfRun>& runs, const WhatIfAnswer& answer) {
  return RunsWriter(runs, answer).write();
}

}  // namespace flopcast::report
