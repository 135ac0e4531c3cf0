// From settings to a search for a fleet.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/counts.h"
#include "base/text/format.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/question/serve_plan.h"
#include "question/serve/values.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

constexpr auto kServePlanSettings = std::to_array<ServeSetting>({
    {"engine", "LIST", "Of vllm, sglang and trtllm; all if not given", ServeTopic::kDeployment},
    {"tp", "LIST", "Tensor-parallel chips of a replica; powers of two in a node if not given",
     ServeTopic::kDeployment},
    {"dp", "LIST", "Data-parallel ranks of attention; powers of two if not given",
     ServeTopic::kDeployment},
    {"ep", "LIST", "Chips that share the experts out; 1 and all if not given",
     ServeTopic::kDeployment},
    {"pp", "LIST", "Pipeline stages; powers of two if not given", ServeTopic::kDeployment},
    {"precision", "LIST",
     "Of the weights; what the chips multiply in of bf16, fp8 and fp4 if not given",
     ServeTopic::kDeployment},
    {"pools", "aggregated|disaggregated|both",
     "Whether prompts are computed apart; aggregated if not given", ServeTopic::kPools},
    {"chips", "N", "The most to use; all of the cluster if not given", ServeTopic::kFleet},
    {"batch_tokens", "LIST", "Tokens of an iteration; 1024 to 16384, doubled, if not given",
     ServeTopic::kEngine},
    {"max_requests", "LIST", "Requests that run at once; the engine's own if not given",
     ServeTopic::kEngine},
    {"router", "least-loaded|round-robin|prefix-aware",
     "Who gets the next request; least-loaded if not given", ServeTopic::kFleet},
    {"slo", "LIMITS", "What must hold: \"ttft.p99<1s,tpot.p99<50ms\"", ServeTopic::kJudgement},
    {"price", "USD", "What an hour of one chip costs; of several clusters a list, one for each",
     ServeTopic::kJudgement},
    {"front", "", "Every fleet that none surpasses in cost, TTFT and TPOT, not the smallest alone",
     ServeTopic::kJudgement},
    {"best", "N", "Fleets to tell; 10 if not given", ServeTopic::kJudgement},
});

/// The texts between commas, without blanks.
std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    items.push_back(trim(list.substr(0, comma)));
    if (comma == list.size()) return items;
    list.remove_prefix(comma + 1);
  }
}

/// Settings of the search, looked up and read one by one; the first that is wrong is kept.
class PlanValues {
 public:
  explicit PlanValues(const ServeSettings& given) : given_(given) {}
  const std::optional<Diagnostic>& problem() const { return problem_; }
  void wrong(std::string_view name, std::string what, std::string hint) {
    if (!problem_) problem_ = usage_error(name, std::move(what), std::move(hint));
  }
  void wrong(std::string_view name, const Diagnostic& error) {
    wrong(name, error.what, error.hint);
  }

  const std::string* last(std::string_view name) const {
    const std::string* found = nullptr;
    for (const auto& [key, value] : given_) {
      if (key == name) found = &value;
    }
    return found;
  }
  template <typename Whole>
  void wholes(std::string_view name, std::vector<Whole>& out) {
    const std::string* text = last(name);
    if (text == nullptr) return;
    for (const std::string_view item : items_of(*text)) {
      const auto counted = name == "batch_tokens" ? parse_tokens(item) : parse_whole(item);
      const auto value = counted ? parse_whole<Whole>(std::to_string(*counted)) : std::nullopt;
      if (!value || *value < 1) {
        return wrong(name, fmt::format("expected whole numbers from 1, found '{}'", item),
                     "write them like 1,2,4");
      }
      if (std::ranges::find(out, *value) == out.end()) out.push_back(*value);
    }
  }
  template <typename Whole>
  void whole(std::string_view name, Whole& out) {
    std::vector<Whole> list;
    wholes(name, list);
    if (list.size() > 1) return wrong(name, "takes one number", "leave the others out");
    if (!list.empty()) out = list.front();
  }

 private:
  const ServeSettings& given_;
  std::optional<Diagnostic> problem_;
};

void read_engines(PlanValues& values, std::vector<ServingEngine>& out) {
  const std::string* text = values.last("engine");
  if (text == nullptr) return;
  for (const std::string_view item : items_of(*text)) {
    const auto engine = parse_serving_engine(item);
    if (!engine) {
      return values.wrong("engine", fmt::format("there is no engine '{}'", item),
                          "there are vllm, sglang and trtllm");
    }
    if (std::ranges::find(out, *engine) == out.end()) out.push_back(*engine);
  }
}

void read_precisions(PlanValues& values, std::vector<std::string>& out) {
  const std::string* text = values.last("precision");
  if (text == nullptr) return;
  for (const std::string_view item : items_of(*text)) {
    if (std::ranges::find(out, item) == out.end()) out.emplace_back(item);
  }
}

void read_pools(PlanValues& values, FleetSpace& space) {
  const std::string* text = values.last("pools");
  if (text == nullptr) return;
  const std::string key = name_key(*text);
  if (key != "aggregated" && key != "disaggregated" && key != "both") {
    return values.wrong("pools", fmt::format("there is no choice '{}'", *text),
                        "there are aggregated, disaggregated and both");
  }
  space.aggregated = key != "disaggregated";
  space.disaggregated = key != "aggregated";
}

void read_space(PlanValues& values, FleetSpace& space) {
  read_engines(values, space.engines);
  read_precisions(values, space.precisions);
  read_pools(values, space);
  values.wholes("tp", space.tp);
  values.wholes("dp", space.dp);
  values.wholes("ep", space.ep);
  values.wholes("pp", space.pp);
  values.wholes("batch_tokens", space.batch_tokens);
  values.wholes("max_requests", space.max_requests);
  values.whole("chips", space.most_chips);
}

