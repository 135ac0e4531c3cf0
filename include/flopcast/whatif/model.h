// What a recording tells of the program that ran: groups of ranks, stages, microbatches, layers, and
// for each layer and position what runs there. Printed by `flopcast trace model`, so that a person
// can check it; what-ifs of structure are emitted from it.
//
// How each thing is found, and on which recordings it is not: docs/theory/whatif.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/replay/recording.h"

namespace flopcast {

/// What a group of ranks shares.
enum class GroupUse : std::uint8_t {
  kTensor,
  kContext,
  kData,
  kPipeline,
  kExpert,
  kSharded,
  kUnknown
};
const char* group_use_name(GroupUse use);  ///< "tp", "cp", "dp", "pp", "ep", "zero", "unknown"

/// Ranks that communicate with each other, and why.
struct ModelGroup {
  std::uint32_t name = 0;             ///< string id of the group as recorded, 0 where unknown
  GroupUse use = GroupUse::kUnknown;  ///< see GroupUse
  std::vector<std::int32_t> ranks;    ///< ascending; all that the recording names, recorded or not
  std::string evidence;               ///< "all-reduce twice in every layer"
};

/// What pass of training a stretch of work belongs to.
enum class Pass : std::uint8_t { kForward, kBackward, kOptimizer, kOther };
const char* pass_name(Pass pass);  ///< "forward", "backward", "optimizer", "other"

/// One GPU task of a unit: the same position in all its copies.
struct ModelKernel {
  std::uint32_t name = 0;    ///< string id
  std::uint32_t stream = 0;  ///< index into RankModel::streams
  Time duration;             ///< median over copies; of a collective: its transfer
  double spread = 0;         ///< median absolute deviation / median
  std::uint32_t op =
      replaying::kNoIndex;  ///< row of the operator that launched it in the first copy
  std::uint32_t dims = 0;   ///< string id of that operator's input dims, 0 where unknown
  std::uint32_t group = replaying::kNoIndex;  ///< of a collective: index into TraceModel::groups
  std::int64_t bytes = 0;                     ///< of a collective or copy; 0 where unknown
  std::vector<std::uint32_t> tasks;  ///< of all copies, index into RankModel::gpu, in order
};

/// A stretch of work that repeats: a layer of one pass; or one that does not: embedding, head.
struct ModelUnit {
  Pass pass = Pass::kForward;  ///< see Pass
  bool layer = false;          ///< one of the repeats; false: the stretch before, between, after
  std::string name;            ///< "layers 0..11", "before layers", "module Qwen2DecoderLayer"
  std::uint32_t layers = 1;    ///< copies within one pass of one microbatch
  std::vector<ModelKernel> kernels;  ///< of one copy, in launch order
};

/// What one rank does in one step.
struct ModelStage {
  std::uint32_t rank = 0;          ///< index into the recording's ranks
  std::uint32_t stage = 0;         ///< pipeline stage, 0 first
  std::uint32_t microbatches = 1;  ///< per step
  std::uint32_t layers = 0;        ///< of this stage; 0: not found
  std::vector<ModelUnit> units;    ///< by pass, in order of the first microbatch
  std::vector<std::string> order;  ///< passes as run: "F0", "F1", "B0", ...; empty: unknown
};

/// All of it.
struct TraceModel {
  std::uint32_t dp = 1, pp = 1, tp = 1, cp = 1, ep = 1;  ///< degrees
  bool zero = false;         ///< parameters or gradients are sharded over dp
  std::string schedule;      ///< "1f1b", "gpipe", "interleaved", "zb-h1"; empty: unknown or none
  std::uint32_t chunks = 1;  ///< model chunks a stage
  std::uint32_t microbatches = 1;  ///< per step
  std::uint32_t layers = 0;        ///< of the whole model; 0: not found
  std::string layer_evidence;      ///< "repeat of 16 kernels, 40 times", or why there are none
  bool has_host = false;           ///< host rows were recorded
  bool has_shapes = false;         ///< operators carry shapes
  std::vector<ModelGroup> groups;  ///< by use
  std::vector<ModelStage> stages;  ///< one a recorded rank
};

/// Finds it. Never fails: what is not found is left at its default with the reason in
/// layer_evidence.
TraceModel make_trace_model(const TraceSet& set, const replaying::Recording& recording);

}  // namespace flopcast
