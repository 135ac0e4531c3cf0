// A mapping as JSON. Numbers are exact; units are in the names.
#include <fmt/format.h>

#include "base/text/json_writer.h"
#include "flopcast/report/mapping.h"
#include "report/mapping/words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

constexpr JsonWriter::Layout kLine = JsonWriter::Layout::kLine;

void write_workload(JsonWriter& w, const DataflowWorkload& workload) {
  w.begin_object("workload", kLine);
  w.text("name", workload.graph.name);
  w.count("kernels", workload.graph.kernels.size());
  w.count("uses", workload.graph.uses());
  w.boolean("training", workload.training);
  w.integer("layers", workload.layers);
  w.integer("global_batch", workload.global_batch);
  w.integer("tokens", workload.tokens);
  w.exact("boundary_bytes", workload.boundary.value);
  w.exact("resident_bytes", workload.resident.value);
  w.exact("word_bytes", workload.word);
  w.exact("step_flop", workload_flops(workload).value);
  w.begin_array("assumed", kLine);
  for (const std::string& assumed : workload.assumed) w.text({}, assumed);
  w.end_array();
  w.end_object();
}

void write_facts(JsonWriter& w, const std::vector<Fact>& facts) {
  w.begin_array("facts");
  for (const Fact& fact : facts) {
    w.begin_object({}, kLine);
    w.text("key", fact.key);
    w.exact("value", fact.value);
    w.text("unit", fact.unit);
    w.text("basis", name(fact.basis));
    w.text("source", fact.source);
    w.end_object();
  }
  w.end_array();
}

void write_system(JsonWriter& w, const MappingReport& report) {
  const MappingSystem& system = report.request.system;
  w.begin_object("system");
  w.text("name", system.name);
  w.text("chip", system.chip.name);
  w.count("chips", system.chips());
  w.exact("peak_flop_per_s", system.peak.value);
  w.boolean("kernel_by_kernel", system.kernel_by_kernel);
  w.exact("sram_bytes", system.sram.value);
  w.exact("memory_bandwidth_bytes_per_s", system.memory_bandwidth.value);
  w.exact("memory_capacity_bytes", system.memory_capacity.value);
  w.begin_array("dimensions");
  const MappingShape& shape = report.mapping.shape;
  for (std::size_t d = 0; d < system.dimensions.size(); ++d) {
    const NetworkDimension& dimension = system.dimensions[d];
    w.begin_object({}, kLine);
    w.text("kind", name(dimension.kind));
    w.count("size", dimension.size);
    w.exact("bandwidth_bytes_per_s", dimension.bandwidth.value);
    w.exact("latency_s", dimension.latency.value);
    for (std::size_t p = 0; p < kParallelisms && d < shape.factors.size(); ++p) {
      w.count(name(static_cast<Parallelism>(p)), shape.factors[d][p]);
    }
    w.end_object();
  }
  w.end_array();
  write_facts(w, system.facts);
  w.end_object();
}

void write_model(JsonWriter& w, const MappingModel& model) {
  w.begin_object("model", kLine);
  w.text("name", model.name);
  w.exact("utilisation", model.utilisation);
  w.text("overlap", name(model.overlap));
  w.exact("all_reduce_factor", model.all_reduce_factor);
  w.exact("gradient_factor", model.gradient_factor);
  w.exact("optimizer_bytes_per_parameter", model.optimizer_bytes);
  for (const ModelSwitch& choice : model_switches()) w.boolean(choice.name, model.*choice.field);
  w.end_object();
}

void write_shape(JsonWriter& w, const Mapping& m) {
  w.begin_object("shape", kLine);
  w.count("tp", m.shape.tp());
  w.count("pp", m.shape.pp());
  w.count("dp", m.shape.dp());
  w.integer("microbatch", m.microbatch);
  w.integer("microbatches", m.microbatches);
  w.integer("tile", m.tile);
  w.integer("layers_per_stage", m.layers_per_stage);
  w.end_object();
}

void write_partitions(JsonWriter& w, const MappingReport& report) {
  const DataflowGraph& graph = report.request.workload.graph;
  w.begin_array("partitions");
  for (const MappedPartition& p : report.mapping.partitions) {
    w.begin_object({}, kLine);
    w.text("pass", p.backward ? "backward" : "forward");
    w.exact("time_s", p.time.value);
    w.exact("compute_s", p.compute.value);
    w.exact("memory_s", p.memory.value);
    w.exact("network_s", p.network.value);
    w.text("limit", name(p.limit));
    w.exact("work_flop", p.work.value);
    w.exact("sram_bytes", p.sram.value);
    w.exact("dram_bytes", p.dram.value);
    w.exact("wire_bytes", p.wire.value);
    w.exact("live_bytes", p.live.value);
    w.begin_array("kernels");
    for (const std::uint32_t kernel : p.kernels) w.text({}, graph.kernels[kernel].name);
    w.end_array();
    if (!p.tiles.empty()) {
      w.begin_array("tiles");
      for (const unsigned tiles : p.tiles) w.count({}, tiles);
      w.end_array();
    }
    w.end_object();
  }
  w.end_array();
}

