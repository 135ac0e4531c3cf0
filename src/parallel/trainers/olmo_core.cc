// OLMo-core: a configuration that a run has saved (config.json), or overrides of a script's. What the script holds in
// Python and nobody overrides is asked for.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/parallel/names.h"
#include "parallel/launch/setting_reader.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/readers.h"

namespace flopcast::parallel {
namespace {

class OlmoReader {
 public:
  explicit OlmoReader(LaunchText text) : text_(std::move(text)), reader_(text_, file_) {
    file_.launcher = Launcher::kOlmoCore;
  }

  Result<PlanFile> run() {
    chips();
    sequence();
    degrees();
    sharding();
    batch();
    types();
    recompute();
    model();
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kOlmoCore))) return *problem;
    return std::move(file_);
  }

 private:
  bool saved() const { return !text_.document.is_null(); }
  void ask(std::string_view setting, std::string_view what) {
    file_.open.push_back({std::string(setting), fmt::format("--{}", setting_key(setting)),
                          fmt::format("({}, in the script's Python)", what)});
  }
  void chips() {
    const std::int64_t chips = reader_.number("nproc_per_node", 0) * reader_.number("nnodes", 1);
    if (chips > 0 && chips <= kMostInPlan) file_.chips = static_cast<unsigned>(chips);
  }
  /// Batches are counted in tokens.
  std::int64_t tokens(std::string_view keys) {
    const LaunchSetting* found = reader_.take(keys);
    if (found == nullptr) return 0;
    std::int64_t product = 1;
    std::string_view rest = found->first();  // "2*4096"
    while (!rest.empty() && product > 0) {
      const std::string_view factor = rest.substr(0, rest.find('*'));
      rest.remove_prefix(std::min(factor.size() + 1, rest.size()));
      const std::int64_t value = parse_whole(trim(factor)).value_or(0);
      constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
      product = value > 0 && product <= kMostTokens / value ? product * value : 0;
    }
    if (product == 0) reader_.refuse(keys, "a number of tokens");
    return product;
  }

  void sequence() {
    Plan& plan = file_.plan;
    plan.sequence = reader_.number("dataset.sequence_length|sequence_length", 0, "seq", 0);
    const std::int64_t longest = reader_.number("train_module.max_sequence_length", 0, "seq", 0);
    if (plan.sequence == 0) plan.sequence = longest;
    if (plan.sequence == 0) ask("seq", "tokens of a sequence");
  }

  void degrees() {
    Plan& plan = file_.plan;
    const auto degree = [&](std::string_view name, std::string_view setting) {
      return static_cast<unsigned>(
          reader_.number(fmt::format("train_module.{}", name), 1, setting));
    };
    plan.tp = degree("tp_config.degree", "tp");
    plan.cp = degree("cp_config.degree", "cp");
    plan.pp = degree("pp_config.degree", "pp");
    plan.ep = degree("ep_config.degree", "ep");
    plan.sequence_parallel = plan.tp > 1;
    plan.overlap.tensor = reader_.truth("train_module.tp_config.enable_async", false);
    if (plan.pp == 1) return;
    const std::string_view key = "train_module.pp_config.schedule";
    const auto kind = parse_schedule_kind(reader_.word(key, "Interleaved1F1B"));
    if (!kind) return reader_.refuse(key, "1F1B, Interleaved1F1B, ZBVZeroBubble or DualPipeV");
    plan.schedule = *kind;
    const bool folded = *kind == ScheduleKind::kZeroBubbleV || *kind == ScheduleKind::kDualPipeV;
    if (folded || *kind == ScheduleKind::kInterleaved) plan.vpp = 2;
  }

  void sharding() {
    Plan& plan = file_.plan;
    const std::string_view key = "train_module.dp_config.name";
    const std::string name = reader_.word(key, "fsdp");
    if (name != "fsdp" && name != "hsdp" && name != "ddp") reader_.refuse(key, "fsdp, hsdp or ddp");
    plan.zero = name == "ddp" ? Zero::kNone : Zero::kWeights;
    const std::int64_t shards =
        reader_.number("train_module.dp_config.shard_degree", 0, "shard", 0);
    const std::int64_t copies = reader_.number("train_module.dp_config.num_replicas", 0, {}, 0);
    if (name == "hsdp" && shards > 0) {
      plan.shard = static_cast<unsigned>(shards);
    } else if (name == "hsdp" && copies > 0) {
      file_.replicas = static_cast<unsigned>(copies);
    } else if (name == "hsdp") {
      reader_.unmodelled(key, "as fsdp: how many replicas there are is not said");
    }
    plan.reshard = plan.pp == 1;
  }

  void batch() {
    Plan& plan = file_.plan;
    const std::int64_t whole = tokens("data_loader.global_batch_size|global_batch_size");
    const std::int64_t rank = tokens("train_module.rank_microbatch_size|rank_microbatch_size");
    if (whole == 0) ask("global_batch", "sequences of a step");
    if (rank == 0) ask("micro_batch", "sequences of a microbatch");
    if (plan.sequence == 0) return;
    plan.global_batch = in_sequences(whole, "data_loader.global_batch_size|global_batch_size");
    plan.micro_batch = std::max<std::int64_t>(
        in_sequences(rank, "train_module.rank_microbatch_size|rank_microbatch_size"), 1);
  }
  std::int64_t in_sequences(std::int64_t tokens, std::string_view keys) {
    if (tokens % file_.plan.sequence != 0)
      reader_.refuse(keys, "a multiple of the sequence length");
    return std::min(tokens / file_.plan.sequence, kMostInPlan);
  }

  void types() {
    Plan& plan = file_.plan;
    const std::string_view key =
        "train_module.dp_config.param_dtype|train_module.autocast_precision";
    const auto precision = parse_precision(reader_.word(key, "bfloat16"));
    if (!precision) return reader_.refuse(key, "bfloat16 or float32");
    plan.precision = *precision;
    if (!saved() && !reader_.has(key))
      reader_.assume("bf16 products, as OLMo-core's own scripts have");
    if (reader_.truth("train_module.float8_config.enabled", false))
      plan.precision = Precision::kFp8;
    const bool compiled = reader_.truth("train_module.compile_model", !saved());
    file_.software = compiled ? "fsdp-compiled" : "fsdp";
    const std::string backend = reader_.word("model.block.attention.backend", "");
    if (backend == "torch_eager") plan.flash_attention = false;
  }

  void recompute() {
    Plan& plan = file_.plan;
    const std::string_view key = "train_module.ac_config.mode";
    if (!reader_.has(key)) {
      const bool any = reader_.has("train_module.ac_config");
      if (!saved() && !any)
        reader_.assume("no layers are computed again: the script may say otherwise");
      reader_.take("train_module.ac_config");
      return;
    }
    const std::string mode = reader_.word(key, "");
    if (mode == "full") {
      plan.recompute = Recompute::kFull;
    } else if (mode == "selected_ops") {
      plan.recompute = Recompute::kSelective;
      plan.recompute_modules = kRecomputeOp;
    } else if (mode == "selected_modules") {
      modules();
    } else if (mode == "selected_blocks" || mode == "budget") {
      plan.recompute = Recompute::kFull;
      reader_.unmodelled(key, "every layer is computed again");
    } else {
      reader_.refuse(key, "full, selected_blocks, selected_modules, selected_ops or budget");
    }
    reader_.take("train_module.ac_config.block_interval");
    reader_.take("train_module.ac_config.activation_memory_budget");
  }
  /// "blocks.*.feed_forward" and the like.
  void modules() {
    Plan& plan = file_.plan;
    plan.recompute = Recompute::kSelective;
    plan.recompute_modules = 0;
    const LaunchSetting* list = reader_.take("train_module.ac_config.modules");
    if (list == nullptr)
      return reader_.refuse("train_module.ac_config.modules", "a list of modules");
    for (const std::string& module : list->values) {
      if (module.find("feed_forward") != std::string::npos) plan.recompute_modules |= kRecomputeMlp;
      if (module.find("norm") != std::string::npos) plan.recompute_modules |= kRecomputeNorm;
      if (module.find("attention") != std::string::npos &&
          module.find("norm") == std::string::npos) {
        plan.recompute_modules |= kRecomputeCoreAttention;
      }
    }
    if (plan.recompute_modules == 0) plan.recompute_modules = kRecomputeMlp;
  }

  /// A saved configuration holds numbers; of a script, its name tells.
  void model() {
    FileModel& model = file_.model;
    model.layers = reader_.number("model.n_layers", 0, {}, 0);
    model.hidden = reader_.number("model.d_model", 0, {}, 0);
    model.heads = reader_.number("model.block.attention.n_heads", 0, {}, 0);
    model.kv_heads = reader_.number("model.block.attention.n_kv_heads", model.heads, {}, 0);
    model.feed_forward = reader_.number("model.block.feed_forward.hidden_size", 0, {}, 0);
    model.vocab = reader_.number("model.vocab_size", 0, {}, 0);
    for (const LaunchSetting& setting : text_.settings) {
      if (setting.key.starts_with("model.")) reader_.take(setting.key);
    }
    if (saved()) {
      if (model.layers == 0) return;
      model.missing = {"model.block (give the model by name or by its config.json)"};
      return;
    }
    for (const std::string& word : text_.words) {
      if (!word.ends_with(".py")) continue;
      const std::size_t slash = word.rfind('/') + 1;
      model.name = word.substr(slash, word.size() - slash - 3);
    }
  }

  LaunchText text_;
  PlanFile file_;
  SettingReader reader_;
};

}  // namespace

Result<PlanFile> read_olmo_core(const LaunchText& text) { return OlmoReader(text).run(); }

}  // namespace flopcast::parallel
