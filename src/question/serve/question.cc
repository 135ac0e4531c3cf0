// From settings to a question: a fleet on a cluster, and who asks it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/format.h"
#include "base/text/numbers.h"
#include "flopcast/serving/memory.h"
#include "flopcast/workload.h"
#include "question/serve/values.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

/// "2:1" as replicas that compute prompts and replicas that make answers.
std::optional<std::pair<unsigned, unsigned>> pools_of(ServeValues& values) {
  const std::string* text = values.last("disaggregated");
  if (text == nullptr) return std::nullopt;
  const std::size_t colon = text->find(':');
  const std::string_view whole = *text;
  const auto n = parse_whole<unsigned>(whole.substr(0, colon));
  const auto m =
      colon == std::string::npos ? std::nullopt : parse_whole<unsigned>(whole.substr(colon + 1));
  if (n && m && *n > 0 && *m > 0) return std::pair(*n, *m);
  values.wrong("disaggregated", fmt::format("expected N:M, found '{}'", *text),
               "such as 2:1: two replicas compute prompts, one makes the answers");
  return std::nullopt;
}

/// As many as there is room for, where nobody says how many.
void count_replicas(ServeValues& values, Fleet& fleet, unsigned chips,
                    std::vector<std::string>& assumed) {
  const unsigned each = fleet.pool.deployment.layout.chips();
  const bool told = values.has("replicas");
  fleet.pool.replicas = each == 0 ? 0 : chips / each;
  values.whole("replicas", fleet.pool.replicas, 1);
  if (!told && fleet.pool.replicas > 0) {
    assumed.push_back(fmt::format("no number of replicas given: {}, as many as the cluster holds",
                                  fleet.pool.replicas));
  }
}

void split_pools(ServeValues& values, Fleet& fleet, const std::pair<unsigned, unsigned>& counts) {
  const Deployment all = fleet.pool.deployment;
  std::vector<std::string> told_already;
  ReplicaPool decode;
  decode.deployment = read_deployment(values, "decode", all.model, all.cluster, told_already);
  decode.replicas = counts.second;
  fleet.decode = std::move(decode);
  fleet.pool.deployment = read_deployment(values, "prefill", all.model, all.cluster, told_already);
  fleet.pool.replicas = counts.first;
  if (values.has("replicas")) {
    values.wrong("replicas", "is what --disaggregated tells", "leave one of them out");
  }
}

void refuse_pool_settings(ServeValues& values) {
  for (const ServeSetting& one : serve_settings()) {
    if (one.topic == ServeTopic::kPools && values.has(one.name)) {
      values.wrong(one.name, "is of pools that are apart", "give --disaggregated N:M");
    }
  }
}

void check_chips(ServeValues& values, const Fleet& fleet, const Cluster& cluster) {
  const unsigned chips = fleet.chips();
  if (chips > 0 && chips <= cluster.chips()) return;
  const unsigned each = fleet.pool.deployment.layout.chips();
  const std::string what =
      chips == 0
          ? fmt::format("a replica takes {} chips, the cluster has {}", each, cluster.chips())
          : fmt::format("the replicas take {} chips, the cluster has {}", chips, cluster.chips());
  values.wrong(fleet.decode ? "disaggregated"
               : chips == 0 ? "tp"
                            : "replicas",
               what, "name a larger cluster with --on, or ask for fewer");
}

/// Every reason why a deployment cannot run, in one error.
std::optional<Diagnostic> deployment_problem(const Deployment& deployment) {
  const std::vector<Diagnostic> problems = deployment_problems(deployment);
  if (problems.empty()) return std::nullopt;
  if (problems.size() == 1) return problems.front();
  std::string what = fmt::format("{} reasons why it cannot run:", problems.size());
  for (const Diagnostic& problem : problems) what += "\n  " + problem.text();
  return Diagnostic{problems.front().code, "deployment", what, ""};
}

void read_judgement(ServeValues& values, ServeQuestion& question) {
  values.number("price", question.usd_per_chip_hour, 0);
  const std::string* slo = values.last("slo");
  if (slo == nullptr) return;
  const Result<std::vector<ServiceLimit>> limits = parse_service_limits(*slo);
  if (!limits) return values.wrong("slo", limits.error());
  question.limits = *limits;
  question.slo = *slo;
}

/// Prompts that fill an iteration and are not cut wait until no answer is under way.
void tell_whole_prompts(ServeQuestion& question) {
  const EngineSettings& settings = question.fleet.pool.deployment.settings;
  std::int64_t longest = question.workload.input;
  for (const ServingRequest& request : question.workload.trace.requests) {
    longest = std::max(longest, request.input);
  }
  if (settings.chunked_prefill || 2 * longest <= settings.batch_tokens) return;
  question.assumed.push_back(fmt::format(
      "prompts are not cut: one of {} tokens waits until an iteration of {} has room for all of it",
      longest, settings.batch_tokens));
}

}  // namespace

