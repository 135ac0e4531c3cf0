#include "flopcast/published/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/files/read_file.h"
#include "published/subramanian/case_input.h"

namespace flopcast {
namespace {

using Json = nlohmann::json;
using published::Fields;

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
// Times of plans that are equal in exact arithmetic differ by rounding.
constexpr double kTie = 1e-12;

/// A number of an estimate or an operator under the name that files give it.
template <typename Source>
struct Named {
  const char* key;
  double (*value)(const Source&);  ///< in the file's unit
};

using E = PaperEstimate;
constexpr std::array<Named<E>, 13> kEstimateFields = {{
    {"t", [](const E& e) { return e.time.value; }},
    {"t_comp", [](const E& e) { return e.compute.value; }},
    {"t_mem", [](const E& e) { return e.exposed_memory.value; }},
    {"t_tp_comm", [](const E& e) { return e.tensor_communication.value; }},
    {"t_dp_comm", [](const E& e) { return e.data_communication.value; }},
    {"t_pp_comm", [](const E& e) { return e.pipeline_communication.value; }},
    {"t_bubble", [](const E& e) { return e.bubble.value; }},
    {"flops_per_gpu", [](const E& e) { return e.flops.value / kTera; }},
    {"mem", [](const E& e) { return e.memory.value / kGiga; }},
    {"wts_mem", [](const E& e) { return e.weights.value / kGiga; }},
    {"wts_grad_mem", [](const E& e) { return e.gradients.value / kGiga; }},
    {"wts_optimizer_states_mem", [](const E& e) { return e.optimizer.value / kGiga; }},
    {"acts_mem", [](const E& e) { return e.activations.value / kGiga; }},
}};

using O = PaperOperator;
constexpr std::array<Named<O>, 12> kOperatorFields = {{
    {"weights_mem", [](const O& o) { return o.weights.value / kGiga; }},
    {"activation_buffer", [](const O& o) { return o.activations.value / kGiga; }},
    {"flops_fwd", [](const O& o) { return o.forward.flops.value / kTera; }},
    {"flops_bwd", [](const O& o) { return o.backward.flops.value / kTera; }},
    {"t_fwd", [](const O& o) { return o.forward.time.value; }},
    {"t_fwd_comm", [](const O& o) { return o.forward.communication.value; }},
    {"t_fwd_comp", [](const O& o) { return o.forward.compute.value; }},
    {"t_fwd_mem", [](const O& o) { return o.forward.exposed_memory.value; }},
    {"t_bwd", [](const O& o) { return o.backward.time.value; }},
    {"t_bwd_comm", [](const O& o) { return o.backward.communication.value; }},
    {"t_bwd_comp", [](const O& o) { return o.backward.compute.value; }},
    {"t_bwd_mem", [](const O& o) { return o.backward.exposed_memory.value; }},
}};

std::string text_of(const PaperPlan& p) {
  return fmt::format(
      "tp {}x{} pp {} dp {} microbatch {} panels {}, in a domain tp {}x{} pp {} dp {}", p.size.tp1,
      p.size.tp2, p.size.pp, p.size.dp, p.microbatch, p.panels, p.domain.tp1, p.domain.tp2,
      p.domain.pp, p.domain.dp);
}

/// One case under one set of defects.
class Check {
 public:
  Check(const Json& item, const PaperDefects& defects, bool published)
      : item_(item, problem_), defects_(defects), published_(published) {}

  PaperCheck run(const std::string& file) {
    check_.id = item_.text("id");
    check_.kind = item_.text("kind");
    const Fields input = item_.object("input");
    const Fields expected =
        item_.object(published_ || same_values() ? "expected" : "expected_fixed");
    if (check_.kind == "collective") {
      collective(input, expected);
    } else if (check_.kind == "config" || check_.kind == "layers") {
      plan(input, expected);
    } else if (check_.kind == "search") {
      search(input, expected);
    } else if (problem_.empty()) {
      problem_ = "kind '" + check_.kind + "' is unknown";
    }
    if (!problem_.empty() && !check_.failure) {
      check_.failure = Diagnostic{ErrorCode::kBadInput, file + ": case " + check_.id, problem_,
                                  "see include/flopcast/published/cases.h for what a case holds"};
    }
    return std::move(check_);
  }

