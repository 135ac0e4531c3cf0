// Models and workloads for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "base/text/amounts.h"
#include "base/text/format.h"
#include "flopcast/report/model.h"
#include "report/render/counts.h"
#include "report/render/table.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

std::string whole(std::int64_t value) {
  return value > 0 ? grouped(static_cast<std::uint64_t>(value)) : "-";
}

std::string models_table(std::span<const Model> models) {
  Table table({{"model", Align::kLeft},
               {"type", Align::kLeft},
               {"parameters"},
               {"active"},
               {"layers"},
               {"hidden"},
               {"heads"},
               {"kv"},
               {"experts"},
               {"vocabulary"},
               {"longest"}});
  for (const Model& model : models) {
    const Parameters parameters = count_parameters(model);
    std::int64_t experts = 0;
    AttentionShape attention;  // of the first layers that have any
    for (const Layer& layer : model.kinds) {
      experts = std::max(experts, layer.experts.count);
      if (attention.heads == 0) attention = layer.attention;
    }
    table.add({model.name, model.architecture, parameter_count(parameters.total),
               parameters.active < parameters.total ? parameter_count(parameters.active) : "",
               std::to_string(model.layers()), whole(model.hidden), whole(attention.heads),
               whole(attention.kv_heads), experts > 0 ? whole(experts) : "", whole(model.vocab),
               whole(model.max_sequence)});
  }
  return "Models (flopcast estimate, flopcast plan)\n" + table.text();
}

std::string workloads_table(std::span<const DataflowWorkload> workloads) {
  Table table({{"workload", Align::kLeft},
               {"kernels"},
               {"tensors"},
               {"layers"},
               {"samples a step"},
               {"TFLOP a layer and sample"},
               {"weights"}});
  for (const DataflowWorkload& workload : workloads) {
    table.add({workload.graph.name, std::to_string(workload.graph.kernels.size()),
               std::to_string(workload.graph.tensors.size()), whole(workload.layers),
               whole(workload.global_batch),
               fmt::format("{:.4g}", workload.graph.work().value / 1e12),
               short_bytes(workload.graph.weights())});
  }
  return "Dataflow workloads (flopcast map, flopcast explore)\n" + table.text();
}

