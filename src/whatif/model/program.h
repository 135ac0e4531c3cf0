// A rank's recording as a program: its GPU tasks in launch order, each with what the host rows around
// its launch tell of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "flopcast/network/collectives.h"
#include "flopcast/replay/recording.h"
#include "flopcast/whatif/model.h"
#include "whatif/model/planned_name.h"

namespace flopcast::whatif {

/// One GPU task, as its launch tells it.
struct Work {
  std::uint32_t task = 0;                      ///< index into RankModel::gpu
  std::uint32_t thread = replaying::kNoIndex;  ///< that launched it
  std::uint32_t step = 0;                      ///< 0 the first of the rank
  Pass pass = Pass::kForward;                  ///< kForward, kBackward, kOptimizer or kOther
  std::uint32_t token = 0;                     ///< what runs: kernel, grid and block; or collective
  std::uint32_t kernel = 0;                    ///< the kernel's name alone
  std::uint32_t op = 0;                        ///< the outermost operator's name and dims
  std::uint32_t op_row = replaying::kNoIndex;  ///< the innermost operator
  std::uint32_t module = replaying::kNoIndex;  ///< innermost row "nn.Module: ..."
  /// Autograd's number: of the forward operator, its own or whose gradient this is part of.
  std::int64_t sequence = kNoId;
  bool recomputed = false;     ///< forward work inside a backward
  bool of_recomputed = false;  ///< gradient of such work: `sequence` is that of the second forward
  KernelKind kind = KernelKind::kOther;
  bool send = false;                          ///< between stages of a planned step
  bool copy = false;                          ///< a copy or set of memory
  std::uint32_t group = replaying::kNoIndex;  ///< of a collective: see Groups
  std::optional<CollectiveOp> operation;      ///< of a collective, where known
};

/// The number with which a work can be found in the forward; kNoId for what was recomputed.
inline std::int64_t forward_number(const Work& work) {
  return work.recomputed || work.of_recomputed ? kNoId : work.sequence;
}

/// A row of autograd's backward.
struct GradientRow {
  std::uint32_t track = 0;  ///< index into Trace::tracks
  Time start;               ///< on the trace's own clock
  std::int64_t number = kNoId;
  bool of_recomputed = false;
};

/// What runs on one rank.
struct Program {
  std::vector<Work> works;    ///< in launch order; those outside of steps are left out
  std::uint32_t steps = 0;    ///< recorded
  bool has_steps = false;     ///< the recording marks them, or optimizers do
  bool has_host = false;      ///< launches are known
  bool has_sequence = false;  ///< autograd's numbers are known
  /// Kernels are there that only training has, but no launch tells which pass they are of.
  bool hidden_passes = false;
  bool planned = false;  ///< a step as `flopcast estimate --engine graph` writes it: a task a pass
  std::vector<GradientRow> gradients;  ///< by start
};

/// Numbers for equal things, in order of first appearance; shared by all ranks.
class Tokens {
 public:
  /// Any four numbers that tell one thing from another, and its sort.
  using Key = std::tuple<int, std::uint64_t, std::uint64_t, std::uint64_t>;
  std::uint32_t of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, std::uint32_t> numbers_;
};

/// What names tell, found once for every string of a set.
class NameFacts {
 public:
  explicit NameFacts(const TraceSet& set);
  bool is_gradient(std::uint32_t name) const { return (facts_[name] & kGradient) != 0; }
  bool is_optimizer(std::uint32_t name) const { return (facts_[name] & kOptimizer) != 0; }
  bool is_optimizer_op(std::uint32_t name) const { return (facts_[name] & kOptimizerOp) != 0; }
  bool is_between(std::uint32_t name) const { return (facts_[name] & kBetween) != 0; }
  bool is_backward_kernel(std::uint32_t name) const {
    return (facts_[name] & kBackwardKernel) != 0;
  }
  bool is_module(std::uint32_t name) const { return (facts_[name] & kModule) != 0; }
  KernelKind kind(std::uint32_t name) const { return kinds_[name]; }
  /// What a row of this name communicates, if it does.
  std::optional<CollectiveOp> operation(std::uint32_t name) const { return operations_[name]; }

 private:
  enum : std::uint8_t {
    kGradient = 1,     ///< an operator of autograd's backward
    kOptimizer = 2,    ///< an annotation around the optimizer's step
    kOptimizerOp = 4,  ///< an operator or kernel that only optimizers use
    kBetween = 8,      ///< an annotation around what is neither pass nor optimizer
    kModule = 16,      ///< "nn.Module: X_3"
    kBackwardKernel = 32,
  };
  std::vector<std::uint8_t> facts_;
  std::vector<KernelKind> kinds_;
  std::vector<std::optional<CollectiveOp>> operations_;
};

Program make_program(const TraceSet& set, const NameFacts& facts,
                     const replaying::Recording& recording, std::uint32_t rank, Tokens& tokens);

/// What a row that belongs to a module is called: "Qwen2DecoderLayer" and 3. Number kNoIndex: the
/// name has none.
struct ModuleName {
  std::string_view name;
  std::uint32_t number = replaying::kNoIndex;
};
ModuleName module_name(std::string_view row_name);

}  // namespace flopcast::whatif
