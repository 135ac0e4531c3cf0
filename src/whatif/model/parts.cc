#include "whatif/model/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "flopcast/trace.h"

namespace flopcast::whatif {
namespace {

using replaying::kNoIndex;
using replaying::RankModel;
using replaying::Recording;

/// Makes the plan from one pipeline that was recorded with most of its stages.
class LayerPlanner {
 public:
  LayerPlanner(const TraceSet& set, const Recording& recording, const NameFacts& facts,
               const std::vector<Program>& programs, const std::vector<Passes>& passes,
               const Pipeline& pipeline)
      : set_(set),
        recording_(recording),
        facts_(facts),
        programs_(programs),
        passes_(passes),
        pipeline_(pipeline) {}

  LayerPlan run() {
    plan_.parts.resize(std::size_t{pipeline_.stages} * pipeline_.chunks);
    choose_ranks();
    gather();
    if (items_.empty()) {
      plan_.evidence = "no forward pass was found";
      return std::move(plan_);
    }
    if (programs_[ranks_.front()].planned) {
      plan_.evidence = "every pass is one task of a planned step: layers are not in it";
      return std::move(plan_);
    }
    const bool whole_window = !programs_[ranks_.front()].has_steps;
    const LayerFinding found = find_layers(items_, whole_window);
    plan_.level = found.level;
    plan_.repeats = found.repeats;
    for (PartCut& part : plan_.parts) part.tokens.clear();
    spread(found);
    conclude(found);
    return std::move(plan_);
  }

 private:
  /// The recorded ranks of the pipeline that has most of its stages; one a stage.
  void choose_ranks() {
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> lines;  // replica, stage: rank
    for (std::uint32_t r = 0; r < programs_.size(); ++r) {
      if (!programs_[r].works.empty()) {
        lines[pipeline_.replica[r]].try_emplace(pipeline_.stage[r], r);
      }
    }
    const std::map<std::uint32_t, std::uint32_t>* best = nullptr;
    for (const auto& [replica, line] : lines) {
      if (best == nullptr || line.size() > best->size()) best = &line;
    }
    if (best == nullptr) return;
    for (const auto& [stage, rank] : *best) ranks_.push_back(rank);
  }

  /// The forward stretch of a chunk in the middle step that stands for all microbatches: the first
  /// may make what the others find made.
  const Stretch* forward_of(std::uint32_t r, std::uint32_t chunk) const {
    const Stretch* found = nullptr;
    std::vector<const Stretch*> forwards;
    const std::uint32_t step = programs_[r].steps / 2;
    for (const Stretch& s : passes_[r].stretches) {
      if (s.sort != Stretch::Sort::kPass || s.pass != Pass::kForward || s.step != step) continue;
      if (s.chunk != chunk) continue;
      forwards.push_back(&s);
    }
    // What most microbatches run; of equally many, what the last of them runs.
    std::map<std::vector<std::uint32_t>, std::size_t> kinds;
    const auto kind_of = [&](const Stretch& s) {
      return tokens_of(programs_[r].works, s.works, Level::kName);
    };
    for (const Stretch* s : forwards) kinds[kind_of(*s)] += s->works.size();
    std::size_t most = 0;
    for (const Stretch* s : forwards) {
      const std::size_t works = kinds[kind_of(*s)];
      if (works < most) continue;
      most = works;
      found = s;
    }
    return found;
  }

  struct Source {
    std::uint32_t rank, part;
    const Stretch* stretch;
  };

  void gather() {
    std::map<std::uint32_t, Source> sources;  // by part
    for (const std::uint32_t r : ranks_) {
      for (std::uint32_t chunk = 0; chunk < pipeline_.chunks; ++chunk) {
        const std::uint32_t part = pipeline_.part_of(pipeline_.stage[r], chunk);
        if (const Stretch* s = forward_of(r, chunk); s != nullptr && part < plan_.parts.size()) {
          sources.emplace(part, Source{r, part, s});
        }
      }
    }
    for (const auto& [part, source] : sources) {
      plan_.parts[part].recorded = true;
      const RankModel& rank = recording_.ranks[source.rank];
      for (const std::uint32_t w : main_stream(source)) {
        const Work& work = programs_[source.rank].works[w];
        const replaying::GpuTask& task = rank.gpu[work.task];
        item_rank_.push_back(source.rank);
        items_.push_back({&work, task.communication ? Time{} : task.end - task.start, part});
      }
    }
  }

