#include "analytic/search/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "analytic/search/testing.h"
#include "flopcast/parallel/names.h"

namespace flopcast::analytic::search {
namespace {

using testing::HasSubstr;

std::string value_of(const Plan& plan, const std::string& name) {
  if (name == "tp") return std::to_string(plan.tp);
  if (name == "cp") return std::to_string(plan.cp);
  if (name == "pp") return std::to_string(plan.pp);
  if (name == "dp") return std::to_string(plan.dp);
  if (name == "ep") return std::to_string(plan.ep);
  if (name == "etp") return std::to_string(plan.expert_tp());
  if (name == "vpp") return std::to_string(plan.vpp);
  if (name == "micro_batch") return std::to_string(plan.micro_batch);
  if (name == "zero") return std::string(flopcast::name(plan.zero));
  if (name == "shard") return std::to_string(plan.shard);
  if (name == "schedule") return std::string(flopcast::name(plan.schedule));
  if (name == "recompute") return std::string(flopcast::name(plan.recompute));
  if (name == "precision") return std::string(flopcast::name(plan.precision));
  if (name == "context") return std::string(flopcast::name(plan.context));
  return plan.sequence_parallel ? "on" : "off";
}

/// The rules of docs/theory/search.md, read off one plan at a time.
class Rulebook {
 public:
  explicit Rulebook(const SmallSearch& search)
      : search_(search),
        names_shard_(named("shard")),
        names_precision_(named("precision")),
        names_etp_(named("etp")) {}

  bool allows(const Plan& plan, const std::string& name) const {
    return std::ranges::all_of(search_.options.constraints, [&](const PlanConstraint& c) {
      return c.name != name || meets(plan, c);
    });
  }
  bool allows(const Plan& plan) const {
    return usual(plan) && plan_possible(plan, search_.model, search_.chips) &&
           std::ranges::all_of(search_.options.constraints,
                               [&](const PlanConstraint& c) {
                                 if (c.name == "etp" && plan.etp == 0) return true;
                                 if (c.name == "schedule" && plan.pp == 1) return true;
                                 return meets(plan, c);
                               }) &&
           stands_for_its_equals(plan);
  }
  // Of plans with the values chosen so far: what the whole plan is refused for as well, but sooner.
  bool allows_etp(const Plan& p) const { return p.etp == 0 || allows(p, "etp"); }
  bool allows_sequence_parallel(const Plan& p) const {
    return allows(p, "sequence_parallel") && (p.tp > 1 || sequence_parallel_is_first(p));
  }
  bool allows_schedule(const Plan& p) const {
    return p.pp == 1 ? p.schedule == ScheduleKind::kOneFOneB : allows(p, "schedule");
  }
  bool allows_context(const Plan& p) const {
    return allows(p, "context") && (p.cp > 1 || context_is_first(p));
  }

 private:
  bool named(const std::string& name) const {
    return std::ranges::any_of(search_.options.constraints,
                               [&](const PlanConstraint& c) { return c.name == name; });
  }
  static bool meets(const Plan& plan, const PlanConstraint& c) {
    const std::string value = value_of(plan, c.name);
    if (!c.values.empty()) return std::ranges::find(c.values, value) != c.values.end();
    return std::stoll(value) >= c.low && std::stoll(value) <= c.high;
  }
  bool usual(const Plan& plan) const {
    if (plan.shard != 0 && !names_shard_) return false;
    if (plan.precision != search_.options.base.precision && !names_precision_) return false;
    if (plan.etp > 0 && plan.tp % plan.etp != 0 && !names_etp_) return false;
    return plan.schedule != ScheduleKind::kInterleaved || (plan.vpp > 1 && equal_stages(plan));
  }
  bool equal_stages(const Plan& plan) const {
    std::vector<unsigned> split = layers_per_stage(plan, search_.model.layers());
    const auto equal = [&] { return std::ranges::count(split, split[0]) == std::ssize(split); };
    if (equal()) return true;
    if (plan.count_embedding || !plan.count_loss) ++split.front();
    if (plan.count_loss || !plan.count_embedding) ++split.back();
    return equal();
  }
  /// No other value before this one is allowed.
  template <typename Set>
  bool first(const Plan& plan, const std::string& name, int value, const Set& set) const {
    for (int earlier = 0; earlier < value; ++earlier) {
      Plan other = plan;
      set(other, earlier);
      if (allows(other, name)) return false;
    }
    return true;
  }
  bool context_is_first(const Plan& p) const {
    return first(p, "context", static_cast<int>(p.context),
                 [](Plan& o, int v) { o.context = static_cast<ContextKind>(v); });
  }
  bool sequence_parallel_is_first(const Plan& p) const {
    return first(p, "sequence_parallel", p.sequence_parallel,
                 [](Plan& o, int v) { o.sequence_parallel = v == 1; });
  }
  bool stands_for_its_equals(const Plan& p) const {
    if (p.pp == 1 && p.schedule != ScheduleKind::kOneFOneB) return false;
    if (p.cp == 1 && !context_is_first(p)) return false;
    if (p.tp == 1 && !sequence_parallel_is_first(p)) return false;
    const bool alone = p.dp * p.cp == 1 && (p.etp == 0 || p.expert_dp() == 1);
    const bool first_zero = first(p, "zero", static_cast<int>(p.zero),
                                  [](Plan& o, int v) { o.zero = static_cast<Zero>(v); });
    const bool first_shard = first(p, "shard", static_cast<int>(p.shard),
                                   [](Plan& o, int v) { o.shard = static_cast<unsigned>(v); });
    if (alone && (!first_zero || !first_shard)) return false;
    return p.zero != Zero::kNone || first_shard;
  }

