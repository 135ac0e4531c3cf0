#include "published/subramanian/operators.h"

namespace flopcast::published {
namespace {

constexpr double kElement = 2;  // bytes, fp16
constexpr double kMask = 1;     // bytes of a dropout mask's element

using Count = std::int64_t;

/// A matrix product whose inner or outer dimension is cut over tp1.
enum class Cut : std::uint8_t { kInput, kOutput };

Operator linear(std::string_view name, Count rows, Count in, Count out, Cut cut, Count tp1) {
  const double b = real(rows);
  const double i = real(cut == Cut::kInput ? in / tp1 : in);
  const double o = real(cut == Cut::kOutput ? out / tp1 : out);
  Operator op{.name = name, .matrix = true};
  op.forward.flops = b * o * (2 * i - 1);
  op.forward.bytes = kElement * (b * i + b * o + i * o);
  op.backward.flops = b * i * (2 * o - 1) + i * o * (2 * b - 1);
  op.backward.bytes = kElement * 2 * (i * o + b * i + b * o);
  op.weights = kElement * i * o;
  op.activations = kElement * b * i;
  if (tp1 > 1 && cut == Cut::kInput) {
    op.forward.move(PaperCollective::kReduceScatter, Axis::kTp1, kElement * b * real(out));
  }
  if (tp1 > 1 && cut == Cut::kOutput) {
    op.backward.move(PaperCollective::kReduceScatter, Axis::kTp1, kElement * b * real(in));
  }
  return op;
}

/// A matrix product on a tp1 x tp2 grid: panels of both operands are broadcast, and in the backward
/// pass partial results reduced. Bytes are those of all panels together.
Operator summa(std::string_view name, const LayerShape& s, Count in, Count out) {
  const double b = real(s.microbatch * (s.sequence / s.tp2));
  const double i = real(in);
  const double o = real(out / s.tp1);
  Operator op{.name = name, .matrix = true, .panels = true};
  op.forward.flops = b * o * 2 * i;
  op.forward.bytes = kElement * (b * i + i * o + real(s.panels) * b * o);
  op.backward.flops = b * i * (2 * o - 1) + i * o * (2 * b - 1);
  op.backward.bytes = 2 * op.forward.bytes;
  op.weights = kElement * real(in / s.tp2) * o;
  op.activations = kElement * b * real(in / s.tp1);
  const double rows = kElement * b * i;
  const double columns = kElement * i * o;
  if (s.tp1 > 1) {
    op.forward.move(PaperCollective::kBroadcast, Axis::kTp1, rows);
    op.backward.move(PaperCollective::kReduce, Axis::kTp1, rows);
    op.backward.move(PaperCollective::kBroadcast, Axis::kTp1, rows);
  }
  if (s.tp2 > 1) {
    op.forward.move(PaperCollective::kBroadcast, Axis::kTp2, columns);
    op.backward.move(PaperCollective::kBroadcast, Axis::kTp2, columns);
    op.backward.move(PaperCollective::kReduce, Axis::kTp2, columns);
  }
  return op;
}

Operator bias(std::string_view name, Count rows, Count width) {
  Operator op{.name = name};
  op.forward.flops = real(rows) * real(width);
  op.forward.bytes = kElement * (op.forward.flops + real(width));
  op.backward = op.forward;
  op.weights = kElement * real(width);
  return op;
}

Operator activation(std::string_view name, Count elements) {
  const double m = real(elements);
  Operator op{.name = name};
  op.forward.flops = 8 * m;
  op.forward.bytes = kElement * 2 * m;
  op.backward.flops = 13 * m;
  op.backward.bytes = kElement * 3 * m;
  op.activations = kElement * m;
  return op;
}

Operator dropout(std::string_view name, Count elements) {
  const double m = real(elements);
  Operator op{.name = name};
  op.forward.flops = m;
  op.forward.bytes = kElement * 2 * m + kMask * m;
  op.backward = op.forward;
  op.activations = kMask * m;
  return op;
}

/// `rows` rows of `width` elements on this GPU.
Operator norm(std::string_view name, Count rows, Count width) {
  const double r = real(rows);
  const double w = real(width);
  const double m = r * w;
  Operator op{.name = name};
  op.forward.flops = 9 * m;
  op.forward.bytes = kElement * (2 * m + 2 * r + 2 * w);
  op.backward.flops = 8 * m + 4 * r * (w - 1);
  op.backward.bytes = kElement * (5 * m + 2 * w);
  op.weights = kElement * 2 * w;
  op.activations = kElement * m;
  return op;
}

/// Rows cut over tp1, gathered for the matrix product behind.
Operator sequence_norm(std::string_view name, const LayerShape& s) {
  const Count rows = s.sequence / s.tp2;
  Operator op = norm(name, s.microbatch * (rows / s.tp1), s.embed);
  if (s.tp1 > 1) {
    const double bytes = kElement * real(s.microbatch * rows * s.embed);
    op.forward.move(PaperCollective::kAllGather, Axis::kTp1, bytes);
    op.backward.move(PaperCollective::kReduceScatter, Axis::kTp1, bytes);
  }
  return op;
}

/// Rows cut over tp2, columns over tp1: sums of rows and columns are all-reduced.
Operator summa_norm(std::string_view name, const LayerShape& s, const PaperDefects& defects) {
  const Count rows = s.microbatch * (s.sequence / s.tp2);
  const Count whole = defects.summa_norm_as_wide_as_sequence ? s.sequence : s.embed;
  Operator op = norm(name, rows, whole / s.tp1);
  if (s.tp1 > 1) {
    op.forward.move(PaperCollective::kAllReduce, Axis::kTp1, kElement * real(2 * rows));
    op.backward.move(PaperCollective::kAllReduce, Axis::kTp1,
                     kElement * real(2 * s.embed / s.tp1 + 2 * s.microbatch * s.sequence / s.tp2));
  }
  return op;
}

/// Logits, softmax, dropout and attend in one kernel, which keeps no logits and computes them
/// again in the backward pass. No causal mask.
Operator fused_attention(const LayerShape& s, double matrix_per_vector) {
  const Count head = s.embed / s.heads;
  const double rows = real(s.microbatch * (s.heads / s.tp1) * (s.sequence / s.tp2));
  const double l = real(s.sequence);
  const double local = real(s.sequence / s.tp2);
  const double q = real(head);
  const double logits = rows * l;
  const double own = rows * q;  // elements of this GPU's queries
  const double all = real(s.microbatch * (s.heads / s.tp1) * s.sequence) * q;
  const double sums = rows * (l - 1);
  const double mask = logits * matrix_per_vector;
  const double softmax = (2 * logits + sums) * matrix_per_vector;

  Operator op{.name = "fusedla", .matrix = true};
  const double recomputed = logits * (2 * q - 1) + softmax + mask;
  const double into_values = own * (2 * l - 1) + all * (2 * local - 1);
  const double into_keys = logits * (2 * q - 1) + all * (2 * local - 1);
  op.forward.flops = recomputed + own * (2 * l - 1);
  op.forward.bytes = kElement * (2 * own + 2 * all + rows);
  op.backward.flops =
      into_values + (3 * logits + sums) * matrix_per_vector + mask + into_keys + recomputed;
  op.activations = kElement * (4 * own + 2 * rows);
  op.backward.bytes = kElement * (2 * all + 2 * own) + op.activations;
  if (s.tp2 > 1) {
    const double keys_and_values = kElement * 2 * all;
    op.forward.move(PaperCollective::kAllGather, Axis::kTp2, keys_and_values);
    op.backward.move(PaperCollective::kAllGather, Axis::kTp2, keys_and_values);
    op.backward.move(PaperCollective::kReduceScatter, Axis::kTp2, keys_and_values);
  }
  return op;
}

/// 1-D is 2-D with the sequence in one piece, but for the biases behind fc2 and vproj.
Layer sequence_layer(PaperStrategy strategy, const LayerShape& s, double matrix_per_vector,
                     const PaperDefects& defects) {
  const Count rows = s.microbatch * (s.sequence / s.tp2);
  const Count row_share = s.microbatch * (s.sequence / s.tp2 / s.tp1);
  const Count wide = s.hidden / s.tp1;
  const bool replicated = strategy == PaperStrategy::k1d && defects.replicated_biases_1d;
  return {
      linear("fc1", rows, s.embed, s.hidden, Cut::kOutput, s.tp1),
      bias("fc1-bias", rows, wide),
      activation("act1", rows * wide),
      dropout("dpr1", rows * wide),
      linear("fc2", rows, s.hidden, s.embed, Cut::kInput, s.tp1),
      bias("fc2-bias", replicated ? rows : row_share, s.embed),
      dropout("dpr2", row_share * s.embed),
      sequence_norm("ln1", s),
      linear("qkv", rows, s.embed, 3 * s.embed, Cut::kOutput, s.tp1),
      fused_attention(s, matrix_per_vector),
      linear("vproj", rows, s.embed, s.embed, Cut::kInput, s.tp1),
      bias("vproj-bias", rows, replicated ? s.embed : s.embed / s.tp1),
      dropout("dpr_v", row_share * s.embed),
      sequence_norm("ln2", s),
  };
}

Layer summa_layer(const LayerShape& s, double matrix_per_vector, const PaperDefects& defects) {
  const Count rows = s.microbatch * (s.sequence / s.tp2);
  const Count wide = s.hidden / s.tp1;
  const Count width = s.embed / s.tp1;
  return {
      summa("fc1", s, s.embed, s.hidden),    bias("fc1-bias", rows, wide),
      activation("act1", rows * wide),       dropout("dpr1", rows * wide),
      summa("fc2", s, s.hidden, s.embed),    bias("fc2-bias", rows, width),
      dropout("dpr2", rows * width),         summa_norm("ln1", s, defects),
      summa("qkv", s, s.embed, 3 * s.embed), fused_attention(s, matrix_per_vector),
      summa("vproj", s, s.embed, s.embed),   bias("vproj-bias", rows, width),
      dropout("dpr_v", rows * width),        summa_norm("ln2", s, defects),
  };
}

}  // namespace

Layer layer_operators(PaperStrategy strategy, const LayerShape& shape, double matrix_per_vector,
                      const PaperDefects& defects) {
  return strategy == PaperStrategy::kSumma
             ? summa_layer(shape, matrix_per_vector, defects)
             : sequence_layer(strategy, shape, matrix_per_vector, defects);
}

}  // namespace flopcast::published
