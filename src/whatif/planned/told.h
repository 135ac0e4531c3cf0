// What a planned step's recording says in annotations, beside its tasks.
#pragma once

#include "whatif/planned/planned_step.h"

namespace flopcast::whatif::planned {

/// An annotation on a stream.
struct ToldSpan {
  std::int32_t stream = 0;
  Time start, end;  ///< on the trace's own clock
  std::string_view name;
};
/// All of a trace that lie on streams, in order of start.
std::vector<ToldSpan> told_spans(const TraceSet& set, const Trace& trace);

/// "plan: tp 8, cp 1, ep 1, dp 32; 128 nodes, stragglers 4.2 %", of the host's annotations.
std::optional<Degrees> told_degrees(const TraceSet& set, const Trace& trace);

/// What a span of a pass or an optimizer is of: "embedding", "20 layers", "head", "host".
struct ToldPart {
  enum class What : std::uint8_t { kEmbedding, kLayers, kHead, kHost };
  What what = What::kHost;
  bool of_weights = false;   ///< "weights of ..."
  std::uint32_t layers = 0;  ///< of kLayers
};
std::optional<ToldPart> told_part(std::string_view name);

/// "gather: all_gather of 100 bytes over 32"; `gathers`: before the first pass.
struct ToldTransfer {
  bool gathers = false;
  WholeTransfer transfer;
};
std::optional<ToldTransfer> told_transfer(const ToldSpan& span);

}  // namespace flopcast::whatif::planned