  const SmallSearch& search_;
  bool names_shard_, names_precision_, names_etp_;
};

/// Calls visit for all values of one choice.
template <typename Member, typename Visit>
void each(Member& member, int from, int to, const Visit& visit) {
  for (int value = from; value <= to; ++value) {
    member = static_cast<Member>(value);
    visit();
  }
}

std::string words_of(const Plan& plan) {
  std::string words;
  for (const std::string_view name : kConstraintNames) {
    words += std::string(name) + ' ' + value_of(plan, std::string(name)) + ' ';
  }
  return words;
}

/// Sorted.
std::vector<std::string> every_plan(const SmallSearch& search) {
  std::vector<std::string> all;
  const Rulebook rules(search);
  const int chips = static_cast<int>(search.chips);
  const int experts = static_cast<int>(search.model.kinds[0].experts.count);
  const int batch = static_cast<int>(search.options.global_batch);
  const int layers = static_cast<int>(search.model.layers());
  Plan p = search.options.base;
  p.global_batch = batch;
  const auto choices = [&] {
    each(p.schedule, 0, 5, [&] {
      if (!rules.allows_schedule(p)) return;
      each(p.vpp, 1, layers + 3, [&] {
        if (!rules.allows(p, "vpp")) return;
        each(p.context, 0, 2, [&] {
          p.shard = 0;
          if (!rules.allows_context(p) || !plan_possible(p, search.model)) return;
          each(p.recompute, 0, 2, [&] {
            if (!rules.allows(p, "recompute")) return;
            each(p.zero, 0, 3, [&] {
              if (!rules.allows(p, "zero")) return;
              for (const Precision precision : {Precision::kBf16, Precision::kFp8}) {
                p.precision = precision;
                each(p.shard, 0, 2, [&] {
                  if (rules.allows(p)) all.push_back(words_of(p));
                });
              }
            });
          });
        });
      });
    });
  };
  const auto degrees = [&] {
    each(p.micro_batch, 1, batch, [&] {
      if (batch % (p.micro_batch * p.dp) != 0 || !rules.allows(p, "micro_batch")) return;
      each(p.ep, 1, std::max(1, experts), [&] {
        if (!rules.allows(p, "ep")) return;
        each(p.etp, experts > 0 ? 1 : 0, experts > 0 ? chips : 0, [&] {
          if ((p.expert_dp() == 0 && experts > 0) || !rules.allows_etp(p)) return;
          each(p.sequence_parallel, 0, 1, [&] {
            if (rules.allows_sequence_parallel(p)) choices();
          });
        });
      });
    });
  };
  each(p.tp, 1, chips, [&] {
    if (!rules.allows(p, "tp")) return;
    each(p.cp, 1, chips, [&] {
      if (!rules.allows(p, "cp")) return;
      each(p.pp, 1, chips, [&] {
        p.dp = search.chips / (p.tp * p.cp * p.pp);
        if (p.dp == 0 || p.chips() != search.chips) return;
        if (rules.allows(p, "pp") && rules.allows(p, "dp")) degrees();
      });
    });
  });
  std::ranges::sort(all);
  return all;
}

RC_GTEST_PROP(PlanSpace, HoldsEveryPlanOnce, ()) {
  SmallSearch search = any_search();
  search.model.order.resize(std::min<std::size_t>(search.model.order.size(), 3));
  search.options.global_batch = 1 + search.options.global_batch % 6;
  if (search.model.kinds[0].experts.count > 0) {
    for (const std::string_view text : {"recompute=full", "zero=0,3", "context=ring"}) {
      search.options.constraints.push_back(*parse_plan_constraint(text));
      if (!plan_rules(search.options)) search.options.constraints.pop_back();
    }
  }
  const Space space = search.space();
  const std::vector<NumberedPlan> found = all_plans(space);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0) RC_ASSERT(found[i - 1].number < found[i].number);
    RC_ASSERT(space.plan(found[i].number) == found[i].plan);
  }
  const std::vector<std::string> expected = every_plan(search);
  std::vector<std::string> found_words;
  for (const NumberedPlan& one : found) found_words.push_back(words_of(one.plan));
  std::ranges::sort(found_words);
  RC_ASSERT(found_words == expected);
}

