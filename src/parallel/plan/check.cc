// Why a plan cannot run a model. The checks run with words for people and without for searches.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/numeric/divisors.h"
#include "flopcast/parallel.h"

namespace flopcast {
namespace {

std::string use_divisor(std::int64_t of) {
  constexpr std::size_t kMost = 12;
  std::vector<std::int64_t> all = divisors(of);
  if (all.size() > kMost) all.resize(kMost);
  return fmt::format("use {}", fmt::join(all, ", "));
}

class PlanCheck {
 public:
  /// @param problems where the reasons go; null: stop at the first.
  PlanCheck(const Plan& plan, const Model& model, unsigned chips, std::vector<Diagnostic>* problems)
      : plan_(plan), model_(model), chips_(chips), problems_(problems) {}

  bool run() {
    using Check = void (PlanCheck::*)();
    constexpr Check kChecks[] = {&PlanCheck::parts,       &PlanCheck::degrees, &PlanCheck::batch,
                                 &PlanCheck::heads,       &PlanCheck::tokens,  &PlanCheck::grid,
                                 &PlanCheck::experts,     &PlanCheck::stages,  &PlanCheck::schedule,
                                 &PlanCheck::data_shards, &PlanCheck::kernels};
    for (const Check check : kChecks) {
      (this->*check)();
      if (!possible_ && problems_ == nullptr) return false;
      if (nonsense_) return false;
    }
    return possible_;
  }

 private:
  template <typename Words, typename Hint>
  void refuse(std::string_view setting, Words words, Hint hint) {
    possible_ = false;
    if (problems_ == nullptr) return;
    problems_->push_back({ErrorCode::kUsage, std::string(setting), words(), std::string(hint())});
  }

  /// What must be a multiple of what: "heads 96 are not divisible by tp 5".
  bool divides(std::string_view setting, std::string_view what, std::int64_t whole,
               std::int64_t part) {
    if (whole % part == 0) return true;
    refuse(
        setting, [&] { return fmt::format("{} {} is not divisible by {}", what, whole, part); },
        [&] { return use_divisor(whole); });
    return false;
  }

  /// No plan can be priced whose model has a part without a price.
  void parts() {
    const std::optional<Diagnostic> problem = price_problem(model_);
    if (!problem) return;
    nonsense_ = true;
    refuse(
        problem->where, [&] { return problem->what; }, [&] { return problem->hint; });
  }

  void degrees() {
    const unsigned all[] = {plan_.tp, plan_.tp2, plan_.cp,  plan_.pp,
                            plan_.dp, plan_.ep,  plan_.vpp, plan_.panels};
    constexpr unsigned kMost = 1 << 20;
    const auto off = [](unsigned degree) { return degree < 1 || degree > kMost; };
    const std::uint64_t product = std::uint64_t{plan_.tp} * plan_.tp2 * plan_.cp;
    if (std::any_of(std::begin(all), std::end(all), off) || plan_.etp > kMost ||
        plan_.micro_batch < 1 || plan_.global_batch < 1 || plan_.sequence < 0 || product > kMost ||
        product * plan_.pp > kMost || product * plan_.pp * plan_.dp > kMost) {
      nonsense_ = true;
      refuse(
          "plan", [] { return "a degree or batch is zero, negative or absurdly large"; },
          [] { return "every degree and batch is at least 1; chips at most 2^20"; });
      return;
    }
    if (chips_ == 0 || plan_.chips() == chips_) return;
    refuse(
        "world-size",
        [&] {
          return fmt::format("tp {} x cp {} x pp {} x dp {}{} makes {} chips, not {}", plan_.tp,
                             plan_.cp, plan_.pp, plan_.dp,
                             plan_.tp2 > 1 ? fmt::format(" x tp2 {}", plan_.tp2) : "",
                             plan_.chips(), chips_);
        },
        [&] {
          const unsigned others = plan_.chips() / plan_.dp;
          return chips_ % others == 0 ? fmt::format("set dp to {}", chips_ / others)
                                      : fmt::format("use a multiple of {} chips", others);
        });
  }

  void batch() {
    const std::int64_t step = plan_.micro_batch * plan_.dp;
    if (plan_.global_batch < step) {
      refuse(
          "global-batch-size",
          [&] {
            return fmt::format("global batch {} is smaller than micro batch {} x dp {}",
                               plan_.global_batch, plan_.micro_batch, plan_.dp);
          },
          [&] { return fmt::format("use at least {}, or fewer replicas", step); });
      return;
    }
    if (plan_.global_batch % step == 0) return;
    refuse(
        "global-batch-size",
        [&] {
          return fmt::format("global batch {} is not divisible by micro batch {} x dp {}",
                             plan_.global_batch, plan_.micro_batch, plan_.dp);
        },
        [&] { return fmt::format("use a multiple of {}", step); });
  }

