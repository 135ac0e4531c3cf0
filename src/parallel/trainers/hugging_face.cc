// Batches, precision, adapters and the like of launchers on Hugging Face's Trainer.
#include "parallel/trainers/hugging_face.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/parallel/names.h"
#include "parallel/shell/shell.h"
#include "parallel/trainers/documents.h"

namespace flopcast::parallel {
namespace {

/// "2", or the first of "2:4", which torchrun takes for an elastic number.
std::int64_t count_of(std::string_view text) {
  const std::int64_t count = parse_whole(text.substr(0, text.find(':'))).value_or(0);
  return count >= 1 && count <= kMostInPlan ? count : 0;
}

/// Words that name modules, apart by commas and blanks, brackets and quotes aside.
std::string module_words(const LaunchSetting& setting) {
  std::string all;
  for (const std::string& value : setting.values) all += value + " ";
  std::replace_if(
      all.begin(), all.end(),
      [](char c) { return std::string_view(",[]\"'|()").find(c) != std::string_view::npos; }, ' ');
  return all;
}

bool names_feed_forward(std::string_view words) {
  constexpr std::string_view kModules[] = {
      "gate_proj", "up_proj", "down_proj",     "fc1", "fc2",  "mlp",         "w1",
      "w2",        "w3",      "dense_h_to_4h", "all", "c_fc", "gate_up_proj"};
  return std::any_of(std::begin(kModules), std::end(kModules), [&](std::string_view module) {
    return words.find(module) != std::string_view::npos;
  });
}

/// What an optimiser keeps: which kind, bytes of all moments of a weight (0: as usual), and what it is taken as.
struct OptimizerRow {
  std::string_view word;  ///< in the key of its name
  OptimizerKind kind = OptimizerKind::kAdam;
  unsigned moment_bytes = 0;
  std::string_view instead;
};
constexpr std::string_view kAsAdam = "two moments, as Adam";
constexpr std::array kOptimizers = {
    OptimizerRow{"adafactor", OptimizerKind::kAdam, 0, kAsAdam},
    OptimizerRow{"galore", OptimizerKind::kAdam, 0, kAsAdam},
    OptimizerRow{"apollo", OptimizerKind::kAdam, 0, kAsAdam},
    OptimizerRow{"lomo", OptimizerKind::kAdam, 0, kAsAdam},
    OptimizerRow{"adamw4bit", OptimizerKind::kAdam, 1, ""},
    OptimizerRow{"adamw8bit", OptimizerKind::kAdam, 2, ""},
    OptimizerRow{"adamwbnb8bit", OptimizerKind::kAdam, 2, ""},
    OptimizerRow{"adamwtorch4bit", OptimizerKind::kAdam, 1, ""},
    OptimizerRow{"adamwtorch8bit", OptimizerKind::kAdam, 2, ""},
    OptimizerRow{"adam", OptimizerKind::kAdam, 0, ""},
    OptimizerRow{"muon", OptimizerKind::kMuon, 0, ""},
    OptimizerRow{"sgd", OptimizerKind::kSgd, 0, ""},
};

}  // namespace

Trainer::Trainer(LaunchText text, const TrainerDefaults& defaults)
    : text_(std::move(text)), defaults_(defaults), reader_(text_, file_) {
  file_.launcher = defaults_.launcher;
  Plan& plan = file_.plan;
  plan.global_batch = 0;
  plan.zero = Zero::kNone;
  plan.precision = Precision::kFp32;
  plan.context = ContextKind::kAllGather;
}

void Trainer::ask(std::string_view setting, std::string_view flag, std::string_view what) {
  const auto same = [&](const OpenSetting& open) { return open.name == setting; };
  if (std::any_of(file_.open.begin(), file_.open.end(), same)) return;
  file_.open.push_back({std::string(setting), std::string(flag), fmt::format("({})", what)});
}

void Trainer::read_chips() {
  const std::string nodes = reader_.word("nnodes|num_nodes|num_machines", "");
  const std::string per_node = reader_.word("nproc_per_node|num_gpus|gpus_per_node", "");
  const std::int64_t processes = reader_.number("num_processes", 0);
  std::int64_t chips = count_of(per_node);
  if (per_node == "auto" || per_node == "gpu") chips = text_.site.chips_per_node;
  std::int64_t machines = count_of(nodes);
  // llamafactory-cli is told by the environment.
  if (chips == 0) chips = count_of(text_.variable("NPROC_PER_NODE"));
  if (machines == 0) machines = count_of(text_.variable("NNODES"));
  chips *= std::max<std::int64_t>(machines, 1);
  if (processes > 0) chips = processes;
  if (chips > 0 && chips <= kMostInPlan) file_.chips = static_cast<unsigned>(chips);
  nodes_ = machines;
}

void Trainer::read_batch() {
  Plan& plan = file_.plan;
  plan.micro_batch = reader_.number(defaults_.batch, defaults_.batch_size, "micro_batch");
  file_.accumulation = reader_.number("gradient_accumulation_steps", 1);
  const bool own = !reader_.has(defaults_.batch) && defaults_.launcher != Launcher::kAccelerate;
  if (own) assume_own(fmt::format("{} sequences a pass", plan.micro_batch));
}

void Trainer::read_sequence() {
  Plan& plan = file_.plan;
  plan.sequence = reader_.number(defaults_.sequence, defaults_.tokens, "seq");
  if (plan.sequence == 0) {
    ask("seq", "--seq", "tokens of a sequence");
  } else if (!reader_.has(defaults_.sequence)) {
    assume_own(fmt::format("{} tokens", plan.sequence));
  }
}

/// What nothing says, and the launcher has for itself.
void Trainer::assume_own(const std::string& words) {
  reader_.assume(
      fmt::format("{}, as {} has where nothing is said", words, facts(defaults_.launcher).words));
}

void Trainer::read_precision() {
  Plan& plan = file_.plan;
  const std::string mixed = reader_.word("mixed_precision", "");
  // accelerate's type holds where the trainer has none.
  const bool fp16 = reader_.truth("fp16", mixed == "fp16" && !defaults_.bf16);
  const bool bf16 = !fp16 && (reader_.truth("bf16", defaults_.bf16) || mixed == "bf16");
  const bool tf32 = reader_.truth("tf32", false);
  const std::string weights = name_key(reader_.word("torch_dtype|dtype|model_dtype", ""));
  constexpr std::string_view kMixed[] = {"", "no", "fp16", "bf16", "fp8"};
  if (std::find(std::begin(kMixed), std::end(kMixed), mixed) == std::end(kMixed)) {
    reader_.refuse("mixed_precision", "no, fp16, bf16 or fp8");
  }
  mixed_ = fp16 || bf16 || mixed == "fp8";
  plan.precision = tf32 ? Precision::kTf32 : Precision::kFp32;
  if (fp16) plan.precision = Precision::kFp16;
  if (bf16) plan.precision = Precision::kBf16;
  if (mixed == "fp8") {
    plan.precision = Precision::kFp8;
    plan.fp8_gather = reader_.truth(
        "fp8_config.enable_fsdp_float8_all_gather|fp8_enable_fsdp_float8_all_gather", false);
  }
  untyped_ = weights.empty() && !reader_.has("load_in_4bit|load_in_8bit|quantization_bit");
  const bool half = weights == "float16" || weights == "fp16" || weights == "half";
  const bool brain = weights == "bfloat16" || weights == "bf16" || weights == "auto";
  if (weights == "auto")
    reader_.assume("weights of the type \"auto\": bf16, as most checkpoints have");
  if (!half && !brain) return;
  set_pure();
  if (!mixed_) plan.precision = half ? Precision::kFp16 : Precision::kBf16;
}

void Trainer::read_recompute() {
  if (reader_.truth("gradient_checkpointing", defaults_.checkpointing)) {
    file_.plan.recompute = Recompute::kFull;
  }
  const bool own = defaults_.checkpointing &&
                   !reader_.has("gradient_checkpointing|disable_gradient_checkpointing");
  if (own) assume_own("whole layers are computed again");
}

void Trainer::read_attention() {
  const std::string attention = reader_.word("attn_implementation|_attn_implementation", "sdpa");
  if (attention == "eager") file_.plan.flash_attention = false;
  reader_.take("use_flash_attn|use_flash_attention|use_flash_attention_2");  // else PyTorch's own
}

void Trainer::read_optimizer() {
  const std::string word = reader_.word(defaults_.optimizer, "adamw_torch");
  const std::string key = name_key(word);
  if (reader_.truth("adafactor", false)) reader_.unmodelled("adafactor", kAsAdam);
  for (const OptimizerRow& row : kOptimizers) {
    if (key.find(row.word) == std::string::npos) continue;
    file_.plan.optimizer = row.kind;
    file_.plan.moment_bytes = row.moment_bytes;
    if (!row.instead.empty()) reader_.unmodelled(defaults_.optimizer, row.instead);
    return;
  }
  reader_.unmodelled(defaults_.optimizer, kAsAdam);
}

void Trainer::read_model() {
  const std::string name = reader_.word(defaults_.model, "");
  if (!name.empty()) file_.model.name = name;
}

void Trainer::read_adapters(bool wanted, std::int64_t rank) {
  const std::int64_t said = reader_.number(defaults_.rank, rank);
  const LaunchSetting* targets = reader_.take(defaults_.targets);
  const bool linear = reader_.truth("lora_target_linear", false);
  if (!wanted) return;
  file_.plan.lora_rank = said;
  file_.plan.lora_mlp =
      linear || (targets != nullptr && names_feed_forward(module_words(*targets)));
}

void Trainer::read_quantised() {
  constexpr std::string_view kInstead = "weights of 16 bits on the chip";
  for (const std::string_view key : {"load_in_4bit", "load_in_8bit"}) {
    if (reader_.truth(key, false)) reader_.unmodelled(key, kInstead);
  }
  for (const std::string_view key : {"quantization_bit", "bits"}) {
    const std::string bits = reader_.word(key, "16");
    if (bits == "4" || bits == "8") reader_.unmodelled(key, kInstead);
  }
  for (const std::string_view key : {"q_lora", "use_qlora"}) {
    if (reader_.truth(key, false)) reader_.unmodelled(key, kInstead);
  }
}

void Trainer::read_compiled() {
  const std::string dynamo =
      name_key(reader_.word("dynamo_config.dynamo_backend|dynamo_backend", "no"));
  const std::string word = reader_.word("torch_compile", "false");
  const bool compiled = word == "auto" || parse_truth(word).value_or(false) ||
                        (reader_.has("torch_compile") && word.empty());
  if (compiled || dynamo == "inductor") file_.software = "fsdp-compiled";
}

void Trainer::read_common() {
  read_chips();
  read_batch();
  read_sequence();
  read_precision();
  read_recompute();
  read_attention();
  read_optimizer();
  read_model();
  read_quantised();
  read_compiled();
  read_sharding();
}

/// Of a model that no type is said for, as transformers loads it. DeepSpeed and LLaMA-Factory cast it.
void Trainer::note_weights() {
  const bool own =
      defaults_.launcher == Launcher::kHfTrainer || defaults_.launcher == Launcher::kTrl;
  if (!own || !untyped_ || has_deepspeed_) return;
  reader_.assume("weights are loaded in fp32, as where a script names no type");
  if (file_.plan.lora_rank > 0 && mixed_) {
    add_once(file_.unmodelled, "frozen weights in fp32: 16 bits on the chip");
  }
}

Result<PlanFile> Trainer::finish() {
  Plan& plan = file_.plan;
  // Without an upcast (FSDP's) or an optimiser with weights of its own (DeepSpeed's) nothing is kept in 32 bits.
  if (pure_ && !has_deepspeed_ && !(plan.zero == Zero::kWeights && mixed_)) {
    plan.fp32_master = plan.fp32_gradients = false;
  }
  // Eager PyTorch; no profile is one of today's DeepSpeed.
  if (file_.software.empty() && !has_deepspeed_) file_.software = "fsdp";
  if (has_deepspeed_) file_.software.clear();
  note_weights();
  if (auto problem = reader_.finish(LauncherNames::of(defaults_.launcher))) return *problem;
  return std::move(file_);
}

Result<LaunchText> with_documents(LaunchText text, std::string_view recipe_flags) {
  // accelerate's own stands ahead of the script: the recipe's names count more.
  const bool starts =
      std::any_of(text.words.begin(), text.words.end(), [](const std::string& word) {
        return word == "accelerate" || word.ends_with("/accelerate");
      });
  if (recipe_flags.empty() == false) {
    if (auto problem = open_document(text, recipe_flags)) return *problem;
  }
  if (!starts) return text;
  const std::string name(value_of(text.settings, "config-file"));
  const Result<std::optional<NamedDocument>> found = find_document(text, name);
  if (!found) return found.error();
  if (found->has_value()) put_ahead(text, **found);
  return text;
}

}  // namespace flopcast::parallel
