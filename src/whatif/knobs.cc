// Every change is entered here, once: nothing else need know of its words.
#include "whatif/knobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/names.h"
#include "base/text/numbers.h"
#include "flopcast/replay/network_times.h"

namespace flopcast::whatif {
namespace {

Diagnostic no_value(const Knob& knob, const Said& said, std::string_view wanted) {
  return usage_error("--set", fmt::format("'{}' is no value of {}", said.value, knob.name),
                     fmt::format("{} takes {}", knob.name, wanted));
}

Result<Action> read_size(const Knob& knob, const Said& said) {
  const auto value = parse_whole<std::uint32_t>(said.value);
  if (!value || *value < 1) return no_value(knob, said, "a whole number, at least 1");
  return Action{SetSize{knob.size, *value, said.scale_only && knob.size == &StructureChange::dp}};
}

Result<Action> read_schedule(const Knob& knob, const Said& said) {
  if (said.value.empty()) return no_value(knob, said, "a name");
  const std::optional<ScheduleKind> kind = parse_schedule_kind(said.value);
  if (kind) return Action{SetSchedule{*kind}};
  return usage_error("--set", fmt::format("'{}' is no schedule", said.value),
                     "gpipe, 1f1b, interleaved, zb-h1");
}

Result<Action> read_tokens(const Knob& knob, const Said& said) {
  const std::optional<double> factor = parse_number(said.value);
  if (!factor || *factor <= 0) return no_value(knob, said, "a number above 0");
  return Action{SetTokens{*factor}};
}

Result<Action> read_recompute(const Knob&, const Said& said) {
  if (said.argument.empty()) return Action{SetRecompute{kAllLayers}};
  const auto layers = parse_whole<std::uint32_t>(said.argument);
  if (layers && *layers > 0) return Action{SetRecompute{*layers}};
  return usage_error("--add", fmt::format("'{}' is no number of layers", said.argument),
                     "write recompute:LAYERS, of each stage");
}
Result<Action> read_no_recompute(const Knob&, const Said&) { return Action{SetRecompute{0}}; }

Result<Action> read_overlap(const Knob&, const Said& said) {
  if (said.argument.empty()) return Action{AddOverlap{}};
  const std::optional<CollectiveOp> operation = replaying::operation_of(said.argument);
  if (operation) return Action{AddOverlap{operation}};
  return usage_error("--add", fmt::format("'{}' is no operation of collectives", said.argument),
                     "write overlap:all_reduce, all_gather, reduce_scatter, ...");
}

Result<Action> read_fuse(const Knob&, const Said& said) {
  Result<Pattern> names = Pattern::make(said.argument, "--add");
  if (!names) return names.error();
  return Action{Fuse{std::move(*names)}};
}

/// A rank, where one is named.
Result<std::optional<std::int64_t>> rank_of(const Knob& knob, const Said& said) {
  if (said.argument.empty()) return std::optional<std::int64_t>();
  const auto rank = parse_whole<std::uint32_t>(said.argument);
  if (rank) return std::optional<std::int64_t>(*rank);
  return usage_error(
      fmt::format("--{}", verb_name(knob.verb)),
      fmt::format("'{}:{}': '{}' is no rank", knob.name, said.argument, said.argument),
      fmt::format("write {}:{}, a whole number", knob.name, knob.argument_shown));
}

Result<Action> read_straggler(const Knob& knob, const Said& said) {
  const auto rank = rank_of(knob, said);
  if (!rank) return rank.error();
  return Action{RemoveStraggler{*rank}};
}

/// An action without anything to be said of it.
template <typename Plain>
Result<Action> read_plain(const Knob&, const Said&) {
  return Action{Plain{}};
}

Result<Action> read_kernels_from(const Knob&, const Said& said) {
  return Action{KernelsFrom{said.value}};
}

Result<Action> read_chip(const Knob&, const Said& said) {
  Result<Chip> chip = Catalog::builtin().chip(said.value);
  if (chip) return Action{OnChip{std::move(*chip)}};
  Diagnostic problem = chip.error();
  problem.code = ErrorCode::kUsage;
  problem.where = "--chip";
  return problem;
}

Result<Action> read_cluster(const Knob&, const Said& said) { return Action{OnCluster{said.value}}; }

Action scaled(Scaled what, const Said& said) { return Scale{std::move(what), said.factor}; }

Result<Action> read_kernels(const Knob&, const Said& said) {
  const std::string key = name_key(said.argument);
  if (key == "gemm" || key == "attention" || key == "copies") return scaled(ScaledPart{key}, said);
  if (key == "other" || key == "otherkernels") return scaled(ScaledPart{"other_kernels"}, said);
  ScaledKernels kernels{said.argument, std::nullopt};
  const std::string_view text = said.argument;
  if (text.size() >= 2 && text.front() == '/' && text.back() == '/') {
    Result<Pattern> names = Pattern::make(std::string(text.substr(1, text.size() - 2)), "--scale");
    if (!names) return names.error();
    kernels.expression = std::move(*names);
  }
  return scaled(std::move(kernels), said);
}

Result<Action> read_collective(const Knob&, const Said& said) {
  const std::optional<CollectiveOp> op = replaying::operation_of(said.argument);
  return scaled(ScaledPart{op ? std::string(name(*op)) : said.argument}, said);
}

Result<Action> read_network(const Knob&, const Said& said) {
  const std::string tier = name_key(said.argument);
  if (tier.empty()) return scaled(ScaledNetwork{}, said);
  if (tier == "node") return scaled(ScaledNetwork{NetworkTier::kNode}, said);
  if (tier == "fabric") return scaled(ScaledNetwork{NetworkTier::kFabric}, said);
  return usage_error("--scale", fmt::format("'{}' is no tier of a network", said.argument),
                     "network:node within nodes, network:fabric between them");
}

Result<Action> read_scaled_host(const Knob&, const Said& said) {
  return scaled(ScaledHost{}, said);
}

Result<Action> read_scaled_rank(const Knob& knob, const Said& said) {
  const auto rank = rank_of(knob, said);
  if (!rank) return rank.error();
  return scaled(ScaledRank{**rank}, said);
}

Result<Action> read_part(const Knob& knob, const Said& said) {
  return scaled(ScaledPart{std::string(knob.name)}, said);
}

// ---- the table -----------------------------------------------------------------------------------

constexpr auto kNoArgument = Argument::kNone;
constexpr auto kOptional = Argument::kOptional;
constexpr auto kRequired = Argument::kRequired;

constexpr Knob size(std::string_view name, SizeField field, std::string_view help) {
  return {Verb::kSet, name, kNoArgument, "N", help, read_size, field};
}
constexpr Knob part(std::string_view name, std::string_view help) {
  return {Verb::kScale, name, kNoArgument, "", help, read_part};
}

constexpr Knob kKnobs[] = {
    size("dp", &StructureChange::dp, "data-parallel replicas"),
    size("pp", &StructureChange::pp, "pipeline stages"),
    size("tp", &StructureChange::tp, "tensor-parallel ranks"),
    size("cp", &StructureChange::cp, "context-parallel ranks"),
    size("ep", &StructureChange::ep, "expert-parallel ranks"),
    size("microbatches", &StructureChange::microbatches, "microbatches of a step"),
    size("microbatch_size", &StructureChange::microbatch_size, "sequences of a microbatch"),
    {Verb::kSet, "schedule", kNoArgument, "N", "pipeline schedule: gpipe, 1f1b, interleaved, zb-h1",
     read_schedule},
    size("chunks", &StructureChange::chunks,
         "model chunks of a stage, of the interleaved schedule"),
    size("layers", &StructureChange::layers, "layers of the model"),
    size("hidden", &StructureChange::hidden, "width of the model"),
    size("ffn", &StructureChange::ffn, "width between the two halves of a feed-forward layer"),
    size("heads", &StructureChange::heads, "attention heads"),
    size("sequence", &StructureChange::sequence, "tokens of a sequence"),
    {Verb::kSet, "tokens", kNoArgument, "FACTOR", "tokens of a GPU, times FACTOR", read_tokens},

    {Verb::kAdd, "overlap", kOptional, "OP",
     "computation no longer waits for gradients, or for any all_reduce (OP), before the optimizer",
     read_overlap},
    {Verb::kAdd, "fuse", kRequired, "REGEX", "neighbours whose names match become one kernel",
     read_fuse},
    {Verb::kAdd, "recompute", kOptional, "LAYERS",
     "layers are run again before their backward pass", read_recompute},

    {Verb::kRemove, "profiler", kNoArgument, "", "the profiler's own time on the host",
     read_plain<RemoveProfiler>},
    {Verb::kRemove, "data-loading", kNoArgument, "", "the host's waiting for data",
     read_plain<RemoveDataLoading>},
    {Verb::kRemove, "host", kNoArgument, "", "all the host does", read_plain<RemoveHost>},
    {Verb::kRemove, "launches", kNoArgument, "", "one launch a step, as with CUDA graphs",
     read_plain<RemoveLaunches>},
    {Verb::kRemove, "straggler", kOptional, "RANK",
     "a rank's work takes as long as that of its equals", read_straggler},
    {Verb::kRemove, "overlap", kNoArgument, "", "communication and computation take turns",
     read_plain<RemoveOverlap>},
    {Verb::kRemove, "recompute", kNoArgument, "", "no layer is run again before its backward pass",
     read_no_recompute},

    {Verb::kKernelsFrom, "", kNoArgument, "DIR", "kernels take as long as in this recording",
     read_kernels_from},
    {Verb::kChip, "", kNoArgument, "CHIP", "kernels on this chip", read_chip},
    {Verb::kOn, "", kNoArgument, "CLUSTER", "collectives on this cluster", read_cluster},

    {Verb::kScale, "kernel", kRequired, "CLASS|NAME|/REGEX/",
     "kernels: gemm, attention, other, copies, or by name", read_kernels},
    {Verb::kScale, "collective", kRequired, "OP", "collectives of an operation, such as all_reduce",
     read_collective},
    {Verb::kScale, "network", kOptional, "TIER",
     "all collectives, or those of a tier: node, fabric", read_network},
    {Verb::kScale, "host", kNoArgument, "", "all the host does", read_scaled_host},
    {Verb::kScale, "rank", kRequired, "RANK", "host and kernels of one rank", read_scaled_rank},
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

const char* verb_name(Verb verb) {
  static constexpr const char* kNames[] = {"set",          "scale", "remove", "add",
                                           "kernels-from", "chip",  "on"};
  return kNames[static_cast<int>(verb)];
}

const Knob* find_knob(Verb verb, std::string_view name) {
  const auto known = std::find_if(std::begin(kKnobs), std::end(kKnobs), [&](const Knob& knob) {
    return knob.verb == verb && knob.name == name;
  });
  return known == std::end(kKnobs) ? nullptr : known;
}

}  // namespace flopcast::whatif
