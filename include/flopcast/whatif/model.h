// What a recording tells of the program that ran: groups of ranks, stages, microbatches, layers, and
// for each layer and position what runs there. Printed by `flopcast trace model`, so that a person
// can check it; what-ifs of structure are emitted from it.
//
// A rank's step is cut, in launch order, into segments: one layer of one pass of one microbatch, the
// stretch before the layers (embedding), after them (head, loss), an exchange between stages, the
// optimizer. Segments that run the same kernels are copies of one unit; the kernel at a position of
// a unit has the median of its copies. Gradient buckets are no part of a unit: which layer launches
// one depends on its size, not on the layer.
//
//   rank 0 of PP 2, two layers, two microbatches (layer units: u1 forward, u2 backward)
//   segments   before layer layer exchange | before layer layer | exchange layer layer before | ...
//   unit       u0     u1    u1    u3       | u0     u1    u1    | u3       u2    u2    u4     | ...
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
  kTensor,    ///< every layer: all-reduce, or all-gather and reduce-scatter
  kContext,   ///< every layer: ring of sends, or all-gather of keys and values
  kData,      ///< gradients, in or after backward
  kPipeline,  ///< activations from stage to stage
  kExpert,    ///< all-to-all in layers
  kSharded,   ///< gradients, and parameters gathered before they are used
  kModel,     ///< a few numbers once a step over all shards of one model: the gradients' norm
  kUnknown
};
/// "tp", "cp", "dp", "pp", "ep", "zero", "model", "unknown"
const char* group_use_name(GroupUse use);

/// Ranks that communicate with each other, and why.
struct ModelGroup {
  std::uint32_t name = 0;             ///< string id of the group as recorded, 0 where unknown
  GroupUse use = GroupUse::kUnknown;  ///< see GroupUse
  std::vector<std::int32_t> ranks;    ///< ascending; all that the recording names, recorded or not
  std::uint32_t size = 0;             ///< how many there are, though not named; 0 where unknown
  std::string evidence;               ///< "all_reduce, 4 in every layer"
};

/// What pass of training a stretch of work belongs to.
enum class Pass : std::uint8_t {
  kForward,
  kBackward,  ///< of inputs and weights; of inputs alone where there are passes of weights
  kWeights,   ///< gradients of weights apart (zero-bubble schedules)
  kOptimizer,
  kOther
};
const char* pass_name(Pass pass);  ///< "forward", "backward", "weights", "optimizer", "other"

/// What a unit is a stretch of.
enum class UnitPart : std::uint8_t {
  kLayer,     ///< one of the repeats
  kBefore,    ///< of a pass, the model's side of the input: embedding, and its backward
  kAfter,     ///< of a pass, the model's side of the output: head, loss, and their backward
  kWhole,     ///< of a pass in which no layers were found
  kExchange,  ///< sends and receives between stages
  kRest       ///< everything else: loading, optimizer
};
const char* unit_part_name(UnitPart part);  ///< "layer", "before", "after", "whole", ...

/// A dependency of a kernel of a unit on another of the same rank, by position.
struct ModelEdge {
  EdgeKind kind = EdgeKind::kEvent;  ///< across streams; order within a stream is implied
  std::uint32_t unit = 0;            ///< of the source: index into ModelStage::units
  std::uint32_t position = 0;        ///< of the source, in its unit
  /// The source's segment is the so-manieth of its unit before the target's in launch order, in the
  /// whole recording: 0 is the same or, in another unit, the latest.
  std::uint32_t back = 0;
  bool operator==(const ModelEdge&) const = default;  ///< all the same
};

/// One GPU task of a unit: the same position in all its copies.
struct ModelKernel {
  std::uint32_t name = 0;                  ///< string id
  std::uint32_t stream = 0;                ///< index into RankModel::streams, of the first copy
  Time duration;                           ///< median over copies; of a collective: its transfer
  double spread = 0;                       ///< median absolute deviation / median
  std::uint64_t blocks = 0;                ///< of its grid, 0 where unknown
  std::uint32_t op = replaying::kNoIndex;  ///< row of the innermost operator in the first copy
  std::uint32_t dims = 0;       ///< string id of that operator's input dims, 0 where unknown
  std::uint32_t operation = 0;  ///< of a collective: string id of its operation as recorded
  std::uint32_t group = replaying::kNoIndex;  ///< of a collective: index into TraceModel::groups
  std::int64_t bytes = 0;   ///< of a collective or copy, on one rank; 0 where unknown
  bool recomputed = false;  ///< of a backward unit: a kernel of the forward, run again
  /// Host time that leads to it: since the end of the launching call before it in its segment (or
  /// since the segment's first piece), gaps included and waits left out; median over copies.
  Time host;
  Time launch;                       ///< the launching call itself; median over copies
  std::vector<ModelEdge> after;      ///< that most of its copies have
  std::vector<std::uint32_t> tasks;  ///< one a copy, index into RankModel::gpu; as `segments`
};

