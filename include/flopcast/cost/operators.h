// Floor 2: what a kernel that was recorded on one chip takes on another.
//
//   const Result<ChipRatios> ratios = ChipRatios::make(h100, mi300x, Catalog::builtin());
//   const MovedTime there = ratios->time({"sm90_xmma_gemm_bf16...", "aten::mm", inputs}, Seconds{85e-6});
//
// A kernel belongs to a class (catalog/operators/classes.toml) by its name, its operator and the shapes it was given.
// On either chip a class takes a floor, and its work at a share of the rate that bounds it; what the kernel took
// beyond the floor is scaled by the ratio of the two. Products and attention whose shapes are known go by the ratio
// of both chips' own fits, where both have one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/cost.h"

namespace flopcast {

/// A tensor an operator was given.
struct OperatorInput {
  std::vector<std::int64_t> size;  ///< elements, outermost first; empty: a number, or nothing
  std::optional<DataType> type;    ///< nothing: no floating point
  double element_bytes = 0;        ///< 0: not known
};
/// Inputs as profilers write them: "[[64, 512], [512, 512]]" and "["c10::BFloat16", "c10::BFloat16"]". Lists of
/// tensors come one by one. What is no such text has no inputs.
std::vector<OperatorInput> operator_inputs(std::string_view dims, std::string_view types);
/// The matrix product or attention that PyTorch's operator is; nothing for any other.
/// @param kernel its name tells fp32 from tf32.
std::optional<Kernel> operator_kernel(std::string_view operation,
                                      std::span<const OperatorInput> inputs,
                                      std::string_view kernel = {});

/// A kernel as a recording tells of it.
struct RecordedKernel {
  std::string_view name;       ///< of the kernel, or of the copy
  std::string_view operation;  ///< of the operator that launched it, "aten::mm"; empty: not known
  std::span<const OperatorInput> inputs;  ///< of that operator; empty: not known
};

/// What a kernel takes on another chip.
struct MovedTime {
  Seconds time;       ///< the forecast
  Seconds low, high;  ///< band that held 80 % or more of the operators it was tried on
  Basis basis = Basis::
      kAssumed;  ///< kFitted where both chips were measured; else roofline ratios, or assumed
  std::string_view kind;    ///< "gemm", "strided"; "unknown" where nothing tells
  std::string_view source;  ///< what it rests on; lives as long as the ratios
};

/// From one chip to another. Immutable, thread-safe.
class ChipRatios {
 public:
  /// Errors: the catalogue's tables cannot be read.
  static Result<ChipRatios> make(const Chip& from, const Chip& to, const Catalog& catalog);

  /// The class a kernel belongs to: for `time` of many like it.
  std::size_t class_of(const RecordedKernel& kernel) const;
  /// @param on_from what the kernel took there; below 0 counts as 0.
  MovedTime time(const RecordedKernel& kernel, Seconds on_from) const;
  /// The same of a kernel whose class is known.
  MovedTime time(std::size_t kind, const RecordedKernel& kernel, Seconds on_from) const;
  /// Whether both chips were measured at the same operators: nothing is scaled from relatives.
  bool measured() const;
  /// "mi300x and h100-sxm as measured", "b200-sxm as h100-sxm, scaled by its rates": for notes.
  const std::string& basis() const;

  ChipRatios(ChipRatios&&) noexcept;             ///< takes over
  ChipRatios& operator=(ChipRatios&&) noexcept;  ///< takes over
  ~ChipRatios();                                 ///< frees

 private:
  struct State;
  explicit ChipRatios(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace flopcast