namespace question {

Result<Model> as_named(const std::string& name, Model model) {
  const NamedPrecision ends = precision_in_name(name);
  const bool built_in = !model.source.empty();
  if (ends.precision.empty() || !built_in) return model;
  const Result<ServingPrecision> precision = serving_precision(ends.precision, model);
  if (!precision) return precision.error();
  model.stored = {};
  model.stored.method = fmt::format("{}, as its name says", ends.precision);
  model.stored.attention = precision->attention;
  model.stored.dense = precision->dense;
  model.stored.experts = precision->experts;
  model.stored.head = precision->head;
  // Checkpoints in NVFP4 come with a scheme of 8 bits for keys and values; others leave them to the engine.
  if (ends.precision == "fp4" && precision->kv_cache != DataType::kBf16) {
    model.stored.kv_cache = precision->kv_cache;
  }
  return model;
}

Fleet read_fleet(ServeValues& values, const Model& model, const Cluster& cluster,
                 std::vector<std::string>& assumed) {
  Fleet fleet;
  fleet.pool.deployment = read_deployment(values, "", model, cluster, assumed);
  if (const auto counts = pools_of(values)) {
    split_pools(values, fleet, *counts);
  } else if (!values.problem()) {
    refuse_pool_settings(values);
    count_replicas(values, fleet, cluster.chips(), assumed);
  }
  if (values.problem()) return fleet;
  check_chips(values, fleet, cluster);
  if (auto problem = deployment_problem(fleet.pool.deployment)) values.wrong(*std::move(problem));
  if (fleet.decode) {
    if (auto problem = deployment_problem(fleet.decode->deployment)) {
      values.wrong(*std::move(problem));
    }
  }
  read_factors(values, fleet);
  read_fleet_parts(values, fleet);
  return fleet;
}

}  // namespace question

namespace {

/// Where the largest load is asked for and nobody says how a replica is cut: the smallest that holds the model.
void cut_replicas(ServeSettings& settings, const Model& model, const Cluster& cluster,
                  std::vector<std::string>& assumed) {
  ServeValues values(settings);
  bool rate = false, users = false;
  values.flag("max_rate", rate);
  values.flag("max_users", users);
  if (!rate && !users) return;
  for (const char* told : {"tp", "dp", "ep", "pp", "disaggregated"}) {
    if (values.has(told)) return;
  }
  std::vector<std::string> unused;
  const Deployment deployment = read_deployment(values, "", model, cluster, unused);
  if (values.problem()) return;
  const std::optional<ServingLayout> layout = smallest_layout(deployment);
  if (!layout) return;
  settings.emplace_back("tp", std::to_string(layout->tp));
  settings.emplace_back("pp", std::to_string(layout->pp));
  assumed.push_back(fmt::format(
      "no layout given: replicas of {}, the fewest that hold the model; flopcast serve-plan "
      "compares them all",
      counted(layout->chips(), "chip")));
}

}  // namespace

Result<ServeQuestion> make_serve_question(const std::string& model, const std::string& cluster,
                                          const ServeSettings& settings, const Catalog& catalog) {
  ServeQuestion question;
  question.model = model;
  question.cluster = cluster;
  question.settings = settings;
  const Result<Model> known = load_model(model);
  if (!known) return known.error();
  question.assumed = known->notes;
  const Result<Cluster> machine = catalog.cluster(cluster);
  if (!machine) return machine.error();
  Result<Model> stored = as_named(model, *known);
  if (!stored) return stored.error();
  cut_replicas(question.settings, *stored, *machine, question.assumed);
  ServeValues values(question.settings);
  if (values.problem()) return *values.problem();
  question.fleet = read_fleet(values, *stored, *machine, question.assumed);
  if (values.problem()) return *values.problem();
  read_judgement(values, question);
  question.workload = read_load(values, question.trace_name, question.largest, question.assumed);
  if (question.largest && question.limits.empty()) {
    values.wrong("slo", "is missing: within which limits the load is to be the largest",
                 "write it like \"ttft.p99<1s,tpot.p99<50ms\"");
  }
  fit_lengths(values, *known, question.workload, question.assumed);
  if (values.problem()) return *values.problem();
  tell_whole_prompts(question);
  return question;
}

Result<ServeQuestion> make_serve_question(const ServeFile& file, const Catalog& catalog) {
  Result<ServeQuestion> question =
      make_serve_question(file.model, file.cluster, file.settings, catalog);
  if (!question || !file.launch) return question;
  question->launch = file.launch;
  std::vector<std::string> taken = file.notes;
  for (const std::string& flag : file.launch->unmodelled) {
    taken.push_back(fmt::format("not modelled: {}", flag));
  }
  for (const std::string& flag : file.launch->unknown) {
    taken.push_back(fmt::format("not known, and left out: {}", flag));
  }
  question->assumed.insert(question->assumed.begin(), taken.begin(), taken.end());
  return question;
}

}  // namespace flopcast