void write_kernels(JsonWriter& w, const MappingReport& report) {
  const DataflowGraph& graph = report.request.workload.graph;
  const std::vector<std::uint32_t> partition = kernel_partitions(report);
  w.begin_array("kernels");
  for (std::size_t k = 0; k < graph.kernels.size(); ++k) {
    const DataflowKernel& kernel = graph.kernels[k];
    w.begin_object({}, kLine);
    w.text("name", kernel.name);
    w.text("kind", name(kernel.kind));
    w.text("pass", kernel.backward ? "backward" : "forward");
    w.integer("outer", kernel.outer);
    w.integer("m", kernel.m);
    w.integer("n", kernel.n);
    w.integer("k", kernel.k);
    w.exact("sample_flop", kernel.work().value);
    w.exact("weight_bytes", kernel.weight.value);
    w.count("partition", partition[k]);
    w.text("sharding", name(report.mapping.sharding.at(k)));
    w.end_object();
  }
  w.end_array();
}

void write_tensors(JsonWriter& w, const MappingReport& report) {
  const DataflowGraph& graph = report.request.workload.graph;
  w.begin_array("tensors");
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const DataflowTensor& tensor = graph.tensors[t];
    w.begin_object({}, kLine);
    w.text("name", tensor.name);
    w.text("producer", graph.kernels[tensor.producer].name);
    w.begin_array("readers");
    for (const DataflowUse& use : tensor.uses) w.text({}, graph.kernels[use.kernel].name);
    w.end_array();
    w.exact("sample_bytes", tensor.bytes.value);
    w.text("layout", name(report.mapping.layout.at(t)));
    w.end_object();
  }
  w.end_array();
}

void write_memory(JsonWriter& w, const Mapping& m) {
  w.begin_object("memory_bytes", kLine);
  for (const auto& [name, bytes] : memory_parts(m.memory)) w.exact(name, bytes.value);
  w.exact("total", m.memory.total().value);
  w.end_object();
}

void write_roofline(JsonWriter& w, const MappingRoofline& r) {
  w.begin_object("roofline", kLine);
  w.exact("peak_flop_per_s", r.peak.value);
  w.exact("achieved_flop_per_s", r.achieved.value);
  w.exact("memory_bandwidth_bytes_per_s", r.memory_bandwidth.value);
  w.exact("network_bandwidth_bytes_per_s", r.network_bandwidth.value);
  w.exact("memory_intensity_flop_per_byte", r.memory_intensity);
  w.exact("network_intensity_flop_per_byte", r.network_intensity);
  w.end_object();
}

void write_answer(JsonWriter& w, const Mapping& m) {
  w.exact("step_s", m.step.value);
  w.exact("bound_s", m.bound.value);
  w.boolean("exact", m.exact);
  w.exact("gap", m.gap());
  w.exact("utilisation", m.utilisation);
  w.exact("samples_per_second", m.samples_per_second);
  w.exact("price_usd", m.price_usd);
  w.exact("power_w", m.power_w);
  w.text("basis", name(m.basis));
}

void write_times(JsonWriter& w, const Mapping& m) {
  w.begin_object("times", kLine);
  w.exact("layer_s", m.layer.value);
  w.exact("stage_s", m.stage.value);
  w.exact("send_s", m.send.value);
  w.exact("bubble", m.bubble);
  w.exact("gradients_s", m.gradients.value);
  w.exact("optimizer_s", m.optimizer.value);
  w.end_object();
}

void write_counts(JsonWriter& w, const MappingCounts& counts) {
  w.begin_object("search", kLine);
  w.count("shapes", counts.shapes);
  w.count("candidates", counts.candidates);
  w.count("bounded", counts.bounded);
  w.count("unfit", counts.unfit);
  w.count("ideals", counts.ideals);
  w.count("transitions", counts.transitions);
  w.end_object();
}

}  // namespace

std::string mapping_json(const MappingReport& report) {
  const Mapping& m = report.mapping;
  JsonWriter w;
  w.begin_object();
  write_answer(w, m);
  write_workload(w, report.request.workload);
  write_system(w, report);
  write_model(w, report.request.model);
  write_shape(w, m);
  write_times(w, m);
  write_partitions(w, report);
  write_kernels(w, report);
  write_tensors(w, report);
  write_memory(w, m);
  write_roofline(w, m.roofline);
  write_counts(w, m.counts);
  w.end_object();
  return std::move(w).take();
}

}  // namespace flopcast