/// A stretch of work that repeats: a layer of one pass; or one that does not: embedding, head.
struct ModelUnit {
  Pass pass = Pass::kForward;           ///< see Pass
  UnitPart part = UnitPart::kRest;      ///< see UnitPart
  std::string name;                     ///< "forward layer", "backward after"
  bool recomputes = false;              ///< runs forward kernels again before its backward
  std::vector<ModelKernel> kernels;     ///< of one copy, in launch order
  Time host_end;                        ///< host time after its last launch; median over copies
  std::vector<std::uint32_t> segments;  ///< its copies: indices into ModelStage::segments
};

/// A stretch of one rank's work as it was recorded, in launch order: a copy of a unit.
struct ModelSegment {
  std::uint32_t unit = 0;                          ///< index into ModelStage::units
  std::uint32_t step = 0;                          ///< 0 the first of the rank
  std::uint32_t microbatch = replaying::kNoIndex;  ///< of the step; kNoIndex outside of passes
  std::uint32_t chunk = 0;                         ///< of the stage's parts of the model
  std::uint32_t layer = replaying::kNoIndex;       ///< of a layer: its number in the whole model
  /// The launching thread (RankModel::threads) and its pieces first_piece .. last_piece - 1; the
  /// segments of one thread follow each other without a hole. kNoIndex where no host was recorded.
  std::uint32_t thread = replaying::kNoIndex;
  std::uint32_t first_piece = 0;     ///< on `thread`
  std::uint32_t last_piece = 0;      ///< one past its last
  std::vector<std::uint32_t> tasks;  ///< its unit's kernels, index into RankModel::gpu
};

/// Gradients (or a part of them) reduced together.
struct ModelBucket {
  std::uint32_t task = 0;                     ///< index into RankModel::gpu
  std::uint32_t step = 0;                     ///< as ModelSegment::step
  std::uint32_t group = replaying::kNoIndex;  ///< index into TraceModel::groups
  std::int64_t bytes = 0;                     ///< on one rank; 0 where unknown
  /// The segment during which it was launched, and how many of its kernels were launched before. What
  /// gathers is launched for what follows: between two segments it belongs to the second.
  std::uint32_t segment = 0, position = 0;
  /// Of one that reduces: layers (numbers of the whole model) whose gradients became ready since the
  /// one before it in the same backward, its own segment included if it ended: first .. last; first >
  /// last: none.
  std::uint32_t first_layer = 1, last_layer = 0;
};

/// What one rank does.
struct ModelStage {
  std::uint32_t rank = 0;              ///< index into the recording's ranks
  std::uint32_t stage = 0;             ///< pipeline stage, 0 first
  std::uint32_t microbatches = 1;      ///< per step
  std::uint32_t chunks = 1;            ///< parts of the model it holds
  std::uint32_t layers = 0;            ///< of this stage, all its chunks; 0: not found
  std::uint32_t steps = 0;             ///< recorded whole
  std::vector<ModelUnit> units;        ///< in order of their first segment
  std::vector<ModelSegment> segments;  ///< all steps, in launch order
  std::vector<ModelBucket> buckets;    ///< in launch order
  /// Passes of the first step as run: "F0", "F1", "B0", "W0", ...; with chunks "F0.1" (microbatch 0,
  /// chunk 1). Empty: unknown.
  std::vector<std::string> order;
};

/// All of it.
struct TraceModel {
  std::uint32_t dp = 1, pp = 1, tp = 1, cp = 1, ep = 1;  ///< degrees
  bool zero = false;       ///< parameters or gradients are sharded over dp
  bool recompute = false;  ///< backward runs forward kernels again
  std::string schedule;    ///< "1f1b", "gpipe", "interleaved", "zb-h1"; empty: unknown or none
  std::string schedule_evidence;   ///< why this one, or why none
  std::uint32_t chunks = 1;        ///< model chunks a stage
  std::uint32_t microbatches = 1;  ///< per step
  std::uint32_t layers = 0;        ///< of the whole model; 0: not found
  std::string layer_evidence;      ///< "repeat of 16 kernels, 40 times", or why there are none
  bool has_host = false;           ///< host rows were recorded
  bool has_shapes = false;         ///< operators carry shapes
  std::vector<ModelGroup> groups;  ///< by use, then ranks
  std::vector<ModelStage> stages;  ///< one a recorded rank
};

/// Finds it. Never fails: what is not found is left at its default with the reason in
/// layer_evidence.
TraceModel make_trace_model(const TraceSet& set, const replaying::Recording& recording);

}  // namespace flopcast
