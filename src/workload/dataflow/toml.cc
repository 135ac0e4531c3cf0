// A dataflow workload as a TOML file: docs/reference/dataflow.md.
#include <fmt/format.h>

#include <map>

#include "workload/dataflow/fields.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

using dataflow::Fields;
using KernelIds = std::map<std::string, std::uint32_t, std::less<>>;

DataflowTransfer read_transfer(Fields& fields) {
  DataflowTransfer transfer;
  fields.word("kind", dataflow::kTransfers, transfer.kind);
  fields.bytes("bytes", transfer.bytes);
  return transfer;
}

DataflowKernel read_kernel(Fields& fields) {
  DataflowKernel kernel;
  fields.text("name", kernel.name);
  fields.about("kernel", kernel.name);
  fields.word("kind", dataflow::kKinds, kernel.kind);
  fields.flag("backward", kernel.backward);
  fields.integer("outer", kernel.outer);
  fields.integer("m", kernel.m);
  fields.integer("n", kernel.n);
  fields.integer("k", kernel.k);
  fields.number("operations", kernel.operations);
  fields.bytes("weight", kernel.weight);
  fields.bytes("traffic", kernel.traffic);
  fields.bytes("gradient", kernel.gradient);
  fields.word("tiled", dataflow::kDimensions, kernel.tiled);
  fields.word("batch", dataflow::kDimensions, kernel.batch);
  fields.flag("traffic_per_sample", kernel.traffic_per_sample);
  fields.tables("transfers", [&kernel](Fields& transfer) {
    kernel.transfers.push_back(read_transfer(transfer));
  });
  return kernel;
}

/// A kernel's name, or a table { kernel = "q", operand = "right" }.
DataflowUse read_use(Fields& fields, const KernelIds& ids) {
  DataflowUse use;
  fields.kernel("kernel", ids, use.kernel);
  fields.word("operand", dataflow::kOperands, use.operand);
  return use;
}

DataflowTensor read_tensor(Fields& fields, const KernelIds& ids) {
  DataflowTensor tensor;
  fields.kernel("from", ids, tensor.producer);
  fields.given_text("from", tensor.name);  // its name too, unless another is given
  fields.text("name", tensor.name);
  fields.about("tensor", tensor.name);
  fields.bytes("bytes", tensor.bytes);
  fields.flag("per_sample", tensor.per_sample);
  fields.tables(
      "to", [&](Fields& use) { tensor.uses.push_back(read_use(use, ids)); },
      [&](const toml::node& node, std::string_view word) {
        DataflowUse use;
        fields.find_kernel(node, word, ids, use.kernel);
        tensor.uses.push_back(use);
      });
  return tensor;
}

void read_workload(Fields& fields, DataflowWorkload& workload) {
  fields.text("name", workload.graph.name);
  fields.flag("training", workload.training);
  fields.count("layers", workload.layers);
  fields.count("global_batch", workload.global_batch);
  fields.count("tokens", workload.tokens);
  fields.bytes("resident", workload.resident);
  fields.bytes("boundary", workload.boundary);
  fields.positive("word", workload.word);
  fields.tables("kernel", [&workload](Fields& kernel) {
    workload.graph.kernels.push_back(read_kernel(kernel));
  });
  KernelIds ids;
  for (std::uint32_t i = 0; i < workload.graph.kernels.size(); ++i) {
    ids.emplace(workload.graph.kernels[i].name, i);
  }
  fields.tables("tensor", [&](Fields& tensor) {
    workload.graph.tensors.push_back(read_tensor(tensor, ids));
  });
}

}  // namespace

Result<DataflowWorkload> parse_dataflow(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  DataflowWorkload workload;
  workload.graph.name = "graph";
  std::optional<Diagnostic> error;
  {
    Fields fields(*file, file->root, error);
    fields.about("graph", "");
    read_workload(fields, workload);
    fields.finish();
  }
  if (error) return std::move(*error);
  const Result<bool> sound = check_dataflow(workload.graph);
  if (!sound) {
    Diagnostic wrong = sound.error();
    wrong.where = where;
    return wrong;
  }
  return workload;
}

}  // namespace flopcast
