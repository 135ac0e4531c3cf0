#include "flopcast/parallel/names.h"

#include <array>
#include <span>

#include "base/text/names.h"

namespace flopcast {
namespace {

constexpr std::array<std::string_view, 3> kRecompute = {"none", "selective", "full"};
constexpr std::array<std::string_view, 4> kZero = {"0", "1", "2", "3"};
constexpr std::array<std::string_view, 3> kTensor = {"1d", "2d", "summa"};
constexpr std::array<std::string_view, 3> kContext = {"all_gather", "ring", "ulysses"};
constexpr std::array<std::string_view, 4> kDispatcher = {"usual", "alltoall", "deepep", "hybridep"};
constexpr std::array<std::string_view, 4> kGradient = {"summed", "fp32", "bf16", "fp16"};

template <typename Enum>
std::optional<Enum> parse(std::span<const std::string_view> names, std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Recompute recompute) { return kRecompute[static_cast<int>(recompute)]; }
std::string_view name(Zero zero) { return kZero[static_cast<int>(zero)]; }
std::string_view name(TensorKind kind) { return kTensor[static_cast<int>(kind)]; }
std::string_view name(ContextKind kind) { return kContext[static_cast<int>(kind)]; }

std::optional<Recompute> parse_recompute(std::string_view text) {
  return parse<Recompute>(kRecompute, text);
}

std::optional<Zero> parse_zero(std::string_view text) {
  if (text == "none") return Zero::kNone;
  if (text == "fsdp") return Zero::kWeights;
  return parse<Zero>(kZero, text);
}

std::optional<TensorKind> parse_tensor_kind(std::string_view text) {
  return parse<TensorKind>(kTensor, text);
}

std::optional<ContextKind> parse_context_kind(std::string_view text) {
  if (text == "p2p") return ContextKind::kRing;
  if (text == "a2a") return ContextKind::kUlysses;
  return parse<ContextKind>(kContext, text);
}

std::string_view name(DispatcherKind kind) { return kDispatcher[static_cast<int>(kind)]; }
std::string_view name(GradientType type) { return kGradient[static_cast<int>(type)]; }

std::optional<DispatcherKind> parse_dispatcher(std::string_view text) {
  const std::string key = name_key(text);
  if (key == "flex") return DispatcherKind::kDeepEp;
  for (std::size_t i = 0; i < kDispatcher.size(); ++i) {
    if (name_key(kDispatcher[i]) == key) return static_cast<DispatcherKind>(i);
  }
  return std::nullopt;
}

std::optional<GradientType> parse_gradient_type(std::string_view text) {
  return parse<GradientType>(kGradient, text);
}

std::optional<OptimizerKind> parse_optimizer_kind(std::string_view text) {
  for (const OptimizerKind kind :
       {OptimizerKind::kAdam, OptimizerKind::kSgd, OptimizerKind::kMuon}) {
    if (name(kind) == text) return kind;
  }
  return std::nullopt;
}

}  // namespace flopcast
