// MaxText: overrides of its base.yml on a command line, or a YAML of them. An axis of its mesh is the product of what it
// has between slices (dcn_...) and inside them (ici_...).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/names.h"
#include "base/text/toml_file.h"
#include "catalog_files.h"
#include "flopcast/parallel/names.h"
#include "parallel/launch/setting_reader.h"
#include "parallel/launchers/texts.h"
#include "parallel/trainers/documents.h"
#include "parallel/trainers/readers.h"

namespace flopcast::parallel {
namespace {

/// How many members an axis has; -1: what the others leave.
struct Axis {
  std::int64_t count = 1;
  bool open = false;
};

constexpr std::uint8_t kBlocks = kRecomputeCoreAttention | kRecomputeNorm | kRecomputeActivation;
/// MaxText's policies: what a layer's backward computes again (src/maxtext/layers/decoders.py).
struct PolicyRow {
  std::string_view name;
  std::uint8_t modules;  ///< 0: nothing is left out
  std::string_view instead = {};
};
constexpr std::string_view kNoOffload = "saved values stay on the chip";
constexpr PolicyRow kPolicies[] = {
    {"minimal", kBlocks},
    {"minimal_with_context", kRecomputeNorm | kRecomputeActivation},
    {"minimal_flash", kRecomputeNorm | kRecomputeActivation},
    {"minimal_with_quantization", kBlocks},
    {"minimal_with_context_and_quantization", kRecomputeNorm | kRecomputeActivation},
    {"save_dot_with_context_except_mlp", kRecomputeNorm | kRecomputeActivation | kRecomputeMlp},
    {"save_dot_except_mlpwi", kBlocks | kRecomputeMlp},
    {"save_dot_except_mlp", kBlocks | kRecomputeMlp},
    {"save_qkv_proj", kBlocks | kRecomputeMlp},
    {"qkv_proj_offloaded", kBlocks | kRecomputeMlp, kNoOffload},
    {"minimal_offloaded", kBlocks, kNoOffload},
    {"save_out_proj", kBlocks | kRecomputeMlp},
};

/// What a model of MaxText's is called here.
std::string builtin_name(const std::string& name) {
  for (const CatalogFile& file : catalog_files()) {
    if (file.path != "launch/maxtext-models.toml") continue;
    const Result<TomlFile> read = parse_toml(file.text, "catalog/" + std::string(file.path), false);
    if (read) return read->root["names"][name].value_or(name);
  }
  return name;
}

class MaxtextReader {
 public:
  explicit MaxtextReader(LaunchText text) : text_(std::move(text)), reader_(text_, file_) {
    file_.launcher = Launcher::kMaxtext;
  }

  Result<PlanFile> run() {
    mesh();
    batch();
    types();
    recompute();
    optimizer();
    model();
    if (auto problem = reader_.finish(LauncherNames::of(Launcher::kMaxtext))) return *problem;
    return std::move(file_);
  }

 private:
  Axis axis(std::string_view name, std::int64_t outer, std::int64_t inner,
            std::string_view setting = {}) {
    const auto part = [&](std::string_view side, std::int64_t otherwise) {
      const std::string key = fmt::format("{}_{}_parallelism", side, name);
      const std::int64_t count = reader_.number(key, otherwise, setting, -1);
      if (count == 0) reader_.refuse(key, "-1, or at least 1");
      return count;
    };
    const std::int64_t between = part("dcn", outer), inside = part("ici", inner);
    Axis both;
    both.open = between < 0 || inside < 0;
    both.count = std::max<std::int64_t>(between, 1) * std::max<std::int64_t>(inside, 1);
    both.count = std::min(both.count, kMostInPlan);
    return both;
  }

  /// An axis that is no replica's and takes what the others leave is the caller's to say.
  unsigned degree(std::string_view name, std::string_view setting) {
    const Axis found = axis(name, 1, 1, setting);
    const std::string keys = fmt::format("ici_{0}_parallelism|dcn_{0}_parallelism", name);
    if (found.open && setting.empty()) reader_.refuse(keys, "a number");
    if (found.open && !setting.empty()) {
      file_.open.push_back({std::string(setting), fmt::format("ici_{}_parallelism", name), "-1"});
    }
    return static_cast<unsigned>(found.count);
  }

  /// More than any cluster has are as many as are read.
  static unsigned product(std::initializer_list<unsigned> degrees) {
    std::int64_t all = 1;
    for (const unsigned degree : degrees) all = std::min(all * degree, kMostInPlan);
    return static_cast<unsigned>(all);
  }

