#include "serving/search/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace flopcast::serving {
namespace {

constexpr std::array<ServingEngine, 3> kEngines = {ServingEngine::kVllm, ServingEngine::kSglang,
                                                   ServingEngine::kTensorRtLlm};
/// From what keeps decodes short to what serves long prompts at once.
constexpr std::array<std::int64_t, 5> kBatchTokens = {1024, 2048, 4096, 8192, 16384};
constexpr unsigned kMostStages = 16;

bool has_experts(const Model& model) {
  return std::any_of(model.kinds.begin(), model.kinds.end(),
                     [](const Layer& layer) { return layer.experts.count > 0; });
}

/// 1, 2, 4 ... below `most`, and `most`.
std::vector<unsigned> powers(unsigned most) {
  std::vector<unsigned> list;
  for (unsigned power = 1; power < most; power *= 2) list.push_back(power);
  list.push_back(most);
  return list;
}

/// 1, 2, 4 ... up to `most`.
std::vector<unsigned> powers_up_to(unsigned most) {
  std::vector<unsigned> list;
  for (unsigned power = 1; power <= most; power *= 2) list.push_back(power);
  return list;
}

unsigned most_stages(const Model& model) {
  return static_cast<unsigned>(std::min<std::int64_t>(kMostStages, model.layers()));
}

/// The pools of a configuration: one layout, or one for prompts and one for answers.
std::vector<std::pair<ServingLayout, std::optional<ServingLayout>>> pools(
    const FleetSpace& space, const std::vector<ServingLayout>& layouts) {
  std::vector<std::pair<ServingLayout, std::optional<ServingLayout>>> list;
  for (const ServingLayout& layout : layouts) {
    if (space.aggregated) list.emplace_back(layout, std::nullopt);
  }
  for (const ServingLayout& prefill : layouts) {
    if (!space.disaggregated) break;
    for (const ServingLayout& decode : layouts) list.emplace_back(prefill, decode);
  }
  return list;
}

Result<SearchSpace> empty_space(const FleetSearch& search) {
  SearchSpace space;
  const unsigned chips = search.cluster.chips();
  space.most_chips = search.space.most_chips == 0 ? chips : search.space.most_chips;
  if (space.most_chips > chips) {
    return usage_error(
        "most_chips",
        fmt::format("{} are more than the {} of the cluster", space.most_chips, chips),
        "name a larger cluster");
  }
  if (!search.space.aggregated && !search.space.disaggregated) {
    return usage_error("space", "has neither pools that do both nor pools apart",
                       "allow one of them");
  }
  if (search.shards == 0 || search.shard >= search.shards) {
    return usage_error("shard", fmt::format("{} of {} is none", search.shard, search.shards),
                       "count them from 0");
  }
  space.precisions = search.space.precisions;
  if (space.precisions.empty()) space.precisions.emplace_back(own_precision(search.model));
  for (const std::string& text : space.precisions) {
    const Result<ServingPrecision> precision = serving_precision(text, search.model);
    if (!precision) return precision.error();
    space.values.push_back(*precision);
  }
  return space;
}

template <typename T, typename Usual>
std::vector<T> given_or(const std::vector<T>& given, const Usual& usual) {
  return given.empty() ? std::vector<T>(std::begin(usual), std::end(usual)) : given;
}

}  // namespace

std::vector<ServingLayout> usual_layouts(const FleetSearch& search, unsigned most_chips) {
  const FleetSpace& asked = search.space;
  const unsigned node = std::min(search.cluster.chips_per_node(), most_chips);
  const bool experts = has_experts(search.model);
  const std::vector<unsigned> one = {1};
  std::vector<ServingLayout> list;
  for (const unsigned tp : given_or(asked.tp, powers(node))) {
    // Ranks of a model without experts are replicas.
    const unsigned ranks = experts ? std::max(1U, most_chips / tp) : 1;
    for (const unsigned dp : given_or(asked.dp, powers(ranks))) {
      const unsigned stages = std::min(most_stages(search.model), most_chips / (tp * dp));
      for (const unsigned pp : given_or(asked.pp, powers_up_to(stages))) {
        const std::vector<unsigned> all = {1, tp * dp};
        for (const unsigned ep : given_or(asked.ep, experts && tp * dp > 1 ? all : one)) {
          if (tp * dp * pp <= most_chips) list.push_back({tp, dp, ep, pp});
        }
      }
    }
  }
  return list;
}

Result<SearchSpace> search_space(const FleetSearch& search) {
  Result<SearchSpace> space = empty_space(search);
  if (!space) return space;
  const FleetSpace& asked = search.space;
  const auto layouts =
      asked.layouts.empty() ? usual_layouts(search, space->most_chips) : asked.layouts;
  const std::vector<std::int64_t> own = {0};
  const auto max_requests = given_or(asked.max_requests, own);
  for (const ServingEngine engine : given_or(asked.engines, kEngines)) {
    for (const auto& [layout, decode] : pools(asked, layouts)) {
      for (std::size_t precision = 0; precision < space->values.size(); ++precision) {
        for (const std::int64_t tokens : given_or(asked.batch_tokens, kBatchTokens)) {
          for (const std::int64_t requests : max_requests) {
            space->configurations.push_back({space->configurations.size(), engine, precision,
                                             tokens, requests, layout, decode});
          }
        }
      }
    }
  }
  return space;
}

FleetChoice choice_of(const SearchSpace& space, const Configuration& configuration,
                      unsigned replicas, unsigned decode) {
  FleetChoice choice;
  choice.engine = configuration.engine;
  choice.precision = space.precisions[configuration.precision];
  choice.batch_tokens = configuration.batch_tokens;
  choice.max_requests = configuration.max_requests;
  choice.pool = {configuration.layout, replicas};
  if (configuration.decode) choice.decode = PoolChoice{*configuration.decode, decode};
  return choice;
}

Fleet fleet_with(const FleetSearch& search, const FleetChoice& choice,
                 const ServingPrecision& precision) {
  const auto pool_of = [&](const PoolChoice& chosen) {
    ReplicaPool pool{
        {search.model, search.cluster, chosen.layout, precision, {}}, chosen.replicas, {}};
    EngineSettings& settings = pool.deployment.settings;
    settings =
        engine_defaults(choice.engine, search.model, chosen.layout, {}, &search.cluster.chip);
    settings.batch_tokens = choice.batch_tokens;
    if (choice.max_requests > 0) settings.max_requests = choice.max_requests;
    return pool;
  };
  Fleet fleet;
  fleet.pool = pool_of(choice.pool);
  if (choice.decode) fleet.decode = pool_of(*choice.decode);
  fleet.router = search.router;
  return fleet;
}

}  // namespace flopcast::serving
