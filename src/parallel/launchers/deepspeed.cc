// DeepSpeed's JSON. Tensor and pipeline degrees are elsewhere in such a launch, unless autotp or
// Ulysses is used.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"
#include "parallel/launchers/texts.h"

namespace flopcast::parallel {
namespace {

using nlohmann::json;

class DeepspeedReader {
 public:
  DeepspeedReader(const json& root, std::string where) : root_(root), where_(std::move(where)) {
    file_.format = PlanFormat::kDeepspeed;
    Plan& plan = file_.plan;
    plan.global_batch = 0;
    plan.fp32_gradients = false;
    plan.context = ContextKind::kUlysses;
  }

  Result<PlanFile> run() {
    Plan& plan = file_.plan;
    plan.tp = static_cast<unsigned>(number("/tensor_parallel/autotp_size", 1));
    plan.cp = static_cast<unsigned>(number("/sequence_parallel_size", 1));
    plan.zero = static_cast<Zero>(std::min<std::int64_t>(number("/zero_optimization/stage", 0), 3));
    plan.overlap.gradients = flag("/zero_optimization/overlap_comm", plan.zero == Zero::kWeights);
    plan.overlap.weights = plan.zero == Zero::kWeights;
    plan.shard = static_cast<unsigned>(number("/zero_optimization/mics_shard_size", 0));
    batch();
    precision();
    memory();
    if (error_) return *error_;
    return std::move(file_);
  }

 private:
  /// Null where there is none; "auto" leaves it to the trainer, so it says nothing either.
  const json* find(std::string_view path) const {
    const json* at = &root_;
    while (!path.empty()) {
      path.remove_prefix(1);
      const std::string_view key = path.substr(0, path.find('/'));
      path.remove_prefix(key.size());
      if (!at->is_object()) return nullptr;
      const auto found = at->find(key);
      if (found == at->end()) return nullptr;
      at = &*found;
    }
    return at->is_null() || *at == "auto" ? nullptr : at;
  }
  std::int64_t number(std::string_view path, std::int64_t otherwise) {
    const json* value = find(path);
    if (value == nullptr) return otherwise;
    if (value->is_number_integer()) {
      const auto whole = value->get<std::int64_t>();
      if (whole >= std::min<std::int64_t>(otherwise, 1) && whole <= kMostInPlan) return whole;
    }
    refuse(path, fmt::format("a whole number up to {}", kMostInPlan), *value);
    return otherwise;
  }
  bool flag(std::string_view path, bool otherwise) {
    const json* value = find(path);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    refuse(path, "true or false", *value);
    return otherwise;
  }
  std::string word(std::string_view path, std::string otherwise) {
    const json* value = find(path);
    if (value == nullptr) return otherwise;
    if (value->is_string()) return value->get<std::string>();
    refuse(path, "a text", *value);
    return otherwise;
  }
  void refuse(std::string_view path, std::string_view expected, const json& found) {
    if (error_) return;
    error_ = bad_value(where_, path.substr(1), expected,
                       found.dump(-1, ' ', false, json::error_handler_t::replace));
  }

  void batch() {
    Plan& plan = file_.plan;
    const std::int64_t global = number("/train_batch_size", 0);
    const std::int64_t accumulation = number("/gradient_accumulation_steps", 0);
    plan.micro_batch = number("/train_micro_batch_size_per_gpu", 1);
    file_.accumulation = std::max<std::int64_t>(accumulation, 1);
    if (global == 0) return;
    plan.global_batch = global;
    if (accumulation == 0 || find("/train_micro_batch_size_per_gpu") == nullptr) {
      if (accumulation == 0)
        file_.assumed.push_back("no gradient_accumulation_steps: what the batch leaves");
      return;
    }
    const std::int64_t step = plan.micro_batch * accumulation;
    if (global % step != 0) {
      return refuse("/train_batch_size", "a multiple of micro batch x accumulation steps", global);
    }
    const std::int64_t chips = global / step * plan.tp * plan.cp;
    plan.dp = static_cast<unsigned>(global / step);
    if (chips <= kMostInPlan) file_.chips = static_cast<unsigned>(chips);
  }

