// torchtitan's TOML, the JSON that it saves, and its command line.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/parallel/names.h"
#include "parallel/launch/setting_reader.h"
#include "parallel/launchers/texts.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/readers.h"
#include "parallel/trainers/torchtitan_models.h"

namespace flopcast::parallel {
namespace {

// Degrees were settings of [training] and [experimental] until the end of 2024.
constexpr std::string_view kTensor =
    "parallelism.tensor_parallel_degree|training.tensor_parallel_degree|experimental.tensor_"
    "parallel_degree";
constexpr std::string_view kContext =
    "parallelism.context_parallel_degree|experimental.context_parallel_degree";
constexpr std::string_view kPipeline =
    "parallelism.pipeline_parallel_degree|experimental.pipeline_parallel_degree|"
    "training.pipeline_parallel_degree";
constexpr std::string_view kShards =
    "parallelism.data_parallel_shard_degree|training.data_parallel_shard_degree|"
    "training.data_parallel_degree";
constexpr std::string_view kReplicas =
    "parallelism.data_parallel_replicate_degree|training.data_parallel_replicate_degree";
constexpr std::string_view kSchedule =
    "parallelism.pipeline_parallel_schedule|experimental.pipeline_parallel_schedule";
constexpr std::string_view kMicrobatches =
    "parallelism.pipeline_parallel_microbatches|experimental.pipeline_parallel_microbatches";
constexpr std::string_view kSplits =
    "parallelism.pipeline_parallel_split_points|experimental.pipeline_parallel_split_points";
constexpr std::string_view kParts =
    "parallelism.module_fqns_per_model_part|"
    "experimental.pipeline_parallel_module_fqns_per_model_part";
constexpr std::string_view kLocalBatch = "training.local_batch_size|training.batch_size";
constexpr std::string_view kLoops = "parallelism.pipeline_parallel_layers_per_stage";

/// N of "layers.N".
std::optional<std::int64_t> layer_number(std::string_view name) {
  constexpr std::string_view kStart = "layers.";
  if (!name.starts_with(kStart)) return std::nullopt;
  return parse_whole(name.substr(kStart.size()));
}

class TitanReader {
 public:
  explicit TitanReader(LaunchText text) : text_(std::move(text)), reader_(text_, file_) {
    file_.launcher = Launcher::kTorchtitan;
    file_.plan.global_batch = 0;
    file_.plan.schedule = ScheduleKind::kOneFOneB;
  }