  void mesh() {
    Plan& plan = file_.plan;
    plan.tp = product({degree("tensor", "tp"), degree("tensor_sequence", {}),
                       degree("sequence", {}), degree("autoregressive", {})});
    plan.sequence_parallel = plan.tp > 1;
    const unsigned ring = degree("context", "cp"), heads = degree("context_usp_ulysses", {});
    plan.cp = product({ring, heads, degree("context_autoregressive", {})});
    if (heads > 1 && ring == 1) plan.context = ContextKind::kUlysses;
    plan.pp = degree("pipeline", "pp");
    plan.ep = degree("expert", "ep");
    plan.etp = plan.ep > 1 ? plan.tp : 0;
    const Axis fsdp = axis("fsdp", 1, -1), data = axis("data", -1, 1);
    const unsigned across = degree("fsdp_transpose", {});
    if (across > 1) {
      reader_.unmodelled("ici_fsdp_transpose_parallelism|dcn_fsdp_transpose_parallelism",
                         "weights cut along one side");
    }
    replicas(fsdp, data, across);
  }

  /// The axes expert, fsdp and data cut the batch; fsdp the weights as well.
  void replicas(const Axis& fsdp, const Axis& data, unsigned across) {
    Plan& plan = file_.plan;
    const std::int64_t shards = std::min(fsdp.count * across * plan.ep, kMostInPlan);
    plan.zero = fsdp.open || shards > 1 ? Zero::kWeights : Zero::kNone;
    if (plan.zero == Zero::kWeights && data.count > 1) {
      file_.replicas = static_cast<unsigned>(data.count);
    }
    const std::int64_t slices = reader_.number("num_slices", 1, {}, -1);
    // Between slices, data takes what is left where nothing else is said.
    if (data.open && plan.zero == Zero::kWeights && slices > 1) {
      file_.replicas = static_cast<unsigned>(slices);
    }
    if (fsdp.open || (data.open && slices != 1)) return;
    plan.dp = static_cast<unsigned>(std::min(shards * data.count, kMostInPlan));
    devices_to_chips();
  }

  /// A chip of several devices holds as many replicas of MaxText's, with the batches of all: it is one here.
  void devices_to_chips() {
    Plan& plan = file_.plan;
    const unsigned devices = text_.site.devices;
    if (plan.dp % devices != 0) {
      return reader_.refuse("ici_fsdp_parallelism|ici_data_parallelism",
                            "replicas that fill chips: each is several devices");
    }
    plan.dp /= devices;
    file_.chips = chips_of_plan(plan);
  }

  void batch() {
    Plan& plan = file_.plan;
    constexpr double kUsual = 12, kMost = 1 << 20;
    constexpr std::int64_t kUsualTokens = 2048;
    plan.sequence = reader_.number("max_target_length", kUsualTokens, "seq");
    const double device = reader_.real("per_device_batch_size", kUsual, 0, kMost, "micro_batch");
    if (!reader_.has("per_device_batch_size"))
      reader_.assume("per_device_batch_size 12, MaxText's own");
    const double replica = device * text_.site.devices * plan.tp * plan.cp * plan.pp;
    const double whole = std::round(replica);
    if (whole < 1 || whole > kMostInPlan || std::abs(whole - replica) > 1e-6) {
      return reader_.refuse("per_device_batch_size",
                            "a whole number of sequences for the devices of one replica");
    }
    const std::int64_t passes = reader_.number("num_pipeline_microbatches", -1, {}, -1);
    const std::int64_t pieces = plan.pp == 1 ? 1
                                : passes > 0 ? passes
                                             : static_cast<std::int64_t>(plan.pp);
    const auto sequences = static_cast<std::int64_t>(whole);
    if (sequences % pieces != 0) {
      return reader_.refuse("per_device_batch_size", "a multiple of the pipeline's microbatches");
    }
    plan.micro_batch = sequences / pieces;
    file_.accumulation =
        std::min(pieces * reader_.number("gradient_accumulation_steps", 1), kMostInPlan);
    plan.global_batch = 0;
    if (plan.pp > 1) stages();
    if (text_.site.devices > 1) {
      reader_.assume(fmt::format("a chip is {} of MaxText's devices, and has the batches of all",
                                 text_.site.devices));
    }
  }

  void stages() {
    Plan& plan = file_.plan;
    const std::int64_t repeats = reader_.number("num_pipeline_repeats", 1, {}, -1);
    reader_.number("num_layers_per_pipeline_stage", 1);
    if (repeats > 1) {
      plan.vpp = static_cast<unsigned>(repeats);
      plan.schedule = ScheduleKind::kInterleaved;
    }
    reader_.assume("the pipeline runs 1F1B: MaxText runs all forward passes first");
  }

