// What-ifs: a recording made a graph once, and questions that are put to it.
#include "flopcast/whatif.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "errors.h"
#include "flopcast/base/time_factor.h"
#include "flopcast/report/whatif.h"
#include "forecasts.h"
#include "interrupt.h"
#include "traces.h"

namespace flopcast {
namespace {

/// A recording ready for questions, which answers outlive.
struct SharedWhatIf {
  std::shared_ptr<const WhatIf> recording;
};

/// One answer; the page needs both runs, which are made when it is asked for.
struct SharedAnswer {
  std::shared_ptr<const WhatIf> recording;
  WhatIfReport report;
};

using Words = std::vector<std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;
using Factors = std::vector<std::tuple<std::string, double, std::string>>;

SharedWhatIf prepare_whatif(const SharedSet& shared, unsigned threads, const std::string& model,
                            std::optional<double> tokens_per_step,
                            std::optional<std::int64_t> sequence, double price) {
  const WhatIfFacts facts{model, tokens_per_step, sequence, price};
  Result<WhatIf> made =
      interruptible([set = shared.set, threads, facts](const Stop&) -> Result<WhatIf> {
        Result<WhatIf> whatif = WhatIf::of(set, threads);
        if (!whatif) return whatif;
        if (const auto problem = whatif->tell(facts)) return *problem;
        return whatif;
      });
  return {std::make_shared<const WhatIf>(value_or_raise(std::move(made)))};
}

WhatIfChanges changes_of(const Pairs& set, const Factors& scale, const Words& remove,
                         const Words& add, const std::string& kernels_from, const std::string& chip,
                         const std::string& on, bool scale_only, const Words& steps) {
  WhatIfChanges changes;
  changes.set = set;
  for (const auto& [what, factor, words] : scale) changes.scale.push_back({what, factor, words});
  changes.remove = remove;
  changes.add = add;
  changes.kernels_from = kernels_from;
  changes.chip = chip;
  changes.on = on;
  changes.scale_only = scale_only;
  changes.steps = steps;
  return changes;
}

SharedAnswer ask_whatif(const SharedWhatIf& whatif, const Pairs& set, const Factors& scale,
                        const Words& remove, const Words& add, const std::string& kernels_from,
                        const std::string& chip, const std::string& on, bool scale_only,
                        const Words& steps) {
  const WhatIfChanges changes =
      changes_of(set, scale, remove, add, kernels_from, chip, on, scale_only, steps);
  Result<WhatIfAnswer> answer = interruptible(
      [recording = whatif.recording, changes](const Stop&) { return recording->ask(changes); });
  WhatIfReport report;
  report.recording = whatif.recording->set().label;
  report.answer = value_or_raise(std::move(answer));
  return {whatif.recording, std::move(report)};
}

std::string page_of(const SharedAnswer& answer) {
  const auto work = [answer](const Stop&) -> Result<std::string> {
    if (!answer.report.answer.refused.empty()) return whatif_html(answer.report, std::nullopt);
    Result<std::pair<WhatIfRun, WhatIfRun>> runs =
        answer.recording->runs(answer.report.answer.changes);
    if (!runs) return runs.error();
    return whatif_html(answer.report, std::move(*runs));
  };
  return value_or_raise(interruptible(work));
}

/// (part, work_s, less_s, limit_s)
using WorthRow = std::tuple<std::string, double, std::optional<double>, std::optional<double>>;
std::vector<WorthRow> worth_of(const SharedWhatIf& whatif) {
  const auto parts = value_or_raise(interruptible(
      [recording = whatif.recording](const Stop&) { return recording->sensitivity(); }));
  const auto seconds = [](const std::optional<Time>& time) {
    return time ? std::optional(time->seconds()) : std::nullopt;
  };
  std::vector<WorthRow> rows;
  for (const WhatIfSensitivity& part : parts)
    rows.emplace_back(part.part, part.work.seconds(), seconds(part.less), seconds(part.limit));
  return rows;
}

/// (change, missing)
std::vector<std::pair<nb::str, nb::str>> refusals_of(const SharedAnswer& answer) {
  std::vector<std::pair<nb::str, nb::str>> rows;
  for (const WhatIfRefusal& refusal : answer.report.answer.refused)
    rows.emplace_back(text(refusal.change), text(refusal.missing));
  return rows;
}

}  // namespace

void define_whatif(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<SharedAnswer>(module, "WhatIfAnswer")
      .def("json", [](const SharedAnswer& a) { return text(whatif_json(a.report)); })
      .def("text", [](const SharedAnswer& a) { return text(whatif_text(a.report)); })
      .def("html", [](const SharedAnswer& a) { return text(page_of(a)); })
      .def("refusals", &refusals_of, "(change, missing)");
  nb::class_<SharedWhatIf>(module, "WhatIf")
      .def("ask", &ask_whatif, nb::kw_only(), "set"_a, "scale"_a, "remove"_a, "add"_a,
           "kernels_from"_a, "chip"_a, "on"_a, "scale_only"_a, "steps"_a)
      .def("sensitivity", &worth_of, "(part, work_s, less_s, limit_s)")
      .def("label", [](const SharedWhatIf& w) { return text(w.recording->set().label); })
      .def("damage", [](const SharedWhatIf& w) {
        std::vector<nb::str> out;
        for (const std::string& why : w.recording->damage()) out.push_back(text(why));
        return out;
      });
  module.def(
      "time_factor",
      [](const std::string& said) {
        const TimeFactor read = value_or_raise(parse_time_factor(said, "scale"));
        return std::pair(read.factor, read.words);
      },
      "text"_a);
  module.def("what_if", &prepare_whatif, "set"_a, nb::kw_only(), "threads"_a, "model"_a,
             "tokens_per_step"_a.none(), "sequence"_a.none(), "price"_a);
}

}  // namespace flopcast
