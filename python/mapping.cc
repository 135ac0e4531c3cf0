// Mappings of dataflow graphs onto systems. A question is filled in group by group, as Python's
// keyword arguments are; its answer is shown as the command line shows it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>

#include "errors.h"
#include "flopcast/mapping/setup.h"
#include "flopcast/question/mapping.h"
#include "flopcast/report/explore.h"
#include "flopcast/report/mapping.h"
#include "forecasts.h"

namespace flopcast {
namespace {

using Texts = std::vector<std::string>;

void set_workload(MappingQuestion& question, std::int64_t sequence, std::int64_t global_batch,
                  std::int64_t unroll) {
  question.dataflow = {sequence, global_batch, unroll};
}

void set_system_of(MappingQuestion& question, const std::string& topology,
                   const std::string& memory, const std::string& link, const Texts& changes,
                   const std::string& precision) {
  const std::optional<DataType> type = parse_data_type(precision);
  if (!type) {
    raise({ErrorCode::kUsage, "precision", "unknown type '" + precision + "'",
           "bf16, fp16, fp8, fp32, ..."});
  }
  question.system = {topology, memory, link, changes, *type};
}

void set_model(MappingQuestion& question, const std::string& mode, const std::string& overlap,
               double utilisation) {
  question.mode = mode;
  question.overlap = overlap;
  question.utilisation = utilisation;
}

void set_search(MappingQuestion& question, const std::array<unsigned, kParallelisms>& degree,
                std::int64_t microbatch, std::int64_t tile, bool every_tile, unsigned partitions,
                bool mix_passes, bool split_dimensions, double gap, unsigned threads) {
  MappingSearch& search = question.search;
  search.degree = degree;
  search.microbatch = microbatch;
  search.tile = tile;
  search.every_tile = every_tile;
  search.partitions = partitions;
  search.mix_passes = mix_passes;
  search.split_dimensions = split_dimensions;
  search.gap = gap;
  search.threads = threads;
}

void set_pins(MappingQuestion& question, const Texts& pins, const Texts& forbids,
              const Texts& shardings) {
  question.pins = pins;
  question.forbids = forbids;
  question.shardings = shardings;
}

MappingReport answer(Result<MappingRequest> asked) {
  MappingRequest request = value_or_raise(std::move(asked));
  const auto search = [&] {
    const nb::gil_scoped_release other_python_threads_go_on;
    return map_workload(request);
  };
  Mapping mapping = value_or_raise(search());
  return {std::move(request), std::move(mapping)};
}

MappingReport answer_setup(const std::string& setup, const std::string& where) {
  const DfmodelSetup parsed = value_or_raise(parse_dfmodel_setup(setup, where));
  return answer(mapping_of_setup(parsed));
}

nb::object svg(const MappingReport& report) {
  return text(dataflow_svg(report.request.workload.graph, kernel_partitions(report)));
}

nb::object mps(const MappingReport& report, unsigned partitions) {
  return text(value_or_raise(mapping_mps(report.request, report.mapping, partitions)));
}

/// Lines of all points of a sweep. @param held lines of an earlier run; @param take gets each new line
std::string explore_lines(const MappingQuestion& question, const Texts& sweeps, bool explain,
                          const std::string& held, const nb::callable& take) {
  const auto axes = value_or_raise(explore_axes(sweeps, Catalog::builtin()));
  const std::size_t points = explore_points(axes);
  const std::string asked = explore_words(question, sweeps, explain);
  ExploreRequest request = value_or_raise(explore_of_question(question, sweeps, explain));
  std::string lines;
  for (const ExploreRow& row : value_or_raise(read_explore_start(held, "held", asked, points))) {
    lines += explore_json_line(row);
    ++request.first;
  }
  const auto keep = [&](const ExplorePoint& point) {
    const std::string line = explore_json_line(explore_row(asked, axes, points, point));
    const nb::gil_scoped_acquire python;
    lines += line;
    try {
      take(text(line));
    } catch (nb::python_error& error) {
      error.restore();
      return false;
    }
    return PyErr_CheckSignals() == 0;
  };
  const auto run = [&] {
    const nb::gil_scoped_release other_python_threads_go_on;
    return explore(request, Catalog::builtin(), keep);
  };
  const Result<std::size_t> done = run();
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  if (!done) raise(done.error());
  return lines;
}

std::vector<ExploreRow> rows_of(const std::string& lines) {
  return value_or_raise(read_explore_rows(lines, "points"));
}

nb::object front(const std::string& lines) {
  nb::list out;
  for (const bool in : explore_front(rows_of(lines))) out.append(in);
  return out;
}

}  // namespace

void define_mapping(nb::module_& module) {
  nb::class_<MappingReport>(module, "MappingReport")
      .def("json", [](const MappingReport& r) { return text(mapping_json(r)); })
      .def("text", [](const MappingReport& r) { return text(mapping_text(r)); })
      .def("csv", [](const MappingReport& r) { return text(mapping_csv(r)); })
      .def("html", [](const MappingReport& r) { return text(mapping_html(r)); })
      .def("toml", [](const MappingReport& r) { return text(dataflow_toml(r.request.workload)); })
      .def("svg", &svg)
      .def("mps", &mps);
  nb::class_<MappingQuestion>(module, "MappingQuestion")
      .def("__init__",
           [](MappingQuestion* place, const std::string& workload, const std::string& on) {
             auto* question = new (place) MappingQuestion();
             question->workload = workload;
             question->on = on;
           })
      .def("workload", &set_workload)
      .def("system", &set_system_of)
      .def("model", &set_model)
      .def("search", &set_search)
      .def("pins", &set_pins)
      .def("answer", [](const MappingQuestion& q) { return answer(mapping_request(q)); })
      .def("explore", &explore_lines);
  module.def("explore_front", &front);
  module.def("explore_text",
             [](const std::string& lines) { return text(explore_text(rows_of(lines))); });
  module.def("explore_csv",
             [](const std::string& lines) { return text(explore_csv(rows_of(lines))); });
  module.def("explore_html", [](const std::string& lines, const std::string& title) {
    return text(explore_html(rows_of(lines), title));
  });
  module.def("map_setup", &answer_setup);
  module.def("dataflow_names", &builtin_dataflows);
  module.def("system_settings", &system_settings);
}

}  // namespace flopcast
