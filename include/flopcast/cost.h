// Floor 2: how long one kernel takes on one chip, what the answer rests on, and how far off it may
// be.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/cost/kernel_fit.h"
#include "flopcast/hardware.h"

namespace flopcast {

/// How a GEMM stores and multiplies its operands (names as in the measured tables).
enum class GemmType : std::uint8_t {
  kFp32,
  kTf32,
  kBf16,
  kFp16,
  kFp8,
  kFp8Static,
  kFp8Block,  ///< per-tensor (quantised on the fly), static scales, 128-blocks
  kNvfp4,
  kInt8WeightOnly,
  kInt4WeightOnly,
  kSmoothQuant,
  kMxfp4Weight,
  kMxfp4Mxfp8,  ///< w4a16_mxfp4, w4a8_mxfp4_mxfp8
};
std::string_view name(GemmType type);  ///< "bf16", "fp8_block", ...
/// by the names that `name` gives
std::optional<GemmType> parse_gemm_type(std::string_view text);

/// C[m,n] = A[m,k] B[k,n], `batch` times.
/// Measured with A row-major and B column-major (a linear layer); other layouts are priced alike.
struct Gemm {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;   ///< sizes in elements
  GemmType type = GemmType::kBf16;               ///< of operands and multiplication
  bool transpose_a = false, transpose_b = true;  ///< how the operands are stored
};
/// Flash attention. Decode: one query against a longer cache; anything else is prefill or training.
struct Attention {
  /// sequences; tokens of a sequence that ask, and that are attended to
  std::int64_t batch = 1, query_length = 0, kv_length = 0;
  /// of a query, of keys and values; elements
  std::int64_t heads = 0, kv_heads = 0, head_dim = 128;
  std::int64_t window = 0;               ///< sliding window, 0: none
  bool causal = true, backward = false;  ///< sees only earlier tokens; the gradient
  /// of computation, and of keys and values in memory
  DataType type = DataType::kBf16, kv_cache = DataType::kBf16;
};
/// The expert GEMMs of one chip of a mixture of experts, with the sorting of tokens by expert,
/// dispatch between chips not included. `tokens` is what all chips of the expert-parallel group
/// bring together; `hidden`, `intermediate` and `experts` are those of the whole layer.
struct GroupedGemm {
  /// rows; widths in elements; experts a token goes to, experts of the layer
  std::int64_t tokens = 0, hidden = 0, intermediate = 0, top_k = 1, experts = 1;
  /// chips that share an expert; chips that share the experts out
  std::int64_t tensor_parallel = 1, expert_parallel = 1;
  GemmType type = GemmType::kBf16;  ///< of the experts' GEMMs
  double skew = 0;    ///< exponent of the power law of expert loads (1.01, 1.2); 0: balanced
  bool gated = true;  ///< three matrices per expert (gate, up, down); false: two
};
/// What is limited by memory rather than arithmetic.
enum class MemoryOp : std::uint8_t {
  kLayerNorm,
  kRmsNorm,
  kSoftmax,
  kActivation,
  kGatedActivation,
  kAdd,
  kRope,
  kEmbedding,
  kCrossEntropy,
  kOptimizer,
  kCopy,
  kMoeDispatch,
  kMoeCombine,
  kElementWise,
  kQuantize
};
std::string_view name(MemoryOp op);  ///< "rms_norm"
/// by the names that `name` gives
std::optional<MemoryOp> parse_memory_op(std::string_view text);
/// Rows x columns elements. `read` and `written` override the operator's own count of bytes.
struct MemoryBound {
  MemoryOp op = MemoryOp::kElementWise;  ///< what is done
  std::int64_t rows = 0, columns = 0;    ///< elements
  DataType type = DataType::kBf16;       ///< of the elements
  bool backward = false;                 ///< the gradient of it
  Bytes read{0}, written{0};             ///< bytes; 0: the operator's own count
};
/// anything a chip runs
using Kernel = std::variant<Gemm, Attention, GroupedGemm, MemoryBound>;

/// How long a kernel takes, and what that rests on.
struct KernelTime {
  Seconds time;                   ///< the forecast
  Seconds low, high;              ///< 10-90 % band of the fit's residuals
  Seconds roofline;               ///< max(flops / peak, bytes / HBM bandwidth): never above `time`
  Basis basis = Basis::kAssumed;  ///< of `time`
  std::string_view source;  ///< lives as long as the model: "fit gemm bf16 h100-sxm (trtllm 1.2)"
};
/// Multiply-adds count 2; bytes are compulsory traffic: each operand once.
Flops kernel_flops(const Kernel& kernel);
Bytes kernel_bytes(const Kernel& kernel);  ///< compulsory traffic with the chip's memory
/// The chip's dense peak for products of that type, of its matrix or vector units; where it has none, that of the next wider
/// type it has, which stands in for it.
FlopsPerSecond peak_rate(const Chip& chip, DataType type);

/// Measurements of the chip's owner.
struct OwnKernels {
  KernelFit fit;     ///< what they say
  std::string file;  ///< that they are in
};
/// Where a KernelModel's fits come from.
struct KernelModelOptions {
  std::vector<OwnKernels> own;  ///< these first
  std::string relative;         ///< scale this chip's fits instead of using the chip's own
  /// The chip before any of its numbers was overridden, for which measurements may hold; none: the
  /// catalogue's of its name, else the chip itself.
  std::optional<Chip> nominal;
};

/// Kernel times on one chip. Immutable, thread-safe, <= 200 ns a query.
class KernelModel {
 public:
  /// Loads the chip's fits from the catalogue; where a class of kernels has none, a relative's is
  /// scaled by roofline ratios, and basis and source say so. Of a chip with other numbers than its
  /// nominal one it is the nominal one's time, times the formula's on this chip over the formula's on that
  /// one: no number's change goes the wrong way, and none changes nothing. Errors: an unknown relative.
  static Result<KernelModel> make(const Chip& chip, const Catalog& catalog,
                                  const KernelModelOptions& options = {});
  /// With this one fit and no other; what it lacks is priced by constants (basis kAssumed).
  static KernelModel make(const Chip& chip, const KernelFit& fit);

  /// Sizes below 1 count as 1 (an empty kernel still costs its launch).
  KernelTime time(const Kernel& kernel) const;
  KernelTime time(const Gemm& gemm) const;            ///< as above
  KernelTime time(const Attention& attention) const;  ///< as above
  KernelTime time(const GroupedGemm& gemm) const;     ///< as above
  KernelTime time(const MemoryBound& kernel) const;   ///< as above

  KernelModel(KernelModel&&) noexcept;
  KernelModel& operator=(KernelModel&&) noexcept;
  ~KernelModel();

 private:
  struct State;
  explicit KernelModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace flopcast
