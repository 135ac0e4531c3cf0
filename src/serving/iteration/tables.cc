#include "serving/iteration/tables.h"

#include <cmath>
#include <functional>

namespace flopcast::serving {
namespace {

std::int64_t to_ps(double seconds) { return std::llround(seconds * 1e12); }
std::int64_t to_fine(double seconds) {
  return std::llround(seconds * 1e12 * static_cast<double>(1 << kFine));
}

PartTable table_of(std::int64_t most, double factor,
                   const std::function<PartCosts(double)>& price) {
  PartTable table;
  const std::size_t knots = TokenGrid::knots(most);
  table.sum.assign(knots, 0);
  for (std::size_t knot = 0; knot < knots; ++knot) {
    const PartCosts costs = price(static_cast<double>(TokenGrid::tokens(knot)));
    for (std::size_t part = 0; part < kParts; ++part) {
      if (costs[part].seconds <= 0) continue;
      if (table.parts[part].empty()) table.parts[part].assign(knots, 0);
      table.parts[part][knot] = to_ps(costs[part].seconds * factor);
      table.sum[knot] += table.parts[part][knot];
    }
  }
  return table;
}

PartTable table_of(std::int64_t most, double factor, Part part,
                   const std::function<Cost(double)>& price) {
  return table_of(most, factor, [&](double n) {
    PartCosts costs;
    of(costs, part) = price(n);
    return costs;
  });
}

}  // namespace

PriceTables make_tables(const Pricer& pricer, std::int64_t most, unsigned ranks, bool prefills,
                        double factor) {
  PriceTables t;
  t.own = table_of(most, factor, [&](double n) {
    PartCosts costs = pricer.own(n);
    of(costs, Part::kPipeline) += pricer.pipeline(n);
    return costs;
  });
  // Ranks bring as much each as the longest where they are padded: gathers are of that.
  t.all = table_of(most * ranks, factor,
                   [&](double n) { return pricer.all(n, n / static_cast<double>(ranks)); });
  t.head = table_of(most, factor, Part::kHead, [&](double n) { return pricer.head(n); });
  t.drafts = table_of(most, factor, Part::kDrafts, [&](double n) { return pricer.drafts(n); });
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
