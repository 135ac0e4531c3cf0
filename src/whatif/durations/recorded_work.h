// What the recorded GPU tasks are: their passes, operators, products of matrices, tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flopcast/cost/operators.h"
#include "whatif/change/changed_run.h"
#include "whatif/change/task_operators.h"
#include "whatif/model/program.h"

namespace flopcast::whatif {

/// What is known of one rank's GPU tasks.
struct RankWork {
  Program program;
  TaskOperators operators;
};

/// By rank. The recording has to live as long.
std::vector<RankWork> find_work(const TraceSet& set, const replaying::Recording& recording);

/// The product of matrices that launched a kernel.
std::optional<Gemm> gemm_of(const RecordedKernel& kernel);

/// How many tokens a GPU works on: the rows that most of the time of the forward's matrix products
/// have; 0 where shapes do not tell.
std::int64_t count_tokens(const ChangedRun& run, const std::vector<RankWork>& ranks);

}  // namespace flopcast::whatif
