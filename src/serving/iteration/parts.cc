// An iteration part by part, as people read it: the same tables, summed by what they are of.
#include <algorithm>

#include "serving/iteration/model_state.h"

namespace flopcast {

using namespace serving;  // the room's own names

namespace {

using PartTimes = std::array<std::int64_t, kParts>;
std::int64_t& of(PartTimes& times, Part part) { return times[static_cast<std::size_t>(part)]; }

void add_table(PartTimes& times, const PartTable& table, std::int64_t n) {
  for (std::size_t part = 0; part < kParts; ++part) {
    times[part] += TokenGrid::at(table.parts[part], n);
  }
}

/// What bounds each part, from its price in seconds.
PartCosts costs_of(const Pricer& pricer, const IterationShape& shape) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  PartCosts costs = pricer.own(number(shape.longest));
  const PartCosts all = pricer.all(number(shape.all), number(shape.longest));
  for (std::size_t part = 0; part < kParts; ++part) costs[part] += all[part];
  serving::of(costs, Part::kHead) = pricer.head(number(shape.rows));
  serving::of(costs, Part::kDrafts) = pricer.drafts(number(shape.decodes));
  serving::of(costs, Part::kPipeline) = pricer.pipeline(number(shape.longest));
  return costs;
}

/// Attention's bounds depend on contexts: of the rank that is last.
void add_attention_costs(const Pricer& pricer, const RankLoad& rank, PartCosts& costs) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  Cost& decode = serving::of(costs, Part::kAttentionDecode);
  const bool mixed = rank.prefill_tokens > 0;
  decode += pricer.decode_context(false, mixed) * number(rank.context);
  decode += pricer.decode_context(true, mixed) * number(rank.capped_context);
  decode += pricer.decode_state() * number(rank.decodes);
  decode += pricer.decode_fixed();
  Cost& prefill = serving::of(costs, Part::kAttentionPrefill);
  prefill += pricer.prefill_pair(false) * number(rank.prefill_pairs / 2);
  prefill += pricer.prefill_context() * number(rank.prefill_context);
  prefill += pricer.prefill_fixed();
}

}  // namespace

std::vector<IterationPart> IterationModel::parts(std::span<const RankLoad> ranks) const {
  const State& s = *state_;
  const State::Shape shape = s.shape_of(ranks);
  const PriceTables& t = shape.prefills ? s.mixed : s.decode;
  PartTimes times{};
  add_table(times, t.own, shape.longest);
  add_table(times, t.all, shape.all);
  add_table(times, t.head, shape.rows);
  if (s.queries > 1) add_table(times, t.drafts, shape.decodes);
  RankLoad last;
  std::int64_t longest = 0;
  for (const RankLoad& rank : ranks) {
    const std::int64_t time = s.rank_time(rank, shape.prefills);
    if (time >= longest) longest = time, last = rank;
  }
  RankLoad decodes = last;
  decodes.prefill_pairs = decodes.prefill_context = 0;
  const PriceTables& own = last.prefill_tokens > 0 ? s.mixed : s.decode;
  const std::int64_t reading =
      at_most(WidePs{own.context.full} * last.context +
              WidePs{own.context.capped} * last.capped_context + WidePs{own.state} * last.decodes);
  of(times, Part::kAttentionDecode) += reading + (shape.decodes > 0 ? t.decode_fixed : 0);
  of(times, Part::kAttentionPrefill) += longest - reading + (shape.prefills ? t.prefill_fixed : 0);
  // What is left of the iteration is the host's: it waits for launches, or for itself.
  const std::int64_t chip = s.chip_base(shape) + longest;
  const std::int64_t waits = std::max<std::int64_t>(0, s.at_least(shape) - chip);
  const bool launching = shape.eager && s.launches >= s.at_least(shape);
  of(times, Part::kHost) += s.added(shape) + (launching ? 0 : waits);
  of(times, Part::kLaunch) += launching ? waits : 0;

  PartCosts costs = costs_of(s.pricer, shape);
  add_attention_costs(s.pricer, last, costs);
  std::vector<IterationPart> out;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (times[i] <= 0) continue;
    const auto part = static_cast<Part>(i);
    const bool host = part == Part::kHost || part == Part::kLaunch;
    out.push_back({std::string(name(part)), Seconds{Time{times[i]}.seconds()},
                   std::string(host ? "latency" : serving::of(costs, part).bound()), s.basis});
  }
  return out;
}

}  // namespace flopcast
