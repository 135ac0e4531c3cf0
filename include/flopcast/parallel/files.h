// Floor 2: plans from and to what people launch training with: a reader for each launcher of
// flopcast/parallel/launch.h, a writer for some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/parallel.h"
#include "flopcast/parallel/launch.h"
#include "flopcast/parallel/launch_line.h"

namespace flopcast {

/// The largest degree or batch that is read.
inline constexpr std::int64_t kMostInPlan = 1 << 20;

/// On what a launch script is started, and how.
struct LaunchSite {
  /// what its launcher would tell it ($SLURM_NNODES and the like); 0: not known
  unsigned nodes = 0, chips_per_node = 0;
  bool bf16 = true;  ///< whether the chips multiply in bf16: what "auto" takes
  /// its command line as a shell takes it: "TP=4 PP=2 8B"
  std::string arguments;
  unsigned devices = 1;  ///< that programs see of a chip
};

/// A setting that a launch script leaves to its caller.
struct OpenSetting {
  std::string name;   ///< of plan_settings(): "tp"
  std::string flag;   ///< "--tensor-model-parallel-size"
  std::string value;  ///< as the script has it: "$TP"
};

/// What a launch configuration says of the model that it trains.
struct FileModel {
  std::string name;  ///< as the file has it: "Qwen/Qwen2.5-72B-Instruct", "llama3 8B"; or empty
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
  Launcher launcher = Launcher::kMegatronLm;  ///< what it was read as
  std::string recognised;                     ///< by what: "megatron sft", "zero_optimization"
  /// profile of the software that the launcher behaves as; empty: the text does not tell which
  std::string software;
  unsigned chips = 0;             ///< 0: not said
  unsigned replicas = 0;          ///< copies of the sharded weights (hybrid shard); 0: not said
  std::int64_t accumulation = 1;  ///< microbatches of a replica, where global_batch is 0

  /// Its settings, each in one of four: what the plan or the model is made of; what is without meaning
  /// for time and memory of a step; what changes them and is not modelled, with what is taken instead;
  /// and what nobody knows here, which may do anything.
  std::vector<std::string> used, ignored, unmodelled, unknown;
  std::vector<std::string> assumed;  ///< what the text leaves open, and how it was taken
  std::vector<OpenSetting> open;     ///< what it leaves to its caller
  FileModel model;                   ///< which model it trains
};
/// That a forecast of the file leaves something out: settings not modelled or not known, each by its
/// name. None: there are no such.
std::optional<Diagnostic> strict_problem(const PlanFile& file, const std::string& where);

/// What a training is started with: a script (its shell is read as a shell reads it: variables, arrays,
/// branches, here-documents), a command's flags or overrides alone, a document of YAML, TOML or JSON, or the
/// arguments that Megatron-LM prints into its log. Which launcher it is of, its program, flags or keys tell.
/// Errors: nothing tells, with what the text looks like; a value that is none, with its flag or key;
/// an unreadable document with the line.
Result<PlanFile> parse_plan(std::string_view text, const std::string& where,
                            const LaunchSite& site = {});
/// The same from a file. Errors: also where it cannot be read.
Result<PlanFile> read_plan(const std::string& path, const LaunchSite& site = {});

/// The plan on so many chips (0: as many as the file says; else the plan's own): dp takes what the
/// other degrees leave. Error: they do not divide the number.
Result<Plan> with_chips(const PlanFile& file, unsigned chips = 0);

/// The plan in this format, ready to paste. What is read back with `elsewhere` is the plan again, but for
/// what is `lost`.
struct PlanText {
  std::string text;                      ///< flags, TOML or JSON
  std::vector<std::string> lost;         ///< what the launcher cannot run so, in words
  std::vector<PlanElsewhere> elsewhere;  ///< what it is told in another place
};
/// For this launcher, which runs the model that the context has, where it has one.
PlanText write_plan(const Plan& plan, PlanFormat format, const LaunchContext& context = {});

}  // namespace flopcast
