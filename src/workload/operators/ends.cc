// Operators before the first layer and after the last: embedding or patches, output and loss.
#include "workload/operators/builder.h"

namespace flopcast::workload {
namespace {

NormKind norm_of(const Model& model) {
  return model.kinds.empty() ? NormKind::kRmsNorm : model.kinds[0].norm;
}

std::int64_t token_width(const OperatorBuilder& b) {
  return b.model.embedding_width > 0 ? b.model.embedding_width : b.h;
}

void add_table_lookup(OperatorBuilder& b) {
  Operator& op = b.begin("embedding");
  const std::int64_t width = token_width(b);
  const double bytes = b.element * static_cast<double>(b.t) * static_cast<double>(width);
  op.forward.push_back({Kernel{b.memory_bound(MemoryOp::kEmbedding, b.t, width, bytes, bytes)}});
  b.send(op.forward, b.shards_sequence ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce,
         Group::kTensor, bytes);
  if (b.run.lora_rank == 0) {
    if (b.shards_sequence) {
      b.send(op.backward_weight, CollectiveOp::kAllGather, Group::kTensor, bytes);
    }
    op.backward_weight.push_back(
        {Kernel{b.memory_bound(MemoryOp::kEmbedding, b.t, width, bytes, bytes, true)}});
  }
  b.own(op, share(b.model.vocab, b.n) * width);
}

/// Between the width of the tables and that of the layers, where they differ.
void add_width_change(OperatorBuilder& b, std::string_view name, std::int64_t in,
                      std::int64_t out) {
  if (in == out) return;
  b.linear({.name = name, .in = in, .out = out, .cut = Cut::kWhole, .quantized = false});
}

/// What every layer gets of a token besides the stream: rows of tables of their own, and a product of the first hidden
/// state (Gemma 3n).
void add_layer_embeddings(OperatorBuilder& b) {
  const std::int64_t width = b.model.layer_embedding * b.model.layers();
  Operator& op = b.begin("layer_embedding");
  const double bytes = b.element * static_cast<double>(b.u) * static_cast<double>(width);
  op.forward.push_back({Kernel{b.memory_bound(MemoryOp::kEmbedding, b.u, width, bytes, bytes)}});
  if (b.run.lora_rank == 0) {
    op.backward_weight.push_back(
        {Kernel{b.memory_bound(MemoryOp::kEmbedding, b.u, width, bytes, bytes, true)}});
  }
  b.own(op, share(b.model.layer_vocab, b.n) * width);
  b.linear({.name = "layer_embedding_proj", .in = b.h, .out = width, .cut = Cut::kWhole});
}

/// Loss over the vocabulary cut on n chips: each row's maximum, its label's logit and its sum are
/// exchanged (fp32).
void add_loss(OperatorBuilder& b, std::int64_t rows) {
  Operator& op = b.begin("loss");
  const std::int64_t width = share(b.model.vocab, b.n);
  const double logits = static_cast<double>(rows) * static_cast<double>(width);
  op.forward.push_back({Kernel{
      b.memory_bound(MemoryOp::kCrossEntropy, rows, width, b.element * logits, 4 * logits)}});
  const double row_bytes = 4 * static_cast<double>(rows);
  for (int i = 0; i < 3; ++i) {
    b.send(op.forward, CollectiveOp::kAllReduce, Group::kTensor, row_bytes, false);
  }
  op.backward_input.push_back({Kernel{
      b.memory_bound(MemoryOp::kCrossEntropy, rows, width, 4 * logits, b.element * logits, true)}});
  b.save(op, 4 * logits);
}

/// Dense layer, activation and norm between the encoder and the vocabulary (BERT).
void add_transform(OperatorBuilder& b) {
  b.linear({.name = "head_dense",
            .in = b.h,
            .out = b.h,
            .cut = Cut::kWhole,
            .bias = true,
            .quantized = false});
  b.activation("head_activation", false, b.u, b.h);
  b.norm("head_norm", norm_of(b.model), b.u, b.h);
}

/// A dense layer on the first token of each sequence.
void add_first_token(OperatorBuilder& b, std::string_view name, std::int64_t out, bool bias) {
  Operator& op = b.begin(name);
  const std::int64_t rows = b.run.microbatch;
  b.multiply(op.forward, rows, out, b.h, false);
  b.multiply(op.backward_input, rows, b.h, out, false);
  if (b.run.lora_rank == 0) b.multiply(op.backward_weight, out, b.h, rows, false);
  b.own(op, b.h * out + (bias ? out : 0));
  b.save(op, b.element * static_cast<double>(rows) * static_cast<double>(b.h));
}

}  // namespace

void add_embedding(OperatorBuilder& b) {
  const Model& model = b.model;
  if (model.patch > 0) {
    b.linear({.name = "patch_embedding",
              .in = model.patch,
              .out = b.h,
              .cut = Cut::kWhole,
              .bias = true,
              .quantized = false});
    b.last().backward_input.clear();  // pixels need no gradient
  } else {
    add_table_lookup(b);
    add_width_change(b, "embedding_proj", token_width(b), b.h);
  }
  if (model.layer_embedding > 0) add_layer_embeddings(b);
  if (model.vectors > 0) b.own(b.last(), model.vectors);
  const std::int64_t rows = model.learned_positions + model.token_types;
  if (rows > 0) {
    Operator& op = b.begin("position_embedding");
    const double bytes = b.element * static_cast<double>(b.u) * static_cast<double>(b.h);
    op.forward.push_back({Kernel{b.memory_bound(MemoryOp::kAdd, b.u, b.h, 2 * bytes, bytes)}});
    b.own(op, rows * b.h);
  }
  if (model.embedding_norm) b.norm("embedding_norm", norm_of(model), b.u, b.h);
  if (model.hidden_dropout && b.run.lora_rank == 0) {
    Operator& op = b.begin("embedding_dropout");
    const double values = static_cast<double>(b.u) * static_cast<double>(b.h);
    const double bytes = b.element * values;
    op.forward.push_back(
        {Kernel{b.memory_bound(MemoryOp::kElementWise, b.u, b.h, bytes, bytes + values)}});
    op.backward_input.push_back(
        {Kernel{b.memory_bound(MemoryOp::kElementWise, b.u, b.h, bytes + values, bytes, true)}});
    b.save(op, values);
  }
}

void add_predictor_input(OperatorBuilder& b) {
  add_table_lookup(b);
  b.last().weights = b.last().trainable = 0;  // the model's own table
  b.norm("token_norm", norm_of(b.model), b.u, b.h);
  b.norm("hidden_norm", norm_of(b.model), b.u, b.h);
  b.linear({.name = "predictor_proj", .in = 2 * b.h, .out = b.h, .cut = Cut::kWhole});
}

void add_head(OperatorBuilder& b) {
  const Model& model = b.model;
  if (model.final_norm) b.norm("final_norm", norm_of(model), b.u, b.h);
  if (model.pooler) add_first_token(b, "pooler", b.h, true);
  if (model.output == Output::kMaskedTokens && model.pooler) {
    add_first_token(b, "next_sentence", 2, true);
  }
  if (model.output == Output::kHidden) return;
  if (model.output == Output::kClasses) {
    add_first_token(b, "classifier", model.vocab, model.head_bias);
    add_loss(b, b.run.microbatch);
    return;
  }
  if (model.output == Output::kMaskedTokens) add_transform(b);
  add_width_change(b, "head_proj", b.h, token_width(b));
  b.linear({.name = "output_proj",
            .in = token_width(b),
            .out = model.vocab,
            .bias = model.head_bias,
            .quantized = false});
  if (model.tied_embeddings) {
    // The matrix is the embedding's; a chip that holds both counts it there.
    const std::int64_t shared = share(model.vocab, b.n) * token_width(b);
    b.last().weights -= shared;
    if (b.run.lora_rank == 0) b.last().trainable -= shared;
  }
  add_loss(b, b.t);
}

}  // namespace flopcast::workload
