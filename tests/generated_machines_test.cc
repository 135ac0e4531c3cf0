// Machines, models and plans as chance makes them: every answer is one that can be, or an error that says why there is none.
// FLOPCAST_GENERATED tells how many (`./dev fuzz generated`: 100,000).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "flopcast/analytic.h"
#include "flopcast/cost/checked_time.h"
#include "flopcast/network/collectives.h"
#include "flopcast/parallel/fields.h"
#include "flopcast/serving/iteration.h"
#include "support/any_machine.h"

namespace flopcast {
namespace {

using test::Chance;

std::uint64_t how_many() {
  const char* told = std::getenv("FLOPCAST_GENERATED");
  return told == nullptr ? 150 : std::strtoull(told, nullptr, 10);
}

bool is_time(Seconds time) {
  return std::isfinite(time.value) && time.value >= 0 && time.value < 9.2e6;
}

/// What came of the questions, and what must not.
struct Tally {
  std::uint64_t answers = 0, refusals = 0;
  std::map<std::string, std::uint64_t> unsound;  ///< errors of AnswerCheck, one example each

  /// @return whether there is an answer
  template <typename Answer>
  bool count(const Result<Answer>& result, const std::string& question) {
    result ? ++answers : ++refusals;
    if (!result && result.error().what.find("does not hold") != std::string::npos) {
      ++unsound[result.error().what.substr(0, 40) + " ... " + question];
    }
    return result.ok();
  }
};

void ask_network(const Cluster& cluster, const CollectiveModel& network, Chance& chance,
                 const std::string& of, Tally& tally) {
  CollectiveQuery query;
  query.op = static_cast<CollectiveOp>(chance.below(7));
  query.size = Bytes{std::floor(chance.decades(0, 11))};
  query.source =
      chance.once_in(2) ? CollectiveSource::kBest : static_cast<CollectiveSource>(chance.below(5));
  if (query.op == CollectiveOp::kSendRecv) query.ranks = {0, cluster.chips() - 1};
  const std::string question = fmt::format("{}: {} of {:.0f} B by {}", of, name(query.op),
                                           query.size.value, name(query.source));
  const auto answer = network.time(query);
  if (!tally.count(answer, question)) return;
  EXPECT_TRUE(is_time(answer->time)) << question;
  EXPECT_LE(answer->low, answer->time) << question;
  EXPECT_GE(answer->high, answer->time) << question;
}

void ask_kernel(const KernelModel& kernels, const Chip& chip, Chance& chance, const std::string& of,
                Tally& tally) {
  const auto size = [&] { return static_cast<std::int64_t>(chance.decades(0, 5)); };
  Kernel kernel = Gemm{size(), size(), size()};
  if (chance.once_in(2)) {
    Attention attention;
    attention.query_length = attention.kv_length = size();
    attention.heads = chance.power_of_two(64), attention.kv_heads = 1;
    kernel = attention;
  }
  const auto answer = checked_time(kernels, kernel);
  if (!tally.count(answer, of)) return;
  const double peak =
      std::max(chip.matrix_rate(DataType::kBf16), chip.vector_rate(DataType::kBf16)).value;
  if (peak > 0) {
    EXPECT_GE(answer->time.value * 1.000001, kernel_flops(kernel).value / peak) << of;
  }
  EXPECT_TRUE(is_time(answer->time)) << of;
}

void ask_step(const Model& model, const Cluster& cluster, Chance& chance, const std::string& of,
              Tally& tally) {
  const Plan plan = test::any_plan(chance, cluster.chips());
  if (!plan_possible(plan, model, cluster.chips())) return;
  const auto training = TrainingModel::make(model, cluster, Catalog::builtin());
  if (!tally.count(training, of)) return;
  const auto answer = training->estimate(plan);
  const std::string how = fmt::format("{} in {}: ", plan_words(plan), name(plan.precision));
  if (!tally.count(answer, how + of)) return;
  EXPECT_TRUE(is_time(answer->step)) << of;
  EXPECT_LE(answer->mfu, 1.000001) << of;
  EXPECT_LE(answer->hfu, 1.000001) << of;
  double sum = 0;
  for (const Seconds part : answer->parts) {
    EXPECT_GE(part.value, 0) << of;
    sum += part.value;
  }
  EXPECT_NEAR(sum / answer->step.value, 1, 1e-6) << of;
  for (const StageEstimate& stage : answer->stages) {
    visit_memory(stage.memory, [&](std::string_view name, Bytes bytes) {
      EXPECT_TRUE(std::isfinite(bytes.value) && bytes.value >= 0) << name << ": " << of;
    });
  }
}

void ask_iteration(const Model& model, const Cluster& cluster, Chance& chance,
                   const std::string& of, Tally& tally) {
  Deployment deployment;
  deployment.model = model;
  deployment.cluster = cluster;
  deployment.layout.tp = std::min(chance.power_of_two(8), cluster.chips());
  deployment.settings =
      engine_defaults(static_cast<ServingEngine>(chance.below(3)), model, deployment.layout);
  if (!deployment_problems(deployment).empty()) return;
  const auto iterations = IterationModel::make(deployment, Catalog::builtin());
  if (!tally.count(iterations, of)) return;
  RankLoad load;
  load.decodes = chance.power_of_two(64);
  load.context = load.decodes * static_cast<std::int64_t>(chance.decades(1, 4));
  load.capped_context = iterations->context_cap() > 0
                            ? std::min(load.context, load.decodes * iterations->context_cap())
                            : 0;
  const Time time = iterations->time({&load, 1});
  EXPECT_GT(time, Time{}) << of;
  EXPECT_LT(time.seconds(), 9.2e6) << of;
}

void ask_everything(std::uint64_t seed, std::uint64_t absurd, Tally& tally) {
  Chance chance(seed);
  const std::string text = test::any_cluster(chance, absurd);
  const std::string config = test::any_config(chance);
  const std::string of = fmt::format("{} [{}]", text, seed);
  const Result<Cluster> cluster = Catalog::builtin().cluster(text);
  if (!tally.count(cluster, of)) return;
  const auto network = CollectiveModel::make(*cluster);
  if (tally.count(network, of)) ask_network(*cluster, *network, chance, of, tally);
  const auto kernels = KernelModel::make(cluster->chip, Catalog::builtin());
  if (tally.count(kernels, of)) ask_kernel(*kernels, cluster->chip, chance, of, tally);
  const Result<Model> model = parse_model(config, "config.json");
  const std::string with_model = of + " " + config.substr(0, 1200);
  if (!tally.count(model, with_model)) return;
  ask_step(*model, *cluster, chance, with_model, tally);
  ask_iteration(*model, *cluster, chance, with_model, tally);
}

void expect_sound(const Tally& tally) {
  std::size_t told = 0;
  for (const auto& [what, count] : tally.unsound) {
    if (++told <= 10) ADD_FAILURE() << count << " x " << what;
  }
  EXPECT_GT(tally.answers, tally.refusals) << "most questions have an answer";
  std::printf("%llu answers, %llu refusals\n", static_cast<unsigned long long>(tally.answers),
              static_cast<unsigned long long>(tally.refusals));
}

// Numbers between the smallest and the largest of machines that could be built.
TEST(GeneratedMachines, AnswerWithNumbersThatCanBe) {
  Tally tally;
  for (std::uint64_t i = 0; i < how_many(); ++i) ask_everything(i, 0, tally);
  expect_sound(tally);
}

// And numbers that no machine has, with units and without: refused, or answered as soundly.
TEST(GeneratedMachines, OfAbsurdNumbersAreRefusedOrAnsweredAsSoundly) {
  Tally tally;
  for (std::uint64_t i = 0; i < how_many(); ++i) ask_everything(1'000'000'007 + i, 4, tally);
  EXPECT_GT(tally.answers, 0u);
  EXPECT_GT(tally.refusals, 0u);
}

}  // namespace
}  // namespace flopcast
