// Floor 2: plans from and to what people launch training with: Megatron-LM flags, torchtitan TOML,
// DeepSpeed JSON.
#pragma once

#include <cstdint>
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

/// What a launch configuration says. It may leave the number of chips open, and with it dp, the batch
/// and the shard: with_chips makes a plan of it.
struct PlanFile {
  Plan plan;  ///< dp 1 and global_batch 0 where the text does not say
  PlanFormat format = PlanFormat::kMegatron;  ///< what it was read as
  unsigned chips = 0;                         ///< 0: not said
  unsigned replicas = 0;             ///< copies of the sharded weights (hybrid shard); 0: not said
  std::int64_t accumulation = 1;     ///< microbatches of a replica, where global_batch is 0
  std::vector<std::string> ignored;  ///< settings without meaning for a plan
  std::vector<std::string> assumed;  ///< what the text leaves open, and how it was taken
};

/// Launch flags ("--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 ..."; also
/// "--flag=value", a whole script with line continuations, short forms --tp --pp ...), or TOML with
/// [parallelism], or DeepSpeed's JSON: told apart by their first bytes.
/// Errors: a value that is no number, with its flag or key; unreadable TOML or JSON with the line.
Result<PlanFile> parse_plan(std::string_view text, const std::string& where);
/// The same from a file. Errors: also where it cannot be read.
Result<PlanFile> read_plan(const std::string& path);

/// The plan on so many chips (0: as many as the file says; else the plan's own): dp takes what the
/// other degrees leave. Error: they do not divide the number.
Result<Plan> with_chips(const PlanFile& file, unsigned chips = 0);

/// The plan in this format, ready to paste; what the format has no word for is in `lost`.
struct PlanText {
  std::string text;               ///< flags, TOML or JSON
  std::vector<std::string> lost;  ///< settings, in words
};
/// For this launcher.
PlanText write_plan(const Plan& plan, PlanFormat format);

}  // namespace flopcast
