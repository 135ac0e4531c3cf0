// Level 0: which source answers, and from which algorithm the time comes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>

#include "flopcast/network/fit.h"
#include "network/collective/levels.h"
#include "network/collective/systems.h"
#include "network/fit/constants.h"
#include "network/forecast/check_answer.h"
#include "network/forecast/moved.h"

namespace flopcast {

using namespace network;  // the room's own names

namespace {

// 10 and 90 % quantiles of measured / forecast over the public NCCL measurements, each case with the
// same weight: constants are optimistic.
struct Spread {
  double low = 1, high = 1;
};
constexpr Spread kNcclSpread{0.91, 1.95}, kAlphaBetaSpread{1, 4.5};
constexpr std::string_view kNcclSource = "NCCL 2.30.7 constants";

/// Made once, so that answers can refer to it.
std::string_view alpha_beta_source(CollectiveAlgorithm algorithm) {
  constexpr auto kLast = static_cast<std::size_t>(CollectiveAlgorithm::kDualNetwork);
  static const auto kSources = [] {
    std::array<std::string, kLast + 1> sources;
    for (std::size_t i = 0; i <= kLast; ++i) {
      sources[i] = fmt::format("{} over nominal latencies and bandwidths",
                               name(static_cast<CollectiveAlgorithm>(i)));
    }
    return sources;
  }();
  return kSources[static_cast<std::size_t>(algorithm)];
}

// A measurement holds for what has the numbers of what it was taken on, whatever it is called.

/// Within what is lost when a number is written down and read again.
bool same_number(double a, double b) { return std::abs(a - b) <= 1e-6 * std::max(a, b); }

bool same_numbers(const Level& a, const Level& b) {
  return a.ports == b.ports && same_number(a.port_bandwidth.value, b.port_bandwidth.value) &&
         same_number(a.latency.value, b.latency.value) && same_number(a.efficiency, b.efficiency) &&
         a.oversubscription == b.oversubscription;
}

bool same_kind(const Level& a, const Level& b) {
  return a.transport == b.transport && a.attachment == b.attachment;
}

/// Of several sizes: what joins two of its children to one another.
bool same_level(const Level& a, const Level& b) {
  return a.fabric == b.fabric && same_kind(a, b) &&
         same_number(a.neighbour_bandwidth().value, b.neighbour_bandwidth().value) &&
         same_number(a.latency.value, b.latency.value) && same_number(a.efficiency, b.efficiency) &&
         a.in_network_reduction == b.in_network_reduction;
}

bool same_chip(const Chip& a, const Chip& b) {
  return a.vendor == b.vendor && a.architecture == b.architecture && a.matrix == b.matrix &&
         a.vector == b.vector && a.hbm_bandwidth == b.hbm_bandwidth && a.cores == b.cores;
}

bool same_node(const Cluster& a, const Cluster& b) {
  if (!same_chip(a.chip, b.chip) || a.node_levels != b.node_levels) return false;
  for (std::size_t l = 0; l < a.node_levels; ++l) {
    if (!same_level(a.levels[l], b.levels[l])) return false;
  }
  return true;
}

bool same_ports(const Cluster& a, const Cluster& b) {
  if (a.levels.size() <= a.node_levels || b.levels.size() <= b.node_levels) return false;
  const Level& x = a.levels[a.node_levels];
  const Level& y = b.levels[b.node_levels];
  return same_kind(x, y) && same_numbers(x, y);
}

/// Whether links have other numbers than the machine that measurements may hold for.
bool has_moved(const Cluster& cluster) {
  const std::vector<Level>& before = cluster.as_measured().levels;
  for (std::size_t l = 0; l < before.size(); ++l) {
    const bool same = same_numbers(cluster.levels[l], before[l]) &&
                      cluster.levels[l].in_network_reduction == before[l].in_network_reduction;
    if (!same) return true;
  }
  return false;
}

/// Whether groups of one cluster take the same time over these.
bool same_use(const LevelUse& a, const LevelUse& b) {
  return a.index == b.index && a.members == b.members && a.chips_per_child == b.chips_per_child &&
         a.planes == b.planes;
}

}  // namespace

struct CollectiveModel::State {
  struct System {
    std::string name;
    bool same_fabric = false;  ///< between nodes, too
  };
  /// Measurements, and which of their systems are like the cluster.
  struct Measured {
    std::shared_ptr<const CollectiveFit> keep;  ///< of the machine's owner; none: the catalogue's
    const CollectiveFit* fit = nullptr;
    std::string file;  ///< of the owner's
    std::vector<System> systems;
  };
  using CaseKey = std::tuple<CollectiveOp, unsigned, unsigned, CollectiveSource>;
  /// What measurements say of a case, ready to be asked for any size.
  struct Case {
    /// @param file of the owner's that the curve is in; "": it is the catalogue's
    Case(CollectiveFit::Curve of, const std::string& file)
        : curve(std::move(of)),
          latency(curve.time({1})),
          source(file.empty() ? curve.source() : fmt::format("{}: {}", file, curve.source())),
          held_source(fmt::format("{}, held to {}", kNcclSource, source)),
          moved_source(source + ", moved to other links by the closed form") {}
    CollectiveFit::Curve curve;
    Seconds latency;           ///< of the smallest message
    std::string source;        ///< in words
    std::string held_source;   ///< where it holds NCCL's constants
    std::string moved_source;  ///< on links with other numbers
    struct Moved {
      std::vector<LevelUse> levels;  ///< on which the group lies
      MovedCurve curve;
    };
    mutable std::list<Moved> moved;  ///< on links with other numbers; never taken out
  };

