// What replicas share, as accelerate and Trainer are told: FSDP, DeepSpeed, Megatron's plug-in.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "parallel/launchers/texts.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/hugging_face.h"

namespace flopcast::parallel {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kWeightsStay = "weights stay on the chip";

/// Every name of one of FSDP's settings: of Trainer's fsdp_config, of accelerate's, of `accelerate launch`.
std::string fsdp_keys(std::string_view name) {
  return fmt::format("fsdp_config.fsdp_{0}|fsdp_config.{0}|fsdp_{0}", name);
}
std::string deepspeed_keys(std::string_view name) {
  return fmt::format("deepspeed_config.{0}|{0}", name);
}
std::string megatron_keys(std::string_view name) {
  return fmt::format("megatron_lm_config.megatron_lm_{0}|megatron_lm_{0}", name);
}
std::string parallelism_keys(std::string_view name, std::string_view others = {}) {
  return fmt::format("parallelism_config.parallelism_config_{0}|parallelism_config_{0}{1}{2}", name,
                     others.empty() ? "" : "|", others);
}

/// Whether DeepSpeed's JSON says itself in which type it trains.
bool says_precision(const ordered_json& root) {
  for (const char* type : {"bf16", "bfloat16", "fp16"}) {
    const auto section = root.find(type);
    if (section == root.end() || !section->is_object()) continue;
    const auto enabled = section->find("enabled");
    if (enabled != section->end() && *enabled == true) return true;
  }
  return false;
}

/// The configuration that DeepSpeed gets of accelerate's own words.
ordered_json deepspeed_document(SettingReader& reader) {
  ordered_json root;
  ordered_json& zero = root["zero_optimization"];
  constexpr std::int64_t kUsual = 2;
  zero["stage"] = reader.number(deepspeed_keys("zero_stage"), kUsual, "zero", 0);
  const std::string host = reader.word(deepspeed_keys("offload_optimizer_device"), "none");
  const std::string weights = reader.word(deepspeed_keys("offload_param_device"), "none");
  if (host != "none") zero["offload_optimizer"]["device"] = host;
  if (weights != "none") zero["offload_param"]["device"] = weights;
  return root;
}

}  // namespace

bool Trainer::has_section(std::string_view prefix) const {
  const std::string start = setting_key(prefix) + ".";
  return std::any_of(text_.settings.begin(), text_.settings.end(),
                     [&](const LaunchSetting& one) { return one.key.starts_with(start); });
}

void Trainer::read_degrees() {
  Plan& plan = file_.plan;
  const auto degree = [&](const std::string& keys, std::string_view setting) {
    return static_cast<unsigned>(reader_.number(keys, 1, setting));
  };
  plan.tp = degree(parallelism_keys("tp_size", "tensor_parallel_size|tp_size"), "tp");
  const unsigned ring =
      degree(parallelism_keys("cp_size", "context_parallel_size|sequence_parallel_degree"), "cp");
  const unsigned heads = degree(parallelism_keys("sp_size"), "cp");
  plan.cp = std::max(ring, heads);
  if (heads > 1) plan.context = ContextKind::kUlysses;
  const std::string passing = reader_.word(parallelism_keys("cp_comm_strategy"), "allgather");
  if (heads <= 1 && passing == "alltoall") plan.context = ContextKind::kRing;
  const unsigned replicas = degree(parallelism_keys("dp_replicate_size", "dp_replicate_size"), {});
  const std::int64_t shards =
      reader_.number(parallelism_keys("dp_shard_size", "dp_shard_size"), 1, {}, -1);
  if (replicas > 1) file_.replicas = replicas;
  if (shards > 1) plan.zero = Zero::kWeights;
}

void Trainer::read_sharding() {
  read_degrees();
  const std::string kind = name_key(reader_.word("distributed_type", ""));
  const std::string named = reader_.word("config_file", "");
  const bool megatron = kind == "megatronlm" || reader_.truth("use_megatron_lm", false);
  if (megatron) return read_megatron_plugin();
  if (read_deepspeed_parts()) return;
  if (wants_fsdp()) return read_fsdp();
  const bool configured = reader_.has("compute_environment|distributed_type");
  if (!named.empty() && !configured) {
    ask("zero", "--config_file " + named, "is not beside the file: what replicas share");
    if (!mixed_) ask("precision", "--config_file " + named, "the type of mixed precision");
  } else if (!configured && file_.plan.tp * file_.plan.cp == 1) {
    reader_.assume("every chip keeps all weights: nothing says that they are shared");
  }
}

