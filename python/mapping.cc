// Mappings of dataflow graphs onto systems. A question's attributes are Python's keyword
// arguments; its answer is shown as the command line shows it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "errors.h"
#include "flopcast/mapping/setup.h"
#include "flopcast/question/mapping.h"
#include "flopcast/report/explore.h"
#include "flopcast/report/mapping.h"
#include "forecasts.h"
#include "interrupt.h"

namespace flopcast {
namespace {

using Texts = std::vector<std::string>;

/// A value of the question by the name of Python's keyword argument. @param place of it in a question
template <typename Place>
void option(nb::class_<MappingQuestion>& question, const char* name, Place place) {
  using Value = std::remove_cvref_t<std::invoke_result_t<Place, MappingQuestion&>>;
  question.def_prop_rw(
      name, [place](MappingQuestion& q) { return Value(place(q)); },
      [place](MappingQuestion& q, const Value& value) { place(q) = value; });
}

void set_precision(MappingQuestion& question, const std::string& precision) {
  const std::optional<DataType> type = parse_data_type(precision);
  if (!type) {
    raise({ErrorCode::kUsage, "precision", "unknown type '" + precision + "'",
           "bf16, fp16, fp8, fp32, ..."});
  }
  question.system.precision = *type;
}

MappingReport map_answer(Result<MappingRequest> asked) {
  const auto request = std::make_shared<MappingRequest>(value_or_raise(std::move(asked)));
  Mapping mapping = value_or_raise(interruptible([request](const Stop& stop) {
    request->search.go_on = [&stop] { return !stop; };
    return map_workload(*request);
  }));
  request->search.go_on = {};
  return {std::move(*request), std::move(mapping)};
}

MappingReport map_setup(const std::string& setup, const std::string& where) {
  const DfmodelSetup parsed = value_or_raise(parse_dfmodel_setup(setup, where));
  return map_answer(mapping_of_setup(parsed));
}

nb::str svg(const MappingReport& report) {
  return text(dataflow_svg(report.request.workload.graph, kernel_partitions(report)));
}

nb::str mps(const MappingReport& report, unsigned partitions) {
  return text(value_or_raise(mapping_mps(report.request, report.mapping, partitions)));
}

/// Lines that one thread writes and another one takes.
class Lines {
 public:
  void add(std::string line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Lines of all points of a sweep. @param held lines of an earlier run; @param take gets each new line
std::string explore_lines(const MappingQuestion& question, const Texts& sweeps, bool explain,
                          const std::string& held,
                          const nb::typed<nb::callable, nb::object(nb::str)>& take) {
  auto axes = value_or_raise(explore_axes(sweeps, Catalog::builtin()));
  const std::size_t points = explore_points(axes);
  const std::string asked = explore_words(question, sweeps, explain);
  ExploreRequest request = value_or_raise(explore_of_question(question, sweeps, explain));
  std::string lines;
  for (const ExploreRow& row : value_or_raise(read_explore_start(held, "held", asked, points))) {
    lines += explore_json_line(row);
    ++request.first;
  }
  const auto found = std::make_shared<Lines>();
  const auto hand_over = [&] {
    for (const std::string& line : found->take()) {
      lines += line;
      take(text(line));
    }
  };
  const auto search = [request, axes = std::move(axes), asked, points,
                       found](const Stop& stop) mutable {
    request.search.go_on = [&stop] { return !stop; };
    return explore(request, Catalog::builtin(), [&](const ExplorePoint& point) {
      if (!stop) found->add(explore_json_line(explore_row(asked, axes, points, point)));
      return !stop;
    });
  };
  value_or_raise(interruptible(search, hand_over));
  return lines;
}

std::vector<ExploreRow> rows_of(const std::string& lines) {
  return value_or_raise(read_explore_rows(lines, "points"));
}

std::vector<bool> front(const std::string& lines) { return explore_front(rows_of(lines)); }

void define_options(nb::class_<MappingQuestion>& question) {
  using Q = MappingQuestion;
  option(
      question, "sequence", [](Q & q) -> auto& { return q.dataflow.sequence; });
  option(
      question, "global_batch", [](Q & q) -> auto& { return q.dataflow.global_batch; });
  option(
      question, "unroll", [](Q & q) -> auto& { return q.dataflow.unroll; });
  option(
      question, "topology", [](Q & q) -> auto& { return q.system.topology; });
  option(
      question, "memory", [](Q & q) -> auto& { return q.system.memory; });
  option(
      question, "link", [](Q & q) -> auto& { return q.system.link; });
  option(
      question, "changes", [](Q & q) -> auto& { return q.system.changes; });
  question.def_prop_rw(
      "precision", [](Q& q) { return std::string(name(q.system.precision)); }, &set_precision);
  option(
      question, "mode", [](Q & q) -> auto& { return q.mode; });
  option(
      question, "overlap", [](Q & q) -> auto& { return q.overlap; });
  option(
      question, "utilisation", [](Q & q) -> auto& { return q.utilisation; });
  option(
      question, "tp", [](Q & q) -> auto& { return q.search.degree[0]; });
  option(
      question, "pp", [](Q & q) -> auto& { return q.search.degree[1]; });
  option(
      question, "dp", [](Q & q) -> auto& { return q.search.degree[2]; });
  option(
      question, "microbatch", [](Q & q) -> auto& { return q.search.microbatch; });
  option(
      question, "tile", [](Q & q) -> auto& { return q.search.tile; });
  option(
      question, "every_tile", [](Q & q) -> auto& { return q.search.every_tile; });
  option(
      question, "partitions", [](Q & q) -> auto& { return q.search.partitions; });
  option(
      question, "mix_passes", [](Q & q) -> auto& { return q.search.mix_passes; });
  option(
      question, "split_dimensions", [](Q & q) -> auto& { return q.search.split_dimensions; });
  option(
      question, "gap", [](Q & q) -> auto& { return q.search.gap; });
  option(
      question, "threads", [](Q & q) -> auto& { return q.search.threads; });
  option(
      question, "pins", [](Q & q) -> auto& { return q.pins; });
  option(
      question, "forbid", [](Q & q) -> auto& { return q.forbids; });
  option(
      question, "shardings", [](Q & q) -> auto& { return q.shardings; });
}

}  // namespace

void define_mapping(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<MappingReport>(module, "MappingReport")
      .def("json", [](const MappingReport& r) { return text(mapping_json(r)); })
      .def("text", [](const MappingReport& r) { return text(mapping_text(r)); })
      .def("csv", [](const MappingReport& r) { return text(mapping_csv(r)); })
      .def("html", [](const MappingReport& r) { return text(mapping_html(r)); })
      .def("toml", [](const MappingReport& r) { return text(dataflow_toml(r.request.workload)); })
      .def("svg", &svg)
      .def("mps", &mps, "partitions"_a);
  nb::class_<MappingQuestion> question(module, "MappingQuestion");
  question
      .def(
          "__init__",
          [](MappingQuestion* place, const std::string& workload, const std::string& on) {
            auto* made = new (place) MappingQuestion();
            made->workload = workload;
            made->on = on;
          },
          "workload"_a, "on"_a)
      .def("answer", [](const MappingQuestion& q) { return map_answer(mapping_request(q)); })
      .def("explore", &explore_lines, "sweeps"_a, nb::kw_only(), "explain"_a, "held"_a, "take"_a,
           "The JSON lines of `flopcast explore`; `take` gets each new one.");
  define_options(question);
  module.def("explore_front", &front, "lines"_a);
  module.def(
      "explore_text", [](const std::string& lines) { return text(explore_text(rows_of(lines))); },
      "lines"_a);
  module.def(
      "explore_csv", [](const std::string& lines) { return text(explore_csv(rows_of(lines))); },
      "lines"_a);
  module.def(
      "explore_html",
      [](const std::string& lines, const std::string& title) {
        return text(explore_html(rows_of(lines), title));
      },
      "lines"_a, "title"_a);
  module.def("map_setup", &map_setup, "setup"_a, "where"_a);
  module.def("dataflow_names", &builtin_dataflows);
  module.def("system_settings", &system_settings);
}

}  // namespace flopcast
