// What publishers of runs started where their runs do not tell: catalog/training/launches.toml.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/measured/training.h"

namespace flopcast::measured {

/// A run in the words of those who published it.
struct RunTexts {
  std::string dtype, recompute, task, software, framework, repo, set;
  int month = 0;           ///< and year of the software, 202606; 0: not told
  std::string remarks;     ///< on what the configuration leaves open
  std::string note, path;  ///< on the run; of its source
};

/// What rules ask of a run beside its words, as far as it is read.
struct LaunchFacts {
  const Model* model = nullptr;
  const Chip* chip = nullptr;
  std::optional<Precision> precision;
  bool compiled = false;
  std::int64_t tp = 1, pp = 1, vpp = 1, micro_batch = 1, zero = 1;
};

/// What its launch is taken to be.
struct Launch {
  std::string software;  ///< a profile of catalog/training/constants.toml
  bool experts_as_layers = false, stages_of_one_layer = false, batch_by_stages = false;
  ContextKind context = ContextKind::kRing;
  bool flash_attention = true, fp32_gradients = true, reshard = true;
  bool sums_as_reduced = false;  ///< gradients are added up in the type that they are reduced in
  bool overlap_gradients = true, overlap_tensor = false, overlap_experts = false,
       overlap_pipeline = true;
  std::uint8_t recompute = 0;  ///< RecomputeModule, added up; 0: what the run says
  unsigned mtp_layers = 0;
  std::int64_t lora_rank = 0, document_tokens = 0;
  bool lora_mlp = false, forced_routing = false, memory_reserved = false;
  std::vector<std::string> assumed;
};

/// The rules there are, but for those that were found in `unseen` sets of runs alone.
class LaunchRules {
 public:
  /// Errors: the catalogue's file cannot be read.
  static Result<LaunchRules> make(const std::vector<std::string>& unseen);

  bool compiled(const RunTexts& texts, const LaunchFacts& facts) const;
  /// The profile of constants; of a run whose month nobody tells today's.
  std::string software(const RunTexts& texts, const LaunchFacts& facts) const;
  /// How degrees are meant. @pre `launch.software` is known; so for the next
  void put_layout(const RunTexts& texts, const LaunchFacts& facts, Launch& launch) const;
  void put_launch(const RunTexts& texts, const LaunchFacts& facts, Launch& launch) const;

 private:
  std::vector<std::string> unseen_;
};

/// What rows of a table of runs have in common.
struct TableRuns {
  std::string set, arch, gpu, inter, dtype, recompute, software;
  std::int64_t vocab = 0, gpus_per_node = 1;
};
Result<TableRuns> table_runs();

/// What tells when a run's software is of.
struct Datable {
  std::string container, id, round, path, repo;
  double year = 0;
};
/// Year and month, 202606; 0 where nobody tells.
int month_of(const Datable& run);
/// The set of runs that an id is of: "mlperf-v5.1-llama31_8b-..." is of mlperf-llama31_8b.
std::string set_of_id(std::string_view id);

}  // namespace flopcast::measured
