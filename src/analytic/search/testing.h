// What the tests of the search share: small searches, and all their plans the slow way.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analytic/search/run.h"
#include "analytic/search/space.h"

namespace flopcast::analytic::search {

/// A model of so many layers whose heads and widths have few divisors; with experts or without.
inline Model small_model(std::int64_t layers, std::int64_t experts) {
  Model model;
  model.name = "small";
  model.hidden = 48;
  model.vocab = 100;
  model.max_sequence = 24;
  Layer layer;
  layer.attention.heads = layer.attention.kv_heads = 12;
  layer.attention.head_dim = layer.attention.value_dim = 4;
  layer.mlp.intermediate = 96;
  if (experts > 0) {
    layer.experts.count = experts;
    layer.experts.top_k = 1;
    layer.experts.expert.intermediate = 24;
    layer.mlp.intermediate = 0;
  }
  model.kinds = {layer};
  model.order.assign(static_cast<std::size_t>(layers), 0);
  return model;
}

/// One small search; owns what a Space refers to.
struct SmallSearch {
  Model model;
  PlanSearchOptions options;
  unsigned chips = 1;
  std::vector<unsigned> tiers;

  Space space() const { return Space(model, options, *plan_rules(options), chips); }
};

inline SmallSearch any_search() {
  SmallSearch search;
  search.model = small_model(*rc::gen::inRange(1, 9), *rc::gen::element(0, 0, 4, 6));
  search.chips = *rc::gen::element(1U, 2U, 4U, 6U, 8U, 12U);
  search.tiers = {2, search.chips < 4 ? 4 : search.chips};
  search.options.global_batch = *rc::gen::inRange(1, 25);
  search.options.base.count_loss = *rc::gen::arbitrary<bool>();
  search.options.best = *rc::gen::inRange<std::size_t>(0, 6);
  const std::vector<std::string> constraints = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("tp<=4", "cp=1,2", "dp>=2", "zero=1,3", "schedule=gpipe,zb-v",
                                    "schedule=1f1b,interleaved", "recompute=none", "etp=1,2",
                                    "sequence_parallel=on", "precision=bf16,fp8", "shard=0,2",
                                    "micro_batch<=2", "vpp<=3", "context=ring,ulysses", "ep>=2"));
  for (const std::string& text : constraints) {
    search.options.constraints.push_back(*parse_plan_constraint(text));
    if (!plan_rules(search.options)) search.options.constraints.pop_back();
  }
  return search;
}

struct NumberedPlan {
  Plan plan;
  std::uint64_t number = 0;
};

inline std::vector<NumberedPlan> all_plans(const Space& space) {
  std::vector<NumberedPlan> all;
  for (std::size_t part = 0; part < space.parts(); ++part) {
    space.visit(part, [&](const Plan& plan, std::uint64_t number) {
      all.push_back({plan, number});
    });
  }
  return all;
}

}  // namespace flopcast::analytic::search