bool Trainer::read_deepspeed_parts() {
  const std::string kind = name_key(reader_.word("distributed_type", ""));
  std::string name = reader_.word(
      "deepspeed|ds_config|deepspeed_config_file|deepspeed_config."
      "deepspeed_config_file|deepspeed_config",
      "");
  const bool switched = reader_.truth("use_deepspeed", false) || kind == "deepspeed";
  // axolotl and LLaMA-Factory may hold the whole document.
  const auto inner =
      text_.document.is_object() ? text_.document.find("deepspeed") : text_.document.end();
  const bool whole =
      text_.document.is_object() && inner != text_.document.end() && inner->is_object();
  if (name.empty() && !switched && !whole) return false;
  if (name == "false" || name == "null") return false;
  has_deepspeed_ = true;
  if (whole) {
    for (const LaunchSetting& setting : text_.settings) {
      if (setting.key.starts_with("deepspeed.")) reader_.take(setting.key);
    }
    LaunchText part{text_.where, text_.site, text_.folder, {}, document_settings(*inner),
                    *inner,      {},         {},           {}};
    const Result<PlanFile> told = read_deepspeed(part);
    if (!told) return reader_.fail(told.error()), true;
    take_deepspeed(*told, *inner);
    return true;
  }
  if (!name.empty()) return read_deepspeed_file(name), true;
  const ordered_json root = deepspeed_document(reader_);
  LaunchText part{text_.where, text_.site, {}, {}, document_settings(root), root, {}, {}, {}};
  const Result<PlanFile> told = read_deepspeed(part);
  if (!told) return reader_.fail(told.error()), true;
  take_deepspeed(*told, root);
  const std::string passes = deepspeed_keys("gradient_accumulation_steps");
  if (reader_.word(passes, "auto") != "auto") {
    file_.accumulation = reader_.number(passes, file_.accumulation);
  }
  return true;
}

void Trainer::read_deepspeed_file(const std::string& name) {
  const Result<std::optional<NamedDocument>> found = find_document(text_, name);
  if (!found) return reader_.fail(found.error());
  if (!found->has_value()) {
    ask("zero", "--deepspeed " + name, "is not beside the file: DeepSpeed's stage");
    file_.plan.fp32_gradients = false;
    return;
  }
  LaunchText part{name,           text_.site, text_.folder, {}, (*found)->settings,
                  (*found)->root, {},         {},           {}};
  const Result<PlanFile> told = read_deepspeed(part);
  if (!told) return reader_.fail(told.error());
  take_deepspeed(*told, (*found)->root);
  for (const auto& [from, to] :
       {std::pair(&told->used, &file_.used), std::pair(&told->ignored, &file_.ignored),
        std::pair(&told->unknown, &file_.unknown)}) {
    for (const std::string& words : *from) add_once(*to, fmt::format("{}: {}", name, words));
  }
}

/// DeepSpeed's own settings come from its document; what it leaves to the trainer ("auto"), from there.
void Trainer::take_deepspeed(const PlanFile& told, const ordered_json& root) {
  Plan& plan = file_.plan;
  plan.zero = told.plan.zero;
  plan.shard = told.plan.shard;
  plan.offload = told.plan.offload;
  told_ = told;
  plan.overlap.gradients = told.plan.overlap.gradients;
  plan.overlap.weights = told.plan.overlap.weights;
  if (says_precision(root)) plan.precision = told.plan.precision;
  if (told.plan.cp > 1) plan.cp = told.plan.cp, plan.context = ContextKind::kUlysses;
  if (told.plan.tp > 1) plan.tp = told.plan.tp;
  const auto types = root.find("data_types");
  const bool typed =
      types != root.end() && types->is_object() && types->contains("grad_accum_dtype");
  plan.fp32_gradients = typed && told.plan.fp32_gradients;
  deepspeed_gradients(plan, typed, file_.assumed);
  for (const std::string& words : told.unmodelled) add_once(file_.unmodelled, words);
}

void Trainer::take_deepspeed_batch() {
  if (!told_)
    return ask("micro_batch", "--micro-batch", "sequences that the script gives a chip at once");
  file_.plan.micro_batch = told_->plan.micro_batch;
  file_.plan.global_batch = told_->plan.global_batch;
  file_.plan.precision = told_->plan.precision;
  file_.accumulation = told_->accumulation;
  for (const std::string& words : told_->assumed) reader_.assume(words);
  deepspeed_gradients(file_.plan, file_.plan.fp32_gradients, file_.assumed);
}

bool Trainer::wants_fsdp() {
  const std::string kind = name_key(reader_.word("distributed_type", ""));
  const LaunchSetting* words = reader_.take("fsdp");
  const bool listed = words != nullptr && !words->first().empty() &&
                      parse_truth(words->first()).value_or(true) && words->first() != "None";
  return listed || kind == "fsdp" || reader_.truth("use_fsdp", false) ||
         (defaults_.launcher == Launcher::kAxolotl && has_section("fsdp_config")) ||
         file_.plan.zero == Zero::kWeights;
}

