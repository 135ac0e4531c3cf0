// What a KernelModel holds: per class of kernels the fit chosen for it, made when first asked for.
#pragma once

#include <deque>
#include <mutex>

#include "cost/model/attention.h"
#include "cost/model/gemm.h"
#include "cost/model/library.h"
#include "cost/model/memory_bound.h"
#include "cost/model/moe.h"

namespace flopcast {
namespace cost {

inline constexpr std::size_t kGemmTypes = 13;
inline constexpr std::size_t kMemoryOps = 15;

struct GemmSlot {
  std::once_flag once;
  std::optional<GemmModel> model;
  Rates rates;  ///< of this chip: the roofline
  Basis basis = Basis::kAssumed;
  std::string source;
};
struct MoeSlot {
  std::once_flag once;
  std::optional<MoeModel> model;
  Rates rates;
  Basis basis = Basis::kAssumed;      ///< of layers nobody measured
  Basis table_basis = Basis::kTable;  ///< of those somebody did
  std::string source;
};
struct MemorySlot {
  std::once_flag once;
  MemoryFit fit;
  Band band;
  Basis basis = Basis::kAssumed;
  std::string source;
};
struct AttentionEntry {
  AttentionModel model;
  Band near_band, backward_band;
  Basis basis = Basis::kFitted;
  std::string source, near_source, backward_source;
};

}  // namespace cost

struct KernelModel::State {
  Chip chip;     ///< whose times are asked for
  Chip nominal;  ///< the one that fits are chosen for: the same before numbers were overridden
  std::vector<cost::Candidate> candidates;

  mutable std::array<cost::GemmSlot, cost::kGemmTypes> gemm;
  mutable std::array<cost::MoeSlot, cost::kGemmTypes> moe;
  mutable std::array<cost::MemorySlot, cost::kMemoryOps> memory;
  /// [decode]: fits of the nearest chip that has any.
  mutable std::array<std::once_flag, 2> attention_once;
  mutable std::array<std::vector<cost::AttentionEntry>, 2> attention;

  const cost::GemmSlot& gemm_slot(GemmType type) const;
  const cost::MoeSlot& moe_slot(GemmType type) const;
  const cost::MemorySlot& memory_slot(MemoryOp op) const;
  const std::vector<cost::AttentionEntry>& attention_entries(bool decode) const;

 private:
  void fill(cost::GemmSlot& slot, GemmType type) const;
  void fill(cost::MoeSlot& slot, GemmType type) const;
  void fill(cost::MemorySlot& slot, MemoryOp op) const;
  void fill_attention(bool decode) const;
};

}  // namespace flopcast
