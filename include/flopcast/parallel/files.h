// Floor 2: plans from and to what people launch training with: Megatron-LM flags, torchtitan TOML,
// DeepSpeed JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/parallel.h"

namespace flopcast {

/// The largest degree or batch that is read.
inline constexpr std::int64_t kMostInPlan = 1 << 20;

/// Whose launch configuration it is.
enum class PlanFormat : std::uint8_t { kMegatron, kTorchtitan, kDeepspeed };
std::string_view name(PlanFormat format);  ///< "megatron"

/// On what a launch script is started, and how.
struct LaunchSite {
  /// what its launcher would tell it ($SLURM_NNODES and the like); 0: not known
  unsigned nodes = 0, chips_per_node = 0;
  bool bf16 = true;  ///< whether the chips multiply in bf16: what "auto" takes
  /// its command line as a shell takes it: "TP=4 PP=2 8B"
  std::string arguments;
};

/// A setting that a launch script leaves to its caller.
struct OpenSetting {
  std::string name;   ///< of plan_settings(): "tp"
  std::string flag;   ///< "--tensor-model-parallel-size"
  std::string value;  ///< as the script has it: "$TP"
};

/// What a launch configuration says of the model that it trains.
struct FileModel {
  /// of the network; heads of keys and values; width of the feed-forward; 0: not said
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, feed_forward = 0, vocab = 0;
  std::int64_t experts = 0, top_k = 0, expert_width = 0;  ///< of a layer with experts
  std::optional<Model> whole;                             ///< where all of it is told
  std::vector<std::string> missing;  ///< else the flags that would tell the rest
};
/// In words, where the file's model is another: "layers 32, not 80". Vocabularies may be padded.
std::vector<std::string> model_differences(const FileModel& told, const Model& model);

/// What a launch configuration says. It may leave the number of chips open, and with it dp, the batch
/// and the shard: with_chips makes a plan of it.
struct PlanFile {
  Plan plan;  ///< dp 1 and global_batch 0 where the text does not say
  PlanFormat format = PlanFormat::kMegatron;  ///< what it was read as
  unsigned chips = 0;                         ///< 0: not said
  unsigned replicas = 0;             ///< copies of the sharded weights (hybrid shard); 0: not said
  std::int64_t accumulation = 1;     ///< microbatches of a replica, where global_batch is 0
  std::vector<std::string> ignored;  ///< settings without meaning for a plan
  /// settings that change a step's time or memory and are not modelled, with what is taken instead
  std::vector<std::string> unmodelled;
  std::vector<std::string> assumed;  ///< what the text leaves open, and how it was taken
  std::vector<OpenSetting> open;     ///< what it leaves to its caller
  FileModel model;                   ///< which model it trains
};

/// A launch script of Megatron-LM or Megatron-DeepSpeed (its shell is read as a shell reads it: variables,
/// arrays, branches, here-documents of DeepSpeed's JSON), their flags alone, short forms too (--tp, --pp),
/// the same as YAML; or TOML with [parallelism]; or DeepSpeed's JSON. Told apart by their first bytes.
/// Errors: no setting that is known; a value that is none, with its flag or key; unreadable TOML or JSON
/// with the line.
Result<PlanFile> parse_plan(std::string_view text, const std::string& where,
                            const LaunchSite& site = {});
/// The same from a file. Errors: also where it cannot be read.
Result<PlanFile> read_plan(const std::string& path, const LaunchSite& site = {});

/// The plan on so many chips (0: as many as the file says; else the plan's own): dp takes what the
/// other degrees leave. Error: they do not divide the number.
Result<Plan> with_chips(const PlanFile& file, unsigned chips = 0);

/// A setting that a launcher takes, but not in the text of this format.
struct PlanElsewhere {
  std::string name, value;  ///< as make_plan takes them: "pp", "4"
  std::string where;        ///< in words: "PipelineModule(num_stages=...)"
};
/// The plan in this format, ready to paste. What is read back with `elsewhere` is the plan again, but for
/// what is `lost`.
struct PlanText {
  std::string text;                      ///< flags, TOML or JSON
  std::vector<std::string> lost;         ///< what the launcher cannot run so, in words
  std::vector<PlanElsewhere> elsewhere;  ///< what it is told in another place
};
/// For this launcher.
PlanText write_plan(const Plan& plan, PlanFormat format);
/// Whether the launcher can run the plan: nothing is lost.
bool launchable(const Plan& plan, PlanFormat format);
/// "megatron", "torchtitan" or "deepspeed"; none for others.
std::optional<PlanFormat> parse_plan_format(std::string_view text);

}  // namespace flopcast
