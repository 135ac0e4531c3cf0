#include "measured/training/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "measured/training/words.h"

namespace flopcast::measured {
namespace {

using nlohmann::json;

/// A whole number; `otherwise` where it is missing or null.
std::int64_t count_of(const json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return otherwise;
  return static_cast<std::int64_t>(found->get<double>());
}

bool flag_of(const json& object, const char* key, bool otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

/// What products are in, in a run's words.
struct ToldPrecision {
  std::string text;
  bool assumed = false;  ///< guessed, or one of two
  std::optional<Precision> precision;
};

ToldPrecision precision_in(const std::string& dtype) {
  ToldPrecision told{dtype.substr(0, dtype.find(' ')), false, std::nullopt};
  const bool guessed = !told.text.empty() && told.text.back() == '?';
  if (guessed) told.text.pop_back();
  // "bf16+fp8": products are in the narrow one.
  const std::size_t second = told.text.find_first_of("+/");
  if (second != std::string::npos) told.text.erase(0, second + 1);
  told.assumed = guessed || second != std::string::npos;
  told.precision = parse_precision(told.text);
  return told;
}

std::string set_precision(const ToldPrecision& told, const RunTexts& t, TrainingRun& run) {
  if (told.assumed) run.assumed.push_back("precision " + told.text);
  if (!told.precision) return fmt::format("precision '{}' is not known", t.dtype);
  run.plan.precision = *told.precision;
  if (t.dtype.find("pure") != std::string::npos) {
    run.plan.fp32_master = run.plan.fp32_gradients = false;
  }
  return "";
}

void set_recompute(const RunTexts& t, const Launch& launch, TrainingRun& run) {
  Plan& plan = run.plan;
  if (says(t.recompute, "full")) {
    plan.recompute = Recompute::kFull;
  } else if (launch.recompute != 0) {
    plan.recompute = Recompute::kSelective;
    plan.recompute_modules = launch.recompute;
  } else if (says(t.recompute, "selective")) {
    plan.recompute = plan.flash_attention ? Recompute::kNone : Recompute::kSelective;
    if (t.recompute.find('?') != std::string::npos) run.assumed.push_back("selective recompute");
  } else if (!says(t.recompute, "none")) {
    run.open.recompute = true;
    run.assumed.push_back("recompute: the least that fits");
  }
}

/// A token goes to so many experts in a row, which are groups of which it uses one.
void force_routing(Model& model) {
  for (Layer& kind : model.kinds) {
    Experts& experts = kind.experts;
    if (experts.count % std::max<std::int64_t>(experts.top_k, 1) != 0) continue;
    experts.groups = experts.count / experts.top_k;
    experts.top_groups = 1;
  }
}

void set_overlap(const json& parallel, const Launch& launch, Overlap& overlap) {
  overlap.gradients = flag_of(parallel, "dp_overlap", launch.overlap_gradients);
  overlap.weights = overlap.gradients;
  overlap.tensor = flag_of(parallel, "tp_overlap", launch.overlap_tensor);
  overlap.experts = launch.overlap_experts;
  overlap.pipeline = launch.overlap_pipeline;
}

void set_zero(const json& parallel, TrainingRun& run) {
  Plan& plan = run.plan;
  const std::int64_t zero = std::clamp<std::int64_t>(count_of(parallel, "zero", 1), 0, 3);
  plan.zero = static_cast<Zero>(zero);
  const auto fsdp = count_of(parallel, "fsdp", 0);
  if (fsdp > 0) {
    plan.zero = Zero::kWeights;
    if (fsdp < plan.dp) plan.shard = static_cast<unsigned>(fsdp);
  }
}

/// What is trained, and on what.
void set_task(const Launch& launch, TrainingRun& run) {
  run.plan.mtp_layers = launch.mtp_layers;
  run.plan.lora_rank = launch.lora_rank;
  run.plan.lora_mlp = run.plan.lora_rank > 0 && launch.lora_mlp;
  if (launch.document_tokens == 0) return;
  for (Layer& kind : run.model.kinds) kind.attention.chunk = launch.document_tokens;
  run.assumed.push_back(
      fmt::format("documents of {} tokens packed into a sequence", launch.document_tokens));
}

/// Microbatch, from the batch of a replica where it is not told.
std::string set_batch(const json& batch, TrainingRun& run) {
  Plan& plan = run.plan;
  plan.global_batch = count_of(batch, "gbs", 0);
  if (plan.global_batch <= 0) return "no global batch is told";
  const std::int64_t accumulation = count_of(batch, "ga", 0);
  plan.micro_batch = count_of(batch, "mbs", 0);
  if (run.open.layout) {
    run.open.accumulation = accumulation;
    return "";
  }
  if (plan.micro_batch == 0 && accumulation == 0) {
    run.open.micro_batch = true;
    run.assumed.push_back("microbatch: that of the fastest step that fits");
    plan.micro_batch = 1;
  }
  if (plan.micro_batch == 0 && accumulation > 0) {
    plan.micro_batch = plan.global_batch / (plan.dp * accumulation);
    run.assumed.push_back(fmt::format("microbatch {}", plan.micro_batch));
  }
  return "";
}

unsigned virtual_stages(const Launch& launch, const TrainingRun& run) {
  const auto layers = static_cast<unsigned>(run.model.layers());
  const bool even = launch.stages_of_one_layer && layers % run.plan.pp == 0;
  return even ? layers / run.plan.pp : 1;
}

std::string set_degrees(const json& parallel, const Launch& launch, TrainingRun& run) {
  Plan& plan = run.plan;
  if (parallel.empty() && run.quality == 'C') {
    run.open.layout = true;
    run.assumed.push_back("layout: the fastest plan");
    plan.dp = run.chips;
    return "";
  }
  for (const char* key : {"tp", "pp"}) {
    if (count_of(parallel, key, 0) <= 0) run.assumed.push_back(fmt::format("{} 1", key));
  }
  const auto degree = [&](const char* key) {
    return static_cast<unsigned>(std::max<std::int64_t>(1, count_of(parallel, key, 1)));
  };
  plan.tp = degree("tp"), plan.pp = degree("pp"), plan.cp = degree("cp"), plan.ep = degree("ep");
  // Recipes of experts that are shared out leave each of them whole, but where they say otherwise.
  plan.etp = plan.ep > 1 ? degree("etp") : 0;
  if (launch.experts_as_layers && plan.etp > 0 && plan.etp != plan.tp) {
    plan.etp = plan.tp;
    run.assumed.push_back("experts cut as their layers");
  }
  plan.vpp = degree("vp");
  if (parallel.contains("vp") && parallel["vp"].is_null() && plan.pp > 1) {
    plan.vpp = virtual_stages(launch, run);
    run.assumed.push_back(fmt::format("{} virtual stages a chip", plan.vpp));
  }
  if (plan.vpp > 1) plan.schedule = ScheduleKind::kInterleaved;
  const unsigned shape = plan.tp * plan.pp * plan.cp;
  const std::int64_t dp = count_of(parallel, "dp", 0);
  plan.dp = dp > 0 ? static_cast<unsigned>(dp) : run.chips / std::max(1U, shape);
  if (plan.chips() != run.chips) {
    return fmt::format("tp x pp x cp x dp is {}, the run has {} chips", plan.chips(), run.chips);
  }
  plan.sequence_parallel = plan.tp > 1 && flag_of(parallel, "sp", false);
  plan.context = launch.context;
  return "";
}

void take_plan(const Plan& plan, LaunchFacts& facts) {
  facts.tp = plan.tp, facts.pp = plan.pp, facts.vpp = plan.vpp;
  facts.micro_batch = plan.micro_batch;
  facts.zero = static_cast<std::int64_t>(plan.zero);
}

}  // namespace

std::string read_run_plan(const json& parallel, const json& batch, const json& model,
                          const RunTexts& texts, const Chip& chip, const LaunchRules& rules,
                          TrainingRun& run) {
  const ToldPrecision precision = precision_in(texts.dtype);
  LaunchFacts facts{&run.model, &chip, precision.precision, false, count_of(parallel, "tp", 1)};
  facts.compiled = flag_of(parallel, "compile", rules.compiled(texts, facts));
  Launch launch;
  launch.software = rules.software(texts, facts);
  rules.put_layout(texts, facts, launch);
  Plan& plan = run.plan;
  if (std::string why = set_degrees(parallel, launch, run); !why.empty()) return why;
  if (std::string why = set_batch(batch, run); !why.empty()) return why;
  plan.sequence = count_of(model, "seq_len", 0);
  if (plan.sequence <= 0) return "no sequence length is told";
  if (std::string why = set_precision(precision, texts, run); !why.empty()) return why;
  set_zero(parallel, run);
  take_plan(plan, facts);
  rules.put_launch(texts, facts, launch);
  run.software = launch.software;
  run.memory_reserved = launch.memory_reserved;
  run.assumed.insert(run.assumed.end(), launch.assumed.begin(), launch.assumed.end());
  plan.flash_attention = launch.flash_attention;
  plan.fp32_gradients = plan.fp32_gradients && launch.fp32_gradients;
  plan.reshard = launch.reshard;
  if (launch.forced_routing) force_routing(run.model);
  set_recompute(texts, launch, run);
  set_overlap(parallel, launch, plan.overlap);
  set_task(launch, run);
  return "";
}

}  // namespace flopcast::measured
