#include "report/published/paper_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "flopcast/base/quantity.h"

namespace flopcast {
namespace report {

std::vector<std::string_view> paper_defects_on(const PaperDefects& d) {
  const std::array<bool, 6> on = {d.p2p_between_domains_free,   d.summa_norm_as_wide_as_sequence,
                                  d.allreduce_moves_once,       d.replicated_biases_1d,
                                  d.optimizer_not_cut_over_tp2, d.serial_study_drops_sizes};
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < on.size(); ++i) {
    if (on[i]) names.push_back(paper_defect_names()[i]);
  }
  return names;
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

std::string paper_source_text(const PaperDefects& defects) {
  const std::vector<std::string_view> on = paper_defects_on(defects);
  return fmt::format("Model of Subramanian et al. (arXiv:2410.00273); defects of its code: {}\n",
                     on.empty() ? "none" : fmt::format("{}", fmt::join(on, ", ")));
}

}  // namespace report

namespace {

std::string degrees_text(const PaperPlan::Groups& g) {
  std::string text;
  const std::array<std::pair<std::string_view, std::int64_t>, 4> degrees = {
      {{"tp", g.tp1}, {"tp2", g.tp2}, {"pp", g.pp}, {"dp", g.dp}}};
  for (const auto& [name, degree] : degrees) {
    if (degree != 1) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, degree);
  }
  return text;
}

}  // namespace

std::string paper_plan_words(const PaperPlan& plan) {
  std::string text = degrees_text(plan.size);
  text += fmt::format("{}microbatch {}", text.empty() ? "" : ", ", plan.microbatch);
  if (plan.panels != 1) text += fmt::format(", panels {}", plan.panels);
  const std::string domain = degrees_text(plan.domain);
  return domain.empty() ? text : text + "; in a domain: " + domain;
}

std::string paper_case_words(const PaperCase& c, std::int64_t gpus) {
  return fmt::format("{}, {}, {} {} of {}, global batch {}", c.model.name, name(c.strategy), gpus,
                     gpus == 1 ? "GPU" : "GPUs", c.system.name, c.global_batch);
}

std::string paper_memory_words(const PaperCase& c, const PaperEstimate& estimate) {
  return fmt::format("{} of {}", quantity_text(estimate.memory.value, UnitKind::kBytes),
                     quantity_text(c.system.hbm_capacity.value, UnitKind::kBytes));
}

std::string paper_time_words(Seconds time) {
  if (time.value <= 0) return "0";
  const int decimals = 4 - static_cast<int>(std::floor(std::log10(time.value)));
  return fmt::format("{:.{}f}", time.value, std::clamp(decimals, 0, 7));
}

}  // namespace flopcast
