// What stands in place of attention: states and convolutions, under the names that families have for their sizes.
#include <fmt/format.h>

#include <algorithm>

#include "workload/model/config_families.h"

namespace flopcast::workload {
namespace {

constexpr std::int64_t kMostHeads = 1 << 16, kMostHeadWidth = 1 << 14, kMostTaps = 1 << 10;

/// A size; "auto" is as good as none.
std::int64_t size_or(Fields& fields, Keys keys, std::int64_t otherwise, std::int64_t most) {
  const nlohmann::json* told = fields.find(keys);
  if (told != nullptr && told->is_string() && *told == "auto") return otherwise;
  return fields.positive(keys, otherwise, most);
}

void check_key_heads(Fields& fields, const Recurrence& r, Keys key_heads, Keys heads) {
  if (r.heads % r.key_heads != 0) {
    fields.refuse(key_heads, fmt::format("must divide {}", fields.spelled(heads)));
  }
}

Recurrence read_mamba(Fields& fields, const Model& model, const MixerTraits& traits) {
  Recurrence r;
  r.kind = RecurrenceKind::kSelective;
  r.heads = fields.positive({"mamba_expand", "expand"}, 2, 64) * model.hidden;
  if (traits.told_width) r.heads = fields.positive({"intermediate_size"}, r.heads, 1 << 22);
  r.value_dim = r.key_heads = 1;
  r.key_dim = fields.need({"mamba_d_state", "state_size"}, kMostHeadWidth);
  r.taps = fields.need({"mamba_d_conv", "conv_kernel"}, kMostTaps);
  r.taps_bias = fields.flag({"mamba_conv_bias", "use_conv_bias"}, true);
  r.bias = fields.flag({"mamba_proj_bias", "use_bias"}, false);
  r.rank = size_or(fields, {"mamba_dt_rank", "time_step_rank"}, (model.hidden + 15) / 16, 1 << 16);
  r.norm = traits.inner_norms ? r.rank + 2 * r.key_dim : 0;
  return r;
}

Recurrence read_lightning(Fields& fields, const AttentionShape& attention) {
  Recurrence r;
  r.kind = RecurrenceKind::kDecay;
  r.heads = r.key_heads = attention.heads;
  r.key_dim = r.value_dim = attention.head_dim;
  r.taps = 0;
  r.chunk = fields.positive({"block_size"}, 256, 1 << 16);
  r.norm = r.value_width();
  return r;
}

Recurrence read_short_convolution(Fields& fields, const Model& model) {
  Recurrence r;
  r.kind = RecurrenceKind::kConvolution;
  r.heads = model.hidden;
  r.value_dim = r.key_heads = r.key_dim = 1;
  r.taps = fields.need({"conv_L_cache"}, kMostTaps);
  r.taps_bias = r.bias = fields.flag({"conv_bias"}, false);
  return r;
}

/// Sizes beside the others, or in an object of their own (the model's own repository).
Recurrence read_kimi_delta(Fields& fields, bool low_rank) {
  Recurrence r;
  r.kind = RecurrenceKind::kKeyedDelta;
  const nlohmann::json* object = fields.find({"linear_attn_config"});
  if (object != nullptr && object->is_object()) {
    Fields inside(*object, "");
    r.heads = inside.need({"num_heads"}, kMostHeads);
    r.key_dim = inside.need({"head_dim"}, kMostHeadWidth);
    r.taps = inside.need({"short_conv_kernel_size"}, kMostTaps);
    fields.absorb(inside);
  } else {
    r.heads = fields.need({"linear_num_heads"}, kMostHeads);
    r.key_dim = fields.need({"linear_head_dim"}, kMostHeadWidth);
    r.taps = fields.need({"linear_conv_kernel_dim", "short_conv_kernel_size"}, kMostTaps);
  }
  r.key_heads = r.heads;
  r.value_dim = r.norm = r.key_dim;
  r.rank = low_rank ? r.key_dim : 0;
  return r;
}

}  // namespace

Recurrence read_gated_delta(Fields& fields) {
  Recurrence r;
  r.kind = RecurrenceKind::kGatedDelta;
  const Keys kKeyHeads = {"linear_num_key_heads"}, kValueHeads = {"linear_num_value_heads"};
  r.heads = fields.need(kValueHeads, kMostHeads);
  r.key_heads = fields.need(kKeyHeads, kMostHeads);
  r.key_dim = fields.need({"linear_key_head_dim"}, kMostHeadWidth);
  r.value_dim = r.norm = fields.need({"linear_value_head_dim"}, kMostHeadWidth);
  r.taps = fields.need({"linear_conv_kernel_dim"}, kMostTaps);
  check_key_heads(fields, r, kKeyHeads, kValueHeads);
  return r;
}

Recurrence read_mamba2(Fields& fields, const Model& model, const MixerTraits& traits) {
  Recurrence r;
  r.kind = RecurrenceKind::kStateSpace;
  const Keys kStateHeads = {"mamba_num_heads", "mamba_n_heads", "num_heads", "n_mamba_heads"};
  const Keys kGroups = {"n_groups", "mamba_n_groups", "mamba_ngroups"};
  r.heads = fields.need(kStateHeads, kMostHeads);
  const Keys kWidth = {"mamba_head_dim", "mamba_d_head", "mamba_headdim", "head_dim"};
  if (traits.derived_width) {
    const std::int64_t inner = fields.positive({"mamba_expand", "expand"}, 2, 64) * model.hidden;
    r.value_dim =
        size_or(fields, kWidth, std::max<std::int64_t>(inner / r.heads, 1), kMostHeadWidth);
  } else {
    r.value_dim = fields.need(kWidth, kMostHeadWidth);
  }
  r.key_heads = fields.need(kGroups, kMostHeads);
  r.key_dim = fields.need({"ssm_state_size", "mamba_d_state", "state_size"}, kMostHeadWidth);
  r.taps = fields.need({"conv_kernel", "mamba_d_conv"}, kMostTaps);
  r.taps_bias = fields.flag({"use_conv_bias", "mamba_conv_bias"}, true);
  r.bias =
      fields.flag({"use_bias", "mamba_proj_bias", "projectors_bias", "add_bias_linear"}, false);
  r.chunk = fields.positive({"chunk_size", "mamba_chunk_size"}, traits.chunk, 1 << 16);
  r.norm = is_on(fields, traits.norm) ? r.value_width() : 0;
  const Keys kOutBias = {"projectors_bias"};
  if (traits.beside && fields.flag(kOutBias, r.bias) != r.bias) {
    fields.refuse(kOutBias,
                  "must be as mamba_proj_bias: a bias behind one product is not modelled");
  }
  check_key_heads(fields, r, kGroups, kStateHeads);
  return r;
}

Recurrence read_mixer(Fields& fields, const Model& model, const MixerTraits& traits,
                      const AttentionShape& attention) {
  switch (traits.mixer) {
    case Mixer::kMamba:
      return read_mamba(fields, model, traits);
    case Mixer::kMamba2:
      return read_mamba2(fields, model, traits);
    case Mixer::kGatedDelta:
      return read_gated_delta(fields);
    case Mixer::kKimiDelta:
      return read_kimi_delta(fields, traits.low_rank);
    case Mixer::kLightning:
      return read_lightning(fields, attention);
    case Mixer::kShortConvolution:
      return read_short_convolution(fields, model);
    case Mixer::kNone:
      break;
  }
  return {};
}

}  // namespace flopcast::workload