void read_price(PlanValues& values, double& out) {
  const std::string* text = values.last("price");
  if (text == nullptr) return;
  const auto price = parse_number(*text);
  if (!price || !(*price >= 0)) {
    return values.wrong("price", fmt::format("expected USD, found '{}'", *text),
                        "give what an hour of one chip costs");
  }
  out = *price;
}

void read_aim(PlanValues& values, ServePlanQuestion& question) {
  FleetSearch& search = question.search;
  if (const std::string* text = values.last("router")) {
    const auto router = parse_router(*text);
    if (!router) {
      return values.wrong("router", fmt::format("there is no router '{}'", *text),
                          "there are least-loaded, round-robin and prefix-aware");
    }
    search.router = *router;
  }
  if (const std::string* text = values.last("front")) {
    const auto front = flag_from(*text);
    if (!front) return values.wrong("front", fmt::format("found '{}'", *text), "true or false");
    search.front = *front;
  }
  values.whole("best", search.best);
  read_price(values, search.chip_usd_per_hour);
  const std::string* slo = values.last("slo");
  if (slo == nullptr) {
    if (search.front) return;
    return values.wrong("slo", "is missing: what the fleet must hold is not told",
                        "write it like \"ttft.p99<1s,tpot.p99<50ms\"");
  }
  Result<std::vector<ServiceLimit>> limits = parse_service_limits(*slo);
  if (!limits) return values.wrong("slo", limits.error());
  search.limits = std::move(*limits);
  question.slo = *slo;
}

/// Settings of who asks, under their own names, and the rest.
struct SplitSettings {
  ServeSettings load, plan;
};
Result<SplitSettings> split_settings(const ServeSettings& settings) {
  SplitSettings split;
  std::vector<std::string> known;
  for (const ServeSetting& one : serve_settings()) {
    if (one.topic == ServeTopic::kLoad) known.emplace_back(one.name);
  }
  const std::size_t loads = known.size();
  for (const ServeSetting& one : serve_plan_settings()) known.emplace_back(one.name);
  for (const auto& [key, value] : settings) {
    std::string name = key;
    std::ranges::replace(name, '-', '_');
    const auto found = std::ranges::find(known, name);
    if (found == known.end()) {
      return usage_error(key, "is no setting of a search for a fleet",
                         did_you_mean(name, known, "flopcast serve-plan --help has every setting"));
    }
    const bool load = static_cast<std::size_t>(found - known.begin()) < loads;
    (load ? split.load : split.plan).emplace_back(std::move(name), value);
  }
  return split;
}

}  // namespace

std::span<const ServeSetting> serve_plan_settings() { return kServePlanSettings; }

Result<ServePlanQuestion> make_serve_plan_question(const std::string& model,
                                                   const std::string& cluster,
                                                   const ServeSettings& settings,
                                                   const Catalog& catalog) {
  ServePlanQuestion question;
  question.model = model;
  question.cluster = cluster;
  question.settings = settings;
  Result<Model> known = load_model(model);
  if (!known) return known.error();
  Result<Cluster> machine = catalog.cluster(cluster);
  if (!machine) return machine.error();
  constexpr std::array kOfMachines = {FitKind::kNetwork, FitKind::kKernels, FitKind::kConstants};
  // Measured points hold for one deployment, and others are searched.
  if (auto unused = unused_fit(*machine, kOfMachines, "a search of fleets")) return *unused;
  question.assumed = known->notes;
  question.search.model = std::move(*known);
  question.search.cluster = std::move(*machine);
  const Result<SplitSettings> split = split_settings(settings);
  if (!split) return split.error();
  PlanValues plan(split->plan);
  read_space(plan, question.search.space);
  read_aim(plan, question);
  if (plan.problem()) return *plan.problem();
  std::vector<ServingEngine> engines = question.search.space.engines;
  if (engines.empty()) {
    engines = {ServingEngine::kVllm, ServingEngine::kSglang, ServingEngine::kTensorRtLlm};
  }
  for (const ServingEngine engine : engines) {
    if (auto problem = own_constants_problem(question.search.cluster, engine)) return *problem;
  }
  ServeValues load(split->load);
  if (!load.problem()) {
    question.search.workload = read_load(load, question.trace_name, question.assumed);
    fit_lengths(load, question.search.model, question.search.workload, question.assumed);
  }
  if (load.problem()) return *load.problem();
  return question;
}

Result<std::vector<ServePlanQuestion>> make_serve_plan_questions(
    const std::string& model, const std::vector<std::string>& clusters,
    const ServeSettings& settings, const Catalog& catalog) {
  if (clusters.empty()) return usage_error("on", "no cluster is named", "such as dgx-h100");
  const std::string* text = PlanValues(settings).last("price");
  const std::vector<std::string_view> prices =
      text ? items_of(*text) : std::vector<std::string_view>();
  if (prices.size() > 1 && prices.size() != clusters.size()) {
    return usage_error("price",
                       fmt::format("{} for {}", counted(prices.size(), "price"),
                                   counted(clusters.size(), "cluster")),
                       "give one for all, or one for each in their order");
  }
  std::vector<ServePlanQuestion> questions;
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (std::count(clusters.begin(), clusters.end(), clusters[i]) > 1) {
      return usage_error("on", fmt::format("{} is named twice", clusters[i]), "name it once");
    }
    ServeSettings own = settings;
    for (auto& [key, value] : own) {
      if (key == "price" && prices.size() > 1) value = std::string(prices[i]);
    }
    auto question = make_serve_plan_question(model, clusters[i], own, catalog);
    if (!question) return question.error();
    questions.push_back(std::move(*question));
  }
  return questions;
}

}  // namespace flopcast