std::string_view words_for(RecurrenceKind kind) {
  constexpr std::string_view kWords[] = {"state space",      "gated delta rule",
                                         "keyed delta rule", "selective state space",
                                         "decaying states",  "short convolution"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string recurrence_text(const Recurrence& r) {
  if (!r.keeps_states()) return fmt::format("{} of {}", words_for(r.kind), r.taps);
  return fmt::format("{}, {} heads with a state of {} x {}", words_for(r.kind), r.heads, r.key_dim,
                     r.value_dim);
}

/// What it sees, and of what.
void add_sight(const AttentionShape& attention, std::string& text) {
  if (attention.sparse()) {
    text += fmt::format(", to the best {} tokens{}", attention.index_top_k,
                        attention.shares_index ? " of an earlier layer" : "");
  }
  if (attention.window > 0) text += fmt::format(", window {}", attention.window);
  if (attention.chunk > 0) text += fmt::format(", chunks of {}", attention.chunk);
  if (!attention.causal) text += ", both ways";
}

std::string attention_text(const Layer& layer) {
  const AttentionShape& attention = layer.attention;
  if (attention.heads == 0) {
    return layer.recurrence.heads > 0 ? recurrence_text(layer.recurrence) : "none";
  }
  std::string text = fmt::format("{} heads of {}", attention.heads, attention.head_dim);
  if (attention.latent()) {
    text += fmt::format(", latent of rank {}", attention.kv_rank);
  } else if (attention.shares_keys) {
    text += ", keys and values of an earlier layer";
  } else if (attention.kv_heads != attention.heads) {
    text += fmt::format(", {} of keys and values", attention.kv_heads);
  }
  add_sight(attention, text);
  if (layer.cross.heads > 0) text += ", and to an encoder";
  if (layer.recurrence.heads > 0) text += "; beside it " + recurrence_text(layer.recurrence);
  return text;
}

std::string width_text(const FeedForward& mlp) {
  return fmt::format("{}{}", mlp.intermediate, mlp.gated ? " gated" : "");
}

std::string feed_forward_text(const Layer& layer) {
  if (layer.experts.count == 0) {
    return layer.mlp.intermediate > 0 ? width_text(layer.mlp) : "none";
  }
  std::string text = fmt::format("{} of {} experts of {}", layer.experts.top_k, layer.experts.count,
                                 width_text(layer.experts.expert));
  if (layer.experts.shared.intermediate > 0) {
    text += fmt::format(", one shared of {}", width_text(layer.experts.shared));
  }
  if (layer.experts.latent > 0) text += fmt::format(", on {} values", layer.experts.latent);
  if (layer.experts.idle > 0) text += fmt::format(", {} idle", layer.experts.idle);
  return text;
}

std::string stored_text(const StoredPrecision& stored) {
  if (!stored.unread.empty()) return fmt::format("{}: {}", stored.method, stored.unread);
  std::string text = fmt::format("{}: attention {}, feed-forwards {}, experts {}", stored.method,
                                 name(stored.attention), name(stored.dense), name(stored.experts));
  if (stored.kv_cache) text += fmt::format(", keys and values {}", name(*stored.kv_cache));
  return text;
}

std::string layers_table(const Model& model) {
  Table table({{"layers"},
               {"attention", Align::kLeft},
               {"feed-forward", Align::kLeft},
               {"parameters of one"}});
  for (std::size_t kind = 0; kind < model.kinds.size(); ++kind) {
    const Layer& layer = model.kinds[kind];
    const auto encodes = std::ranges::count(model.encoder, static_cast<std::uint16_t>(kind));
    const std::string count =
        encodes > 0 ? fmt::format("{} before", encodes) : std::to_string(model.count(kind));
    table.add({count, attention_text(layer), feed_forward_text(layer),
               whole(layer_parameters(layer, model.hidden))});
  }
  return table.text();
}

}  // namespace

std::string model_list_text(std::span<const Model> models,
                            std::span<const DataflowWorkload> workloads) {
  std::string text;
  if (!models.empty()) text += models_table(models);
  if (!workloads.empty()) text += (text.empty() ? "" : "\n") + workloads_table(workloads);
  return text;
}

std::string model_text(const Model& model) {
  const Parameters parameters = count_parameters(model);
  Table table({{"", Align::kLeft}, {"", Align::kLeft}});
  const auto add = [&table](std::string what, std::string value) {
    table.add({std::move(what), std::move(value)});
  };
  add("parameters", whole(parameters.total));
  if (model.published_parameters > 0) add("as published", whole(model.published_parameters));
  if (parameters.active < parameters.total) add("a token meets", whole(parameters.active));
  add("embedding", whole(parameters.embedding));
  add("head", model.tied_embeddings ? "the embedding's table" : whole(parameters.head));
  add("hidden", whole(model.hidden));
  add("vocabulary", whole(model.vocab));
  add("longest sequence", whole(model.max_sequence));
  if (model.stored.quantised()) add("weights stored", stored_text(model.stored));
  for (const std::string& part : model.unpriced) add("not priced", part);
  for (const std::string& note : model.notes) add("note", note);
  if (!model.source.empty()) add("source", model.source);
  const std::string facts = table.text();
  return fmt::format("{}: {}, {} parameters\n{}\n{}", model.name, model.architecture,
                     parameter_count(parameters.total), facts.substr(facts.find('\n') + 1),
                     layers_table(model));
}

std::string workload_text(const DataflowWorkload& workload) {
  std::string text =
      fmt::format("{}: {}, {} in series, {} a step\n", workload.graph.name,
                  workload.training ? "training" : "one pass",
                  counted(static_cast<std::uint64_t>(workload.layers), "layer"),
                  counted(static_cast<std::uint64_t>(workload.global_batch), "sample"));
  Table table({{"kernel", Align::kLeft},
               {"kind", Align::kLeft},
               {"outer"},
               {"m"},
               {"n"},
               {"k"},
               {"GFLOP"},
               {"weights"}});
  for (const DataflowKernel& kernel : workload.graph.kernels) {
    const auto weights = static_cast<std::int64_t>(kernel.weight.value);
    table.add({kernel.name, std::string(name(kernel.kind)), whole(kernel.outer), whole(kernel.m),
               whole(kernel.n), whole(kernel.k), fmt::format("{:.4g}", kernel.work().value / 1e9),
               weights > 0 ? short_bytes(weights) : ""});
  }
  return text + table.text();
}

}  // namespace flopcast