  /// Where no launch orders the works, or one launch made them all, those of different streams are
  /// in no fixed order: the stream with most of them alone.
  std::vector<std::uint32_t> main_stream(const Source& source) {
    const Program& program = programs_[source.rank];
    const RankModel& rank = recording_.ranks[source.rank];
    using StreamName = std::pair<std::int32_t, std::int32_t>;  // device, number; whatever the lane
    const auto name_of = [&rank](const replaying::GpuTask& task) {
      return StreamName{rank.streams[task.stream].device, rank.streams[task.stream].id};
    };
    std::map<std::uint32_t, std::uint32_t> launches;
    std::map<StreamName, std::uint32_t> streams;
    for (const std::uint32_t w : source.stretch->works) {
      const replaying::GpuTask& task = rank.gpu[program.works[w].task];
      ++launches[task.call];
      ++streams[name_of(task)];
    }
    const std::size_t count = source.stretch->works.size();
    const bool ordered = launches.size() * 2 > count && !launches.contains(kNoIndex);
    if (ordered || streams.size() < 2) return source.stretch->works;
    StreamName best = streams.begin()->first;
    for (const auto& [stream, of] : streams) {
      if (of > streams[best]) best = stream;
    }
    plan_.stream = best;
    std::vector<std::uint32_t> works;
    for (const std::uint32_t w : source.stretch->works) {
      if (name_of(rank.gpu[program.works[w].task]) == best) works.push_back(w);
    }
    return works;
  }

  /// Tokens and layers of every part.
  void spread(const LayerFinding& found) {
    std::vector<std::uint32_t> at(items_.size());  // position in its part
    for (std::size_t i = 0; i < items_.size(); ++i) {
      PartCut& part = plan_.parts[items_[i].part];
      at[i] = static_cast<std::uint32_t>(part.tokens.size());
      part.tokens.push_back(token_at(*items_[i].work, found.level));
    }
    std::set<std::vector<std::uint32_t>> units;
    for (const LayerSpan& s : found.layers) {
      const std::uint32_t first = items_[s.first].part;
      if (items_[s.last - 1].part != first) crosses_ = true;
      PartCut& part = plan_.parts[first];
      part.layers.push_back({at[s.first], at[s.first] + s.last - s.first});
      if (!crosses_) {
        units.insert({part.tokens.begin() + at[s.first],
                      part.tokens.begin() + at[s.first] + (s.last - s.first)});
      }
    }
    plan_.units.assign(units.begin(), units.end());
    std::stable_sort(plan_.units.begin(), plan_.units.end(),
                     [](const auto& a, const auto& b) { return a.size() > b.size(); });
    std::uint32_t number = 0;
    for (PartCut& part : plan_.parts) {
      part.first_layer = number;
      number += static_cast<std::uint32_t>(part.layers.size());
    }
    plan_.layers = number;
  }

  void forget_layers() {
    for (PartCut& part : plan_.parts) part.layers.clear();
    plan_.units.clear();
    plan_.layers = 0;
  }

  /// Repeats against module rows: rows of modules decide.
  void conclude(const LayerFinding& found) {
    ModuleLayers modules;
    for (const std::uint32_t r : ranks_) {
      ModuleLayers own = find_module_layers(set_, facts_, recording_.ranks[r]);
      if (own.count == 0) continue;
      const bool first = modules.count == 0;
      modules.count += own.count;
      modules.evidence += (first ? "" : ", ") + own.evidence;
      if (first) modules.classes = own.classes;
    }
    plan_.evidence = found.evidence;
    if (crosses_) {
      forget_layers();
      plan_.evidence = "the repeats cross from one stage to the next";
      return;
    }
    if (const std::string missing = missing_parts(); !missing.empty()) {
      plan_.evidence += missing;
      plan_.layers = 0;
      return;
    }
    if (modules.count == 0) return;
    if (plan_.layers == modules.count) {
      plan_.evidence += "; " + modules.evidence;
    } else {
      plan_.evidence = plan_.layers == 0
                           ? fmt::format("{}; {}", modules.evidence, found.evidence)
                           : fmt::format("{}; but {}", modules.evidence, found.evidence);
      forget_layers();
      if (const std::vector<LayerSpan> spans = spans_of(modules.classes.front());
          spans.size() == modules.count) {
        for (PartCut& part : plan_.parts) part.tokens.clear();
        LayerFinding cut;
        cut.level = Level::kKernel;
        cut.layers = spans;
        plan_.level = cut.level;
        plan_.repeats = 1;
        spread(cut);
      }
      plan_.layers = modules.count;
    }
  }

