// Fields of a point of a sweep by their names in JSON and CSV; `visit` is called with the name and
// the field of each, in order.
#pragma once

#include "flopcast/report/explore.h"

namespace flopcast::report {

template <typename Row, typename Visit>
void visit_explore_head(Row& row, Visit&& visit) {
  visit("asked", row.asked);
  visit("index", row.index);
  visit("of", row.of);
  visit("fits", row.fits);
  visit("why", row.why);
}

template <typename Row, typename Visit>
void visit_explore_answer(Row& row, Visit&& visit) {
  visit("step_s", row.step_s);
  visit("bound_s", row.bound_s);
  visit("exact", row.exact);
  visit("utilisation", row.utilisation);
  visit("samples_per_second", row.samples_per_second);
  visit("flop_per_s", row.flop_per_s);
  visit("price_usd", row.price_usd);
  visit("power_w", row.power_w);
  visit("shape", row.shape);
  visit("compute_share", row.compute_share);
  visit("memory_share", row.memory_share);
  visit("network_share", row.network_share);
}

/// What follows from the others: written, never read.
template <typename Visit>
void write_explore_derived(const ExploreRow& row, Visit&& visit) {
  visit("gap", row.gap());
  visit("flop_per_s_per_usd", row.flop_per_s_per_usd());
  visit("flop_per_s_per_w", row.flop_per_s_per_w());
}

}  // namespace flopcast::report
