#include "measured/training/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace flopcast::measured {
namespace {

using nlohmann::json;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

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

/// Where nobody tells: torchtitan compiles its runs in 8 bits and with tensor parallelism.
bool is_compiled(const json& parallel, const RunTexts& t) {
  const bool likely =
      has(t.repo, "torchtitan") && (has(t.dtype, "fp8") || count_of(parallel, "tp", 1) > 1);
  return flag_of(parallel, "compile", likely);
}

/// Whole steps compiled by XLA: frameworks on JAX, and whatever runs on chips that have no other compiler.
bool is_xla(const RunTexts& t, const TrainingRun& run) {
  static const std::regex frameworks("maxtext|jax|xla|paxml|axlearn|levanter|neuron",
                                     std::regex::icase);
  if (std::regex_search(t.framework + " " + t.repo, frameworks)) return true;
  const Result<Cluster> cluster = Catalog::builtin().cluster(run.cluster);
  const std::string architecture = cluster ? cluster->chip.architecture : std::string();
  return architecture == "tpu" || architecture == "trainium";
}

/// Megatron-Bridge's recipes of 25.09 to 26.04 (scripts/performance/configs) that send experts' rows by HybridEP or
/// DeepEP: DeepSeek's everywhere, GPT-OSS's nowhere; of Qwen3 those for racks and, where they do not hide the
/// transfers instead, B300, and the small ones since 26.02. AMD's Primus has DeepEP of its own.
bool has_flex_dispatcher(const RunTexts& t, const TrainingRun& run) {
  if (has(t.framework, "Primus")) return true;
  const std::string& model = run.model.name;
  if (!has(t.repo + t.framework, "Megatron-Bridge") || has(model, "gpt-oss")) return false;
  const bool racks = has(run.cluster, "gb200") || has(run.cluster, "gb300");
  const bool b300 = has(run.cluster, "b300") && run.plan.vpp == 1;
  constexpr int kSmallOnes = 202602;
  const bool small = t.month >= kSmallOnes && !has(model, "235b") &&
                     (run.plan.micro_batch > 1 || has(run.cluster, "h100"));
  return racks || b300 || small || has(model, "deepseek");
}

/// Whether transfers of experts run behind another microbatch's work, which Megatron-Core can since the autumn of
/// 2025: recipes for H100, and for the Qwen3-235B of boxes; those of mxfp8 since June 2026.
bool overlaps_experts(const TrainingRun& run) {
  if (run.software == "megatron" || run.software == "fsdp-te") return true;
  constexpr int kCan = 202509;
  if (!run.software.starts_with("megatron-2025") || run.month < kCan) return false;
  const bool boxes = has(run.cluster, "x b200") || has(run.cluster, "x b300");
  return has(run.cluster, "h100") || (boxes && run.plan.vpp > 1);
}

/// Megatron-Bridge's recipes of Llama overlap transfers of tensor parallelism (scripts/performance/configs/llama:
/// tp_comm_overlap), but for products in 4 bits.
bool overlaps_tensor(const RunTexts& t, const TrainingRun& run) {
  return has(t.repo, "Megatron-Bridge") && has(run.model.name, "llama") &&
         run.plan.precision != Precision::kNvfp4;
}

/// Which profile of catalog/training/constants.toml: told, or by who published the run.
std::string software_of(const RunTexts& t, bool compiled, const TrainingRun& run) {
  // FSDP around the kernels of Transformer Engine, its dispatcher DeepEP (NeMo AutoModel).
  if (has(t.framework, "FSDP") && has(t.framework, "Transformer Engine")) return "fsdp-te";
  if (!t.software.empty()) return t.software;
  if (is_xla(t, run)) return "xla";
  if (has(t.framework, "FSDP") || has(t.repo, "torchtitan") || has(t.repo, "llm-foundry")) {
    if (!compiled) return "fsdp";
    // Started by torchrun, as its report says, and not by torchtitan's script, which sets expandable segments.
    if (has(t.path, "trainy-whitefiber")) return "fsdp-compiled-segments";
    // The loss is compiled since 2025.
    return t.month > 0 && t.month < 202501 ? "fsdp-compiled-2024" : "fsdp-compiled";
  }
  if (has(t.repo, "bigscience")) return "megatron-deepspeed";
  const bool early = t.set == "sc21" || t.set == "korth" || has(t.repo, "calculon");
  if (early) return "megatron-2021";
  constexpr int kFasterExperts = 202606;  // Megatron-Bridge's container of June 2026
  if (t.month == 0 || t.month >= kFasterExperts) return "megatron";
  // The first containers for Blackwell: NeMo 25.02 to 25.07, MLPerf's round of spring 2025.
  constexpr int kFirst = 202502, kTuned = 202508;
  if (t.month >= kFirst && t.month < kTuned) return "megatron-2025-spring";
  return t.month < 202501 ? "megatron-2024" : "megatron-2025";
}

bool is_early(const std::string& software) {
  return software == "megatron-2021" || has(software, "deepspeed");
}

/// Transformer Engine trains heads of 192 and 128 (latent attention) on Blackwell in a fused kernel since cuDNN 9.11
/// (its nvte_get_fused_attn_backend). Before, scores went through memory, and recipes computed them again
/// (NVIDIA/dgxc-benchmarking: core_attn for these alone, until NeMo's container of July 2025).
bool has_latent_scores(const TrainingRun& run) {
  constexpr int kFused = 202507;
  const bool blackwell = has(run.cluster, "b200") || has(run.cluster, "b300");
  const bool latent = std::ranges::any_of(
      run.model.kinds, [](const Layer& layer) { return layer.attention.latent(); });
  return run.software == "megatron-2025-spring" && run.month < kFused && blackwell && latent;
}

std::string set_precision(const RunTexts& t, TrainingRun& run) {
  std::string text = t.dtype.substr(0, t.dtype.find(' '));
  const bool guessed = !text.empty() && text.back() == '?';
  if (guessed) text.pop_back();
  // "bf16+fp8": products are in the narrow one.
  const std::size_t second = text.find_first_of("+/");
  if (second != std::string::npos) text.erase(0, second + 1);
  if (guessed || second != std::string::npos) run.assumed.push_back("precision " + text);
  const auto precision = parse_precision(text);
  if (!precision) return fmt::format("precision '{}' is not known", t.dtype);
  run.plan.precision = *precision;
  if (has(t.dtype, "pure")) run.plan.fp32_master = run.plan.fp32_gradients = false;
  return "";
}

/// What XLA computes again under MaxText's policies with a name; 0: another policy.
std::uint8_t remat_modules(const std::string& policy) {
  constexpr std::uint8_t kAllButProducts =
      kRecomputeCoreAttention | kRecomputeNorm | kRecomputeActivation;
  if (has(policy, "minimal")) return kAllButProducts;
  const bool but_mlp = has(policy, "qkv_proj") || has(policy, "except_mlp");
  return but_mlp ? kAllButProducts | kRecomputeMlp : 0;
}

/// What those recipes compute again, where a run says that its recipe tells: GPT-OSS in 16 bits on chips with less
/// than 200 GB, DeepSeek's up-projections. 0: nothing is known.
std::uint8_t recipe_modules(const RunTexts& t, const TrainingRun& run) {
  // DGX Cloud's recipes of DeepSeek since 25.05, but where attention is not fused (deepseek_v3/pretraining/launch.sh).
  if (has(t.repo, "dgxc-benchmarking") && has(t.remarks, "recompute of the recipe")) {
    return has(run.model.name, "deepseek") ? kRecomputeLatentUp : 0;
  }
  if (!has(t.repo, "Megatron-Bridge") || !has(t.recompute, "recipe")) return 0;
  const bool large = has(run.cluster, "b300") || has(run.cluster, "mi3");
  const bool wide = run.plan.precision == Precision::kBf16;
  if (has(run.model.name, "gpt-oss") && wide && !large) {
    return kRecomputeNorm | kRecomputeActivation;
  }
  return has(run.model.name, "deepseek") ? kRecomputeLatentUp : 0;
}

void set_recompute(const RunTexts& t, TrainingRun& run) {
  Plan& plan = run.plan;
  if (has(t.recompute, "full")) {
    plan.recompute = Recompute::kFull;
  } else if (has_latent_scores(run)) {
    plan.recompute = Recompute::kSelective;
  } else if (has(t.recompute, "(op)") ||
             (has(t.repo, "torchtitan") && has(t.recompute, "selective"))) {
    // torchtitan's own choice where selective recompute has no option.
    plan.recompute = Recompute::kSelective;
    plan.recompute_modules = kRecomputeOp;
  } else if (const std::uint8_t modules =
                 run.software == "xla" ? remat_modules(t.recompute) : recipe_modules(t, run);
             modules != 0) {
    plan.recompute = Recompute::kSelective;
    plan.recompute_modules = modules;
  } else if (has(t.recompute, "selective")) {
    plan.recompute = plan.flash_attention ? Recompute::kNone : Recompute::kSelective;
    if (has(t.recompute, "?")) run.assumed.push_back("selective recompute");
  } else if (!has(t.recompute, "none")) {
    run.open.recompute = true;
    run.assumed.push_back("recompute: the least that fits");
  }
}

/// AMD's benchmarks force the routing: a token goes to so many experts in a row (Primus-Turbo, bench_permute_qwen3.py),
/// which are groups of which it uses one.
void set_routing(const RunTexts& t, TrainingRun& run) {
  if (!has(t.note, "even routing forced")) return;
  for (Layer& kind : run.model.kinds) {
    Experts& experts = kind.experts;
    if (experts.count % std::max<std::int64_t>(experts.top_k, 1) != 0) continue;
    experts.groups = experts.count / experts.top_k;
    experts.top_groups = 1;
  }
}

void set_overlap(const json& parallel, const RunTexts& texts, TrainingRun& run) {
  Overlap& overlap = run.plan.overlap;
  overlap.gradients = flag_of(parallel, "dp_overlap", !is_early(run.software));
  overlap.weights = overlap.gradients;
  overlap.tensor = flag_of(parallel, "tp_overlap", overlaps_tensor(texts, run));
  overlap.experts = overlaps_experts(run);
  overlap.pipeline = !has(run.software, "deepspeed");
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

void set_lora(const RunTexts& t, TrainingRun& run) {
  constexpr std::int64_t kRank = 16;
  if (t.task.starts_with("lora")) run.plan.lora_rank = kRank;
  run.plan.lora_mlp = run.plan.lora_rank > 0 && has(t.remarks, "LoRA on every projection");
}

/// Fine-tuning packs short documents into a sequence; attention stays inside each.
void set_documents(const RunTexts& t, TrainingRun& run) {
  constexpr std::int64_t kDocument = 512;
  if ((t.task != "sft" && t.task != "lora") || has(t.remarks, "not packed")) return;
  for (Layer& kind : run.model.kinds) kind.attention.chunk = kDocument;
  run.assumed.push_back(fmt::format("documents of {} tokens packed into a sequence", kDocument));
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

/// NeMo's recipes interleave stages of one layer wherever they cut the model.
unsigned virtual_stages(const TrainingRun& run) {
  const auto layers = static_cast<unsigned>(run.model.layers());
  const bool even = run.software == "megatron-2024" && layers % run.plan.pp == 0;
  return even ? layers / run.plan.pp : 1;
}

std::string set_degrees(const json& parallel, const RunTexts& texts, TrainingRun& run) {
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
  // Recipes of experts that are shared out leave each of them whole, but where they say otherwise; in 2024 experts
  // were cut as their layers were, and NeMo's configurations had no word for it.
  plan.etp = plan.ep > 1 ? degree("etp") : 0;
  if (run.software == "megatron-2024" && plan.etp > 0 && plan.etp != plan.tp) {
    plan.etp = plan.tp;
    run.assumed.push_back("experts cut as their layers");
  }
  plan.vpp = degree("vp");
  if (parallel.contains("vp") && parallel["vp"].is_null() && plan.pp > 1) {
    plan.vpp = virtual_stages(run);
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
  plan.context = texts.repo == "pytorch/torchtitan" ? ContextKind::kAllGather : ContextKind::kRing;
  return "";
}

}  // namespace

std::string read_run_plan(const json& parallel, const json& batch, const json& model,
                          const RunTexts& texts, TrainingRun& run) {
  run.software = software_of(texts, is_compiled(parallel, texts), run);
  if (std::string why = set_degrees(parallel, texts, run); !why.empty()) return why;
  if (std::string why = set_batch(batch, run); !why.empty()) return why;
  if (run.software == "megatron-2025" && has_flex_dispatcher(texts, run)) {
    // Primus's configuration before it fused the activation of experts with the rows' weights.
    const bool apart = has(texts.framework, "Primus") && has(texts.note, "submitted config");
    run.software = apart ? "megatron-2025-apart" : "megatron-2025-flex";
  }
  run.plan.sequence = count_of(model, "seq_len", 0);
  if (run.plan.sequence <= 0) return "no sequence length is told";
  if (std::string why = set_precision(texts, run); !why.empty()) return why;
  run.plan.flash_attention = !is_early(run.software);
  if (has_latent_scores(run)) {
    run.plan.flash_attention = false;
    run.assumed.push_back("unfused attention, computed again");
  }
  set_zero(parallel, run);
  if (run.software == "megatron-2021" && run.plan.zero == Zero::kWeights) {
    run.software = "deepspeed-2021";
  }
  // Megatron-Core's recipes for low precision add gradients up in 16 bits.
  if (run.software.starts_with("megatron") && !is_early(run.software))
    run.plan.fp32_gradients = false;
  // DeepSpeed's fp16 optimiser adds gradients up in their own type, its bf16 optimiser in fp32.
  if (run.software == "megatron-deepspeed" && run.plan.precision == Precision::kFp16)
    run.plan.fp32_gradients = false;
  // torchtitan's choice where it is not told.
  run.plan.reshard = run.plan.zero != Zero::kWeights || run.plan.pp == 1;
  set_routing(texts, run);
  set_recompute(texts, run);
  set_overlap(parallel, texts, run);
  // NeMo's recipe of DeepSeek predicts one token more (pretrain_recipe's use_mtp), and DGX Cloud's do not say otherwise.
  const bool predicts = has(texts.repo, "dgxc-benchmarking") && has(run.model.name, "deepseek-v3");
  run.plan.mtp_layers = predicts ? 1 : 0;
  set_lora(texts, run);
  set_documents(texts, run);
  return "";
}

}  // namespace flopcast::measured
