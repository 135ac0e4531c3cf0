// Iteration times out of the integer tables: time(), and run(), its closed sum over steps of decodes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/format.h"
#include "serving/iteration/model_state.h"

namespace flopcast {

using namespace serving;  // the room's own names

namespace {

std::int64_t ps_of(double seconds) { return at_most(on_clock({seconds}).ps); }

/// Steps that a run may have at most: sums of that many stay far from overflow.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 32;

std::int64_t most_tokens(const Deployment& d, std::int64_t queries) {
  const EngineSettings& s = d.settings;
  const std::int64_t batch = std::max<std::int64_t>(s.batch_tokens, 1);
  const std::int64_t prompts =
      s.engine == ServingEngine::kSglang ? std::max(batch, s.prefill_tokens) : batch;
  const std::int64_t decodes = std::max<std::int64_t>(s.max_requests, 1) * queries;
  return std::min(TokenGrid::kMost, std::max(prompts, std::min<std::int64_t>(decodes, 1 << 16)));
}

/// One of more than kMostPrice is as long as no run may be: which ends there.
Time whole_time(std::int64_t ps) { return ps < kMostPrice ? Time{ps} : Time{kLongestTime.ps + 1}; }

Diagnostic beyond_price(std::string_view part, std::int64_t tokens) {
  return {ErrorCode::kNoAnswer, "iteration",
          fmt::format("{} of {} take longer than 20 hours", part,
                      counted(static_cast<std::uint64_t>(tokens), "token")),
          "look at the numbers of the machine: a bandwidth without its unit is of bytes a second"};
}

}  // namespace

IterationModel::State::State(const Deployment& d, const ServingFactors& factors,
                             std::shared_ptr<const ClusterModels> models,
                             const Constants& constants)
    : pricer(d, std::move(models), constants),
      layout(d.layout),
      graphs(d.settings.graphs),
      graphs_of_tokens(d.settings.engine == ServingEngine::kVllm),
      overlap(d.settings.overlap) {
  const Speculation& speculation = d.settings.speculation;
  if (speculation.kind != Speculation::Kind::kNone) queries += speculation.drafts;
  const std::int64_t most = most_tokens(d, queries);
  const KnotCosts costs = make_costs(pricer, most, layout.dp);
  decode = make_tables(pricer, costs, false, factors.decode);
  mixed = make_tables(pricer, costs, true, factors.prefill);
  const Constants& c = pricer.constants();
  cap = pricer.work().attention.cap;
  host_serial = ps_of(c.host_serial_s * factors.host);
  host_serial_request = ps_of(c.host_serial_request_s * factors.host);
  host = ps_of(c.host_s * factors.host);
  host_request = ps_of(c.host_request_s * factors.host);
  launches = ps_of(pricer.launch_seconds(!graphs.empty()));
  front = Time{ps_of(c.front_s * factors.front)};
  back = Time{ps_of(c.back_s * factors.front)};
  basis = pricer.basis();
  source = "iteration terms of docs/theory/serving.md, catalog/serving/constants.toml";
  if (graphs.empty()) source += "; launches of kernels without graphs, counted";
}

bool IterationModel::State::captured(std::int64_t decodes) const {
  if (graphs.empty()) return false;
  return (graphs_of_tokens ? decodes * queries : decodes) <= graphs.back();
}

std::int64_t IterationModel::State::padded(std::int64_t decodes) const {
  const std::int64_t asked = graphs_of_tokens ? decodes * queries : decodes;
  const std::int64_t tokens = decodes * queries;
  if (graphs.empty() || asked > graphs.back()) return tokens;
  const std::int64_t size = *std::lower_bound(graphs.begin(), graphs.end(), asked);
  return graphs_of_tokens ? size : size * queries;
}

IterationModel::State::Shape IterationModel::State::shape_of(
    std::span<const RankLoad> ranks) const {
  Shape shape;
  for (const RankLoad& rank : ranks) {
    shape.prefills |= rank.prefill_tokens > 0;
    shape.longest = std::max(shape.longest, rank.decodes * queries + rank.prefill_tokens);
    shape.all += rank.decodes * queries + rank.prefill_tokens;
    shape.rows = std::max(shape.rows, rank.decodes * queries + rank.sampled);
    shape.decodes = std::max(shape.decodes, rank.decodes);
    shape.requests = std::max(shape.requests, rank.decodes + rank.prefills);
  }
  shape.eager = shape.prefills || !captured(shape.decodes);
  if (shape.prefills) return shape;
  // All ranks replay the graph of the longest.
  shape.longest = shape.rows = padded(shape.decodes);
  shape.all = shape.longest * static_cast<std::int64_t>(ranks.size());
  return shape;
}

std::int64_t IterationModel::State::chip_base(const Shape& shape) const {
  const PriceTables& t = shape.prefills ? mixed : decode;
  std::int64_t ps = TokenGrid::at(t.own.sum, shape.longest) + TokenGrid::at(t.all.sum, shape.all) +
                    TokenGrid::at(t.head.sum, shape.rows);
  if (queries > 1) ps += TokenGrid::at(t.drafts.sum, shape.decodes);
  if (shape.decodes > 0) ps += t.decode_fixed;
  return shape.prefills ? ps + t.prefill_fixed : ps;
}

std::int64_t IterationModel::State::rank_time(const RankLoad& rank, bool prefills) const {
  // Ranks without prefills of their own decode as ever.
  const PriceTables& t = prefills && rank.prefill_tokens > 0 ? mixed : decode;
  const WidePs decodes = WidePs{t.context.full} * rank.context +
                         WidePs{t.context.capped} * rank.capped_context +
                         WidePs{t.state} * rank.decodes;
  if (rank.prefill_tokens == 0) return at_most(decodes);
  const std::int64_t pairs = rank.prefill_pairs / 2;
  const std::int64_t seen = cap > 0 ? std::min(pairs, cap * rank.prefill_tokens) : 0;
  const WidePs fine = WidePs{t.pair.full} * pairs + WidePs{t.pair.capped} * seen +
                      WidePs{t.reread} * rank.prefill_context +
                      WidePs{t.prefill_token} * rank.prefill_tokens;
  return at_most(decodes + (fine >> kFine));
}

std::int64_t IterationModel::State::rank_growth(const RankLoad& rank) const {
  return at_most(WidePs{decode.context.full} * rank.decodes +
                 WidePs{decode.context.capped} * rank.uncapped);
}

std::int64_t IterationModel::State::added(const Shape& shape) const {
  const WidePs serial = host_serial + WidePs{host_serial_request} * shape.requests;
  return at_most(overlap ? serial : serial + host + WidePs{host_request} * shape.requests);
}

std::int64_t IterationModel::State::at_least(const Shape& shape) const {
  const WidePs hidden = overlap ? host + WidePs{host_request} * shape.requests : 0;
  return std::max(at_most(hidden), shape.eager ? launches : 0);
}

/// What takes longest, where a price of it is more than any may be.
std::optional<Diagnostic> IterationModel::State::too_slow() const {
  for (const PriceTables* tables : {&decode, &mixed}) {
    for (const PartTable* table : {&tables->own, &tables->all, &tables->head, &tables->drafts}) {
      for (std::size_t part = 0; part < kParts; ++part) {
        const std::vector<std::int64_t>& prices = table->parts[part];
        const auto found = std::find_if(prices.begin(), prices.end(),
                                        [](std::int64_t ps) { return ps >= kMostPrice; });
        if (found == prices.end()) continue;
        const auto knot = static_cast<std::size_t>(found - prices.begin());
        return beyond_price(name(static_cast<Part>(part)), TokenGrid::tokens(knot));
      }
    }
    const std::int64_t token =
        std::max({tables->context.full, tables->context.capped, tables->state, tables->decode_fixed,
                  tables->prefill_fixed});
    if (token >= kMostPrice) return beyond_price(name(Part::kAttentionDecode), 1);
    const std::int64_t fine =
        std::max({tables->pair.full, tables->pair.capped, tables->reread, tables->prefill_token});
    if (fine >= kMostPrice) return beyond_price(name(Part::kAttentionPrefill), 1);
  }
  return std::nullopt;
}

Result<IterationModel> IterationModel::make(const Deployment& deployment, const Catalog& catalog,
                                            const ServingFactors& factors) {
  const std::vector<Diagnostic> problems = deployment_problems(deployment);
  if (!problems.empty()) return problems.front();
  Result<std::shared_ptr<const ClusterModels>> models =
      ClusterModels::make(deployment.cluster, catalog);
  if (!models) return models.error();
  if (auto problem = own_constants_problem(deployment.cluster, deployment.settings.engine)) {
    return *problem;
  }
  const Constants constants = constants_for(deployment.cluster, deployment.settings.engine);
  auto state = std::make_unique<State>(deployment, factors, std::move(*models), constants);
  if (auto problem = state->too_slow()) return *problem;
  return IterationModel(std::move(state));
}

Time IterationModel::time(std::span<const RankLoad> ranks) const {
  const State& s = *state_;
  const State::Shape shape = s.shape_of(ranks);
  std::int64_t longest = 0;
  for (const RankLoad& rank : ranks) {
    longest = std::max(longest, s.rank_time(rank, shape.prefills));
  }
  return whole_time(s.added(shape) + std::max(s.at_least(shape), s.chip_base(shape) + longest));
}

LinearRun IterationModel::run(std::span<const RankLoad> ranks) const {
  const State& s = *state_;
  const State::Shape shape = s.shape_of(ranks);
  const std::int64_t added = s.added(shape), least = s.at_least(shape);
  const std::int64_t base = s.chip_base(shape);
  std::int64_t now = 0, growth = 0;
  for (const RankLoad& rank : ranks) {
    const std::int64_t time = s.rank_time(rank, false), grows = s.rank_growth(rank);
    if (time > now || (time == now && grows > growth)) now = time, growth = grows;
  }
  std::int64_t steps = kMostSteps;
  if (base + now <= least) {
    // The chip waits for the host until some rank's contexts have grown.
    for (const RankLoad& rank : ranks) {
      const std::int64_t grows = s.rank_growth(rank);
      if (grows <= 0) continue;
      steps = std::min(steps, (least - base - s.rank_time(rank, false)) / grows + 1);
    }
    return {whole_time(added + least), Time{0}, steps};
  }
  for (const RankLoad& rank : ranks) {
    const std::int64_t faster = s.rank_growth(rank) - growth;
    if (faster > 0) {
      steps = std::min(steps, (now - s.rank_time(rank, false)) / faster + 1);
    }
  }
  return {whole_time(added + base + now), Time{growth}, steps};
}

std::int64_t IterationModel::context_cap() const { return state_->cap; }
unsigned IterationModel::in_flight() const { return std::max(1U, state_->layout.pp); }
Time IterationModel::front() const { return state_->front; }
Time IterationModel::back() const { return state_->back; }
Basis IterationModel::basis() const { return state_->basis; }
const std::string& IterationModel::source() const { return state_->source; }

IterationModel::IterationModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
IterationModel::IterationModel(IterationModel&&) noexcept = default;
IterationModel& IterationModel::operator=(IterationModel&&) noexcept = default;
IterationModel::~IterationModel() = default;

}  // namespace flopcast
