// Serving: a question about an inference fleet, and everything that is told of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "errors.h"
#include "flopcast/report/serve.h"
#include "forecasts.h"
#include "interrupt.h"

namespace flopcast {
namespace {

/// An answer that views of it outlive.
struct SharedServing {
  std::shared_ptr<const ServeAnswer> answer;
};

SharedServing serve_fleet(const std::string& model, const std::string& cluster,
                          const ServeSettings& settings, const std::string& from, bool quick,
                          bool curve, unsigned threads) {
  const auto work = [=](const Stop&) -> Result<ServeAnswer> {
    ServeFile asked;
    if (!from.empty()) {
      Result<ServeFile> file = read_serve_file(from);
      if (!file) return file.error();
      asked = std::move(*file);
    }
    if (!model.empty()) asked.model = model;
    if (!cluster.empty()) asked.cluster = cluster;
    asked.settings.insert(asked.settings.end(), settings.begin(), settings.end());
    const Catalog& catalog = Catalog::builtin();
    const Result<ServeQuestion> question = make_serve_question(asked, catalog);
    if (!question) return question.error();
    ServeOptions options;
    options.next = options.sensitivity = !quick;
    options.curve = curve;
    options.threads = threads;
    return answer_serving(*question, catalog, options);
  };
  return {std::make_shared<const ServeAnswer>(value_or_raise(interruptible(work)))};
}

std::vector<std::string> serve_setting_names() {
  std::vector<std::string> names;
  for (const ServeSetting& setting : serve_settings()) names.emplace_back(setting.name);
  return names;
}

}  // namespace

void define_serving(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SharedServing>(module, "Serving")
      .def("json", [](const SharedServing& s) { return text(serve_json(*s.answer)); })
      .def("text", [](const SharedServing& s) { return text(serve_text(*s.answer)); })
      .def("html", [](const SharedServing& s) { return text(serve_html(*s.answer)); })
      .def("csv", [](const SharedServing& s) { return text(serve_csv(*s.answer)); })
      .def("requests_csv",
           [](const SharedServing& s) { return text(serve_requests_csv(*s.answer)); });
  module.def("serve", &serve_fleet, "model"_a, "cluster"_a, "settings"_a, nb::kw_only(), "from_"_a,
             "quick"_a, "curve"_a, "threads"_a);
  module.def("serve_settings", &serve_setting_names);
}

}  // namespace flopcast
