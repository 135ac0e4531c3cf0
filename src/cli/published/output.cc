#include "cli/published/output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "flopcast/base/quantity.h"

namespace flopcast::cli {
namespace {

constexpr std::int64_t kPaperBatch = 4096;

std::string degrees_text(const PaperPlan::Groups& g) {
  std::string text;
  const std::array<std::pair<std::string_view, std::int64_t>, 4> degrees = {
      {{"tp", g.tp1}, {"tp2", g.tp2}, {"pp", g.pp}, {"dp", g.dp}}};
  for (const auto& [name, degree] : degrees) {
    if (degree != 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, degree);
  }
  return text;
}

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

std::vector<std::string_view> defects_on(const PaperDefects& d) {
  const std::array<bool, 6> on = {d.p2p_between_domains_free,   d.summa_norm_as_wide_as_sequence,
                                  d.allreduce_moves_once,       d.replicated_biases_1d,
                                  d.optimizer_not_cut_over_tp2, d.serial_study_drops_sizes};
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < on.size(); ++i) {
    if (on[i]) names.push_back(paper_defect_names()[i]);
  }
  return names;
}

}  // namespace

Result<PaperStrategy> paper_strategy(std::string_view text) {
  if (const auto known = parse_paper_strategy(text)) return *known;
  return Diagnostic{ErrorCode::kUsage, std::string(text), "no such strategy", "1d, 2d or summa"};
}

Result<PaperCase> paper_case(const std::string& model, std::int64_t global_batch,
                             const PaperOptions& options) {
  Result<PaperModel> known_model = paper_model(model);
  if (!known_model) return known_model.error();
  Result<PaperSystem> system = paper_system(options.system);
  if (!system) return system.error();
  const Result<PaperStrategy> strategy = paper_strategy(options.strategy);
  if (!strategy) return strategy.error();
  const Result<PaperDefects> defects = parse_paper_defects(options.defects);
  if (!defects) return defects.error();
  return PaperCase{std::move(*known_model), std::move(*system), *strategy,
                   global_batch == 0 ? kPaperBatch : global_batch, *defects};
}

std::array<PaperPart, 6> paper_parts(const PaperEstimate& e) {
  return {{{"compute", "compute", e.compute},
           {"exposed_memory", "memory traffic beyond compute", e.exposed_memory},
           {"tensor_communication", "tensor-parallel transfers", e.tensor_communication},
           {"pipeline_communication", "pipeline transfers", e.pipeline_communication},
           {"data_communication", "data-parallel transfers", e.data_communication},
           {"bubble", "pipeline bubble", e.bubble}}};
}

std::array<PaperShare, 4> paper_memory(const PaperEstimate& e) {
  return {{{"weights", e.weights},
           {"gradients", e.gradients},
           {"optimizer", e.optimizer},
           {"activations", e.activations}}};
}

std::string plan_text(const PaperPlan& plan) {
  std::string text = degrees_text(plan.size);
  text += fmt::format("{}microbatch {}", text.empty() ? "" : ", ", plan.microbatch);
  if (plan.panels != 1) text += fmt::format(", panels {}", plan.panels);
  const std::string domain = degrees_text(plan.domain);
  return domain.empty() ? text : text + "; in a domain: " + domain;
}

std::string case_text(const PaperCase& c, std::int64_t gpus) {
  return fmt::format("{}, {}, {} {} of {}, global batch {}", c.model.name, name(c.strategy), gpus,
                     gpus == 1 ? "GPU" : "GPUs", c.system.name, c.global_batch);
}

std::string paper_source_text(const PaperDefects& defects) {
  const std::vector<std::string_view> on = defects_on(defects);
  return fmt::format("Model of Subramanian et al. (arXiv:2410.00273); defects of its code: {}\n",
                     on.empty() ? "none" : fmt::format("{}", fmt::join(on, ", ")));
}

std::string memory_text(const PaperCase& c, const PaperEstimate& estimate) {
  return fmt::format("{} of {}", quantity_text(estimate.memory.value, UnitKind::kBytes),
                     quantity_text(c.system.hbm_capacity.value, UnitKind::kBytes));
}

std::string seconds_text(Seconds time) {
  if (time.value <= 0) return "0";
  const int decimals = 4 - static_cast<int>(std::floor(std::log10(time.value)));
  return fmt::format("{:.{}f}", time.value, std::clamp(decimals, 0, 7));
}

void write_case(JsonWriter& json, const PaperCase& c, std::int64_t gpus) {
  json.text("model", c.model.name);
  json.text("strategy", name(c.strategy));
  write_system(json, c.system);
  json.integer("global_batch", c.global_batch);
  json.integer("gpus", gpus);
  json.begin_array("defects", JsonWriter::Layout::kLine);
  for (const std::string_view defect : defects_on(c.defects)) json.text({}, defect);
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

}  // namespace flopcast::cli