  void types() {
    Plan& plan = file_.plan;
    const auto precision = parse_precision(reader_.word("dtype", "bfloat16"));
    if (!precision) return reader_.refuse("dtype", "bfloat16 or float32");
    plan.precision = *precision;
    const std::string weights = name_key(reader_.word("weight_dtype", "float32"));
    if (weights == "bfloat16") plan.fp32_master = plan.fp32_gradients = false;
    if (name_key(reader_.word("grad_dtype", "float32")) == "bfloat16") plan.fp32_gradients = false;
    const std::string quantised = name_key(reader_.word("quantization", ""));
    if (quantised.empty() || quantised == "none") return;
    if (quantised.find("mxfp8") != std::string::npos) {
      plan.precision = Precision::kMxfp8;
    } else if (quantised.find("fp8") != std::string::npos) {
      plan.precision = Precision::kFp8;
    } else if (quantised.starts_with("int8")) {
      plan.precision = Precision::kInt8;
    } else {
      reader_.refuse("quantization", "nothing, int8, fp8 or te_mxfp8");
    }
  }

  void recompute() {
    Plan& plan = file_.plan;
    const std::string policy = reader_.word("remat_policy", "full");
    if (policy == "full") {
      plan.recompute = Recompute::kFull;
      return;
    }
    for (const PolicyRow& row : kPolicies) {
      if (row.name != policy) continue;
      plan.recompute = Recompute::kSelective;
      plan.recompute_modules = row.modules;
      if (!row.instead.empty()) reader_.unmodelled("remat_policy", row.instead);
      return;
    }
    if (policy == "custom") {
      plan.recompute = Recompute::kFull;
      return reader_.unmodelled("remat_policy", "every layer is computed again");
    }
    reader_.refuse("remat_policy", "full, minimal or one of MaxText's others");
  }

  void optimizer() {
    Plan& plan = file_.plan;
    const std::string kind = name_key(reader_.word("opt_type", "adamw"));
    if (kind == "sgd") plan.optimizer = OptimizerKind::kSgd;
    if (kind == "muon") plan.optimizer = OptimizerKind::kMuon;
    if (kind == "adafactor") reader_.unmodelled("opt_type", "two moments, as Adam");
    if (reader_.truth("optimizer_memory_host_offload", false)) plan.offload = 100;
    if (reader_.word("attention", "autoselected") == "dot_product") plan.flash_attention = false;
    plan.mtp_layers = static_cast<unsigned>(reader_.number("mtp_num_layers", 0, {}, 0));
  }

  /// Of base.yml where no model is named: a Llama of so many layers and heads.
  void model() {
    const std::string name = reader_.word("model_name", "default");
    const std::string block = reader_.word("decoder_block", "llama2");
    const bool tied = reader_.truth("logits_via_embedding", false);
    nlohmann::ordered_json config;
    const auto number = [&](std::string_view key, std::string_view as, std::int64_t otherwise) {
      config[std::string(as)] = reader_.number(key, otherwise);
    };
    number("base_num_decoder_layers", "num_hidden_layers", 16);
    number("base_emb_dim", "hidden_size", 2048);
    number("base_mlp_dim", "intermediate_size", 7168);
    number("base_num_query_heads", "num_attention_heads", 16);
    number("base_num_kv_heads", "num_key_value_heads", 16);
    number("head_dim", "head_dim", 128);
    number("vocab_size", "vocab_size", 32000);
    if (name != "default") {
      file_.model.name = builtin_name(name);
      return;
    }
    const bool llama =
        block == "llama2" || block == "llama3" || block == "mistral" || block == "default";
    if (!llama) {
      file_.model.missing = {fmt::format("the model of decoder_block {}", block)};
      return;
    }
    config["model_type"] = "llama";
    config["tie_word_embeddings"] = tied;
    config["max_position_embeddings"] = file_.plan.sequence;
    Result<Model> model = parse_model(config.dump(), text_.where);
    if (!model) return reader_.fail(model.error());
    model->name = "MaxText's model";
    file_.model.whole = *std::move(model);
  }

  LaunchText text_;
  PlanFile file_;
  SettingReader reader_;
};

}  // namespace

Result<PlanFile> read_maxtext(const LaunchText& given) {
  LaunchText text = given;
  // MaxText's own base.yml holds what is taken where nothing is said.
  const std::string name = document_name(text, "base_config");
  const bool own = name.empty() || name == "base.yml" || name.ends_with("/base.yml");
  if (!own) {
    if (auto problem = open_document(text, "base_config")) return *problem;
  }
  return MaxtextReader(std::move(text)).run();
}

}  // namespace flopcast::parallel