 private:
  /// No repair changes this case.
  bool same_values() const {
    return !item_.has("expected_fixed") || item_.raw()["expected_fixed"].is_null();
  }

  void compare(const std::string& name, double found, double expected, double total) {
    ++check_.values;
    const double scale = expected != 0 ? std::abs(expected) : std::abs(total);
    const double difference = std::abs(found - expected);
    const double rel = difference == 0 ? 0 : difference / scale;
    if (rel > check_.max_rel || std::isnan(rel)) {
      check_.max_rel = rel;
      check_.worst = name;
    }
  }
  template <typename T>
  void compare_discrete(std::string_view name, const T& found, const T& expected) {
    ++check_.values;
    if (found == expected) return;
    check_.mismatches.push_back(fmt::format("{}: {} expected, {} found", name, expected, found));
  }
  template <typename T>
  bool take(const Result<T>& result) {
    if (!result) check_.failure = result.error();
    return result.ok();
  }

  void collective(const Fields& input, const Fields& expected) {
    const PaperSystem system =
        published::read_system(input.object("system"), input.text("system_name"));
    const auto kind = parse_paper_collective(input.text("type"));
    if (!kind) problem_ = "type of the collective is unknown";
    const std::int64_t group = input.integer("group_size");
    const std::int64_t in_domain = input.integer("gpus_in_nvs");
    if (problem_.empty() && (group < 1 || in_domain < 1)) problem_ = "a group without GPUs";
    if (!problem_.empty()) return;
    const Bytes volume{input.number("volume_GB") * kGiga};
    const Seconds time = paper_collective_time(system, *kind, volume, group, in_domain, defects_);
    compare("t", time.value, expected.number("t"), 1);
  }

  void estimate(const PaperEstimate& found, const Fields& expected) {
    for (const Named<E>& field : kEstimateFields) {
      if (!expected.has(field.key)) continue;
      const bool seconds = field.key[0] == 't';
      compare(field.key, field.value(found), expected.number(field.key),
              seconds ? found.time.value : found.memory.value / kGiga);
    }
  }

  void plan(const Fields& input, const Fields& expected) {
    const PaperCase c = published::read_case(input, defects_, problem_);
    const PaperPlan plan = published::read_plan(input);
    if (!problem_.empty()) return;
    const Result<PaperEstimate> found = paper_estimate(c, plan);
    if (!take(found)) return;
    estimate(*found, expected);
    compare_discrete("microbatches", found->microbatches, input.integer("microbatches"));
    compare_discrete("GPUs", plan.gpus(), input.integer("n_gpus"));
    if (!published_) return;
    if (item_.has("feasible")) {
      compare_discrete("feasible", found->fits, item_.raw()["feasible"] == true);
    }
    if (item_.has("layers")) operators(c, plan);
  }

  void operators(const PaperCase& c, const PaperPlan& plan) {
    const Result<std::vector<PaperOperator>> found = paper_operators(c, plan);
    if (!take(found)) return;
    const Json& expected = item_.array("layers");
    compare_discrete("operators", found->size(), expected.size());
    for (std::size_t i = 0; i < std::min(found->size(), expected.size()); ++i) {
      const PaperOperator& op = (*found)[i];
      const Fields fields(expected[i], problem_);
      compare_discrete("operator", std::string(op.name), fields.text("name"));
      for (const Named<O>& field : kOperatorFields) {
        const double total = field.key[0] == 't' ? op.forward.time.value : op.activations.value;
        compare(fmt::format("{} {}", op.name, field.key), field.value(op), fields.number(field.key),
                total);
      }
    }
  }