  void precision() {
    Plan& plan = file_.plan;
    plan.precision = Precision::kFp32;
    if (flag("/fp16/enabled", false)) plan.precision = Precision::kFp16;
    if (flag("/bf16/enabled", false)) plan.precision = Precision::kBf16;
    plan.fp32_gradients = word("/data_types/grad_accum_dtype", "") == "fp32";
  }

  void memory() {
    Plan& plan = file_.plan;
    const std::string optimizer = name_key(word("/optimizer/type", "Adam"));
    if (optimizer.find("sgd") != std::string::npos) plan.optimizer = OptimizerKind::kSgd;
    if (optimizer.find("muon") != std::string::npos) plan.optimizer = OptimizerKind::kMuon;
    for (const std::string_view path : {"/zero_optimization/offload_optimizer/device",
                                        "/zero_optimization/offload_param/device"}) {
      const std::string device = word(path, "none");
      if (device != "none") {
        file_.assumed.push_back(fmt::format("{} {}: kept on the chip", path.substr(1), device));
      }
    }
    if (find("/activation_checkpointing") != nullptr) {
      file_.ignored.push_back("activation_checkpointing (the model decides whether it is used)");
    }
  }

  const json& root_;
  std::string where_;
  PlanFile file_;
  std::optional<Diagnostic> error_;
};

void name_lost_in_deepspeed(const Plan& plan, PlanText& out) {
  const auto lose = [&](bool lost, std::string_view what) {
    if (lost) out.lost.emplace_back(what);
  };
  lose(plan.tensor != TensorKind::kOneD, "2-D tensor parallelism");
  lose(plan.sequence_parallel, "sequence parallelism");
  lose(plan.pp > 1, "pipeline parallelism (a flag of the launch)");
  lose(plan.ep > 1, "expert parallelism (an argument of the model's layers)");
  lose(plan.cp > 1 && plan.context != ContextKind::kUlysses, "context parallelism but Ulysses");
  lose(plan.precision != Precision::kFp32 && plan.precision != Precision::kFp16 &&
           plan.precision != Precision::kBf16,
       "the precision");
  lose(plan.recompute != Recompute::kNone, "recompute (a call in the model)");
  lose(plan.sequence > 0, "the sequence length");
  lose(plan.lora_rank > 0, "adapters");
  lose(!plan.flash_attention, "unfused attention");
  lose(!plan.fp32_master, "an optimiser without fp32 weights");
}

}  // namespace

Result<PlanFile> read_deepspeed(const nlohmann::json& root, const std::string& where) {
  return DeepspeedReader(root, where).run();
}

PlanText write_deepspeed(const Plan& plan) {
  nlohmann::ordered_json root;
  root["train_batch_size"] = plan.global_batch;
  root["train_micro_batch_size_per_gpu"] = plan.micro_batch;
  root["gradient_accumulation_steps"] = plan.microbatches();
  auto& zero = root["zero_optimization"];
  zero["stage"] = static_cast<int>(plan.zero);
  zero["overlap_comm"] = plan.overlap.gradients;
  if (plan.shard > 0) zero["mics_shard_size"] = plan.shard;
  if (plan.precision == Precision::kBf16) root["bf16"]["enabled"] = true;
  if (plan.precision == Precision::kFp16) root["fp16"]["enabled"] = true;
  if (plan.fp32_gradients) root["data_types"]["grad_accum_dtype"] = "fp32";
  if (plan.tp > 1) root["tensor_parallel"]["autotp_size"] = plan.tp;
  if (plan.cp > 1) root["sequence_parallel_size"] = plan.cp;
  constexpr std::string_view kOptimizers[] = {"AdamW", "SGD", "Muon"};
  root["optimizer"]["type"] = kOptimizers[static_cast<int>(plan.optimizer)];
  PlanText out{root.dump(2) + "\n", {}};
  name_lost_in_deepspeed(plan, out);
  return out;
}

}  // namespace flopcast::parallel
