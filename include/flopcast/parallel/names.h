// Floor 2: words for the choices of a plan, as people write them in flags and read them in reports.
#pragma once

#include <optional>
#include <string_view>

#include "flopcast/parallel.h"

namespace flopcast {

std::string_view name(Recompute recompute);  ///< "none", "selective", "full"
/// by the names that `name` gives
std::optional<Recompute> parse_recompute(std::string_view text);
std::string_view name(Zero zero);                       ///< "0" to "3"
std::optional<Zero> parse_zero(std::string_view text);  ///< also "none", "fsdp"
std::string_view name(TensorKind kind);                 ///< "1d", "2d", "summa"
/// by the names that `name` gives
std::optional<TensorKind> parse_tensor_kind(std::string_view text);
std::string_view name(ContextKind kind);  ///< "all_gather", "ring", "ulysses"
std::optional<ContextKind> parse_context_kind(std::string_view text);  ///< also "p2p", "a2a"
std::string_view name(DispatcherKind kind);  ///< "usual", "alltoall", "deepep", "hybridep"
/// also "flex" (Megatron's name for what DeepEP is the usual backend of), "all-to-all" and the like
std::optional<DispatcherKind> parse_dispatcher(std::string_view text);
std::string_view name(GradientType type);  ///< "summed", "fp32", "bf16", "fp16"
/// by the names that `name` gives
std::optional<GradientType> parse_gradient_type(std::string_view text);
/// by the names that `name` gives
std::optional<OptimizerKind> parse_optimizer_kind(std::string_view text);

// The same by the type of what is chosen, for code that goes through the fields of a plan.
inline auto parse_choice(std::string_view text, Zero) { return parse_zero(text); }
inline auto parse_choice(std::string_view text, Recompute) { return parse_recompute(text); }
inline auto parse_choice(std::string_view text, ScheduleKind) { return parse_schedule_kind(text); }
inline auto parse_choice(std::string_view text, TensorKind) { return parse_tensor_kind(text); }
inline auto parse_choice(std::string_view text, ContextKind) { return parse_context_kind(text); }
inline auto parse_choice(std::string_view text, Precision) { return parse_precision(text); }
inline auto parse_choice(std::string_view text, DispatcherKind) { return parse_dispatcher(text); }
inline auto parse_choice(std::string_view text, GradientType) { return parse_gradient_type(text); }
inline auto parse_choice(std::string_view text, OptimizerKind) {
  return parse_optimizer_kind(text);
}

}  // namespace flopcast