  void heads() {
    const auto setting = "tensor-model-parallel-size";
    for (const Layer& layer : model_.kinds) {
      const AttentionShape& a = layer.attention;
      if (!recurrent_heads(layer.recurrence)) return;
      if (!divides(setting, "number of heads", a.heads, plan_.tp)) return;
      if (a.heads > 0 && plan_.tp % a.kv_heads != 0 &&
          !divides(setting, "number of kv heads", a.kv_heads, plan_.tp)) {
        return;
      }
      if (layer.mlp.intermediate > 0 &&
          !divides(setting, "feed-forward width", layer.mlp.intermediate, plan_.tp)) {
        return;
      }
      if (plan_.cp > 1 && plan_.context == ContextKind::kUlysses &&
          !divides("context-parallel-size", "number of heads", a.heads,
                   std::int64_t{plan_.tp} * plan_.cp)) {
        return;
      }
    }
  }

  /// States stay whole: tensor and context parallelism share out the heads.
  bool recurrent_heads(const Recurrence& r) {
    if (r.heads == 0) return true;
    const std::int64_t cut = std::int64_t{plan_.tp} * plan_.cp;
    const auto setting = plan_.cp > 1 ? "context-parallel-size" : "tensor-model-parallel-size";
    if (!divides(setting, "number of recurrent heads", r.heads, cut)) return false;
    return cut % r.key_heads == 0 || divides(setting, "number of key heads", r.key_heads, cut);
  }

  void tokens() {
    const std::int64_t sequence = execution_of(plan_, model_).sequence;
    const bool halves = plan_.cp > 1 && plan_.context != ContextKind::kUlysses;
    const bool cut = divides("context-parallel-size", "sequence length", sequence,
                             std::int64_t{plan_.cp} * (halves ? 2 : 1) * plan_.tp2);
    if (cut && plan_.sequence_parallel && plan_.tensor == TensorKind::kOneD) {
      const std::int64_t rows = plan_.micro_batch * sequence / (plan_.cp * plan_.tp2);
      divides("sequence-parallel", "tokens of a microbatch on a chip", rows, plan_.tp);
    }
    if (model_.learned_positions == 0 || sequence <= model_.learned_positions) return;
    refuse(
        "seq-length",
        [&] {
          return fmt::format("{} has {} learned positions, fewer than {}", model_.name,
                             model_.learned_positions, sequence);
        },
        [&] { return fmt::format("use at most {}", model_.learned_positions); });
  }

  void grid() {
    if (plan_.tensor == TensorKind::kOneD) {
      if (plan_.tp2 == 1) return;
      refuse(
          "tp2", [&] { return fmt::format("tp2 {} with 1-D tensor parallelism", plan_.tp2); },
          [] { return "choose 2-D or SUMMA tensor parallelism, or tp2 1"; });
      return;
    }
    if (plan_.tensor == TensorKind::kSumma) {
      divides("tp2", "hidden size", model_.hidden, plan_.tp2);
      divides("panels", "hidden size", model_.hidden, plan_.panels);
    }
    divides("tensor-model-parallel-size", "hidden size", model_.hidden, plan_.tp);
    for (const Layer& layer : model_.kinds) {
      if (layer.experts.count == 0 && !layer.attention.latent() && layer.recurrence.heads == 0) {
        continue;
      }
      refuse(
          "tp2",
          [] { return "experts, latent attention and recurrences are cut in one dimension only"; },
          [] { return "use 1-D tensor parallelism"; });
      return;
    }
  }

  void experts() {
    const Layer* sparse = nullptr;
    for (const Layer& layer : model_.kinds) {
      if (layer.experts.count > 0) sparse = &layer;
    }
    if (sparse == nullptr) {
      if (plan_.ep == 1) return;
      refuse(
          "expert-model-parallel-size",
          [&] { return fmt::format("{} has no experts", model_.name); }, [] { return "use 1"; });
      return;
    }
    divides("expert-model-parallel-size", "number of experts", sparse->experts.count, plan_.ep);
    divides("expert-tensor-parallel-size", "width of an expert",
            sparse->experts.expert.intermediate, plan_.expert_tp());
    if (plan_.expert_dp() == 0) {
      refuse(
          "expert-model-parallel-size",
          [&] {
            return fmt::format("ep {} x etp {} does not divide tp {} x cp {} x dp {}", plan_.ep,
                               plan_.expert_tp(), plan_.tp, plan_.cp, plan_.dp);
          },
          [&] {
            return use_divisor(std::int64_t{plan_.tp} * plan_.cp * plan_.dp / plan_.expert_tp());
          });
    }
    if (plan_.tp > 1 && !plan_.sequence_parallel) {
      refuse(
          "sequence-parallel",
          [] { return "experts with tensor parallelism need sequence parallelism"; },
          [] { return "add --sequence-parallel"; });
    }
  }

