// Writes a dataflow workload as TOML; what is at its default is left out, but for what a reader would ask for or have to
// assume.
#include <fmt/format.h>

#include "base/text/format.h"
#include "base/text/toml_string.h"
#include "flopcast/workload/dataflow.h"

namespace flopcast {
namespace {

class Lines {
 public:
  void heading(std::string_view name) { out_ += fmt::format("\n[[{}]]\n", name); }
  void raw(std::string_view key, std::string_view value) {
    out_ += fmt::format("{} = {}\n", key, value);
  }
  void text(std::string_view key, std::string_view value) { raw(key, toml_string(value)); }
  void whole(std::string_view key, std::int64_t value, std::int64_t otherwise) {
    if (value != otherwise) raw(key, fmt::format("{}", value));
  }
  void whole(std::string_view key, std::int64_t value) { raw(key, fmt::format("{}", value)); }
  void real(std::string_view key, double value) { raw(key, exact_number(value)); }
  void real(std::string_view key, double value, double otherwise) {
    if (value != otherwise) raw(key, exact_number(value));
  }
  void flag(std::string_view key, bool value, bool otherwise) {
    if (value != otherwise) raw(key, value ? "true" : "false");
  }
  template <typename Enum>
  void word(std::string_view key, Enum value, Enum otherwise) {
    if (value != otherwise) text(key, name(value));
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void write_kernel(Lines& lines, const DataflowKernel& kernel) {
  const DataflowKernel plain;
  lines.heading("kernel");
  lines.text("name", kernel.name);
  const bool product = kernel.kind == DataflowKind::kGemm;
  lines.text("kind", name(kernel.kind));
  lines.flag("backward", kernel.backward, plain.backward);
  lines.whole("outer", kernel.outer, plain.outer);
  lines.whole("m", kernel.m);
  lines.whole("n", kernel.n);
  if (product || kernel.k != plain.k) lines.whole("k", kernel.k);
  if (kernel.k == 0 || kernel.operations != plain.operations) {
    lines.real("operations", kernel.operations);
  }
  if (product || kernel.weight.value != 0) lines.real("weight", kernel.weight.value);
  lines.real("traffic", kernel.traffic.value, 0);
  lines.real("gradient", kernel.gradient.value, 0);
  lines.word("tiled", kernel.tiled, plain.tiled);
  lines.word("batch", kernel.batch, plain.batch);
  lines.flag("traffic_per_sample", kernel.traffic_per_sample, plain.traffic_per_sample);
  if (kernel.transfers.empty()) return;
  std::string list;
  for (const DataflowTransfer& transfer : kernel.transfers) {
    list += fmt::format("{}{{ kind = \"{}\", bytes = {} }}", list.empty() ? "" : ", ",
                        name(transfer.kind), exact_number(transfer.bytes.value));
  }
  lines.raw("transfers", "[" + list + "]");
}

void write_tensor(Lines& lines, const DataflowGraph& graph, const DataflowTensor& tensor) {
  const std::string& producer = graph.kernels[tensor.producer].name;
  lines.heading("tensor");
  if (tensor.name != producer) lines.text("name", tensor.name);
  lines.text("from", producer);
  lines.real("bytes", tensor.bytes.value);
  lines.flag("per_sample", tensor.per_sample, true);
  std::string list;
  for (const DataflowUse& use : tensor.uses) {
    const std::string reader = toml_string(graph.kernels[use.kernel].name);
    if (!list.empty()) list += ", ";
    list += use.operand == Operand::kPointwise
                ? reader
                : fmt::format("{{ kernel = {}, operand = \"{}\" }}", reader, name(use.operand));
  }
  if (!list.empty()) lines.raw("to", "[" + list + "]");
}

}  // namespace

std::string dataflow_toml(const DataflowWorkload& workload) {
  const DataflowWorkload plain;
  Lines lines;
  lines.text("name", workload.graph.name);
  lines.flag("training", workload.training, plain.training);
  lines.whole("layers", workload.layers);
  lines.whole("global_batch", workload.global_batch);
  lines.whole("tokens", workload.tokens);
  lines.real("resident", workload.resident.value, 0);
  lines.real("boundary", workload.boundary.value);
  lines.real("word", workload.word);
  for (const DataflowKernel& kernel : workload.graph.kernels) write_kernel(lines, kernel);
  for (const DataflowTensor& tensor : workload.graph.tensors) {
    write_tensor(lines, workload.graph, tensor);
  }
  return lines.take();
}

}  // namespace flopcast
