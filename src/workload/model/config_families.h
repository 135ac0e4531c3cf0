// Decoders that differ in few traits, one row each: what a reader of its own would say in code.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "workload/model/config_readers.h"

namespace flopcast::workload {

/// Yes or no: a field of the config, or what holds where it is missing. No field: always that.
struct Switch {
  std::string_view field;
  bool otherwise = false;
};

/// Norms of queries and keys.
enum class QkNorm : std::uint8_t {
  kNone,
  kHead,   ///< one weight per column of a head, shared by the heads
  kWhole,  ///< one per column of all heads
};

/// Which fields describe experts. No `count`: the family has none.
struct ExpertTraits {
  std::string_view count, intermediate;
  Switch router_bias = {};
  bool gated = true;
};

struct Family {
  std::string_view type;  ///< model_type of the config
  NormKind norm = NormKind::kRmsNorm;
  unsigned norms = 2;
  bool parallel = false, gated = true;
  std::int64_t intermediate_parts = 1;  ///< products that intermediate_size counts together
  bool tied = false;                    ///< where tie_word_embeddings is missing
  Switch qkv_bias = {}, out_bias = {}, mlp_bias = {}, head_bias = {};
  QkNorm qk_norm = QkNorm::kNone;
  Switch has_qk_norm = {"", true};
  std::int64_t window_period = 0;  ///< every so many layers sees all; 0: all look back the same
  ExpertTraits experts = {};
  std::array<std::string_view, 2> groups = {};  ///< objects that hold some of the fields
};

std::span<const Family> families();
void read_family(Fields& fields, Model& model, const Family& family);

}  // namespace flopcast::workload