  Result<PlanFile> run() {
    chips();
    model();
    degrees();
    data_parallel();
    batch();
    if (file_.plan.pp > 1) pipeline();
    recompute();
    types();
    software();
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kTorchtitan))) return *problem;
    return std::move(file_);
  }

 private:
  /// Names that only files of 2024 have.
  bool of_2024() const {
    return reader_.has(
        "training.tensor_parallel_degree|training.data_parallel_degree|"
        "training.data_parallel_shard_degree|training.data_parallel_replicate_degree|"
        "experimental.pipeline_parallel_degree|experimental.context_parallel_degree|"
        "experimental.pipeline_parallel_schedule|training.compile");
  }

  void chips() {
    reader_.take("module|config|job.config_file");  // opened before
    std::int64_t chips = reader_.number("nproc_per_node", 0);
    const std::int64_t nodes = reader_.number("nnodes", 1);
    if (chips == 0) chips = parse_whole(text_.variable("NGPU")).value_or(0);
    chips = std::clamp<std::int64_t>(chips, 0, kMostInPlan) * nodes;
    if (chips > 0 && chips <= kMostInPlan) file_.chips = static_cast<unsigned>(chips);
  }

  void model() {
    const std::string name = reader_.word("model.name", "llama3");
    const std::string flavor = reader_.word("model.flavor", "");
    if (flavor.empty() && !reader_.has("model.name")) return;
    if (flavor.empty()) {
      reader_.assume("no model.flavor: torchtitan's own is debugmodel");
    }
    Result<Model> model = titan_model(name, flavor.empty() ? "debugmodel" : flavor, text_.where);
    if (!model) return reader_.fail(model.error());
    file_.model.name = model->name;
    file_.model.whole = *std::move(model);
  }

  void degrees() {
    Plan& plan = file_.plan;
    const auto degree = [&](std::string_view keys, std::string_view setting) {
      return static_cast<unsigned>(reader_.number(keys, 1, setting));
    };
    plan.tp = degree(kTensor, "tp");
    plan.cp = degree(kContext, "cp");
    plan.pp = degree(kPipeline, "pp");
    plan.ep = degree("parallelism.expert_parallel_degree", "ep");
    plan.etp = degree("parallelism.expert_tensor_parallel_degree", "etp");
    plan.dispatcher = reader_.dispatcher("parallelism.expert_parallel_comm_backend", "standard");
    plan.sequence_parallel =
        reader_.truth("parallelism.enable_sequence_parallel", true) && plan.tp > 1;
    const bool async = reader_.truth(
        "parallelism.enable_async_tensor_parallel|experimental.enable_async_tensor_parallel",
        false);
    plan.overlap.tensor = reader_.truth("compile.enable_async_tensor_parallel", async);
    const std::string_view key =
        "parallelism.context_parallel_rotate_method|"
        "experimental.context_parallel_rotate_method";
    const std::string rotate = reader_.word(key, "allgather");
    if (rotate != "allgather" && rotate != "alltoall") {
      reader_.refuse(key, "allgather or alltoall");
    }
    // "alltoall" passes the keys and values of one chip to the next: a ring.
    plan.context = rotate == "alltoall" ? ContextKind::kRing : ContextKind::kAllGather;
  }

  void data_parallel() {
    Plan& plan = file_.plan;
    const std::int64_t replicas = reader_.number(kReplicas, 1);
    const std::int64_t shards = reader_.number(kShards, -1, {}, -1);
    if (shards == 0) reader_.refuse(kShards, "-1, or at least 1");
    plan.zero = shards == 1 && plan.cp == 1 ? Zero::kNone : Zero::kWeights;
    if (plan.zero == Zero::kWeights && replicas > 1) {
      file_.replicas = static_cast<unsigned>(replicas);
    }
    if (shards > 0) {
      plan.dp = static_cast<unsigned>(std::min(replicas * shards, kMostInPlan));
      file_.chips = chips_of_plan(plan);
    }
    const std::string reshard = reader_.word("parallelism.fsdp_reshard_after_forward", "default");
    if (reshard != "default" && reshard != "always" && reshard != "never") {
      reader_.refuse("parallelism.fsdp_reshard_after_forward", "default, always or never");
    }
    plan.reshard = reshard == "always" || (reshard == "default" && plan.pp == 1);
    if (reader_.truth("training.enable_cpu_offload", false)) {
      plan.offload = 100;
      reader_.unmodelled("training.enable_cpu_offload", "weights stay on the chip");
    }
  }

  void batch() {
    Plan& plan = file_.plan;
    constexpr std::int64_t kUsualBatch = 8, kUsualTokens = 2048;
    const std::int64_t local = reader_.number(kLocalBatch, kUsualBatch, "micro_batch");
    const std::int64_t global = reader_.number("training.global_batch_size", -1, {}, -1);
    plan.sequence = reader_.number("training.seq_len", kUsualTokens, "seq");
    if (!reader_.has(kLocalBatch)) reader_.assume("local_batch_size 8, torchtitan's own");
    if (!reader_.has("training.seq_len")) reader_.assume("seq_len 2048, torchtitan's own");
    plan.micro_batch = local;
    if (plan.pp > 1) cut(local);
    file_.accumulation = std::max<std::int64_t>(local / plan.micro_batch, 1);
    if (global > 0) plan.global_batch = global;
  }

  /// Into the pipeline's microbatches: of a size since 2025, as many as stages before.
  void cut(std::int64_t local) {
    Plan& plan = file_.plan;
    const std::string_view size = "parallelism.pipeline_parallel_microbatch_size";
    const bool counted = reader_.has(kMicrobatches) || (of_2024() && !reader_.has(size));
    if (!counted) {
      plan.micro_batch = reader_.number(size, 1, "micro_batch");
      if (local % plan.micro_batch == 0) return;
      return reader_.refuse(kLocalBatch, "a multiple of pipeline_parallel_microbatch_size");
    }
    const bool said = reader_.has(kMicrobatches);
    const std::int64_t pieces = reader_.number(kMicrobatches, plan.pp);
    if (!said)
      reader_.assume("a local batch is cut into as many microbatches as stages, as in 2024");
    if (local % pieces != 0) return reader_.refuse(kLocalBatch, "a multiple of the microbatches");
    plan.micro_batch = local / pieces;
  }

  void pipeline() {
    Plan& plan = file_.plan;
    const std::optional<ScheduleKind> kind = parse_schedule_kind(reader_.word(kSchedule, "1F1B"));
    if (!kind) {
      return reader_.refuse(kSchedule, "GPipe, 1F1B, Interleaved1F1B, ZBVZeroBubble or DualPipeV");
    }
    plan.schedule = *kind;
    const bool looped = *kind == ScheduleKind::kInterleaved;
    const bool folded = *kind == ScheduleKind::kZeroBubbleV || *kind == ScheduleKind::kDualPipeV;
    if (looped || folded) plan.vpp = 2;
    const std::int64_t each = reader_.number(kLoops, 0, {}, 0);
    if (looped && each > 0) loops(each);
    if (looped && each == 0) reader_.assume("Interleaved1F1B: two stages on each chip");
    stages();
  }

  std::int64_t weight(std::string_view which) {
    return reader_.number(fmt::format("parallelism.pipeline_parallel_{}_stage_less_layers", which),
                          1, {}, 0);
  }

  void loops(std::int64_t each) {
    Plan& plan = file_.plan;
    if (!file_.model.whole) {
      return reader_.unmodelled(kLoops, "two stages on each chip, as the model is not said");
    }
    const std::int64_t layers = file_.model.whole->layers() + weight("first") + weight("last");
    const std::int64_t count = layers / std::max<std::int64_t>(each * plan.pp, 1);
    if (count < 1 || layers % (each * plan.pp) != 0) {
      return reader_.refuse(kLoops, "a number that divides the layers, embedding and loss counted");
    }
    plan.vpp = static_cast<unsigned>(std::min(count, kMostInPlan));
  }

  /// The first and last stage have as many layers less as embedding and loss weigh.
  void stages() {
    const LaunchSetting* splits = reader_.take(kSplits);
    take_parts();
    const std::int64_t first = weight("first"), last = weight("last");
    if (!file_.model.whole || !file_.plan.stage_layers.empty()) return;
    const std::int64_t layers = file_.model.whole->layers();
    if (splits != nullptr && !splits->values.empty()) return split(*splits, layers);
    const auto count = static_cast<std::int64_t>(file_.plan.pp) * file_.plan.vpp;
    const std::int64_t all = layers + first + last;
    std::vector<unsigned> stages;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t own = all / count + (i < all % count ? 1 : 0) - (i == 0 ? first : 0) -
                               (i + 1 == count ? last : 0);
      if (own < 0) return reader_.refuse(kPipeline, "fewer stages than there are layers");
      stages.push_back(static_cast<unsigned>(own));
    }
    set_stages(std::move(stages));
  }

  /// Even stages are said by none.
  void set_stages(std::vector<unsigned> stages) {
    const bool even = std::all_of(stages.begin(), stages.end(),
                                  [&](unsigned layers) { return layers == stages[0]; });
    if (!even) file_.plan.stage_layers = std::move(stages);
  }

  /// "layers.8,layers.16": where stages begin.
  void split(const LaunchSetting& points, std::int64_t layers) {
    std::vector<unsigned> stages;
    std::int64_t begin = 0;
    for (const std::string& value : points.values) {
      for (std::string_view rest = value; !rest.empty();) {
        const std::string_view point = trim(rest.substr(0, rest.find(',')));
        rest.remove_prefix(std::min(rest.find(','), rest.size() - 1) + 1);
        const std::int64_t at = layer_number(point).value_or(-1);
        if (at < begin || at > layers) return reader_.refuse(kSplits, "names of layers in order");
        stages.push_back(static_cast<unsigned>(at - begin));
        begin = at;
      }
    }
    stages.push_back(static_cast<unsigned>(layers - begin));
    const unsigned pp = file_.plan.pp;
    if (stages.size() % pp != 0) return reader_.refuse(kSplits, "a point less than stages");
    file_.plan.vpp = static_cast<unsigned>(stages.size()) / pp;
    set_stages(std::move(stages));
  }

  /// Names of the modules of each part: its layers are counted.
  void take_parts() {
    const std::string start = setting_key("parallelism.module_fqns_per_model_part.");
    std::vector<unsigned> stages;
    for (const LaunchSetting& setting : text_.settings) {
      if (!setting.key.starts_with(start)) continue;
      reader_.take(setting.key);
      stages.push_back(static_cast<unsigned>(
          std::count_if(setting.values.begin(), setting.values.end(),
                        [](const std::string& name) { return layer_number(name).has_value(); })));
    }
    if (reader_.take(kParts) != nullptr) {
      reader_.unmodelled(kParts, "stages as torchtitan makes them by itself");
    }
    const unsigned pp = file_.plan.pp;
    if (stages.empty() || stages.size() % pp != 0) return;
    file_.plan.vpp = static_cast<unsigned>(stages.size()) / pp;
    file_.plan.stage_layers = std::move(stages);
  }

  void recompute() {
    Plan& plan = file_.plan;
    std::string mode;
    for (const std::string& word : text_.words) {
      constexpr std::string_view kChosen = "activation-checkpoint:";
      if (word.starts_with(kChosen)) mode = word.substr(kChosen.size());
    }
    const std::string_view key = "activation_checkpoint.mode";
    const std::string told = reader_.word(key, "selective");
    if (mode.empty()) mode = told;  // a command's word counts more than what it starts with
    const std::string option = reader_.word("activation_checkpoint.selective_ac_option", "op");
    if (mode == "full" || mode == "full-ac") {
      plan.recompute = Recompute::kFull;
    } else if (mode == "selective" || mode == "selective-ac") {
      selective(option);
    } else if (mode == "memory_budget" || mode == "memory-budget-ac") {
      selective("op");
      reader_.unmodelled(key, "what operators save");
    } else if (mode != "none") {
      reader_.refuse(key, "none, selective, full or memory_budget");
    }
  }

  /// "op": by operator; a number: of so many layers, one whole.
  void selective(std::string_view option) {
    Plan& plan = file_.plan;
    const std::int64_t every = parse_whole(option).value_or(0);
    plan.recompute = Recompute::kSelective;
    plan.recompute_modules = kRecomputeOp;
    if (every == 0) return;
    plan.recompute = Recompute::kFull;
    plan.recompute_modules = Plan().recompute_modules;
    if (every == 1) return;
    const std::string_view key = "activation_checkpoint.selective_ac_option";
    const std::int64_t stages = std::int64_t{plan.pp} * plan.vpp;
    const std::int64_t whole = file_.model.whole ? file_.model.whole->layers() / stages / every : 0;
    if (whole > 0) {
      plan.recompute_layers = static_cast<unsigned>(whole);
      return;
    }
    plan.recompute = Recompute::kSelective;
    plan.recompute_modules = kRecomputeOp;
    reader_.unmodelled(key, "what operators save, as the model's layers are not said");
  }

  void types() {
    Plan& plan = file_.plan;
    const std::string type = reader_.word("training.mixed_precision_param", "bfloat16");
    const std::optional<Precision> precision = parse_precision(type);
    if (!precision) return reader_.refuse("training.mixed_precision_param", "bfloat16 or float32");
    plan.precision = *precision;
    if (name_key(reader_.word("training.dtype", "float32")) == "bfloat16") {
      plan.fp32_master = plan.fp32_gradients = false;
    }
    bool narrow = reader_.truth(
        "float8.enable_float8_linear|training.enable_fp8_linear|training.fp8_linear", false);
    bool blocks = false;
    if (const LaunchSetting* converters = reader_.take("model.converters")) {
      for (const std::string& one : converters->values) {
        narrow |=
            one.find("float8") != std::string::npos && one.find("grouped") == std::string::npos;
        blocks |= one.find("mx") != std::string::npos && one.find("grouped") == std::string::npos;
      }
    }
    reader_.word("mx.recipe_name|quantize.linear.mx.recipe_name", "");
    if (blocks) plan.precision = Precision::kMxfp8;
    if (narrow) plan.precision = Precision::kFp8;
    const bool gather = reader_.truth(
        "quantize.linear.float8.enable_fsdp_float8_all_gather|"
        "float8.enable_fsdp_float8_all_gather",
        false);
    if (narrow) plan.fp8_gather = gather;
    filters();
    optimizer();
  }

  /// The head in 16 bits is what is forecast; others are not.
  void filters() {
    for (const std::string_view key : {"float8.filter_fqns", "quantize.linear.float8.filter_fqns",
                                       "mx.filter_fqns", "quantize.linear.mx.filter_fqns"}) {
      const LaunchSetting* found = reader_.take(key);
      if (found == nullptr) continue;
      const bool head =
          std::all_of(found->values.begin(), found->values.end(), [](const std::string& name) {
            return name == "output" || name == "lm_head" || name.empty();
          });
      if (!head) reader_.unmodelled(key, "every layer's products in 8 bits");
    }
  }

  void optimizer() {
    const std::string name = name_key(reader_.word("optimizer.name", "AdamW"));
    if (name.find("muon") != std::string::npos) file_.plan.optimizer = OptimizerKind::kMuon;
    if (name == "sgd") file_.plan.optimizer = OptimizerKind::kSgd;
    if (!name.starts_with("adam") && file_.plan.optimizer == OptimizerKind::kAdam) {
      reader_.unmodelled("optimizer.name", "two moments, as Adam");
    }
  }

  /// Eager where torch.compile is not switched on, as it is not by itself.
  void software() {
    const LaunchSetting* parts = reader_.take("compile.components");
    const bool whole =
        parts == nullptr || parts->values.empty() ||
        std::any_of(parts->values.begin(), parts->values.end(),
                    [](const std::string& one) { return one.find("model") != std::string::npos; });
    const bool compiled = (reader_.truth("compile.enable", false) && whole) ||
                          reader_.truth("training.compile", false);
    file_.software = !compiled ? "fsdp" : of_2024() ? "fsdp-compiled-2024" : "fsdp-compiled";
  }

  LaunchText text_;
  PlanFile file_;
  SettingReader reader_;
};