void Trainer::read_fsdp() {
  Plan& plan = file_.plan;
  plan.zero = Zero::kWeights;
  const std::string named = reader_.word("fsdp_config", "");
  if (!named.empty()) {
    reader_.unmodelled("fsdp_config", "is not beside the file: FSDP as it is without");
  }
  const std::int64_t version = reader_.number(fsdp_keys("version") + "|fsdp_version", 1);
  read_fsdp_strategy(version > 1);
  if (reader_.truth(fsdp_keys("activation_checkpointing"), false))
    plan.recompute = Recompute::kFull;
  if (reader_.truth(fsdp_keys("offload_params"), false)) {
    plan.offload = 100;
    reader_.unmodelled(fsdp_keys("offload_params"), kWeightsStay);
  }
  const std::string ahead = name_key(reader_.word(fsdp_keys("backward_prefetch"), ""));
  if (ahead == "noprefetch" || ahead == "none") plan.overlap.weights = false;
  reader_.truth(fsdp_keys("forward_prefetch"), false);
}

void Trainer::set_strategy(std::string_view word, std::string_view keys) {
  Plan& plan = file_.plan;
  const std::string key = name_key(word);
  const bool hybrid = key == "hybridshard" || key == "4" || key == "hybridshardzero2" || key == "5";
  const bool keeps = key == "shardgradop" || key == "2" || key == "hybridshardzero2" ||
                     key == "5" || key == "false";
  const bool known = hybrid || keeps || key == "fullshard" || key == "1" || key == "noshard" ||
                     key == "3" || key == "true";
  if (!known) {
    return reader_.refuse(keys,
                          "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD or "
                          "HYBRID_SHARD_ZERO2");
  }
  if (key == "noshard" || key == "3") plan.zero = Zero::kNone;
  plan.reshard = !keeps;
  if (!hybrid || file_.replicas > 1) return;
  if (nodes_ > 0) {
    file_.replicas = static_cast<unsigned>(nodes_);
  } else {
    reader_.unmodelled(keys, "how many nodes there are is not said: one copy of the weights");
  }
}

void Trainer::read_fsdp_strategy(bool second) {
  Plan& plan = file_.plan;
  if (second) {
    plan.reshard = reader_.truth(fsdp_keys("reshard_after_forward"), true);
    reader_.take(fsdp_keys("sharding_strategy"));
  } else {
    const std::string keys =
        fsdp_keys("sharding_strategy") + "|" + fsdp_keys("reshard_after_forward");
    set_strategy(reader_.word(keys, "FULL_SHARD"), keys);
  }
  const LaunchSetting* list = reader_.take("fsdp");
  if (list == nullptr) return;
  std::string words;
  for (const std::string& value : list->values) words += value + " ";
  for (const std::string& word : shell_words(words)) {
    if (word == "auto_wrap" || parse_truth(word)) continue;
    if (word == "offload") {
      plan.offload = 100;
      reader_.unmodelled("fsdp", kWeightsStay);
    } else {
      set_strategy(word, "fsdp");
    }
  }
}

void Trainer::read_megatron_plugin() {
  Plan& plan = file_.plan;
  const auto degree = [&](std::string_view name, std::string_view setting) {
    return static_cast<unsigned>(reader_.number(megatron_keys(name), 1, setting));
  };
  plan.tp = degree("tp_degree", "tp");
  plan.pp = degree("pp_degree", "pp");
  plan.cp = degree("context_parallel_size", "cp");
  plan.ep = degree("expert_model_parallel_size", "ep");
  plan.etp = static_cast<unsigned>(
      reader_.number(megatron_keys("expert_tensor_parallel_size"), 0, "etp", 0));
  plan.sequence_parallel =
      reader_.truth(megatron_keys("sequence_parallelism"), false) && plan.tp > 1;
  const bool shared = reader_.truth(megatron_keys("use_distributed_optimizer"), false);
  plan.zero = shared ? Zero::kOptimizer : Zero::kNone;
  file_.accumulation = reader_.number(megatron_keys("num_micro_batches"), file_.accumulation);
  if (reader_.truth(megatron_keys("recompute_activations"), false)) {
    plan.recompute = Recompute::kSelective;
  }
  if (reader_.truth(megatron_keys("optimizer_cpu_offload"), false)) plan.offload = 100;
  if (reader_.truth(megatron_keys("use_precision_aware_optimizer"), false))
    plan.split_master = true;
  file_.software = "megatron-2024";
}

}  // namespace flopcast::parallel
