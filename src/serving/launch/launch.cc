#include "flopcast/serving/launch.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/format.h"
#include "serving/launch/words.h"

namespace flopcast {
namespace serving {

unsigned LaunchQuestion::nodes() const {
  const unsigned node = std::max(1U, deployment.cluster.chips_per_node());
  return (layout().chips() + node - 1) / node;
}

bool LaunchQuestion::experts() const {
  const std::vector<Layer>& kinds = deployment.model.kinds;
  return std::any_of(kinds.begin(), kinds.end(),
                     [](const Layer& layer) { return layer.experts.count > 0; });
}

std::string graph_sizes(const EngineSettings& settings, std::string_view between) {
  return fmt::format("{}", fmt::join(settings.graphs, between));
}

}  // namespace serving

using namespace serving;  // the room's own names

namespace {

/// Weights are stored as their checkpoint has them: engines read that from it.
std::string checkpoint_words(const Deployment& deployment) {
  const ServingPrecision& precision = deployment.precision;
  std::string text =
      fmt::format("{} with weights in {}", deployment.model.name, name(precision.dense));
  const bool experts = LaunchQuestion{deployment, ServingRole::kWhole, 0, {}}.experts();
  if (experts && precision.experts != precision.dense) {
    text += fmt::format(", experts in {}", name(precision.experts));
  }
  if (precision.attention != precision.dense) {
    text += fmt::format(", attention in {}", name(precision.attention));
  }
  return text;
}

void say_what_lacks(const LaunchQuestion& question, ServingLaunch& launch) {
  const Speculation& speculation = question.settings().speculation;
  if (speculation.kind != Speculation::Kind::kNone) {
    launch.lacks.push_back(
        fmt::format("{} tokens a step are accepted: what drafts bring depends on what is asked",
                    exact_number(speculation.accepted)));
  }
}

}  // namespace

std::string_view name(ServingRole role) {
  switch (role) {
    case ServingRole::kWhole:
      return "prefill and decode";
    case ServingRole::kPrefill:
      return "prefill";
    case ServingRole::kDecode:
      return "decode";
  }
  return "";
}

ServingLaunch launch_of(const Deployment& deployment, ServingRole role, std::int64_t longest) {
  const LaunchQuestion question{
      deployment, role, longest,
      engine_defaults(deployment.settings.engine, deployment.model, deployment.layout,
                      deployment.settings.version, &deployment.cluster.chip)};
  ServingLaunch launch;
  launch.role = role;
  launch.checkpoint = checkpoint_words(deployment);
  switch (deployment.settings.engine) {
    case ServingEngine::kVllm:
      write_vllm(question, launch);
      break;
    case ServingEngine::kSglang:
      write_sglang(question, launch);
      break;
    case ServingEngine::kTensorRtLlm:
      write_trtllm(question, launch);
      break;
  }
  say_what_lacks(question, launch);
  return launch;
}

std::vector<ServingLaunch> fleet_launches(const Fleet& fleet, std::int64_t longest) {
  std::vector<ServingLaunch> launches;
  launches.push_back(launch_of(
      fleet.pool.deployment, fleet.decode ? ServingRole::kPrefill : ServingRole::kWhole, longest));
  launches.back().replicas = fleet.pool.replicas;
  if (fleet.decode) {
    launches.push_back(launch_of(fleet.decode->deployment, ServingRole::kDecode, longest));
    launches.back().replicas = fleet.decode->replicas;
  }
  return launches;
}

}  // namespace flopcast
