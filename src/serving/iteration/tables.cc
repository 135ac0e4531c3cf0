#include "serving/iteration/tables.h"

#include <functional>

#include "base/numeric/clock.h"

namespace flopcast::serving {
namespace {

std::int64_t to_ps(double seconds) { return at_most(on_clock({seconds}).ps); }
std::int64_t to_fine(double seconds) { return to_ps(seconds * static_cast<double>(1 << kFine)); }

std::vector<PartCosts> costs_at_knots(std::int64_t most,
                                      const std::function<PartCosts(double)>& price) {
  std::vector<PartCosts> costs;
  const std::size_t knots = TokenGrid::knots(most);
  costs.reserve(knots);
  for (std::size_t knot = 0; knot < knots; ++knot) {
    costs.push_back(price(static_cast<double>(TokenGrid::tokens(knot))));
  }
  return costs;
}

/// The same of one part alone.
std::vector<PartCosts> costs_at_knots(std::int64_t most, Part part,
                                      const std::function<Cost(double)>& price) {
  return costs_at_knots(most, [&](double n) {
    PartCosts costs;
    of(costs, part) = price(n);
    return costs;
  });
}

PartTable table_of(const std::vector<PartCosts>& costs, double factor) {
  PartTable table;
  table.sum.assign(costs.size(), 0);
  for (std::size_t knot = 0; knot < costs.size(); ++knot) {
    for (std::size_t part = 0; part < kParts; ++part) {
      const double seconds = costs[knot][part].seconds;
      if (seconds <= 0) continue;
      if (table.parts[part].empty()) table.parts[part].assign(costs.size(), 0);
      table.parts[part][knot] = to_ps(seconds * factor);
      table.sum[knot] = at_most(WidePs{table.sum[knot]} + table.parts[part][knot]);
    }
  }
  return table;
}

}  // namespace

KnotCosts make_costs(const Pricer& pricer, std::int64_t most, unsigned ranks) {
  KnotCosts costs;
  costs.own = costs_at_knots(most, [&](double n) {
    PartCosts own = pricer.own(n);
    of(own, Part::kPipeline) += pricer.pipeline(n);
    return own;
  });
  // Ranks bring as much each as the longest where they are padded: gathers are of that.
  costs.all = costs_at_knots(
      most * ranks, [&](double n) { return pricer.all(n, n / static_cast<double>(ranks)); });
  costs.head = costs_at_knots(most, Part::kHead, [&](double n) { return pricer.head(n); });
  costs.drafts = costs_at_knots(most, Part::kDrafts, [&](double n) { return pricer.drafts(n); });
  return costs;
}

PriceTables make_tables(const Pricer& pricer, const KnotCosts& costs, bool prefills,
                        double factor) {
  PriceTables t;
  t.own = table_of(costs.own, factor);
  t.all = table_of(costs.all, factor);
  t.head = table_of(costs.head, factor);
  t.drafts = table_of(costs.drafts, factor);
  t.context = {to_ps(pricer.decode_context(false, prefills).seconds * factor),
               to_ps(pricer.decode_context(true, prefills).seconds * factor)};
  t.state = to_ps(pricer.decode_state().seconds * factor);
  t.decode_fixed = to_ps(pricer.decode_fixed().seconds * factor);
  if (!prefills) return t;
  t.pair = {to_fine(pricer.prefill_pair(false).seconds * factor),
            to_fine(pricer.prefill_pair(true).seconds * factor)};
  t.reread = to_fine(pricer.prefill_context().seconds * factor);
  t.prefill_token = to_fine(pricer.prefill_token().seconds * factor);
  t.prefill_fixed = to_ps(pricer.prefill_fixed().seconds * factor);
  return t;
}

}  // namespace flopcast::serving
