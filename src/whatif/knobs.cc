// Every change is entered here, once: nothing else need know of it.
#include "whatif/knobs.h"

#include "whatif/durations/chip.h"
#include "whatif/durations/cluster.h"
#include "whatif/durations/host.h"
#include "whatif/durations/kernels_from.h"
#include "whatif/durations/loader.h"
#include "whatif/durations/profiler.h"
#include "whatif/durations/scale.h"
#include "whatif/durations/straggler.h"
#include "whatif/durations/tokens.h"
#include "whatif/order/fuse.h"
#include "whatif/order/overlap.h"
#include "whatif/structure/change_structure.h"

namespace flopcast::whatif {
namespace {

constexpr Knob set(std::string_view name, Value value, std::string_view help) {
  return {Verb::kSet, name, Tier::kStructure, Argument::kNone, value, "N", help, nullptr};
}
constexpr Knob scale(std::string_view name, Argument argument, std::string_view shown,
                     std::string_view help, Apply apply) {
  return {Verb::kScale, name, Tier::kDurations, argument, Value::kNone, shown, help, apply};
}
constexpr Knob part(std::string_view name, std::string_view help) {
  return scale(name, Argument::kNone, "", help, scale_part);
}
constexpr Knob change(Verb verb, std::string_view name, Tier tier, Argument argument,
                      std::string_view shown, std::string_view help, Apply apply) {
  return {verb, name, tier, argument, Value::kNone, shown, help, apply};
}

constexpr auto kCount = Value::kCount;
constexpr auto kDurations = Tier::kDurations;
constexpr auto kOrder = Tier::kOrder;
constexpr auto kStructure = Tier::kStructure;
constexpr auto kNoArgument = Argument::kNone;
constexpr auto kOptional = Argument::kOptional;
constexpr auto kRequired = Argument::kRequired;

constexpr Knob kKnobs[] = {
    set("dp", kCount, "data-parallel replicas"),
    set("pp", kCount, "pipeline stages"),
    set("tp", kCount, "tensor-parallel ranks"),
    set("cp", kCount, "context-parallel ranks"),
    set("ep", kCount, "expert-parallel ranks"),
    set("microbatches", kCount, "microbatches of a step"),
    set("microbatch_size", kCount, "sequences of a microbatch"),
    set("schedule", Value::kWord, "pipeline schedule: gpipe, 1f1b, interleaved, zb-h1"),
    set("chunks", kCount, "model chunks of a stage, of the interleaved schedule"),
    set("layers", kCount, "layers of the model"),
    set("hidden", kCount, "width of the model"),
    set("ffn", kCount, "width between the two halves of a feed-forward layer"),
    set("heads", kCount, "attention heads"),
    set("sequence", kCount, "tokens of a sequence"),
    {Verb::kSet, "tokens", kDurations, kNoArgument, Value::kFactor, "FACTOR",
     "tokens of a GPU, times FACTOR", set_tokens},

    change(Verb::kAdd, "overlap", kOrder, kOptional, "OP",
           "computation no longer waits for gradients, or for any all_reduce (OP), before the "
           "optimizer",
           add_overlap),
    change(Verb::kAdd, "fuse", kOrder, kRequired, "REGEX",
           "neighbours whose names match become one kernel", add_fusion),
    change(Verb::kAdd, "recompute", kStructure, kOptional, "LAYERS",
           "layers are run again before their backward pass", nullptr),

    change(Verb::kRemove, "profiler", kDurations, kNoArgument, "",
           "the profiler's own time on the host", remove_profiler),
    change(Verb::kRemove, "data-loading", kDurations, kNoArgument, "",
           "the host's waiting for data", remove_data_loading),
    change(Verb::kRemove, "host", kDurations, kNoArgument, "", "all the host does", remove_host),
    change(Verb::kRemove, "launches", kDurations, kNoArgument, "",
           "one launch a step, as with CUDA graphs", remove_launches),
    change(Verb::kRemove, "straggler", kDurations, kOptional, "RANK",
           "a rank's work takes as long as that of its equals", remove_straggler),
    change(Verb::kRemove, "overlap", kOrder, kNoArgument, "",
           "communication and computation take turns", remove_overlap),
    change(Verb::kRemove, "recompute", kStructure, kNoArgument, "",
           "no layer is run again before its backward pass", nullptr),

    change(Verb::kKernelsFrom, "", kDurations, kNoArgument, "DIR",
           "kernels take as long as in this recording", take_kernels_from),
    change(Verb::kChip, "", kDurations, kNoArgument, "CHIP", "kernels on this chip", move_to_chip),
    change(Verb::kOn, "", kDurations, kNoArgument, "CLUSTER", "collectives on this cluster",
           replace_network),

    scale("kernel", kRequired, "CLASS|NAME|/REGEX/",
          "kernels: gemm, attention, other, copies, or by name", scale_kernels),
    scale("collective", kRequired, "OP", "collectives of an operation, such as all_reduce",
          scale_collectives),
    scale("network", kOptional, "TIER", "all collectives, or those of a tier: node, fabric",
          scale_network),
    scale("host", kNoArgument, "", "all the host does", scale_host),
    scale("rank", kRequired, "RANK", "host and kernels of one rank", scale_rank),
    part("gemm", "as kernel:gemm"),
    part("attention", "as kernel:attention"),
    part("other_kernels", "as kernel:other"),
    part("copies", "as kernel:copies"),
    part("all_reduce", "as collective:all_reduce; likewise the other operations"),
    part("all_gather", ""),
    part("reduce_scatter", ""),
    part("broadcast", ""),
    part("reduce", ""),
    part("all_to_all", ""),
    part("send_recv", ""),
    part("barrier", ""),
    part("other_communication", "communication whose operation the recording does not tell"),
};

}  // namespace

std::span<const Knob> knobs() { return kKnobs; }

const Emit kEmit = change_structure;

}  // namespace flopcast::whatif
