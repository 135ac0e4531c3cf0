// A step that was run, as a trace.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "analytic/graph/expand.h"
#include "analytic/graph/told_facts.h"

namespace flopcast {
namespace {

constexpr std::array<std::string_view, analytic::kStreams> kLines = {
    "compute", "send activations", "send gradients", "data parallel"};
constexpr std::uint32_t kHostTrack = analytic::kStreams;

struct Row {
  Time start, duration;
  std::uint32_t name = 0, track = 0;
  Category category = Category::kKernel;
};

class Writer {
 public:
  explicit Writer(const StepRun& run) : run_(run) {
    set_.label = "step";
    device_ = set_.strings.intern("0");
    step_ = set_.strings.intern("ProfilerStep#1");
  }

  TraceSet take() {
    for (unsigned chip = 0; chip < run_.chips; ++chip) add_trace(chip);
    for (const Processor& processor : run_.graph.processors) {
      if (processor.kind == Processor::Kind::kStream) collect(processor);
    }
    for (unsigned chip = 0; chip < run_.chips; ++chip) write(chip);
    return std::move(set_);
  }

 private:
  void add_trace(unsigned chip) {
    Trace& trace = set_.traces.emplace_back();
    trace.path = fmt::format("stage{}", chip);
    trace.rank = static_cast<std::int32_t>(chip);
    trace.world_size = static_cast<std::int32_t>(run_.chips);
    trace.clock_step = Time{1};
    trace.devices.push_back({0, "forecast", 0, 0});
    const std::uint32_t process = set_.strings.intern(fmt::format("pipeline chip {}", chip));
    for (int line = 0; line < analytic::kStreams; ++line) {
      const auto i = static_cast<std::size_t>(line);
      trace.tracks.push_back({device_, set_.strings.intern(std::to_string(line)), process,
                              set_.strings.intern(kLines[i])});
    }
    trace.tracks.push_back({set_.strings.intern("1"), set_.strings.intern("1"), process,
                            set_.strings.intern("steps")});
    rows_.push_back({{Time{}, run_.run.makespan, step_, kHostTrack, Category::kUserAnnotation}});
    if (!run_.facts) return;
    rows_.back().push_back({Time{}, run_.run.makespan,
                            set_.strings.intern(analytic::plan_text(*run_.facts)), kHostTrack,
                            Category::kUserAnnotation});
  }

  void collect(const Processor& processor) {
    for (TaskId t = processor.first; t < processor.last; ++t) {
      const Time start = run_.run.start[t];
      if (run_.run.end[t] == start) continue;
      const auto chip = static_cast<unsigned>(processor.rank);
      const auto line = static_cast<std::uint32_t>(processor.id);
      const std::string_view name = run_.names[run_.graph.name[t]];
      const Time duration = run_.run.end[t] - start;
      rows_[chip].push_back({start, duration, set_.strings.intern(name), line});
      if (run_.facts) annotate(chip, line, name, start, duration);
    }
  }

  void annotate(unsigned chip, std::uint32_t line, std::string_view task, Time start,
                Time duration) {
    const auto add = [&](const std::vector<analytic::FactSpan>& spans) {
      for (const analytic::FactSpan& span : spans) {
        rows_[chip].push_back({span.start, span.duration, set_.strings.intern(span.text), line,
                               Category::kGpuUserAnnotation});
      }
    };
    add(analytic::spans_inside(*run_.facts, chip, task, start, duration));
    add(analytic::spans_around(*run_.facts, chip, task, start, duration));
  }

  void write(unsigned chip) {
    std::vector<Row>& rows = rows_[chip];
    std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
      return a.start != b.start ? a.start < b.start : a.duration > b.duration;
    });
    Trace& trace = set_.traces[chip];
    for (const Row& row : rows) append(trace, row);
    trace.window_end = run_.run.makespan;
    rows = {};
  }

  static void append(Trace& trace, const Row& row) {
    const bool on_host = row.track == kHostTrack;
    Events& events = trace.events;
    events.start.push_back(row.start);
    events.duration.push_back(row.duration);
    events.name.push_back(row.name);
    events.track.push_back(row.track);
    events.category.push_back(row.category);
    events.stream.push_back(on_host ? kNoStream : static_cast<std::int32_t>(row.track));
    events.device.push_back(on_host ? -1 : 0);
    events.correlation.push_back(kNoId);
    events.external_id.push_back(kNoId);
    events.detail.push_back(kNoDetail);
    events.collective.push_back(kNoDetail);
    ++trace.row_counts[static_cast<int>(row.category)];
  }

  const StepRun& run_;
  TraceSet set_;
  std::uint32_t device_ = 0, step_ = 0;
  std::vector<std::vector<Row>> rows_;  ///< by chip
};

}  // namespace

TraceSet step_trace(const StepRun& run) { return Writer(run).take(); }

}  // namespace flopcast
