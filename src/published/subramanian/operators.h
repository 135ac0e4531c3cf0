// What one transformer layer does on one GPU for one microbatch: flops, bytes, transfers, weights
// and stored activations of its fourteen operators (section III-B, tables I and A1-A2, and what
// the published code makes of them). Element counts round down where a degree does not divide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flopcast/published/subramanian.h"

namespace flopcast::published {

inline double real(std::int64_t n) { return static_cast<double>(n); }

/// What the counts of a layer depend on.
struct LayerShape {
  std::int64_t sequence = 0, embed = 0, heads = 0, hidden = 0;
  std::int64_t microbatch = 1;
  std::int64_t tp1 = 1, tp2 = 1;
  std::int64_t panels = 1;
};

enum class Axis : std::uint8_t { kTp1, kTp2 };

/// Bytes moved by one collective over the GPUs of one axis.
struct Transfer {
  PaperCollective kind = PaperCollective::kAllGather;
  Axis axis = Axis::kTp1;
  double bytes = 0;
};

/// One direction of an operator. `transfers` are those with any bytes.
struct Work {
  double flops = 0;
  double bytes = 0;  ///< to and from HBM
  std::size_t transfer_count = 0;
  std::array<Transfer, 4> transfers{};

  void move(PaperCollective kind, Axis axis, double moved) {
    transfers[transfer_count++] = {kind, axis, moved};
  }
};

struct Operator {
  std::string_view name;
  bool matrix = false;  ///< runs on tensor cores
  bool panels = false;  ///< computes and communicates panel by panel, overlapped
  Work forward{}, backward{};
  double weights = 0, activations = 0;  ///< bytes
};

inline constexpr std::size_t kOperators = 14;
inline constexpr std::size_t kFirstNorm = 7;  ///< its activations cross pipeline stages
using Layer = std::array<Operator, kOperators>;

/// @param matrix_per_vector ratio of the peaks: attention counts its vector flops as the matrix
/// flops of the same time.
Layer layer_operators(PaperStrategy strategy, const LayerShape& shape, double matrix_per_vector,
                      const PaperDefects& defects);

}  // namespace flopcast::published
