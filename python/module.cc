// The native half of the Python package: reading and replaying traces, columns without copies.
//
// Times leave here as int64 picoseconds. A column is a view of the vector the reader filled; it
// keeps the trace set alive. Diagnostics become flopcast.FlopcastError; nothing here prints.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <tuple>

#include "errors.h"
#include "flopcast/replay.h"
#include "flopcast/report/page.h"
#include "flopcast/report/replay.h"
#include "flopcast/trace.h"
#include "flopcast/trace/io.h"
#include "flopcast/version.h"
#include "forecasts.h"
#include "interrupt.h"
#include "traces.h"

namespace flopcast {
namespace {

static_assert(sizeof(Time) == sizeof(std::int64_t), "a column of Time is a column of int64");

struct SharedReplay {
  std::shared_ptr<const TraceSet> set;
  std::shared_ptr<const Replay> replay;
};

template <typename T>
using Column = nb::ndarray<nb::memview, const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A view of a vector that lives as long as `owner` does.
template <typename T, typename From>
Column<T> column(const std::vector<From>& values, nb::handle owner) {
  static_assert(sizeof(T) == sizeof(From));
  return Column<T>(reinterpret_cast<const T*>(values.data()), {values.size()}, owner);
}

const Trace& trace_of(const SharedSet& shared, std::size_t index) {
  if (index >= shared.set->traces.size()) throw nb::index_error("no such rank");
  return shared.set->traces[index];
}

nb::dict columns(nb::handle_t<SharedSet> owner, std::size_t index) {
  const Events& events = trace_of(nb::cast<const SharedSet&>(owner), index).events;
  nb::dict out;
  out["start_ps"] = column<std::int64_t>(events.start, owner);
  out["duration_ps"] = column<std::int64_t>(events.duration, owner);
  out["category"] = column<std::uint8_t>(events.category, owner);
  out["name_id"] = column<std::uint32_t>(events.name, owner);
  out["stream"] = column<std::int32_t>(events.stream, owner);
  out["device"] = column<std::int32_t>(events.device, owner);
  out["correlation"] = column<std::int64_t>(events.correlation, owner);
  return out;
}

/// (path, rank, world_size, origin_ns, json_bytes)
using RankFacts =
    std::tuple<nb::str, std::optional<int>, std::optional<int>, std::int64_t, std::uint64_t>;
RankFacts rank_facts(const SharedSet& shared, std::size_t index) {
  const Trace& trace = trace_of(shared, index);
  return {text(trace.path), trace.rank, trace.world_size, trace.origin_ns, trace.bytes_read};
}

/// (kind, count, first)
using Oddity = std::tuple<nb::str, std::uint64_t, nb::str>;
std::vector<Oddity> oddities(const Anomalies& anomalies) {
  std::vector<Oddity> out;
  for (const Anomaly& a : anomalies.list()) out.emplace_back(text(a.kind), a.count, text(a.first));
  return out;
}

/// (name, start_ps, end_ps)
using StepTimes = std::tuple<nb::str, std::int64_t, std::int64_t>;
std::vector<StepTimes> steps(const SharedSet& shared, std::size_t index) {
  std::vector<StepTimes> out;
  for (const Step& s : find_steps(*shared.set, trace_of(shared, index))) {
    out.emplace_back(text(s.name), s.start.ps, s.end.ps);
  }
  return out;
}

nb::typed<nb::list, nb::str> names(const SharedSet& shared) {
  nb::typed<nb::list, nb::str> out;
  const StringTable& strings = shared.set->strings;
  for (std::uint32_t id = 0; id < strings.size(); ++id) out.append(text(strings[id]));
  return out;
}

/// (code, where, what, hint)
using Failure = std::tuple<int, nb::str, nb::str, nb::str>;
std::vector<Failure> failures(const std::vector<Diagnostic>& list) {
  std::vector<Failure> out;
  for (const Diagnostic& d : list) {
    out.emplace_back(static_cast<int>(d.code), text(d.where), text(d.what), text(d.hint));
  }
  return out;
}

SharedSet read(const std::vector<std::string>& paths, const std::string& prefix,
               const std::optional<std::string>& steps, unsigned threads) {
  const std::vector<std::filesystem::path> files(paths.begin(), paths.end());
  ReadOptions options;
  options.threads = threads;
  if (steps) options.steps = step_range(*steps);
  TraceSet set = value_or_raise(interruptible(
      [files, options, prefix](const Stop&) { return read_traces(files, options, prefix); }));
  return {std::make_shared<const TraceSet>(std::move(set))};
}

/// (files, rows, json_bytes, bytes, unreadable)
using Packed =
    std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::vector<Failure>>;
Packed pack(const std::vector<std::string>& paths, const std::string& to, const std::string& prefix,
            unsigned threads) {
  const std::vector<std::filesystem::path> files(paths.begin(), paths.end());
  PackOptions options;
  options.threads = threads;
  const PackReport report = value_or_raise(interruptible([files, to, options, prefix](const Stop&) {
    return pack_traces(files, to, options, prefix);
  }));
  return {report.files, report.rows, report.text_bytes, report.bytes, failures(report.unreadable)};
}

template <typename Enum>
Enum by_name(const std::string& given, std::initializer_list<Enum> choices,
             const char* (*name)(Enum), const char* what) {
  std::string known;
  for (const Enum choice : choices) {
    if (given == name(choice)) return choice;
    known += (known.empty() ? "" : ", ") + std::string(name(choice));
  }
  raise({ErrorCode::kUsage, what, "expected one of " + known + "; found '" + given + "'",
         "see help(flopcast.replay)"});
}

SharedReplay replay_set(const SharedSet& shared, const std::string& lags,
                        const std::string& baseline,
                        const std::optional<std::string>& structure_from,
                        const std::optional<std::string>& durations_from, unsigned threads) {
  ReplayOptions options;
  options.lags =
      by_name(lags, {LagMode::kTypical, LagMode::kZero, LagMode::kRecorded}, lag_mode_name, "lags");
  options.baseline =
      by_name(baseline,
              {Baseline::kNone, Baseline::kSingleStream, Baseline::kNoInterStream, Baseline::kDpro},
              baseline_name, "baseline");
  options.structure_from = structure_from;
  options.durations_from = durations_from;
  options.threads = threads;
  Replay done = value_or_raise(
      interruptible([set = shared.set, options](const Stop&) { return replay(*set, options); }));
  return {shared.set, std::make_shared<const Replay>(std::move(done))};
}

/// What is written of a replay: rows are many.
template <std::string (*write)(const TraceSet&, const Replay&)>
nb::str shown(const SharedReplay& shared) {
  return text(interruptible([shared](const Stop&) { return write(*shared.set, *shared.replay); }));
}

using Times = std::pair<Column<std::int64_t>, Column<std::int64_t>>;
Times replay_times(nb::handle_t<SharedReplay> owner, std::size_t index, bool replayed) {
  const Replay& replay = *nb::cast<const SharedReplay&>(owner).replay;
  const Timeline& line = replayed ? replay.replayed : replay.recorded;
  if (index >= line.start.size()) throw nb::index_error("no such rank");
  return {column<std::int64_t>(line.start[index], owner),
          column<std::int64_t>(line.end[index], owner)};
}

std::uint64_t write_replayed(const SharedReplay& shared, const std::string& path, bool kineto) {
  return value_or_raise(interruptible([shared, path, kineto](const Stop&) {
    const TraceSet moved = replayed_traces(*shared.set, *shared.replay);
    return kineto ? write_kineto(moved, path) : write_perfetto(moved, path);
  }));
}

/// (groups of step names, pairs: (from, to, matched_from, matched_to, same_structure, kind of
/// dependency -> (edges, kept)))
using Transfers = std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>;
using Match = std::tuple<nb::str, nb::str, double, double, bool, Transfers>;
using Groups = std::vector<std::vector<nb::str>>;
std::pair<Groups, std::vector<Match>> step_matches(const SharedSet& shared, unsigned threads) {
  const auto steps = interruptible(
      [set = shared.set, threads](const Stop&) { return compare_steps(*set, threads); });
  std::vector<Match> out;
  for (const StepMatch& m : steps.pairs) {
    Transfers transfers;
    for (const StepMatch::Transfer& t : m.transfer) {
      transfers[edge_kind_name(t.kind)] = {t.edges, t.kept};
    }
    out.emplace_back(text(m.from), text(m.to), m.matched_from, m.matched_to, m.same_structure(),
                     std::move(transfers));
  }
  Groups groups;
  for (const auto& group : steps.groups) {
    std::vector<nb::str>& names = groups.emplace_back();
    for (const std::string& name : group) names.push_back(text(name));
  }
  return {std::move(groups), std::move(out)};
}

/// (GPU step, [(part, work, GPU step then)]), seconds; nothing where it was not asked for.
using Part = std::tuple<nb::str, double, std::optional<double>>;
std::optional<std::pair<double, std::vector<Part>>> sensitivity(const SharedReplay& shared) {
  const std::optional<SensitivityTable>& table = shared.replay->sensitivity;
  if (!table) return std::nullopt;
  std::vector<Part> parts;
  for (const WorkSensitivity& s : table->parts) {
    parts.emplace_back(text(s.part), s.work.seconds(),
                       s.gpu_step ? std::optional(s.gpu_step->seconds()) : std::nullopt);
  }
  return std::pair(table->gpu_step.seconds(), std::move(parts));
}

nb::typed<nb::dict, nb::str, nb::typed<nb::list, nb::str>> runs(const std::string& directory) {
  nb::typed<nb::dict, nb::str, nb::typed<nb::list, nb::str>> out;
  for (const auto& [label, files] :
       value_or_raise(interruptible([directory](const Stop&) { return list_runs(directory); }))) {
    nb::list paths;
    for (const std::filesystem::path& file : files) paths.append(text(file.string()));
    out[text(label)] = paths;
  }
  return out;
}

std::vector<std::string> category_names() {
  std::vector<std::string> out;
  for (int c = 0; c < kCategoryCount; ++c) {
    out.emplace_back(category_name(static_cast<Category>(c)));
  }
  return out;
}

void define_traces(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SharedSet>(module, "TraceSet")
      .def("label", [](const SharedSet& s) { return text(s.set->label); })
      .def("rank_count", [](const SharedSet& s) { return s.set->traces.size(); })
      .def("columns", &columns, "rank"_a,
           nb::sig("def columns(self, rank: int) -> dict[str, memoryview]"))
      .def("rank_facts", &rank_facts, "rank"_a, "(path, rank, world_size, origin_ns, json_bytes)")
      .def(
          "anomalies", [](const SharedSet& s) { return oddities(s.set->anomalies); },
          "(kind, count, first example)")
      .def(
          "rank_anomalies",
          [](const SharedSet& s, std::size_t rank) {
            return oddities(trace_of(s, rank).anomalies);
          },
          "rank"_a, "(kind, count, first example)")
      .def("steps", &steps, "rank"_a, "(name, start_ps, end_ps)")
      .def("names", &names)
      .def(
          "unreadable", [](const SharedSet& s) { return failures(s.set->unreadable); },
          "(code, where, what, hint)");
  module.def("read", &read, "paths"_a, nb::kw_only(), "prefix"_a, "steps"_a.none(), "threads"_a);
  module.def("pack_trace", &pack, "paths"_a, "to"_a, nb::kw_only(), "prefix"_a, "threads"_a,
             "(files, rows, json_bytes, bytes, unreadable)");
  module.def("compare_steps", &step_matches, "traces"_a, nb::kw_only(), "threads"_a,
             "(groups of names, [(from, to, matched_from, matched_to, same_structure, kind -> "
             "(edges, kept))])");
  module.def("list_runs", &runs, "directory"_a);
  module.def(
      "dated_page",
      [](std::string page) {
        return text(
            with_origin(std::move(page), {.command = {}, .inputs = {}, .date = page_date()}));
      },
      "page"_a);
  module.def("category_names", &category_names);
}

void define_replays(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SharedReplay>(module, "Replay")
      .def("json", &shown<replay_json>)
      .def("text", &shown<replay_text>)
      .def("html", &shown<replay_html>)
      .def("damage", [](const SharedReplay& s) { return s.replay->damage; })
      .def("label", [](const SharedReplay& s) { return text(s.set->label); })
      .def("rank_count", [](const SharedReplay& s) { return s.set->traces.size(); })
      .def("task_count", [](const SharedReplay& s) { return s.replay->task_count; })
      .def("lags", [](const SharedReplay& s) { return text(lag_mode_name(s.replay->lags)); })
      .def("baseline",
           [](const SharedReplay& s) { return text(baseline_name(s.replay->baseline)); })
      .def("sensitivity", &sensitivity, "(GPU step, [(part, work, GPU step then)]), seconds")
      .def(
          "times", &replay_times, "rank"_a, nb::kw_only(), "replayed"_a,
          nb::sig("def times(self, rank: int, *, replayed: bool) -> tuple[memoryview, memoryview]"),
          "(start_ps, end_ps)")
      .def("write", &write_replayed, "path"_a, nb::kw_only(), "kineto"_a, "Bytes written.");
  module.def("replay", &replay_set, "traces"_a, nb::kw_only(), "lags"_a, "baseline"_a,
             "structure_from"_a.none(), "durations_from"_a.none(), "threads"_a);
}

}  // namespace
}  // namespace flopcast

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro fixes the parameter's type.
NB_MODULE(_native, module) {
  module.doc() = "Native part of the flopcast package.";
  module.attr("version") = nanobind::str(flopcast::kVersion.data(), flopcast::kVersion.size());
  flopcast::define_traces(module);
  flopcast::define_replays(module);
  flopcast::define_network(module);
  flopcast::define_cost(module);
  flopcast::define_analytic(module);
  flopcast::define_plan(module);
  flopcast::define_runs(module);
  flopcast::define_mapping(module);
  flopcast::define_whatif(module);
  flopcast::define_serving(module);
  flopcast::define_serving_plan(module);
}
