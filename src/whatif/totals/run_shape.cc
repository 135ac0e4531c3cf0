#include "whatif/totals/run_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flopcast::whatif::totals {
namespace {

/// What a size multiplies the tokens of a step by, and what it sets.
struct KnownSize {
  SizeField size;
  double RunShape::*field;
  bool tokens, gpus;  ///< as many times as many of them
};
constexpr KnownSize kSizes[] = {
    {&StructureChange::dp, &RunShape::dp, true, true},
    {&StructureChange::pp, &RunShape::pp, false, true},
    {&StructureChange::tp, &RunShape::tp, false, true},
    {&StructureChange::cp, &RunShape::cp, false, true},
    {&StructureChange::ep, &RunShape::ep, false, false},
    {&StructureChange::microbatches, &RunShape::microbatches, true, false},
    {&StructureChange::chunks, &RunShape::chunks, false, false},
    {&StructureChange::layers, &RunShape::layers, false, false},
    {&StructureChange::hidden, &RunShape::hidden, false, false},
    {&StructureChange::ffn, &RunShape::ffn, false, false},
    {&StructureChange::heads, &RunShape::heads, false, false},
};

/// So many times the tokens; nothing: nobody knows how many times.
void add_tokens(RunShape& shape, std::optional<double> times) {
  if (!times) {
    shape.more.reset();
    if (shape.tokens) shape.no_tokens = "how many sequences a microbatch had is not known";
    shape.tokens.reset();
    return;
  }
  if (shape.more) *shape.more *= *times;
  if (shape.tokens) *shape.tokens *= *times;
}

/// What a change makes of the shape; most change nothing.
struct ShapeChanger {
  RunShape& shape;

  void operator()(const SetSize& set) const {
    const double value = set.value;
    if (set.size == &StructureChange::sequence) {
      add_tokens(shape, shape.sequence ? std::optional(value / *shape.sequence) : std::nullopt);
      shape.sequence = value;
    }
    if (set.size == &StructureChange::microbatch_size) {
      const std::optional<std::int64_t> now = shape.micro_batch();
      add_tokens(shape, now ? std::optional(value / static_cast<double>(*now)) : std::nullopt);
    }
    for (const KnownSize& known : kSizes) {
      if (known.size != set.size) continue;
      double& field = shape.*known.field;
      if (known.tokens) add_tokens(shape, value / field);
      if (known.gpus) shape.gpus *= value / field;
      field = value;
    }
  }
  void operator()(const SetSchedule& set) const { shape.schedule = name(set.kind); }
  void operator()(const SetRecompute& set) const {
    shape.recompute = set.layers > 0;
    shape.recompute_layers = set.layers == kAllLayers ? 0 : set.layers;
  }
  void operator()(const SetTokens& set) const { add_tokens(shape, set.factor); }
  template <typename Other>
  void operator()(const Other&) const {}
};

/// Tokens of a step, or why they are not known.
void find_step_tokens(const ForwardWork& work, double told_gpus, RunShape& shape) {
  if (work.tokens == 0) {
    shape.no_tokens = "no product of the forward pass tells its shape";
  } else if (!work.attends) {
    shape.no_tokens = "no attention was recorded, so that rows of products may be no tokens";
  } else if (shape.gpus > told_gpus) {
    shape.no_tokens = fmt::format(
        "there are {} ranks, and degrees of parallelism for {}: which of them share tokens is not "
        "known",
        shape.gpus, told_gpus);
  } else {
    shape.tokens = static_cast<double>(work.tokens) * shape.cp * shape.microbatches * shape.dp;
  }
}

}  // namespace

std::optional<double> RunShape::sequences() const {
  if (!tokens || !sequence || *sequence <= 0) return std::nullopt;
  return *tokens / *sequence;
}

std::optional<std::int64_t> RunShape::micro_batch() const {
  const std::optional<double> all = sequences();
  if (!all) return std::nullopt;
  const double each = *all / (dp * microbatches);
  if (each < 0.5 || std::abs(each - std::round(each)) > 1e-6 * each) return std::nullopt;
  return std::llround(each);
}

RunShape recorded_shape(const TraceModel& model, const ForwardWork& work, const WhatIfFacts& facts,
                        std::size_t ranks) {
  RunShape shape;
  shape.dp = model.dp, shape.pp = model.pp, shape.tp = model.tp, shape.cp = model.cp;
  shape.ep = model.ep;
  shape.microbatches = model.microbatches;
  shape.chunks = model.chunks;
  shape.layers = model.layers;
  shape.schedule = model.schedule;
  shape.recompute = model.recompute;
  const double told_gpus = shape.dp * shape.pp * shape.tp * shape.cp;
  shape.gpus = std::max(told_gpus, static_cast<double>(ranks));
  if (facts.tokens) {
    shape.tokens = *facts.tokens;
  } else {
    find_step_tokens(work, told_gpus, shape);
  }
  if (facts.sequence) {
    shape.sequence = static_cast<double>(*facts.sequence);
  } else if (work.sequence > 0) {
    shape.sequence = static_cast<double>(work.sequence) * shape.cp;
  } else {
    shape.no_sequence = "no attention tells how long a sequence is";
  }
  return shape;
}

RunShape changed_shape(const RunShape& recorded, const std::vector<Change>& changes) {
  RunShape shape = recorded;
  for (const Change& change : changes) std::visit(ShapeChanger{shape}, change.action);
  return shape;
}

}  // namespace flopcast::whatif::totals