// Each as the launcher runs it, and none that it refuses.
RC_GTEST_PROP(PlanSpace, OfALauncherHoldsAllThatItRuns, ()) {
  SmallSearch search = any_search();
  const std::vector<NumberedPlan> all = all_plans(search.space());
  const PlanFormat launcher =
      *rc::gen::element(PlanFormat::kMegatron, PlanFormat::kTorchtitan, PlanFormat::kDeepspeed);
  search.options.launchable = launcher;
  const LaunchContext context = launch_context(launcher, &search.model);
  const Space space(search.model, search.options, *plan_rules(search.options), search.chips,
                    context);
  std::vector<NumberedPlan> expected;
  for (NumberedPlan one : all) {
    settle_plan(one.plan, launcher, context);
    if (launchable(one.plan, launcher, context)) expected.push_back(one);
  }
  const std::vector<NumberedPlan> found = all_plans(space);
  RC_ASSERT(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    RC_ASSERT(found[i].plan == expected[i].plan && found[i].number == expected[i].number);
    RC_ASSERT(space.plan(found[i].number) == found[i].plan);
  }
}

RC_GTEST_PROP(PlanSpace, SaysWhyItIsEmpty, ()) {
  const SmallSearch search = any_search();
  const Space space = search.space();
  RC_PRE(all_plans(space).empty());
  Refusals refusals;
  for (std::size_t part = 0; part < space.parts(); ++part) space.refusals(part, refusals);
  RC_ASSERT(!refusals.list().empty() || space.no_parts().has_value());
}

/// The reasons, one a line.
std::string refused(unsigned chips, std::int64_t batch, std::vector<std::string> constraints) {
  SmallSearch search{small_model(4, 0), {}, chips, {8}};
  search.options.global_batch = batch;
  for (const std::string& text : constraints) {
    search.options.constraints.push_back(*parse_plan_constraint(text));
  }
  const Space space = search.space();
  EXPECT_TRUE(all_plans(space).empty());
  Refusals refusals;
  if (const auto reason = space.no_parts()) refusals.add(*reason);
  for (std::size_t part = 0; part < space.parts(); ++part) space.refusals(part, refusals);
  std::string lines;
  for (const auto& [reason, count] : refusals.list()) lines += reason + "\n";
  return lines;
}

TEST(PlanSpace, NamesTheReasons) {
  EXPECT_THAT(refused(8, 4, {"tp=3"}), HasSubstr("tp: no divisor of 8 chips satisfies"));
  EXPECT_THAT(refused(8, 4, {"tp=8"}), HasSubstr("number of heads 12 is not divisible by 8"));
  EXPECT_THAT(refused(8, 1, {"dp=8"}), HasSubstr("smaller than micro batch"));
  EXPECT_THAT(refused(8, 4, {"dp=3"}), HasSubstr("dp: what is left of 8 chips is"));
  EXPECT_THAT(refused(8, 4, {"ep=2"}), HasSubstr("small has no experts"));
  EXPECT_THAT(refused(1, 4, {"vpp=2"}), HasSubstr("a single stage has no virtual ones"));
  EXPECT_THAT(refused(4, 8, {"pp=4", "vpp=2"}), HasSubstr("8 stages for 4 layers"));
  EXPECT_THAT(refused(4, 8, {"tp=4", "pp=2"}), HasSubstr("tp 4 x cp 1 x pp leaves nothing of 4"));
}

TEST(PlanSpace, CountsReasonsThatDifferInNumbersTogether) {
  Refusals refusals;
  refusals.add("12 heads on 8 chips");
  refusals.add("12 heads on 16 chips", 3);
  refusals.add("no memory", 4);
  refusals.add("a tie", 4);
  EXPECT_EQ(refusals.list(),
            (Refusals::List{{"12 heads on 16 chips", 4}, {"a tie", 4}, {"no memory", 4}}));
}

}  // namespace
}  // namespace flopcast::analytic::search