  /// Where the rows of a class of modules stand in the sequence: each with the launches inside it.
  std::vector<LayerSpan> spans_of(std::string_view name) const {
    std::vector<LayerSpan> spans;
    std::map<std::uint32_t, std::vector<std::uint32_t>> rows;  // of a rank
    std::pair<std::uint32_t, std::uint32_t> last{kNoIndex, kNoIndex};
    for (std::uint32_t i = 0; i < items_.size(); ++i) {
      const std::uint32_t r = item_rank_[i];
      const auto [known, fresh] = rows.try_emplace(r);
      if (fresh) known->second = rows_of(r, name);
      const std::pair here{r, row_around(r, known->second, *items_[i].work)};
      if (here.second != kNoIndex && here == last) {
        spans.back().last = i + 1;
      } else if (here.second != kNoIndex) {
        spans.push_back({i, i + 1});
      }
      last = here;
    }
    return spans;
  }

  std::vector<std::uint32_t> rows_of(std::uint32_t r, std::string_view name) const {
    const Events& ev = recording_.ranks[r].trace->events;
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < ev.size(); ++row) {
      if (ev.category[row] == Category::kPythonFunction && facts_.is_module(ev.name[row]) &&
          module_name(set_.strings[ev.name[row]]).name == name) {
        rows.push_back(row);
      }
    }
    return rows;
  }

  /// Of rows by start, the last that began before a launch, if it lasts until then.
  std::uint32_t row_around(std::uint32_t r, const std::vector<std::uint32_t>& rows,
                           const Work& work) const {
    const RankModel& rank = recording_.ranks[r];
    const std::uint32_t call = rank.gpu[work.task].call;
    if (call == kNoIndex) return kNoIndex;
    const Events& ev = rank.trace->events;
    const std::uint32_t launch = rank.calls[call].row;
    const auto next =
        std::upper_bound(rows.begin(), rows.end(), ev.start[launch],
                         [&ev](Time t, std::uint32_t row) { return t < ev.start[row]; });
    if (next == rows.begin()) return kNoIndex;
    const std::uint32_t row = *std::prev(next);
    return ev.end(row) > ev.start[launch] && ev.track[row] == ev.track[launch] ? row : kNoIndex;
  }

  std::string missing_parts() const {
    std::string missing;
    for (std::size_t p = 0; p < plan_.parts.size(); ++p) {
      if (!plan_.parts[p].recorded) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", p);
    }
    return missing.empty() ? "" : "; of parts of the model not recorded: " + missing;
  }

  const TraceSet& set_;
  const Recording& recording_;
  const NameFacts& facts_;
  const std::vector<Program>& programs_;
  const std::vector<Passes>& passes_;
  const Pipeline& pipeline_;
  std::vector<std::uint32_t> ranks_;  ///< one a stage
  std::vector<LayerItem> items_;
  std::vector<std::uint32_t> item_rank_;  ///< of each item
  bool crosses_ = false;
  LayerPlan plan_;
};

}  // namespace

LayerPlan plan_layers(const TraceSet& set, const Recording& recording, const NameFacts& facts,
                      const std::vector<Program>& programs, const std::vector<Passes>& passes,
                      const Pipeline& pipeline) {
  return LayerPlanner(set, recording, facts, programs, passes, pipeline).run();
}

}  // namespace flopcast::whatif