  Cluster cluster;
  std::vector<Measured> fits;  ///< those of the owner first
  GroupShape everybody;
  std::optional<Cluster> measured;  ///< what measurements hold for, where links have other numbers
  mutable std::shared_mutex mutex;
  mutable std::map<CaseKey, std::optional<Case>> cases;  // never taken out: estimates refer to them

  std::optional<Case> make_case(CollectiveOp op, unsigned ranks, unsigned nodes,
                                CollectiveSource source) const;
  const Case* find(CollectiveOp op, unsigned ranks, unsigned nodes, CollectiveSource source) const;
  /// What measurements of the case are moved by; nothing where links have the numbers of what was measured.
  /// @param ranks those of `shape`
  const MovedCurve* moved(const Case& measured, CollectiveOp op, const GroupShape& shape,
                          std::span<const std::uint32_t> ranks) const;
};

namespace {

/// What a measurement's band is widened by on a machine that takes `factor` times as long.
double widened_by(double factor) {
  return std::exp(fit_constants().per_fold * std::abs(std::log(factor)));
}

/// A whole answer but for its words, which stay where they are.
struct Told {
  CollectiveTime time;
  std::string_view source;
};

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

std::optional<Told> nccl_time(const Cluster& cluster, const GroupShape& shape,
                              const CollectiveQuery& query) {
  const std::vector<NcclChoice> choices = nccl_choices(nccl_graph(cluster, shape), query.op,
                                                       query.size, query.algorithm, query.protocol);
  if (choices.empty()) return std::nullopt;
  std::optional<Told> told(Told{{}, kNcclSource});
  CollectiveTime& time = told->time;
  const NcclChoice& best = choices.front();
  time.time = best.cost.time();
  time.algorithm = best.algorithm;
  time.protocol = best.protocol;
  time.basis = Basis::kAssumed;
  set_spread(time, kNcclSpread);
  time.parts.push_back({shape.levels.back().level->name, best.cost.latency, best.cost.transfer});
  time.candidates.reserve(choices.size());
  for (const NcclChoice& choice : choices) {
    time.candidates.push_back({choice.algorithm, choice.protocol, choice.cost.time()});
  }
  return told;
}

std::optional<Told> alpha_beta_time(const GroupShape& shape, const CollectiveQuery& query) {
  std::optional<Told> told(std::in_place);
  CollectiveTime& time = told->time;
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
  told->source = alpha_beta_source(time.algorithm);
  set_spread(time, kAlphaBetaSpread);
  set_parts(time, shape, *best);
  sort_candidates(time);
  return told;
}

Diagnostic no_answer(const CollectiveQuery& query, const GroupShape& shape, const Cluster& on) {
  return {ErrorCode::kNoAnswer, on.name,
          fmt::format("{} by {} is not possible for {} ranks on {} nodes", name(query.op),
                      name(query.algorithm), shape.ranks, shape.nodes),
          "choose another algorithm, or auto"};
}

}  // namespace

std::optional<CollectiveModel::State::Case> CollectiveModel::State::make_case(
    CollectiveOp op, unsigned ranks, unsigned nodes, CollectiveSource source) const {
  for (const Measured& of : fits) {
    for (const System& system : of.systems) {
      if (nodes > 1 && !system.same_fabric) continue;
      if (!of.fit->measured(system.name, op, nodes > 1)) continue;
      const std::string library = of.keep ? of.fit->library(system.name, op) : "NCCL";
      CollectiveCase what{system.name, library, "", "", op, ranks, nodes};
      if (auto found = of.fit->curve(what, source)) return Case(std::move(*found), of.file);
    }
  }
  if (source != CollectiveSource::kBest) return std::nullopt;
  auto found =
      fits.back().fit->curve_on(cluster.as_measured(), {"", "NCCL", "", "", op, ranks, nodes});
  if (!found) return std::nullopt;
  return Case(std::move(*found), "");
}

const CollectiveModel::State::Case* CollectiveModel::State::find(CollectiveOp op, unsigned ranks,
                                                                 unsigned nodes,
                                                                 CollectiveSource source) const {
  const CaseKey key{op, ranks, nodes, source};
  const auto case_of = [](const auto& entry) { return entry.second ? &*entry.second : nullptr; };
  {
    const std::shared_lock lock(mutex);
    if (const auto known = cases.find(key); known != cases.end()) return case_of(*known);
  }
  std::optional<Case> made = make_case(op, ranks, nodes, source);
  const std::unique_lock lock(mutex);
  return case_of(*cases.emplace(key, std::move(made)).first);
}

const MovedCurve* CollectiveModel::State::moved(const Case& of, CollectiveOp op,
                                                const GroupShape& shape,
                                                std::span<const std::uint32_t> ranks) const {
  if (!measured) return nullptr;
  const auto known = [&]() -> const MovedCurve* {
    for (const Case::Moved& moved : of.moved) {
      if (std::ranges::equal(moved.levels, shape.levels, same_use)) return &moved.curve;
    }
    return nullptr;
  };
  {
    const std::shared_lock lock(mutex);
    if (const MovedCurve* curve = known()) return curve;
  }
  const Result<GroupShape> before = group_shape(*measured, ranks);
  if (!before) return nullptr;
  MovedCurve made([&](Bytes size) { return of.curve.time(size); },
                  [&](Bytes size) { return form_time(*measured, *before, op, size); },
                  [&](Bytes size) { return form_time(cluster, shape, op, size); });
  const std::unique_lock lock(mutex);
  if (const MovedCurve* curve = known()) return curve;
  return &of.moved.emplace_back(State::Case::Moved{shape.levels, std::move(made)}).curve;
}

CollectiveModel::CollectiveModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CollectiveModel::CollectiveModel(CollectiveModel&&) noexcept = default;
CollectiveModel& CollectiveModel::operator=(CollectiveModel&&) noexcept = default;
CollectiveModel::~CollectiveModel() = default;

const Cluster& CollectiveModel::cluster() const { return state_->cluster; }

namespace {

using Systems = std::vector<CollectiveModel::State::System>;

Systems systems_like(const Cluster& cluster, const CollectiveFit& fit) {
  Systems systems;
  for (const std::string& name : fit.systems()) {
    const std::string node = CollectiveSystems::builtin().node_of(name);
    if (node.empty()) continue;
    // What was measured is as our catalogue has it, not as a user's may.
    const Result<Cluster> measured = Catalog::builtin().cluster("2 x " + node);
    if (!measured || !same_node(*measured, cluster.as_measured())) continue;
    const bool usual = CollectiveSystems::builtin().usual_fabric(name);
    systems.push_back({name, usual && same_ports(*measured, cluster.as_measured())});
  }
  return systems;
}

/// What its owner measured is the machine that the fit is given for, its network included, where nothing that the
/// measurements say of themselves speaks against it: the node or the chip.
Result<Systems> own_systems(const Cluster& cluster, const OwnCollectives& own) {
  Systems systems;
  std::string others;
  for (const std::string& name : own.fit->systems()) {
    const std::string node = CollectiveSystems::builtin().node_of(name);
    const Result<Chip> chip = Catalog::builtin().chip(own.fit->chip(name));
    bool same = node.empty() && (!chip || same_chip(*chip, cluster.as_measured().chip));
    if (!node.empty()) {
      const Result<Cluster> measured = Catalog::builtin().cluster(node);
      same = measured && same_node(*measured, cluster.as_measured());
    }
    if (same) systems.push_back({name, true});
    others += fmt::format("{}{}{}", others.empty() ? "" : ", ", name,
                          node.empty() ? " of " + own.fit->chip(name) : " (" + node + ")");
  }
  if (!systems.empty()) return systems;
  return Diagnostic{
      ErrorCode::kUsage, own.file,
      fmt::format("was measured on {}, not on nodes of {}", others, cluster.chip.name),
      "name the machine that was measured, or leave the fit out"};
}

}  // namespace

Result<CollectiveModel> CollectiveModel::make(const Cluster& cluster, const CollectiveFit* fit,
                                              std::span<const OwnCollectives> own) {
  auto state = std::make_unique<State>();
  state->cluster = cluster;
  if (has_moved(cluster)) state->measured = cluster.as_measured();
  for (const OwnCollectives& one : own) {
    Result<Systems> systems = own_systems(cluster, one);
    if (!systems) return systems.error();
    state->fits.push_back({one.fit, one.fit.get(), one.file, std::move(*systems)});
  }
  if (fit == nullptr) fit = &CollectiveFit::builtin();
  state->fits.push_back({nullptr, fit, "", systems_like(cluster, *fit)});
  Result<GroupShape> everybody = group_shape(state->cluster, {});
  if (!everybody) return everybody.error();
  state->everybody = std::move(*everybody);
  return CollectiveModel(std::move(state));
}

namespace {

using Case = CollectiveModel::State::Case;

/// Measurements are of the first chips of each node, and hold for groups that cross the same levels of it: not for cards of
/// two pairs where those of one were measured.
bool lies_as_measured(const Cluster& cluster, const GroupShape& shape) {
  unsigned inside = shape.per_node();
  auto use = shape.levels.begin();
  for (std::size_t l = 0; l < cluster.node_levels; ++l) {
    const unsigned groups = (inside + cluster.levels[l].size - 1) / cluster.levels[l].size;
    const unsigned members = (inside + groups - 1) / groups;
    if (members > 1) {
      if (use == shape.levels.end() || use->index != l || use->members != members) return false;
      ++use;
    }
    inside = groups;
  }
  return use == shape.levels.end() || use->index >= cluster.node_levels;
}

/// Measurements of the case, where the group is even and the algorithm left open.
const Case* measured_case(const CollectiveModel::State& state, const GroupShape& shape,
                          const CollectiveQuery& query) {
  const bool open =
      query.algorithm == CollectiveAlgorithm::kAuto && query.protocol == CollectiveProtocol::kAuto;
  if (!open || !shape.regular || !lies_as_measured(state.cluster, shape)) return nullptr;
  return state.find(query.op, shape.ranks, shape.nodes, query.source);
}

/// What measurements say of a message's time, moved to the machine's numbers.
/// @param curve nothing: they hold as they are
double moved_by(const MovedCurve* curve, const Case& measured, Bytes size) {
  return curve == nullptr ? 1 : curve->factor(size, measured.curve.time(size));
}

/// What measurements say, moved to the machine's numbers: the further, the wider the band.
CollectiveFit::Answer measured_answer(const CollectiveModel::State& state, const GroupShape& shape,
                                      const CollectiveQuery& query, const Case& measured) {
  CollectiveFit::Answer answer = measured.curve.at(query.size);
  answer.source = measured.source;
  const MovedCurve* moved = state.moved(measured, query.op, shape, query.ranks);
  if (moved == nullptr) return answer;
  const double factor = moved->factor(query.size, answer.time), width = widened_by(factor);
  return {answer.time * factor, answer.low * (factor / width), answer.high * (factor * width),
          std::max(answer.basis, Basis::kRoofline), measured.moved_source};
}

/// The whole answer to what measurements tell the time of.
Told explain(const CollectiveModel::State& state, const GroupShape& shape,
             const CollectiveQuery& query, const Case& measured) {
  const CollectiveFit::Answer answer = measured_answer(state, shape, query, measured);
  Told told{{}, answer.source};
  CollectiveTime& time = told.time;
  time.time = answer.time;
  time.low = answer.low;
  time.high = answer.high;
  time.basis = answer.basis;
  const MovedCurve* moved = state.moved(measured, query.op, shape, query.ranks);
  set_measured_parts(time, shape, measured.latency * moved_by(moved, measured, {1}));
  if (auto nccl = nccl_time(state.cluster, shape, query)) {
    time.algorithm = nccl->time.algorithm;
    time.protocol = nccl->time.protocol;
    time.candidates = std::move(nccl->time.candidates);
  }
  return told;
}

/// What measurements say of so many ranks of one node.
Seconds time_in_node(const CollectiveModel::State& state, unsigned ranks, CollectiveOp op,
                     Bytes size, const Case& measured) {
  const Seconds time = measured.curve.time(size);
  if (!state.measured) return time;
  const auto chips = first_chips_of_nodes(state.cluster, ranks, 1);
  if (!chips) return time;
  const Result<GroupShape> shape = group_shape(state.cluster, *chips);
  return shape ? time * moved_by(state.moved(measured, op, *shape, *chips), measured, size) : time;
}

/// NCCL's constants across nodes that nobody measured, held to what was measured inside one: rings
/// pass through all GPUs of a node, and cannot be faster than there.
void hold_to_node(const CollectiveModel::State& state, const GroupShape& shape,
                  const CollectiveQuery& query, Told& told) {
  if (shape.nodes < 2 || shape.per_node() < 2 || !shape.regular) return;
  const Case* node = state.find(query.op, shape.per_node(), 1, CollectiveSource::kBest);
  if (node == nullptr) return;
  CollectiveTime& time = told.time;
  const Seconds inside = time_in_node(state, shape.per_node(), query.op, query.size, *node);
  if (inside <= time.time) return;
  told.source = node->held_source;
  time.parts.insert(time.parts.begin(), {shape.levels[0].level->name, {}, inside - time.time});
  time.time = inside;
  set_spread(time, kNcclSpread);
}

bool asks_measurements(CollectiveSource source) {
  return source == CollectiveSource::kBest || source == CollectiveSource::kTable ||
         source == CollectiveSource::kFitted;
}

/// What no measurement answers.
Result<Told> closed_form_time(const CollectiveModel::State& state, const GroupShape& shape,
                              const CollectiveQuery& query) {
  const bool fits = asks_measurements(query.source);
  if (fits && query.source != CollectiveSource::kBest) {
    return no_answer(query, shape, state.cluster);
  }
  if (query.source == CollectiveSource::kNcclConstants || (fits && runs_nccl(state.cluster))) {
    if (auto told = nccl_time(state.cluster, shape, query)) {
      if (fits) hold_to_node(state, shape, query, *told);
      return std::move(*told);
    }
    if (!fits) return no_answer(query, shape, state.cluster);
  }
  if (auto told = alpha_beta_time(shape, query)) return std::move(*told);
  return no_answer(query, shape, state.cluster);
}

std::optional<Diagnostic> check(const CollectiveQuery& query, const GroupShape& shape,
                                const Cluster& on) {
  if (query.op == CollectiveOp::kSendRecv && shape.ranks != 2) {
    return Diagnostic{ErrorCode::kUsage, on.name,
                      fmt::format("send_recv between {} ranks", shape.ranks), "name two ranks"};
  }
  if (!(query.size.value >= 0) || !std::isfinite(query.size.value)) {
    return Diagnostic{ErrorCode::kUsage, std::string(name(query.op)),
                      "the size is not a number of bytes", "give bytes, for example 1GB"};
  }
  // Its search counts every link to a neighbour for every ring, which those of rings and tori are not.
  const auto chain = std::ranges::find_if(shape.levels, [](const LevelUse& use) {
    return use.level->fabric == FabricKind::kRing || use.level->fabric == FabricKind::kTorus;
  });
  if (query.source == CollectiveSource::kNcclConstants && chain != shape.levels.end()) {
    return Diagnostic{ErrorCode::kNoAnswer, on.name,
                      fmt::format("NCCL's model knows no {}, which {} is",
                                  name(chain->level->fabric), chain->level->name),
                      "ask alpha_beta, or leave the source open"};
  }
  return std::nullopt;
}

constexpr std::string_view kOneRank = "one rank";

/// Calls `answer` with the shape of the group that the query names, if it can be asked for.
template <typename Answer>
auto with_shape(const CollectiveModel::State& state, const CollectiveQuery& query, Answer answer)
    -> decltype(answer(state.everybody)) {
  const auto checked = [&](const GroupShape& shape) -> decltype(answer(shape)) {
    if (auto wrong = check(query, shape, state.cluster)) return std::move(*wrong);
    auto told = answer(shape);
    if (!told) return told;
    if (auto problem = check_answer(*told, query, state.cluster, shape.ranks)) return *problem;
    return told;
  };
  if (query.ranks.empty()) return checked(state.everybody);
  const Result<GroupShape> shape = group_shape(state.cluster, query.ranks);
  if (!shape) return shape.error();
  return checked(*shape);
}

}  // namespace

Result<CollectiveTime> CollectiveModel::time(const CollectiveQuery& query) const {
  const auto whole = [](Told told) {
    told.time.source = told.source;
    return std::move(told.time);
  };
  return with_shape(*state_, query, [&](const GroupShape& shape) -> Result<CollectiveTime> {
    if (shape.ranks < 2) {
      Told nothing{{}, kOneRank};
      nothing.time.basis = Basis::kMeasured;
      return whole(std::move(nothing));
    }
    if (asks_measurements(query.source)) {
      const Case* measured = measured_case(*state_, shape, query);
      if (measured != nullptr) return whole(explain(*state_, shape, query, *measured));
    }
    Result<Told> told = closed_form_time(*state_, shape, query);
    if (!told) return told.error();
    return whole(std::move(*told));
  });
}

Result<CollectiveEstimate> CollectiveModel::estimate(const CollectiveQuery& query) const {
  return with_shape(*state_, query, [&](const GroupShape& shape) -> Result<CollectiveEstimate> {
    if (shape.ranks < 2) return CollectiveEstimate{{}, {}, {}, Basis::kMeasured, kOneRank};
    if (asks_measurements(query.source)) {
      if (const Case* measured = measured_case(*state_, shape, query)) {
        const CollectiveFit::Answer answer = measured_answer(*state_, shape, query, *measured);
        return CollectiveEstimate{answer.time, answer.low, answer.high, answer.basis,
                                  answer.source};
      }
    }
    const Result<Told> told = closed_form_time(*state_, shape, query);
    if (!told) return told.error();
    const CollectiveTime& time = told->time;
    return CollectiveEstimate{time.time, time.low, time.high, time.basis, told->source};
  });
}

}  // namespace flopcast
