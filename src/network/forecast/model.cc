// Level 0: which source answers, and from which algorithm the time comes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>

#include "flopcast/network/fit.h"
#include "network/collective/levels.h"
#include "network/collective/systems.h"

namespace flopcast {

using namespace network;  // the room's own names

namespace {

// 10 and 90 % quantiles of measured / forecast over the public NCCL measurements, each case with the
// same weight: constants are optimistic.
struct Spread {
  double low = 1, high = 1;
};
constexpr Spread kNcclSpread{0.91, 1.95}, kAlphaBetaSpread{1, 4.5};

/// Levels that a measured system and a cluster must have in common.
bool same_level(const Level& a, const Level& b) { return a.fabric == b.fabric && a.link == b.link; }

bool same_node(const Cluster& a, const Cluster& b) {
  if (a.chip.name != b.chip.name || a.node_levels != b.node_levels) return false;
  for (std::size_t l = 0; l < a.node_levels; ++l) {
    if (!same_level(a.levels[l], b.levels[l])) return false;
  }
  return true;
}

bool same_ports(const Cluster& a, const Cluster& b) {
  if (a.levels.size() <= a.node_levels || b.levels.size() <= b.node_levels) return false;
  const Level& x = a.levels[a.node_levels];
  const Level& y = b.levels[b.node_levels];
  return x.link == y.link && x.ports == y.ports;
}

}  // namespace

struct CollectiveModel::State {
  struct System {
    std::string name;
    bool same_fabric = false;  ///< between nodes, too
  };
  using CaseKey = std::tuple<CollectiveOp, unsigned, unsigned, CollectiveSource>;

  Cluster cluster;
  const CollectiveFit* fit = nullptr;
  std::vector<System> systems;
  GroupShape everybody;
  mutable std::shared_mutex mutex;
  mutable std::map<CaseKey, std::optional<CollectiveFit::Curve>> curves;