  void search(const Fields& input, const Fields& expected) {
    const PaperCase c = published::read_case(input, defects_, problem_);
    const std::int64_t gpus = input.integer("n_gpus");
    if (!problem_.empty()) return;
    const Result<PaperSearch> found = paper_search(c, gpus);
    if (!take(found)) return;
    if (expected.has("candidates")) {
      compare_discrete("candidates", found->candidates,
                       static_cast<std::uint64_t>(expected.integer("candidates")));
    }
    compare_discrete("feasible plans", found->feasible,
                     static_cast<std::uint64_t>(expected.integer("feasible")));
    if (!expected.has("t")) {
      compare_discrete("best plans", found->best.size(), std::size_t{0});
      return;
    }
    if (found->best.empty()) {
      check_.mismatches.emplace_back("a best plan expected, none found");
      return;
    }
    estimate(found->best[0].estimate, expected);
    best_plan(c, found->best[0], expected);
    fastest_times(*found, expected);
    if (expected.has("gap_to_next") && found->best.size() > 1) {
      const double first = found->best[0].estimate.time.value;
      const double gap = (found->best[1].estimate.time.value - first) / first;
      compare("1 + gap_to_next", 1 + gap, 1 + expected.number("gap_to_next"), 1);
    }
  }

  void best_plan(const PaperCase& c, const PaperCandidate& best, const Fields& expected) {
    const PaperPlan wanted = published::read_plan(expected);
    ++check_.values;
    if (best.plan == wanted) return;
    const Result<PaperEstimate> other = paper_estimate(c, wanted);
    const double time = best.estimate.time.value;
    if (other && std::abs(other->time.value - time) <= kTie * time) return;
    check_.mismatches.push_back(
        fmt::format("best plan: {} expected, {} found", text_of(wanted), text_of(best.plan)));
  }

  void fastest_times(const PaperSearch& found, const Fields& expected) {
    const Json& times = expected.array("top10_t");
    compare_discrete("fastest plans", found.best.size(), times.size());
    for (std::size_t i = 0; i < std::min(found.best.size(), times.size()); ++i) {
      if (!times[i].is_number()) continue;
      const double time = found.best[i].estimate.time.value;
      compare(fmt::format("top10_t[{}]", i), time, times[i].get<double>(), time);
    }
  }

  std::string problem_;
  Fields item_;
  PaperDefects defects_;
  bool published_;
  PaperCheck check_;
};

}  // namespace

PaperSummary summarise(const std::vector<PaperCheck>& checks, std::string_view kind) {
  PaperSummary summary;
  for (const PaperCheck& check : checks) {
    if (!kind.empty() && check.kind != kind) continue;
    if (check.failure) {
      ++summary.failures;
      continue;
    }
    ++summary.n;
    summary.values += check.values;
    summary.mismatches += check.mismatches.size();
    if (check.max_rel > summary.max_rel || std::isnan(check.max_rel)) {
      summary.max_rel = check.max_rel;
      summary.worst = check.id + ' ' + check.worst;
    }
  }
  return summary;
}

PaperSummary summarise(const PaperValidation& validation) {
  std::vector<PaperCheck> all = validation.published;
  all.insert(all.end(), validation.repaired.begin(), validation.repaired.end());
  PaperSummary summary = summarise(all);
  summary.n = summarise(validation.published).n;  // each case once
  return summary;
}

Result<PaperValidation> validate_paper_cases(std::string_view text, const std::string& where,
                                             unsigned threads) {
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("cases") || !document["cases"].is_array()) {
    return Diagnostic{ErrorCode::kBadInput, where, "is no JSON object with an array 'cases'",
                      "see include/flopcast/published/cases.h for what a file holds"};
  }
  const Json& cases = document["cases"];
  PaperValidation validation;
  validation.published.resize(cases.size());
  validation.repaired.resize(cases.size());
  parallel_for(cases.size(), threads, [&](std::size_t i) {
    validation.published[i] = Check(cases[i], PaperDefects::published(), true).run(where);
    validation.repaired[i] = Check(cases[i], PaperDefects::repaired(), false).run(where);
  });
  return validation;
}

Result<PaperValidation> validate_paper_cases(const std::filesystem::path& path, unsigned threads) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return validate_paper_cases(*text, path.string(), threads);
}

}  // namespace flopcast
