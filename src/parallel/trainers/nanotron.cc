// nanotron's YAML: its model is in the file.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "flopcast/parallel/names.h"
#include "parallel/launch/setting_reader.h"
#include "parallel/launchers/texts.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/readers.h"

namespace flopcast::parallel {
namespace {

class NanotronReader {
 public:
  explicit NanotronReader(LaunchText text) : text_(std::move(text)), reader_(text_, file_) {
    file_.launcher = Launcher::kNanotron;
  }

  Result<PlanFile> run() {
    degrees();
    batch();
    types();
    model();
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kNanotron))) return *problem;
    return std::move(file_);
  }

 private:
  void degrees() {
    reader_.take("nproc_per_node|nnodes|config_file|config");  // the file says how many chips
    Plan& plan = file_.plan;
    const auto degree = [&](std::string_view key, std::string_view setting) {
      return static_cast<unsigned>(reader_.number(fmt::format("parallelism.{}", key), 1, setting));
    };
    plan.dp = degree("dp", "dp");
    plan.tp = degree("tp", "tp");
    plan.pp = degree("pp", "pp");
    plan.cp = degree("context_parallel_size", "cp");
    plan.ep = degree("expert_parallel_size", "ep");
    const std::string mode = name_key(reader_.word("parallelism.tp_mode", "ALL_REDUCE"));
    if (mode != "allreduce" && mode != "reducescatter") {
      reader_.refuse("parallelism.tp_mode", "ALL_REDUCE or REDUCE_SCATTER");
    }
    plan.sequence_parallel = mode == "reducescatter" && plan.tp > 1;
    const bool async = reader_.truth("parallelism.tp_linear_async_communication", false);
    plan.overlap.tensor = async && plan.sequence_parallel;
    reader_.truth("parallelism.tp_recompute_allgather", true);
    const std::string engine = name_key(reader_.word("parallelism.pp_engine", "afab"));
    if (engine != "afab" && engine != "1f1b") {
      reader_.refuse("parallelism.pp_engine", "1f1b or afab");
    }
    plan.schedule = engine == "afab" ? ScheduleKind::kGpipe : ScheduleKind::kOneFOneB;
    if (reader_.truth("parallelism.recompute_layer", false)) plan.recompute = Recompute::kFull;
    if (plan.pp > 1) reader_.assume("layers are dealt evenly: nanotron weighs them");
    if (reader_.has("parallelism.dp")) file_.chips = chips_of_plan(plan);
  }

  void batch() {
    Plan& plan = file_.plan;
    plan.micro_batch = reader_.number("tokens.micro_batch_size", 1, "micro_batch");
    plan.sequence = reader_.number("tokens.sequence_length", 0, "seq");
    file_.accumulation = reader_.number("tokens.batch_accumulation_per_replica", 1);
    plan.global_batch = 0;
    if (plan.sequence == 0) reader_.refuse("tokens.sequence_length", "the tokens of a sequence");
  }

  void types() {
    Plan& plan = file_.plan;
    const std::string type = reader_.word("model.dtype", "float32");
    const std::optional<Precision> precision = parse_precision(type);
    if (!precision) return reader_.refuse("model.dtype", "bfloat16, float16 or float32");
    plan.precision = *precision;
    // Weights and sums of gradients in 32 bits go together: FP32GradientAccumulator keeps both.
    const bool whole = reader_.truth("optimizer.accumulate_grad_in_fp32", true);
    plan.fp32_gradients = plan.fp32_master = whole;
    const std::int64_t stage = reader_.number("optimizer.zero_stage", 0, "zero", 0);
    if (stage > 1) reader_.refuse("optimizer.zero_stage", "0 or 1");
    plan.zero = stage == 1 ? Zero::kOptimizer : Zero::kNone;
    const std::string optimizer =
        name_key(reader_.word("optimizer.optimizer_factory.name", "adamW"));
    if (optimizer == "sgd") plan.optimizer = OptimizerKind::kSgd;
  }

  /// The same names as in a config.json, but for what says which class it is.
  void model() {
    const nlohmann::ordered_json* config = member(text_.document, "model");
    if (config != nullptr) config = member(*config, "model_config");
    if (config == nullptr || !config->is_object()) return;
    for (const LaunchSetting& setting : text_.settings) {
      const bool own = setting.key.starts_with("model.model-config.") &&
                       !LauncherNames::of(Launcher::kNanotron).ignored(setting.key);
      if (own) reader_.take(setting.key);
    }
    if (member(*config, "moe_config") != nullptr) {
      return reader_.fail({ErrorCode::kBadInput, text_.where,
                           "model.model_config.moe_config: experts of nanotron's are not read",
                           "give the model's config.json as MODEL and the plan by flags"});
    }
    nlohmann::ordered_json copy = *config;
    const bool qwen = config->contains("is_qwen2_config");
    const bool starcoder = config->contains("is_starcoder2_config");
    if (starcoder || config->contains("is_mamba_config")) return;
    copy["model_type"] = qwen ? "qwen2" : "llama";
    Result<Model> model = parse_model(copy.dump(), text_.where);
    if (!model) return reader_.fail(model.error());
    if (qwen && config->value("attention_bias", false) == false) drop_bias(*model);
    model->name = "nanotron's model";
    file_.model.whole = *std::move(model);
  }

  static void drop_bias(Model& model) {
    for (Layer& layer : model.kinds) layer.attention.qkv_bias = false;
  }
  static const nlohmann::ordered_json* member(const nlohmann::ordered_json& object,
                                              std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }

  LaunchText text_;
  PlanFile file_;
  SettingReader reader_;
};

}  // namespace

Result<PlanFile> read_nanotron(const LaunchText& given) {
  LaunchText text = given;
  if (auto problem = open_document(text, "config-file|config")) return *problem;
  return NanotronReader(std::move(text)).run();
}

}  // namespace flopcast::parallel