/// The TOML that a command or run_train.sh's CONFIG_FILE names, or the registry's configuration.
std::optional<Diagnostic> open_titan(LaunchText& text) {
  if (!text.document.is_null()) return std::nullopt;
  std::string module(value_of(text.settings, "module"));
  std::string config(value_of(text.settings, "config"));
  if (module.empty()) module = text.variable("MODULE");
  if (config.empty()) config = text.variable("CONFIG");
  if (!module.empty() && !config.empty()) {
    Result<LaunchSettings> told = titan_config(module, config, text.where);
    if (!told) return told.error();
    told->insert(told->end(), text.settings.begin(), text.settings.end());
    text.settings = *std::move(told);
    return std::nullopt;
  }
  const std::string_view variable = text.variable("CONFIG_FILE");
  const bool flagged = !value_of(text.settings, "job.config-file").empty();
  if (!variable.empty() && !flagged) {
    text.settings.push_back(flag_setting("job.config_file", {std::string(variable)}));
  }
  return open_document(text, "job.config_file");
}

/// tyro's "--compile.no-enable" is "--compile.enable false".
void expand_negations(LaunchSettings& settings) {
  for (LaunchSetting& setting : settings) {
    const std::size_t at = setting.key.find(".no-");
    if (at == std::string::npos || !setting.values.empty()) continue;
    setting.key.erase(at + 1, 3);
    setting.values = {"false"};
  }
}

}  // namespace

Result<PlanFile> read_torchtitan(const LaunchText& given) {
  LaunchText text = given;
  if (auto problem = open_titan(text)) return *problem;
  expand_negations(text.settings);
  return TitanReader(std::move(text)).run();
}

}  // namespace flopcast::parallel
