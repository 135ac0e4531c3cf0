// A setup.txt of the published DFModel: its system, costs and run. Its graph: workload/dataflow/setup_graph.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workload/dataflow/setup_graph.h"

namespace flopcast {

using namespace workload;  // the room's own names

namespace {

using dataflow::SetupFields;
using dataflow::SetupState;

/// Message names of topologies: the kinds of their dimensions, joined.
constexpr std::array<std::string_view, 11> kTopologies{
    "r", "sw", "fc", "r_r", "fc_fc", "r_fc", "r_sw", "sw_sw", "r_r_r", "r_sw_sw", "sw_sw_sw"};

void read_topology(std::string_view kinds, SetupFields& fields, DfmodelSetup& setup) {
  for (const char axis : std::string_view("xyz")) {
    if (kinds.empty()) break;
    const std::size_t end = std::min(kinds.find('_'), kinds.size());
    DfmodelSetup::Dimension dimension;
    dimension.kind = std::string(kinds.substr(0, end));
    dimension.size = fields.natural(std::string(1, axis));
    dimension.gigabytes_per_second = fields.real(fmt::format("link_bw_{}", axis));
    dimension.parallelism = fields.text(fmt::format("par_{}", axis));
    setup.dimensions.push_back(std::move(dimension));
    kinds.remove_prefix(std::min(end + 1, kinds.size()));
  }
  fields.finish();
}

void read_accelerator(SetupFields& fields, DfmodelSetup& setup) {
  setup.cores = fields.natural("core");
  setup.width = fields.natural("systolic_width");
  setup.height = fields.natural("systolic_height");
  setup.sram_bytes = fields.real("sram_cap");
  setup.gigahertz = fields.real("freq");
  setup.link_latency_ns = fields.real("link_latency");
  fields.finish();
}

void read_system(SetupFields& fields, DfmodelSetup& setup) {
  setup.chips = fields.natural("num_chip");
  if (auto accelerator = fields.message("accelerator")) read_accelerator(*accelerator, setup);
  for (const std::string_view kinds : kTopologies) {
    if (!fields.has(kinds) || !setup.dimensions.empty()) continue;
    if (auto topology = fields.message(kinds)) read_topology(kinds, *topology, setup);
  }
  if (auto memory = fields.message("memory")) {
    setup.dram_gigabytes_per_second = memory->real("dram_bw");
    setup.dram_bytes = memory->real("dram_cap");
    memory->finish();
  }
  fields.finish();
}

void read_cost(SetupFields& fields, DfmodelSetup& setup) {
  setup.link_price = fields.real("link_unit_price");
  setup.switch_price = fields.real("switch_unit_price");
  setup.dram_price = fields.real("dram_unit_price");
  setup.accelerator_price = fields.real("accelerator_price");
  setup.link_power[0] = fields.real("link_unit_power_x");
  setup.link_power[1] = fields.real("link_unit_power_y");
  setup.link_power[2] = fields.real("link_unit_power_z");
  setup.switch_power = fields.real("switch_unit_power");
  setup.dram_power = fields.real("dram_unit_power");
  setup.accelerator_power = fields.real("accelerator_power");
  fields.finish();
}

/// A count, 1 where the file says nothing or 0.
std::int64_t count(SetupFields& fields, std::string_view name) {
  return std::max<std::int64_t>(fields.natural(name, 1), 1);
}

void read_llm(SetupFields& fields, DfmodelSetup& setup) {
  DataflowWorkload& workload = setup.workload;
  const std::int64_t in_graph = count(fields, "num_layer_in_graph");
  workload.layers = std::max<std::int64_t>(count(fields, "num_layer") / in_graph, 1);
  workload.global_batch = count(fields, "global_batch_size");
  workload.tokens = count(fields, "seq_len");
  setup.microbatch = count(fields, "micro_batch_size");
  setup.tile = fields.natural("tile_size");
  workload.boundary = {static_cast<double>(count(fields, "hidden_dim")) *
                       static_cast<double>(workload.tokens) * workload.word};
  for (const std::string_view unused : {"head_dim", "num_head"}) fields.ignore(unused);
  fields.finish();
}

void read_dlrm(SetupFields& fields, DataflowWorkload& workload) {
  workload.global_batch = count(fields, "global_batch_size");
  workload.resident = {static_cast<double>(fields.natural("num_table")) *
                       static_cast<double>(fields.natural("emb_dim")) *
                       static_cast<double>(fields.natural("row")) * workload.word};
  fields.ignore("num_copy");
  fields.finish();
}

dataflow::SetupRun read_execution(SetupFields& fields, DfmodelSetup& setup) {
  setup.kernel_by_kernel = fields.text("execution_style") == "KERNEL_BY_KERNEL";
  setup.partitions = fields.natural("num_config");
  setup.perfect_overlap = fields.flag("perfect_overlap");
  setup.utilisation = fields.real("compute_util");
  setup.workload.word = static_cast<double>(count(fields, "word"));
  const std::string overlap = fields.text("overlap");
  if (!overlap.empty()) setup.perfect_overlap = overlap.starts_with("PERFECT");
  dataflow::SetupRun run;
  if (auto llm = fields.message("llm")) {
    run.kind = dataflow::SetupRun::kLlm;
    read_llm(*llm, setup);
  }
  if (auto dlrm = fields.message("dlrm")) {
    run.kind = dataflow::SetupRun::kDlrm;
    read_dlrm(*dlrm, setup.workload);
  }
  if (fields.message("hpl")) run.kind = dataflow::SetupRun::kHpl;
  if (fields.message("fft")) run.kind = dataflow::SetupRun::kFft;
  fields.finish();
  run.tokens = setup.workload.tokens;
  return run;
}

void read_setup(SetupFields& fields, DfmodelSetup& setup) {
  dataflow::SetupRun run;
  if (auto system = fields.message("system")) read_system(*system, setup);
  if (auto cost = fields.message("cost")) read_cost(*cost, setup);
  for (const std::string_view spelled : {"execution", "miscellany"}) {
    if (auto execution = fields.message(spelled)) run = read_execution(*execution, setup);
  }
  run.chips = static_cast<double>(std::max<std::int64_t>(setup.chips, 1));
  for (const DfmodelSetup::Dimension& dimension : setup.dimensions) {
    if (dimension.parallelism != "TP" || dimension.size < 1) continue;
    run.tensor_parallel *= static_cast<double>(dimension.size);
  }
  if (auto graph = fields.message("dataflow_graph")) {
    dataflow::read_setup_graph(*graph, run, setup);
  } else {
    fields.wrong(fields.line(), "there is no dataflow_graph", "give a setup.txt of DFModel");
  }
  fields.ignore("gurobi");
  fields.finish();
}

}  // namespace

Result<DfmodelSetup> parse_dfmodel_setup(std::string_view text, const std::string& where) {
  const Result<dataflow::SetupMessage> root = dataflow::parse_setup_text(text, where);
  if (!root) return root.error();
  DfmodelSetup setup;
  SetupState state{where, std::nullopt, &setup.unknown};
  SetupFields fields(*root, "", state);
  read_setup(fields, setup);
  if (state.error) return std::move(*state.error);
  setup.workload.graph.name = where;
  const Result<bool> sound = check_dataflow(setup.workload.graph);
  if (!sound) {
    Diagnostic wrong = sound.error();
    wrong.where = where;
    return wrong;
  }
  return setup;
}

}  // namespace flopcast