  void stages() {
    const std::int64_t stages = std::int64_t{plan_.pp} * plan_.vpp;
    const auto setting = "pipeline-model-parallel-size";
    // Embedding and loss may have a stage of their own.
    const std::int64_t most = model_.layers() + 2;
    if (stages > most) {
      refuse(
          setting, [&] { return fmt::format("{} stages for {} layers", stages, model_.layers()); },
          [&] { return fmt::format("use at most {} stages", most); });
      return;
    }
    if (plan_.stage_layers.empty()) return;
    const auto sum =
        std::accumulate(plan_.stage_layers.begin(), plan_.stage_layers.end(), std::int64_t{0});
    if (static_cast<std::int64_t>(plan_.stage_layers.size()) == stages && sum == model_.layers()) {
      return;
    }
    refuse(
        "pipeline-model-parallel-layout",
        [&] {
          return fmt::format("{} layers on {} stages, but the layout has {} on {}", model_.layers(),
                             stages, sum, plan_.stage_layers.size());
        },
        [] { return "name the layers of each of pp x vpp stages"; });
  }

  void schedule() {
    const bool folded =
        plan_.schedule == ScheduleKind::kZeroBubbleV || plan_.schedule == ScheduleKind::kDualPipeV;
    if (plan_.pp == 1) {
      if (plan_.vpp == 1) return;
      refuse(
          "num-virtual-stages-per-pipeline-rank",
          [] { return "virtual stages without a pipeline"; }, [] { return "use 1"; });
      return;
    }
    if (folded ? plan_.vpp != 2 : plan_.vpp > 1 && plan_.schedule != ScheduleKind::kInterleaved) {
      refuse(
          "num-virtual-stages-per-pipeline-rank",
          [&] { return fmt::format("{} with {} virtual stages", name(plan_.schedule), plan_.vpp); },
          [&] { return folded ? "use 2" : "use the interleaved schedule, or 1"; });
    }
    const std::int64_t step = plan_.micro_batch * plan_.dp;
    const std::int64_t microbatches = plan_.global_batch / step;
    if (plan_.schedule == ScheduleKind::kInterleaved && plan_.vpp > 1 &&
        microbatches % plan_.pp != 0) {
      refuse(
          "global-batch-size",
          [&] {
            return fmt::format("{} microbatches are not a multiple of {} stages", microbatches,
                               plan_.pp);
          },
          [&] { return fmt::format("use a multiple of {}", step * plan_.pp); });
    }
    if (plan_.schedule == ScheduleKind::kDualPipeV && microbatches < 2 * std::int64_t{plan_.pp}) {
      refuse(
          "global-batch-size",
          [&] {
            return fmt::format("{} microbatches are fewer than 2 x {} stages", microbatches,
                               plan_.pp);
          },
          [&] { return fmt::format("use at least {}", 2 * step * plan_.pp); });
    }
  }

  void data_shards() {
    const std::int64_t replicas = std::int64_t{plan_.dp} * plan_.cp;
    if (plan_.shard == 0) return;
    divides("num-distributed-optimizer-instances", "dp x cp", replicas, plan_.shard);
  }

  void kernels() {
    if (!plan_.flash_attention && plan_.cp > 1) {
      refuse(
          "context-parallel-size", [] { return "context parallelism needs fused attention"; },
          [] { return "use flash attention"; });
    }
    constexpr unsigned kAll = 100, kWidest = 16;
    if (plan_.offload > kAll || plan_.moment_bytes > kWidest) {
      refuse(
          "offload", [] { return "more than all of the optimizer, or moments of over 16 bytes"; },
          [] { return "use 0 to 100 percent, and at most 16 bytes"; });
    }
    constexpr unsigned kFurthest = 16;
    const bool predicts = model_.output == Output::kTokens && model_.layers() > 0;
    if (plan_.mtp_layers > (predicts ? kFurthest : 0)) {
      refuse(
          "mtp-num-layers",
          [&] { return fmt::format("{} modules behind {}", plan_.mtp_layers, model_.name); },
          [&] { return predicts ? "use 0 to 16" : "use 0: the model predicts no tokens"; });
    }
    if (plan_.lora_rank < 0 || plan_.lora_rank > model_.hidden) {
      refuse(
          "lora-rank", [&] { return fmt::format("rank {}", plan_.lora_rank); },
          [&] { return fmt::format("use 0 (none) to {}", model_.hidden); });
    }
  }

  const Plan& plan_;
  const Model& model_;
  unsigned chips_;
  std::vector<Diagnostic>* problems_;
  bool possible_ = true, nonsense_ = false;
};

}  // namespace

std::vector<Diagnostic> plan_problems(const Plan& plan, const Model& model, unsigned chips) {
  std::vector<Diagnostic> problems;
  PlanCheck(plan, model, chips, &problems).run();
  return problems;
}

bool plan_possible(const Plan& plan, const Model& model, unsigned chips) {
  return PlanCheck(plan, model, chips, nullptr).run();
}

}  // namespace flopcast
