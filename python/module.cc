// The native half of the Python package: reading and replaying traces, columns without copies.
//
// Times leave here as int64 picoseconds. A column is a view of the vector the reader filled; it
// keeps the trace set alive. Diagnostics become flopcast.FlopcastError; nothing here prints.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "errors.h"
#include "flopcast/replay.h"
#include "flopcast/report/replay.h"
#include "flopcast/trace.h"
#include "flopcast/trace/io.h"
#include "flopcast/version.h"
#include "forecasts.h"

namespace flopcast {
namespace {

static_assert(sizeof(Time) == sizeof(std::int64_t), "a column of Time is a column of int64");

/// A trace set that columns and replays may outlive the Python name of.
struct SharedSet {
  std::shared_ptr<const TraceSet> set;
};

struct SharedReplay {
  std::shared_ptr<const TraceSet> set;
  Replay replay;
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

nb::dict rank_facts(const SharedSet& shared, std::size_t index) {
  const Trace& trace = trace_of(shared, index);
  nb::dict out;
  out["path"] = trace.path;
  out["rank"] = trace.rank;
  out["world_size"] = trace.world_size;
  out["origin_ns"] = trace.origin_ns;
  out["json_bytes"] = trace.bytes_read;
  return out;
}

nb::list anomaly_list(const Anomalies& anomalies) {
  nb::list out;
  for (const Anomaly& a : anomalies.list()) out.append(nb::make_tuple(a.kind, a.count, a.first));
  return out;
}

/// (name, start_ps, end_ps) of each step.
std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> steps(const SharedSet& shared,
                                                                       std::size_t index) {
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> out;
  for (const Step& s : find_steps(*shared.set, trace_of(shared, index))) {
    out.emplace_back(s.name, s.start.ps, s.end.ps);
  }
  return out;
}

nb::list names(const SharedSet& shared) {
  nb::list out;
  const StringTable& strings = shared.set->strings;
  for (std::uint32_t id = 0; id < strings.size(); ++id) out.append(text(strings[id]));
  return out;
}

nb::list unreadable(const SharedSet& shared) {
  nb::list out;
  for (const Diagnostic& d : shared.set->unreadable) {
    out.append(nb::make_tuple(static_cast<int>(d.code), d.where, d.what, d.hint));
  }
  return out;
}

SharedSet read(const std::vector<std::string>& paths, const std::string& prefix, unsigned threads) {
  const std::vector<std::filesystem::path> files(paths.begin(), paths.end());
  ReadOptions options;
  options.threads = threads;
  const auto read_all = [&] {
    const nb::gil_scoped_release other_python_threads_go_on;
    return read_traces(files, options, prefix);
  };
  return {std::make_shared<const TraceSet>(value_or_raise(read_all()))};
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
  const auto run = [&] {
    const nb::gil_scoped_release other_python_threads_go_on;
    return replay(*shared.set, options);
  };
  return {shared.set, value_or_raise(run())};
}

nb::tuple replay_times(nb::handle_t<SharedReplay> owner, std::size_t index, bool replayed) {
  const auto& self = nb::cast<const SharedReplay&>(owner);
  const Timeline& line = replayed ? self.replay.replayed : self.replay.recorded;
  if (index >= line.start.size()) throw nb::index_error("no such rank");
  return nb::make_tuple(column<std::int64_t>(line.start[index], owner),
                        column<std::int64_t>(line.end[index], owner));
}

std::uint64_t write_replayed(const SharedReplay& self, const std::string& path, bool kineto) {
  const auto write = [&] {
    const nb::gil_scoped_release other_python_threads_go_on;
    const TraceSet moved = replayed_traces(*self.set, self.replay);
    return kineto ? write_kineto(moved, path) : write_perfetto(moved, path);
  };
  return value_or_raise(write());
}

nb::list step_matches(const SharedSet& shared, unsigned threads) {
  const auto compare = [&] {
    const nb::gil_scoped_release other_python_threads_go_on;
    return compare_steps(*shared.set, threads);
  };
  nb::list out;
  for (const StepMatch& m : compare()) {
    nb::dict transfer;
    for (const StepMatch::Transfer& t : m.transfer) {
      transfer[edge_kind_name(t.kind)] = nb::make_tuple(t.edges, t.kept);
    }
    out.append(
        nb::make_tuple(m.from, m.to, m.matched_from, m.matched_to, m.same_structure(), transfer));
  }
  return out;
}

nb::dict runs(const std::string& directory) {
  nb::dict out;
  for (const auto& [label, files] : value_or_raise(list_runs(directory))) {
    nb::list paths;
    for (const std::filesystem::path& file : files) paths.append(text(file.string()));
    out[text(label)] = paths;
  }
  return out;
}

nb::list category_names() {
  nb::list out;
  for (int c = 0; c < kCategoryCount; ++c) out.append(category_name(static_cast<Category>(c)));
  return out;
}

void define(nb::module_& module) {
  nb::class_<SharedSet>(module, "TraceSet")
      .def("label", [](const SharedSet& s) { return text(s.set->label); })
      .def("rank_count", [](const SharedSet& s) { return s.set->traces.size(); })
      .def("columns", &columns)
      .def("rank_facts", &rank_facts)
      .def("anomalies", [](const SharedSet& s) { return anomaly_list(s.set->anomalies); })
      .def("rank_anomalies",
           [](const SharedSet& s, std::size_t i) { return anomaly_list(trace_of(s, i).anomalies); })
      .def("steps", &steps)
      .def("names", &names)
      .def("unreadable", &unreadable);
  nb::class_<SharedReplay>(module, "Replay")
      .def("json", [](const SharedReplay& s) { return text(replay_json(*s.set, s.replay)); })
      .def("text", [](const SharedReplay& s) { return text(replay_text(*s.set, s.replay)); })
      .def("html", [](const SharedReplay& s) { return text(replay_html(*s.set, s.replay)); })
      .def("damage", [](const SharedReplay& s) { return s.replay.damage; })
      .def("times", &replay_times)
      .def("write", &write_replayed);
  module.def("read", &read);
  module.def("replay", &replay_set, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
             nb::arg().none(), nb::arg());
  module.def("compare_steps", &step_matches);
  module.def("list_runs", &runs);
  module.def("category_names", &category_names);
  define_network(module);
  define_cost(module);
  define_analytic(module);
  define_plan(module);
  define_runs(module);
  define_mapping(module);
}

}  // namespace
}  // namespace flopcast

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro fixes the parameter's type.
NB_MODULE(_native, module) {
  module.doc() = "Native part of the flopcast package.";
  module.attr("__version__") = nanobind::str(flopcast::kVersion.data(), flopcast::kVersion.size());
  flopcast::define(module);
}
