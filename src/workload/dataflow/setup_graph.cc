#include "workload/dataflow/setup_graph.h"

#include <fmt/format.h>

#include <array>
#include <map>

namespace flopcast::workload::dataflow {
namespace {

/// What is needed besides the kernel to connect it.
struct Node {
  Bytes output;
  Bytes inputs[2];
  bool weighted = false, update = false;
};

class GraphReader {
 public:
  GraphReader(const SetupRun& run, DfmodelSetup& setup) : run_(run), setup_(setup) {}

  void kernel(SetupFields& fields);
  void connection(SetupFields& fields);
  void finish();

 private:
  void variant(SetupFields& fields, DataflowKernel& kernel, Node& node);
  void transfer(SetupFields& fields, std::string_view suffix, DataflowKernel& kernel);
  DataflowKind kind(bool systolic) const;
  void dimensions(SetupFields& fields, DataflowKernel& kernel, const Node& node) const;
  Operand operand(std::uint32_t producer, std::uint32_t reader) const;
  Operand update_operand(std::uint32_t producer, const DataflowKernel& kernel) const;
  void choose_operands();

  DataflowGraph& graph() { return setup_.workload.graph; }
  const DataflowGraph& graph() const { return setup_.workload.graph; }

  const SetupRun& run_;
  DfmodelSetup& setup_;
  std::map<std::int64_t, std::uint32_t> ids_;
  std::vector<Node> nodes_;
  std::map<std::uint32_t, std::size_t> tensors_;       // of a producer
  std::vector<std::vector<std::uint32_t>> producers_;  // of what a kernel reads, in file order
};

DataflowKind GraphReader::kind(bool systolic) const {
  if (!systolic) return DataflowKind::kElementwise;
  if (run_.kind == SetupRun::kHpl) return DataflowKind::kPanel;
  return run_.kind == SetupRun::kFft ? DataflowKind::kFft : DataflowKind::kGemm;
}

void GraphReader::transfer(SetupFields& fields, std::string_view suffix, DataflowKernel& kernel) {
  const std::string field = fmt::format("communication_type{}", suffix);
  const std::string type = fields.text(field);
  const double bytes = fields.real(fmt::format("communication_size{}", suffix));
  if (type == "ALL_REDUCE_PERIODIC") {
    kernel.gradient += Bytes{bytes};
  } else if (type == "ALL_TO_ALL") {
    const double pairs = run_.kind == SetupRun::kDlrm ? run_.chips : 1;
    kernel.transfers.push_back({DataflowTransferKind::kAllToAll, {bytes * pairs}});
  } else if (type == "BROADCAST") {
    kernel.transfers.push_back({DataflowTransferKind::kBroadcast, {bytes}});
  } else if (type == "POINT_TO_POINT") {
    kernel.transfers.push_back({DataflowTransferKind::kPointToPoint, {bytes}});
  } else if (!type.empty()) {
    setup_.unknown.add("communication_type." + type, [&] { return kernel.name; });
  }
}

void GraphReader::dimensions(SetupFields& fields, DataflowKernel& kernel, const Node& node) const {
  const std::string tiling = fields.text("tiling");
  constexpr std::array<std::string_view, 5> kTilings{"NO_TILING", "OUTER_TILING", "M_TILING",
                                                     "N_TILING", "K_TILING"};
  kernel.tiled = find_word<KernelDimension>(kTilings, tiling).value_or(KernelDimension::kNone);
  const bool whole = run_.kind == SetupRun::kHpl || run_.kind == SetupRun::kFft;
  if (node.update) {
    kernel.batch = KernelDimension::kK;
  } else if (whole || (kernel.outer > 1 && !node.weighted)) {
    kernel.batch = KernelDimension::kOuter;
  }
}

void GraphReader::variant(SetupFields& fields, DataflowKernel& kernel, Node& node) {
  kernel.outer = fields.natural("outer", 1);
  kernel.m = fields.natural("M", 1);
  kernel.n = fields.natural("N", 1);
  kernel.k = fields.natural("K");
  kernel.weight = {fields.real("weight_tensor_size")};
  kernel.traffic = {fields.real("memory_size") *
                    (run_.kind == SetupRun::kLlm ? run_.tensor_parallel : 1)};
  node.output = {fields.real("output_tensor_size")};
  fields.ignore("input_tensor_size");
  node.inputs[0] = {fields.real("input_tensor_1_size")};
  node.inputs[1] = {fields.real("input_tensor_2_size")};
  transfer(fields, "", kernel);
  transfer(fields, "_2", kernel);
  node.update = kernel.k > 0 && (kernel.gradient.value > 0 || fields.text("tiling") == "K_TILING");
  kernel.traffic_per_sample = !(run_.kind == SetupRun::kLlm && node.weighted);
  dimensions(fields, kernel, node);
  fields.finish();
}

void GraphReader::kernel(SetupFields& fields) {
  DataflowKernel kernel;
  Node node;
  const std::size_t line = fields.line();
  const std::int64_t id = fields.whole("id");
  kernel.name = fields.text("name");
  if (kernel.name.empty()) kernel.name = fmt::format("kernel_{}", id);
  kernel.backward = fields.text("fwd_bwd") == "BWD";
  const bool systolic = fields.text("type") == "SYSTOLIC";
  setup_.pins.push_back(fields.whole("config", -1));
  fields.ignore("topological_number");
  for (const std::string_view name : {"gemm_input1_weight", "gemm_input1_input2",
                                      "elementwise_input1", "elementwise_input1_input2"}) {
    if (auto found = fields.message(name)) {
      node.weighted = name == "gemm_input1_weight";
      variant(*found, kernel, node);
    }
  }
  fields.finish();
  kernel.kind = kind(systolic && kernel.k > 0);
  if (systolic && kernel.k == 0) kernel.operations = 2;
  if (!ids_.emplace(id, static_cast<std::uint32_t>(nodes_.size())).second) {
    fields.wrong(line, fmt::format("two kernels have the id {}", id), "ids must differ");
  }
  graph().kernels.push_back(std::move(kernel));
  nodes_.push_back(node);
  producers_.emplace_back();
}

void GraphReader::connection(SetupFields& fields) {
  const std::size_t line = fields.line();
  const std::int64_t ends[2] = {fields.whole("startIdx"), fields.whole("endIdx")};
  for (const std::string_view unused : {"id", "startName", "endName"}) fields.ignore(unused);
  fields.finish();
  for (const std::int64_t end : ends) {
    if (ids_.contains(end)) continue;
    return fields.wrong(line, fmt::format("a connection names kernel {}", end),
                        "startIdx and endIdx are ids of kernels");
  }
  const std::uint32_t from = ids_[ends[0]], to = ids_[ends[1]];
  const auto [at, fresh] = tensors_.emplace(from, graph().tensors.size());
  if (fresh) {
    graph().tensors.push_back({.name = graph().kernels[from].name,
                               .producer = from,
                               .bytes = nodes_[from].output,
                               .uses = {},
                               .per_sample = true});
  }
  graph().tensors[at->second].uses.push_back({to, Operand::kPointwise});
  producers_[to].push_back(from);
}

/// A weight gradient's m are the features of one of its two tensors, as its n are the other's. Where
/// they are as many, m are those of the forward pass's tensor, as in the published graphs.
Operand GraphReader::update_operand(std::uint32_t producer, const DataflowKernel& kernel) const {
  const DataflowKernel& from = graph().kernels[producer];
  const double features = static_cast<double>(from.outer) * static_cast<double>(from.m);
  const bool is_m = features == static_cast<double>(kernel.m);
  if (is_m != (features == static_cast<double>(kernel.n))) {
    return is_m ? Operand::kLeftT : Operand::kRightT;
  }
  return from.backward ? Operand::kRightT : Operand::kLeftT;
}

/// The file does not say which tensor is the first operand: the sizes do, where they differ, and
/// else the order of the connections.
Operand GraphReader::operand(std::uint32_t producer, std::uint32_t reader) const {
  const DataflowKernel& kernel = graph().kernels[reader];
  const Node& node = nodes_[reader];
  const std::vector<std::uint32_t>& producers = producers_[reader];
  if (!kernel.systolic()) return Operand::kPointwise;
  if (node.update) return update_operand(producer, kernel);
  if (node.weighted || producers.size() < 2) return Operand::kRight;
  const Bytes size = nodes_[producer].output;
  bool first = producers.front() == producer;
  if (node.inputs[0] != node.inputs[1]) {
    if (size == node.inputs[0]) first = true;
    if (size == node.inputs[1]) first = false;
  }
  return first ? Operand::kLeft : Operand::kRight;
}

void GraphReader::choose_operands() {
  for (DataflowTensor& tensor : graph().tensors) {
    for (DataflowUse& use : tensor.uses) use.operand = operand(tensor.producer, use.kernel);
  }
}

void GraphReader::finish() {
  choose_operands();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const DataflowKernel& kernel = graph().kernels[i];
    setup_.workload.training = setup_.workload.training || kernel.backward;
    // What a forward pass hands to the next layer.
    if (tensors_.contains(i) || kernel.backward || producers_[i].empty()) continue;
    graph().tensors.push_back({.name = kernel.name,
                               .producer = i,
                               .bytes = nodes_[i].output,
                               .uses = {},
                               .per_sample = true});
  }
}

}  // namespace

void read_setup_graph(SetupFields& fields, const SetupRun& run, DfmodelSetup& setup) {
  GraphReader reader(run, setup);
  for (SetupFields& kernel : fields.messages("kernels")) reader.kernel(kernel);
  for (SetupFields& connection : fields.messages("connections")) reader.connection(connection);
  reader.finish();
  fields.finish();
}

}  // namespace flopcast::workload::dataflow
