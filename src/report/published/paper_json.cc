// Paper mode as JSON; docs/reference/json.md names every field.
#include <fmt/format.h>

#include "base/text/json_writer.h"
#include "report/published/paper_words.h"

namespace flopcast {

using namespace report;  // the room's own names

namespace {

void write_groups(JsonWriter& json, const PaperPlan::Groups& groups) {
  json.integer("tp", groups.tp1);
  json.integer("tp2", groups.tp2);
  json.integer("pp", groups.pp);
  json.integer("dp", groups.dp);
}

void write_system(JsonWriter& json, const PaperSystem& system) {
  json.begin_object("system", JsonWriter::Layout::kLine);
  json.text("name", system.name);
  json.integer("domain", system.domain);
  json.exact("matrix_flops_per_s", system.matrix.value);
  json.exact("vector_flops_per_s", system.vector.value);
  json.exact("hbm_bandwidth_bytes_per_s", system.hbm_bandwidth.value);
  json.exact("hbm_capacity_bytes", system.hbm_capacity.value);
  json.end_object();
}

void write_case(JsonWriter& json, const PaperCase& c, std::int64_t gpus) {
  json.text("model", c.model.name);
  json.text("strategy", name(c.strategy));
  write_system(json, c.system);
  json.integer("global_batch", c.global_batch);
  json.integer("gpus", gpus);
  json.begin_array("defects", JsonWriter::Layout::kLine);
  for (const std::string_view defect : paper_defects_on(c.defects)) json.text({}, defect);
  json.end_array();
}

void write_candidate(JsonWriter& json, const PaperCase& c, const PaperCandidate& candidate) {
  const PaperEstimate& e = candidate.estimate;
  json.begin_object("plan", JsonWriter::Layout::kLine);
  write_groups(json, candidate.plan.size);
  json.integer("microbatch", candidate.plan.microbatch);
  json.integer("panels", candidate.plan.panels);
  json.begin_object("domain");
  write_groups(json, candidate.plan.domain);
  json.end_object();
  json.end_object();
  json.exact("iteration_time_s", e.time.value);
  json.begin_object("parts_s", JsonWriter::Layout::kLine);
  for (const PaperPart& part : paper_parts(e)) json.exact(part.key, part.value.value);
  json.end_object();
  json.exact("memory_bytes", e.memory.value);
  json.begin_object("memory", JsonWriter::Layout::kLine);
  for (const PaperShare& share : paper_memory(e)) {
    json.exact(fmt::format("{}_bytes", share.name), share.value.value);
  }
  json.end_object();
  json.boolean("fits", e.fits);
  json.integer("microbatches", e.microbatches);
  json.exact("flops_per_gpu", e.flops.value);
  json.exact("training_days", paper_training_days(c, e.time));
}

void write_phase(JsonWriter& json, std::string_view key, const PaperOperator::Phase& phase) {
  json.begin_object(key);
  json.exact("time_s", phase.time.value);
  json.exact("compute_s", phase.compute.value);
  json.exact("exposed_memory_s", phase.exposed_memory.value);
  json.exact("communication_s", phase.communication.value);
  json.exact("flops", phase.flops.value);
  json.end_object();
}

void write_operators(JsonWriter& json, const std::vector<PaperOperator>& operators) {
  json.begin_array("operators");
  for (const PaperOperator& op : operators) {
    json.begin_object({}, JsonWriter::Layout::kLine);
    json.text("name", op.name);
    write_phase(json, "forward", op.forward);
    write_phase(json, "backward", op.backward);
    json.exact("weights_bytes", op.weights.value);
    json.exact("activations_bytes", op.activations.value);
    json.end_object();
  }
  json.end_array();
}

void write_search(JsonWriter& json, const PaperCell& cell, const PaperSearch& search) {
  json.begin_object();
  write_case(json, cell.c, cell.gpus);
  json.count("candidates", search.candidates);
  json.count("feasible", search.feasible);
  json.begin_array("best");
  for (const PaperCandidate& found : search.best) {
    json.begin_object();
    write_candidate(json, cell.c, found);
    json.end_object();
  }
  json.end_array();
  if (search.leanest) {
    json.begin_object("leanest");
    write_candidate(json, cell.c, *search.leanest);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string paper_estimate_json(const PaperEstimateReport& report) {
  const PaperCase& c = report.of;
  JsonWriter json;
  json.begin_object();
  write_case(json, c, report.found.plan.gpus());
  write_candidate(json, c, report.found);
  write_operators(json, report.operators);
  if (report.nearest) {
    json.begin_object("nearest");
    write_candidate(json, c, *report.nearest);
    json.end_object();
  }
  json.end_object();
  return std::move(json).take();
}

std::string paper_searches_json(const PaperSearches& searches) {
  JsonWriter json;
  json.begin_object();
  json.begin_array("searches");
  for (std::size_t i = 0; i < searches.cells.size(); ++i) {
    write_search(json, searches.cells[i], searches.results[i]);
  }
  json.end_array();
  json.end_object();
  return std::move(json).take();
}

}  // namespace flopcast
