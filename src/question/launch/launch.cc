#include "flopcast/question/launch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace flopcast {

LaunchSite launch_site(const Cluster& cluster, std::string arguments) {
  const bool bf16 = cluster.chip.matrix_rate(DataType::kBf16).value > 0;
  return {cluster.nodes(), cluster.chips_per_node(), bf16, std::move(arguments)};
}

Result<Model> model_of(const std::string& name, const PlanFile* from) {
  if (!name.empty()) return load_model(name);
  if (from != nullptr && from->model.whole) return *from->model.whole;
  if (from == nullptr) {
    return Diagnostic{ErrorCode::kUsage, "MODEL", "is missing",
                      "name it first, such as llama-3-8b"};
  }
  return Diagnostic{ErrorCode::kUsage, "MODEL",
                    fmt::format("is missing, and the launch configuration does not tell it: {}",
                                fmt::join(from->model.missing, ", ")),
                    "name it first, such as llama-3-8b"};
}

void compare_model(PlanFile& file, const Model& model) {
  const std::vector<std::string> differences = model_differences(file.model, model);
  if (differences.empty()) return;
  file.assumed.insert(file.assumed.begin(), fmt::format("the file trains another model than {}: {}",
                                                        model.name, fmt::join(differences, ", ")));
}

}  // namespace flopcast
