// A dataflow workload as a TOML file: docs/reference/dataflow.md.
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/problems.h"
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

/// What a file says of a kernel, and what it does not say.
struct ReadKernel {
  DataflowKernel kernel;
  std::string place;
  bool weight = false, operations = false, kind = false;  ///< whether it is said
};

ReadKernel read_kernel(Fields& fields) {
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
  if (kernel.kind == DataflowKind::kGemm) {
    for (const char* key : {"m", "n", "k"}) {
      fields.missing(key, "a product has a size in each of m, n and k");
    }
  }
  return {std::move(kernel), fields.place_of(), fields.has("weight"), fields.has("operations"),
          fields.has("kind")};
}

/// A kernel's name, or a table { kernel = "q", operand = "right" }.
DataflowUse read_use(Fields& fields, const KernelIds& ids) {
  DataflowUse use;
  fields.kernel("kernel", ids, use.kernel);
  fields.word("operand", dataflow::kOperands, use.operand);
  return use;
}

/// @param sizes bytes of what each kernel makes
DataflowTensor read_tensor(Fields& fields, const KernelIds& ids, const std::vector<double>& sizes) {
  DataflowTensor tensor;
  fields.kernel("from", ids, tensor.producer);
  fields.given_text("from", tensor.name);  // its name too, unless another is given
  fields.text("name", tensor.name);
  fields.about("tensor", tensor.name);
  fields.bytes("bytes", tensor.bytes);
  fields.missing("bytes",
                 tensor.producer < sizes.size()
                     ? fmt::format("bytes = {:.0f} where it is all that its kernel makes; 0 "
                                   "where nothing is moved",
                                   sizes[tensor.producer])
                     : "give its size in bytes");
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

/// Matrices that tensors bring to a kernel.
std::size_t operands_of(const DataflowGraph& graph, std::uint32_t kernel) {
  std::size_t count = 0;
  for (const DataflowTensor& tensor : graph.tensors) {
    for (const DataflowUse& use : tensor.uses) {
      count += use.kernel == kernel && use.operand != Operand::kPointwise ? 1 : 0;
    }
  }
  return count;
}

/// A product of two matrices of which one comes from nowhere would read nothing and move nothing.
void ask_for_weights(const DataflowWorkload& workload, const std::vector<ReadKernel>& kernels,
                     std::vector<Diagnostic>& errors) {
  constexpr std::size_t kOperands = 2;
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    const DataflowKernel& kernel = workload.graph.kernels[i];
    if (kernel.kind != DataflowKind::kGemm || kernels[i].weight || kernel.k < 1) continue;
    const std::size_t operands = operands_of(workload.graph, i);
    if (operands >= kOperands) continue;
    const double matrix = static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                          static_cast<double>(kernel.k) * workload.word;
    errors.push_back(
        {ErrorCode::kBadInput, kernels[i].place,
         fmt::format("kernel '{}': 'weight' is missing: of the product's two matrices "
                     "{}",
                     kernel.name, operands == 0 ? "no tensor brings any" : "a tensor brings one"),
         fmt::format("weight = {:.0f} for parameters of m x k; 0 where nothing is read", matrix)});
  }
}

/// What was left out and taken as usual, in words.
void tell_defaults(const Fields& fields, const std::vector<ReadKernel>& kernels,
                   DataflowWorkload& workload) {
  std::vector<std::string>& assumed = workload.assumed;
  constexpr std::array kUsual = {std::pair{"layers", "layers = 1: the graph is all there is"},
                                 std::pair{"global_batch", "global_batch = 1: one sample a step"},
                                 std::pair{"tokens", "tokens = 1: there are no tiles"},
                                 std::pair{"word", "word = 2: elements of 16 bits"}};
  for (const auto& [key, words] : kUsual) {
    if (!fields.has(key)) assumed.emplace_back(words);
  }
  std::string kinds, operations;
  for (const ReadKernel& one : kernels) {
    const std::string comma = ", ", name = one.kernel.name;
    if (!one.kind) kinds += (kinds.empty() ? "" : comma) + name;
    if (!one.operations && one.kernel.k == 0)
      operations += (operations.empty() ? "" : comma) + name;
  }
  if (!kinds.empty()) assumed.push_back("kind = \"elementwise\": " + kinds);
  if (!operations.empty()) assumed.push_back("operations = 1 an element: " + operations);
}

void read_workload(Fields& fields, DataflowWorkload& workload, std::vector<Diagnostic>& errors) {
  fields.text("name", workload.graph.name);
  fields.flag("training", workload.training);
  fields.count("layers", workload.layers);
  fields.count("global_batch", workload.global_batch);
  fields.count("tokens", workload.tokens);
  fields.bytes("resident", workload.resident);
  fields.bytes("boundary", workload.boundary);
  fields.positive("word", workload.word);
  if (workload.layers > 1)
    fields.missing("boundary", "bytes from one layer to the next, per sample");
  std::vector<ReadKernel> kernels;
  fields.tables("kernel", [&](Fields& kernel) { kernels.push_back(read_kernel(kernel)); });
  KernelIds ids;
  std::vector<double> sizes;
  for (std::uint32_t i = 0; i < kernels.size(); ++i) {
    const DataflowKernel& kernel = workload.graph.kernels.emplace_back(kernels[i].kernel);
    ids.emplace(kernel.name, i);
    sizes.push_back(static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) *
                    static_cast<double>(kernel.n) * workload.word);
  }
  fields.tables("tensor", [&](Fields& tensor) {
    workload.graph.tensors.push_back(read_tensor(tensor, ids, sizes));
  });
  ask_for_weights(workload, kernels, errors);
  tell_defaults(fields, kernels, workload);
}

}  // namespace

Result<DataflowWorkload> parse_dataflow(std::string_view text, const std::string& where) {
  const Result<TomlFile> file = parse_toml(text, where, false);
  if (!file) return file.error();
  DataflowWorkload workload;
  workload.graph.name = "graph";
  std::vector<Diagnostic> errors;
  {
    Fields fields(*file, file->root, errors);
    fields.about("graph", "");
    read_workload(fields, workload, errors);
    fields.finish();
  }
  if (!errors.empty()) return together(errors, where);
  const Result<bool> sound = check_dataflow(workload.graph);
  if (!sound) {
    Diagnostic wrong = sound.error();
    wrong.where = where;
    return wrong;
  }
  return workload;
}

}  // namespace flopcast
