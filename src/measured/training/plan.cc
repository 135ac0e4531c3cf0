#include "measured/training/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "flopcast/parallel/names.h"
#include "measured/training/words.h"

namespace flopcast::measured {
namespace {

constexpr std::string_view kParallel = "parallel";

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

void set_overlap(RunFields& fields, const Launch& launch, Overlap& overlap) {
  const auto told = [&](const char* key, bool otherwise) {
    return fields.flag(kParallel, key).value_or(otherwise);
  };
  overlap.gradients = told("dp_overlap", launch.overlap_gradients);
  overlap.weights = overlap.gradients;
  overlap.tensor = told("tp_overlap", launch.overlap_tensor);
  overlap.experts = told("ep_overlap", launch.overlap_experts);
  overlap.pipeline = told("pp_overlap", launch.overlap_pipeline);
  overlap.context = told("cp_overlap", overlap.context);
}

/// Which part of the optimiser's state, gradients and weights replicas share. "FSDP (...)" is read by its first word.
std::string set_zero(RunFields& fields, TrainingRun& run) {
  Plan& plan = run.plan;
  const std::string told = fields.word(kParallel, {"zero"}).value_or("1");
  const std::vector<std::string_view> words = words_of(told);
  const auto zero = parse_zero(words.empty() ? "" : lower_case(words.front()));
  if (!zero) return fmt::format("parallel.zero: expected 0 to 3, found '{}'", told);
  plan.zero = *zero;
  if (says(told, "no reshard")) plan.reshard = false;
  const unsigned replicas = plan.dp * plan.cp;
  const std::int64_t fsdp = fields.count(kParallel, "fsdp", 0);
  if (fsdp > 0) plan.zero = Zero::kWeights;
  std::int64_t group = fsdp > 0 ? fsdp : fields.count(kParallel, "zero_group", 0);
  if (group <= 0) group = fields.count(kParallel, "fsdp_degree", 0);
  const std::int64_t copies = fields.count(kParallel, "zero_instances", 0);
  if (group <= 0 && copies > 0 && replicas % copies == 0) group = replicas / copies;
  if (group > 0 && group < replicas && plan.zero != Zero::kNone) {
    plan.shard = static_cast<unsigned>(group);
  }
  return "";
}

/// In which type gradients are reduced; some software adds them up in the same buffers.
void set_gradient_type(RunFields& fields, const Launch& launch, Plan& plan) {
  const auto told = fields.word(kParallel, {"gradient_type", "grad_reduce_dtype", "grad_dtype"});
  const std::optional<bool> wide = fields.flag(kParallel, "grad_reduce_in_fp32");
  if (!told && !wide) return;
  const auto type = told ? parse_gradient_type(lower_case(*told))
                         : std::optional(*wide ? GradientType::kFp32 : GradientType::kBf16);
  if (!type) {
    return fields.unmodelled(kParallel, "gradient_type", *told,
                             "the type in which gradients are added up is taken");
  }
  plan.gradient_type = *type;
  const bool added = launch.sums_as_reduced && *type != GradientType::kSummed;
  if (added && plan.zero != Zero::kWeights) plan.fp32_gradients = *type == GradientType::kFp32;
}

/// How chips that share a sequence exchange keys and values.
void set_context(RunFields& fields, Plan& plan) {
  const auto told = fields.word(kParallel, {"cp_comm_type", "context"});
  if (!told) return;
  const std::string word = lower_case(*told);
  const auto kind =
      parse_context_kind(word == "all-gather" || word == "allgather" ? "all_gather" : word);
  if (kind) plan.context = *kind;
  if (!kind && word.find("p2p") != std::string::npos) plan.context = ContextKind::kRing;
  if (!kind) {
    fields.unmodelled(kParallel, "cp_comm_type", *told,
                      fmt::format("{} is taken", name(plan.context)));
  }
}

void set_dispatcher(RunFields& fields, Plan& plan) {
  const auto told =
      fields.word(kParallel, {"dispatcher", "moe_token_dispatcher_type", "moe_dispatcher"});
  if (!told) return;
  const auto kind = parse_dispatcher(lower_case(*told));
  if (kind) plan.dispatcher = *kind;
  if (!kind) fields.unmodelled(kParallel, "dispatcher", *told, "the software's is taken");
}

/// Whether passes are replayed from CUDA graphs. Megatron-Core names an implementation, or what is inside.
void set_graphs(RunFields& fields, Plan& plan) {
  const auto told = fields.word(kParallel, {"cuda_graph", "cuda_graph_impl", "cuda_graphs"});
  if (!told) return;
  const std::string word = lower_case(*told);
  constexpr std::array<std::string_view, 4> kNone = {"false", "none", "off", "0"};
  constexpr std::array<std::string_view, 7> kLayers = {
      "true", "on", "1", "layers", "local", "full", "transformer_engine"};
  const auto among = [&](const auto& list) { return std::ranges::find(list, word) != list.end(); };
  plan.cuda_graph = !among(kNone);
  if (plan.cuda_graph && !among(kLayers)) {
    fields.unmodelled(kParallel, "cuda_graph", *told, "graphs of whole layers are taken");
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

/// Whether what is told as the microbatch is the batch of a replica, which the pipeline cuts into as many as it has stages.
bool cut_by_stages(TrainingRun& run) {
  Plan& plan = run.plan;
  const std::int64_t stages = std::int64_t{plan.pp} * plan.vpp;
  const std::int64_t of_replica = plan.global_batch / std::max(1U, plan.dp);
  if (of_replica < stages || of_replica % stages != 0) return false;
  const std::int64_t cut = of_replica / stages;
  if (plan.micro_batch > 0 && plan.micro_batch <= cut) return false;
  plan.micro_batch = cut;
  run.assumed.push_back(
      fmt::format("microbatch {}: a batch of {} cut into as many as stages", cut, of_replica));
  return true;
}

/// Microbatch, from the batch of a replica where it is not told.
std::string set_batch(RunFields& fields, const Launch& launch, TrainingRun& run) {
  Plan& plan = run.plan;
  plan.global_batch = fields.count("batch", "gbs", 0);
  if (plan.global_batch <= 0) return "no global batch is told";
  const std::int64_t accumulation = fields.count("batch", "ga", 0);
  plan.micro_batch = fields.count("batch", "mbs", 0);
  if (run.open.layout) {
    run.open.accumulation = accumulation;
    return "";
  }
  if (launch.batch_by_stages && accumulation <= 1 && cut_by_stages(run)) return "";
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

std::string set_degrees(RunFields& fields, const Launch& launch, TrainingRun& run) {
  Plan& plan = run.plan;
  if (fields.part(kParallel).empty() && run.quality == 'C') {
    run.open.layout = true;
    run.assumed.push_back("layout: the fastest plan");
    plan.dp = run.chips;
    return "";
  }
  for (const char* key : {"tp", "pp"}) {
    if (fields.count(kParallel, key, 0) <= 0) run.assumed.push_back(fmt::format("{} 1", key));
  }
  const auto degree = [&](const char* key) {
    return static_cast<unsigned>(std::max<std::int64_t>(1, fields.count(kParallel, key, 1)));
  };
  plan.tp = degree("tp"), plan.pp = degree("pp"), plan.cp = degree("cp"), plan.ep = degree("ep");
  // Recipes of experts that are shared out leave each of them whole, but where they say otherwise.
  plan.etp = plan.ep > 1 ? degree("etp") : 0;
  if (launch.experts_as_layers && plan.etp > 0 && plan.etp != plan.tp) {
    plan.etp = plan.tp;
    run.assumed.push_back("experts cut as their layers");
  }
  plan.vpp = degree("vp");
  const nlohmann::json& parallel = fields.part(kParallel);
  if (parallel.contains("vp") && parallel["vp"].is_null() && plan.pp > 1) {
    plan.vpp = virtual_stages(launch, run);
    run.assumed.push_back(fmt::format("{} virtual stages a chip", plan.vpp));
  }
  if (plan.vpp > 1) plan.schedule = ScheduleKind::kInterleaved;
  const unsigned shape = plan.tp * plan.pp * plan.cp;
  const std::int64_t dp = fields.count(kParallel, "dp", 0);
  plan.dp = dp > 0 ? static_cast<unsigned>(dp) : run.chips / std::max(1U, shape);
  if (plan.chips() != run.chips) {
    return fmt::format("tp x pp x cp x dp is {}, the run has {} chips", plan.chips(), run.chips);
  }
  plan.sequence_parallel = fields.flag(kParallel, "sp").value_or(false) && plan.tp > 1;
  plan.context = launch.context;
  return "";
}

/// What the run says of its launch, over what rules take.
void set_told(RunFields& fields, const Launch& launch, Plan& plan) {
  set_context(fields, plan);
  set_dispatcher(fields, plan);
  set_gradient_type(fields, launch, plan);
  set_graphs(fields, plan);
}

void take_plan(const Plan& plan, LaunchFacts& facts) {
  facts.tp = plan.tp, facts.pp = plan.pp, facts.vpp = plan.vpp;
  facts.micro_batch = plan.micro_batch;
  facts.zero = static_cast<std::int64_t>(plan.zero);
}

}  // namespace

std::string read_run_plan(RunFields& fields, const RunTexts& texts, const Chip& chip,
                          const LaunchRules& rules, TrainingRun& run) {
  const ToldPrecision precision = precision_in(texts.dtype);
  const std::int64_t tp = fields.count(kParallel, "tp", 1), pp = fields.count(kParallel, "pp", 1);
  LaunchFacts facts{&run.model, &chip, precision.precision, false, tp, pp};
  facts.compiled = fields.flag(kParallel, "compile").value_or(rules.compiled(texts, facts));
  Launch launch;
  launch.software = rules.software(texts, facts);
  rules.put_layout(texts, facts, launch);
  Plan& plan = run.plan;
  if (std::string why = set_degrees(fields, launch, run); !why.empty()) return why;
  if (std::string why = set_batch(fields, launch, run); !why.empty()) return why;
  plan.sequence = fields.count("model", "seq_len", 0);
  if (plan.sequence <= 0) return "no sequence length is told";
  if (std::string why = set_precision(precision, texts, run); !why.empty()) return why;
  if (std::string why = set_zero(fields, run); !why.empty()) return why;
  take_plan(plan, facts);
  rules.put_launch(texts, facts, launch);
  run.software = launch.software;
  run.memory_reserved = launch.memory_reserved;
  run.assumed.insert(run.assumed.end(), launch.assumed.begin(), launch.assumed.end());
  plan.flash_attention = launch.flash_attention;
  plan.fp32_gradients = plan.fp32_gradients && launch.fp32_gradients;
  plan.reshard = plan.reshard && launch.reshard;
  if (launch.forced_routing) force_routing(run.model);
  set_recompute(texts, launch, run);
  set_overlap(fields, launch, plan.overlap);
  set_told(fields, launch, plan);
  set_task(launch, run);
  return "";
}

}  // namespace flopcast::measured