  std::optional<CollectiveFit::Curve> make_curve(CollectiveOp op, unsigned ranks, unsigned nodes,
                                                 CollectiveSource source) const;
  std::optional<CollectiveFit::Curve> curve(CollectiveOp op, unsigned ranks, unsigned nodes,
                                            CollectiveSource source) const;
};

namespace {

void set_parts(CollectiveTime& time, const GroupShape& shape, const LevelTimes& parts) {
  for (const LevelTime& part : parts.parts) {
    time.parts.push_back({shape.levels[part.level].level->name, part.latency, part.transfer});
  }
}

void set_spread(CollectiveTime& time, Spread spread) {
  time.low = time.time * spread.low;
  time.high = time.time * spread.high;
}

void sort_candidates(CollectiveTime& time) {
  std::ranges::stable_sort(time.candidates, {}, &CollectiveTime::Candidate::time);
}

/// The outermost level carries what is measured; its latency is that of the smallest message.
void set_measured_parts(CollectiveTime& time, const GroupShape& shape, Seconds latency) {
  const Seconds part = std::min(latency, time.time);
  time.parts.push_back({shape.levels.back().level->name, part, time.time - part});
}

std::optional<CollectiveTime> nccl_time(const Cluster& cluster, const GroupShape& shape,
                                        const CollectiveQuery& query) {
  const std::vector<NcclChoice> choices = nccl_choices(nccl_graph(cluster, shape), query.op,
                                                       query.size, query.algorithm, query.protocol);
  if (choices.empty()) return std::nullopt;
  CollectiveTime time;
  const NcclChoice& best = choices.front();
  time.time = best.cost.time();
  time.algorithm = best.algorithm;
  time.protocol = best.protocol;
  time.basis = Basis::kAssumed;
  time.source = "NCCL 2.30.7 constants";
  set_spread(time, kNcclSpread);
  time.parts.push_back({shape.levels.back().level->name, best.cost.latency, best.cost.transfer});
  for (const NcclChoice& choice : choices) {
    time.candidates.push_back({choice.algorithm, choice.protocol, choice.cost.time()});
  }
  return time;
}

std::optional<CollectiveTime> alpha_beta_time(const GroupShape& shape,
                                              const CollectiveQuery& query) {
  CollectiveTime time;
  const std::vector<CollectiveAlgorithm> algorithms = query.algorithm == CollectiveAlgorithm::kAuto
                                                          ? usual_algorithms(shape, query.op)
                                                          : std::vector{query.algorithm};
  std::optional<LevelTimes> best;
  for (const CollectiveAlgorithm algorithm : algorithms) {
    const auto times = alpha_beta(shape, query.op, algorithm, query.size);
    if (!times) continue;
    time.candidates.push_back({algorithm, CollectiveProtocol::kSimple, times->total()});
    if (!best || times->total() < best->total()) best = times, time.algorithm = algorithm;
  }
  if (!best) return std::nullopt;
  time.time = best->total();
  time.basis = Basis::kRoofline;
  time.source = fmt::format("{} over nominal latencies and bandwidths", name(time.algorithm));
  set_spread(time, kAlphaBetaSpread);
  set_parts(time, shape, *best);
  sort_candidates(time);
  return time;
}

Diagnostic no_answer(const CollectiveQuery& query, const GroupShape& shape, const Cluster& on) {
  return {ErrorCode::kNoAnswer, on.name,
          fmt::format("{} by {} is not possible for {} ranks on {} nodes", name(query.op),
                      name(query.algorithm), shape.ranks, shape.nodes),
          "choose another algorithm, or auto"};
}

}  // namespace

std::optional<CollectiveFit::Curve> CollectiveModel::State::make_curve(
    CollectiveOp op, unsigned ranks, unsigned nodes, CollectiveSource source) const {
  for (const System& system : systems) {
    if (nodes > 1 && !system.same_fabric) continue;
    if (!fit->measured(system.name, op, nodes > 1)) continue;
    CollectiveCase what{system.name, "NCCL", "", "", op, ranks, nodes};
    if (auto found = fit->curve(what, source)) return found;
  }
  if (source != CollectiveSource::kBest) return std::nullopt;
  return fit->curve_on(cluster, {"", "NCCL", "", "", op, ranks, nodes});
}

std::optional<CollectiveFit::Curve> CollectiveModel::State::curve(CollectiveOp op, unsigned ranks,
                                                                  unsigned nodes,
                                                                  CollectiveSource source) const {
  const CaseKey key{op, ranks, nodes, source};
  {
    const std::shared_lock lock(mutex);
    if (const auto known = curves.find(key); known != curves.end()) return known->second;
  }
  std::optional<CollectiveFit::Curve> made = make_curve(op, ranks, nodes, source);
  const std::unique_lock lock(mutex);
  return curves.emplace(key, std::move(made)).first->second;
}

CollectiveModel::CollectiveModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CollectiveModel::CollectiveModel(CollectiveModel&&) noexcept = default;
CollectiveModel& CollectiveModel::operator=(CollectiveModel&&) noexcept = default;
CollectiveModel::~CollectiveModel() = default;

const Cluster& CollectiveModel::cluster() const { return state_->cluster; }

Result<CollectiveModel> CollectiveModel::make(const Cluster& cluster, const Catalog& catalog,
                                              const CollectiveFit* fit) {
  auto state = std::make_unique<State>();
  state->cluster = cluster;
  state->fit = fit != nullptr ? fit : &CollectiveFit::builtin();
  for (const std::string& name : state->fit->systems()) {
    const std::string node = CollectiveSystems::builtin().node_of(name);
    if (node.empty()) continue;
    const Result<Cluster> measured = catalog.cluster("2 x " + node);
    if (!measured || !same_node(*measured, cluster)) continue;
    const bool usual = CollectiveSystems::builtin().usual_fabric(name);
    state->systems.push_back({name, usual && same_ports(*measured, cluster)});
  }
  Result<GroupShape> everybody = group_shape(state->cluster, {});
  if (!everybody) return everybody.error();
  state->everybody = std::move(*everybody);
  return CollectiveModel(std::move(state));
}

namespace {

/// Times from measurements, where the group is even and the algorithm left open.
std::optional<CollectiveTime> fitted_time(const CollectiveModel::State& state,
                                          const GroupShape& shape, const CollectiveQuery& query) {
  const bool open =
      query.algorithm == CollectiveAlgorithm::kAuto && query.protocol == CollectiveProtocol::kAuto;
  if (!open || !shape.regular) return std::nullopt;
  const auto curve = state.curve(query.op, shape.ranks, shape.nodes, query.source);
  if (!curve) return std::nullopt;
  const CollectiveFit::Answer answer = curve->at(query.size);
  CollectiveTime time;
  time.time = answer.time;
  time.low = answer.low;
  time.high = answer.high;
  time.basis = answer.basis;
  time.source = answer.source;
  set_measured_parts(time, shape, curve->time({1}));
  if (auto nccl = nccl_time(state.cluster, shape, query)) {
    time.algorithm = nccl->algorithm;
    time.protocol = nccl->protocol;
    time.candidates = std::move(nccl->candidates);
  }
  return time;
}

/// NCCL's constants across nodes that nobody measured, held to what was measured inside one: rings
/// pass through all GPUs of a node, and cannot be faster than there.
void hold_to_node(const CollectiveModel::State& state, const GroupShape& shape,
                  const CollectiveQuery& query, CollectiveTime& time) {
  if (shape.nodes < 2 || shape.per_node() < 2 || !shape.regular) return;
  const auto node = state.curve(query.op, shape.per_node(), 1, CollectiveSource::kBest);
  if (!node) return;
  const Seconds inside = node->time(query.size);
  if (inside <= time.time) return;
  time.source += ", held to " + node->source();
  time.parts.insert(time.parts.begin(), {shape.levels[0].level->name, {}, inside - time.time});
  time.time = inside;
  set_spread(time, kNcclSpread);
}

}  // namespace

Result<CollectiveTime> CollectiveModel::time(const CollectiveQuery& query) const {
  GroupShape own;
  if (!query.ranks.empty()) {
    Result<GroupShape> shape = group_shape(state_->cluster, query.ranks);
    if (!shape) return shape.error();
    own = std::move(*shape);
  }
  const GroupShape& shape = query.ranks.empty() ? state_->everybody : own;
  if (query.op == CollectiveOp::kSendRecv && shape.ranks != 2) {
    return Diagnostic{ErrorCode::kUsage, state_->cluster.name,
                      fmt::format("send_recv between {} ranks", shape.ranks), "name two ranks"};
  }
  if (!(query.size.value >= 0) || !std::isfinite(query.size.value)) {
    return Diagnostic{ErrorCode::kUsage, std::string(name(query.op)),
                      "the size is not a number of bytes", "give bytes, for example 1GB"};
  }
  if (shape.ranks < 2) {
    CollectiveTime nothing;
    nothing.basis = Basis::kMeasured;
    nothing.source = "one rank";
    return nothing;
  }
  const CollectiveSource source = query.source;
  const bool fits = source == CollectiveSource::kBest || source == CollectiveSource::kTable ||
                    source == CollectiveSource::kFitted;
  if (fits) {
    if (auto time = fitted_time(*state_, shape, query)) return *time;
    if (source != CollectiveSource::kBest) return no_answer(query, shape, state_->cluster);
  }
  const bool nccl_chip = state_->cluster.chip.vendor == "NVIDIA";
  if (source == CollectiveSource::kNcclConstants || (fits && nccl_chip)) {
    if (auto time = nccl_time(state_->cluster, shape, query)) {
      if (fits) hold_to_node(*state_, shape, query, *time);
      return *time;
    }
    if (!fits) return no_answer(query, shape, state_->cluster);
  }
  if (auto time = alpha_beta_time(shape, query)) return *time;
  return no_answer(query, shape, state_->cluster);
}

}  // namespace flopcast
