// Every number of every machine of the catalogue, larger and smaller: every answer moves the way that physics has it, or not at
// all; with a number times one, nothing moves by a bit. FLOPCAST_EVERY_MACHINE asks for all machines and more factors (`./dev
// fuzz generated`), else a few of each are enough.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/analytic/search.h"
#include "flopcast/cost/checked_time.h"
#include "flopcast/machine.h"
#include "flopcast/serving/iteration.h"
#include "flopcast/whatif.h"
#include "support/sample_run.h"

namespace flopcast {
namespace {

bool every_machine() { return std::getenv("FLOPCAST_EVERY_MACHINE") != nullptr; }

/// One number, and which way times move when it grows: -1 down, 1 up, 0 not at all.
struct Number {
  std::string name;
  int times = -1;
  std::function<Result<Cluster>(const Cluster&, double factor)> scaled;
};

Number by_knob(std::string name, Knob knob, int times) {
  return {std::move(name), times, [knob](const Cluster& cluster, double factor) {
            return with_changed(cluster, knob, {factor, true});
          }};
}

std::vector<Number> numbers_of(const Cluster& cluster) {
  std::vector<Number> all = {
      by_knob("matrix rate", {MachineNumber::kMatrixRate}, -1),
      by_knob("rates", {MachineNumber::kRates}, -1),
      by_knob("HBM bandwidth", {MachineNumber::kHbmBandwidth}, -1),
      by_knob("HBM capacity", {MachineNumber::kHbmCapacity}, 0),
      by_knob("power", {MachineNumber::kPower}, -1),
      by_knob("host bandwidth", {MachineNumber::kHostBandwidth}, -1),
      by_knob("all links' bandwidth", {MachineNumber::kLinkBandwidth}, -1),
      by_knob("all links' latency", {MachineNumber::kLinkLatency}, 1),
  };
  for (unsigned level = 0; level < cluster.levels.size(); ++level) {
    const std::string name = cluster.levels[level].name;
    all.push_back(by_knob(name + " bandwidth", {MachineNumber::kLinkBandwidth, level, 1}, -1));
    all.push_back(by_knob(name + " latency", {MachineNumber::kLinkLatency, level, 1}, 1));
  }
  return all;
}

/// A question and what it takes, in seconds; nothing where there is no answer.
struct Asked {
  std::string question;
  std::optional<double> seconds;
};

void ask_network(const Machine& machine, std::vector<Asked>& out) {
  const unsigned chips = machine.cluster().chips();
  if (chips < 2) return;
  for (int op = 0; op <= static_cast<int>(CollectiveOp::kSendRecv); ++op) {
    for (const double size : {1e3, 32e3, 1e6, 32e6, 1e9}) {
      for (const CollectiveSource source :
           {CollectiveSource::kBest, CollectiveSource::kAlphaBeta}) {
        CollectiveQuery query;
        query.op = static_cast<CollectiveOp>(op);
        query.size = Bytes{size};
        query.source = source;
        if (query.op == CollectiveOp::kSendRecv) query.ranks = {0, chips - 1};
        const auto answer = machine.transfers().time(query);
        out.push_back({fmt::format("{} of {:g} B by {}", name(query.op), size, name(source)),
                       answer ? std::optional(answer->time.value) : std::nullopt});
        if (!answer) {
          EXPECT_EQ(answer.error().what.find("does not hold"), std::string::npos)
              << machine.cluster().name << " " << answer.error().text();
        }
      }
    }
  }
}

void ask_kernels(const Machine& machine, std::vector<Asked>& out) {
  Attention attention;
  attention.query_length = attention.kv_length = 4096, attention.heads = attention.kv_heads = 16;
  Attention decode = attention;
  decode.query_length = 1, decode.batch = 32;
  const std::pair<const char*, Kernel> kernels[] = {
      {"large product", Gemm{8192, 8192, 8192}},
      {"narrow product", Gemm{16, 8192, 8192}},
      {"small product", Gemm{128, 128, 128}},
      {"attention", attention},
      {"decode", decode},
      {"experts", GroupedGemm{4096, 4096, 1408, 4, 64}},
      {"norm", MemoryBound{MemoryOp::kRmsNorm, 8192, 8192}},
  };
  for (const auto& [words, kernel] : kernels) {
    const auto time = checked_time(machine.kernels(), kernel);
    EXPECT_TRUE(time) << machine.cluster().name << " " << words << " " << time.error().text();
    if (time) out.push_back({words, time->time.value});
  }
}

Plan plan_of(const Cluster& cluster, unsigned pp) {
  Plan plan;
  plan.pp = pp;
  plan.tp =
      std::min(std::bit_floor(cluster.chips_per_node()), std::bit_floor(cluster.chips()) / pp);
  plan.tp = std::clamp(plan.tp, 1U, 8U);
  plan.dp = std::max(std::bit_floor(cluster.chips()) / (plan.tp * pp), 1U);
  plan.global_batch = 8 * plan.dp, plan.sequence = 2048;
  return plan;
}

void ask_steps(const Machine& machine, std::vector<Asked>& out) {
  const Cluster& cluster = machine.cluster();
  for (const char* name : {"llama-3-8b", "qwen3-30b-a3b"}) {
    const auto training = TrainingModel::make(*load_model(name), cluster, Catalog::builtin());
    ASSERT_TRUE(training) << training.error().text();
    for (const unsigned pp : {1U, 2U}) {
      const Plan plan = plan_of(cluster, pp);
      if (!plan_possible(plan, training->model(), cluster.chips())) continue;
      const auto step = training->estimate(plan);
      EXPECT_TRUE(step) << cluster.name << " " << step.error().text();
      if (step) out.push_back({fmt::format("step of {}, pp {}", name, pp), step->step.value});
    }
  }
}

void ask_iterations(const Machine& machine, std::vector<Asked>& out) {
  Deployment deployment;
  deployment.model = *load_model("llama-3-8b");
  deployment.cluster = machine.cluster();
  deployment.layout.tp = plan_of(machine.cluster(), 1).tp;
  deployment.settings = engine_defaults(ServingEngine::kVllm, deployment.model, deployment.layout);
  if (!deployment_problems(deployment).empty()) return;
  const auto iterations = IterationModel::make(deployment, Catalog::builtin());
  ASSERT_TRUE(iterations) << machine.cluster().name << " " << iterations.error().text();
  RankLoad decodes, prompt;
  decodes.decodes = 32, decodes.context = 32 * 1024;
  prompt.prefills = 1, prompt.prefill_tokens = 2048, prompt.prefill_pairs = 2048 * 2049;
  prompt.sampled = 1;
  out.push_back({"decodes", iterations->time({&decodes, 1}).seconds()});
  out.push_back({"prompt", iterations->time({&prompt, 1}).seconds()});
}

std::vector<Asked> ask_all(const Cluster& cluster) {
  std::vector<Asked> out;
  const auto machine = Machine::make(cluster, Catalog::builtin());
  EXPECT_TRUE(machine) << cluster.name << " " << machine.error().text();
  if (!machine) return out;
  ask_network(*machine, out);
  ask_kernels(*machine, out);
  ask_steps(*machine, out);
  ask_iterations(*machine, out);
  return out;
}

/// @param direction of times when the number grows. Sums are rounded: a billionth is none, and integers of picoseconds.
bool moves_right(double smaller, double larger, int direction) {
  const double slack = 1e-9 * std::max(smaller, larger) + 2e-12;
  return (direction <= 0 || larger >= smaller - slack) &&
         (direction >= 0 || larger <= smaller + slack) &&
         (direction != 0 || std::abs(larger - smaller) <= slack);
}

void expect_right(const std::string& of, const Number& number, const std::vector<Asked>& smaller,
                  const std::vector<Asked>& larger) {
  ASSERT_EQ(smaller.size(), larger.size()) << of;
  for (std::size_t i = 0; i < smaller.size(); ++i) {
    const std::string words = fmt::format("{}, {} more: {}", of, number.name, smaller[i].question);
    EXPECT_EQ(smaller[i].seconds.has_value(), larger[i].seconds.has_value()) << words;
    if (!smaller[i].seconds || !larger[i].seconds) continue;
    EXPECT_TRUE(moves_right(*smaller[i].seconds, *larger[i].seconds, number.times))
        << fmt::format("{}: {} to {} s", words, *smaller[i].seconds, *larger[i].seconds);
  }
}

void expect_identity(const std::string& of, const Number& number, const std::vector<Asked>& base,
                     const std::vector<Asked>& same) {
  ASSERT_EQ(base.size(), same.size()) << of;
  for (std::size_t i = 0; i < base.size(); ++i) {
    EXPECT_EQ(base[i].seconds, same[i].seconds)
        << of << ", " << number.name << " times one: " << base[i].question;
  }
}

void expect_all_right(const Cluster& cluster) {
  const std::vector<Asked> base = ask_all(cluster);
  const std::vector<double> factors =
      every_machine() ? std::vector{0.1, 0.5, 0.9, 1.1, 2.0, 10.0} : std::vector{0.5, 2.0};
  for (const Number& number : numbers_of(cluster)) {
    const auto same = number.scaled(cluster, 1);
    if (!same) continue;  // the machine has no such number
    expect_identity(cluster.name, number, base, ask_all(*same));
    std::vector<Asked> before;
    bool is_past_one = false;
    for (const double factor : factors) {
      const auto scaled = number.scaled(cluster, factor);
      if (!scaled) continue;  // beyond what any hardware has
      std::vector<Asked> after = ask_all(*scaled);
      if (!is_past_one && factor > 1) {
        if (!before.empty()) expect_right(cluster.name, number, before, base);
        before = base, is_past_one = true;
      }
      if (!before.empty()) expect_right(cluster.name, number, before, after);
      before = std::move(after);
    }
  }
}

TEST(MachineProperty, EveryNumberOfEveryMachineMovesEveryAnswerTheRightWay) {
  const std::vector<std::string> nodes = Catalog::builtin().node_names();
  const std::size_t stride = every_machine() ? 1 : 9;
  for (std::size_t i = 0; i < nodes.size(); i += stride) {
    for (const unsigned count : {1U, 2U, 8U}) {
      if (!every_machine() && count == 8) continue;
      const auto cluster = Catalog::builtin().cluster(fmt::format("{} x {}", count, nodes[i]));
      // Nodes that the catalogue knows no NIC of stand alone.
      const auto lacks_network = [&] {
        return cluster.error().text().find("no bandwidth is known") != std::string::npos;
      };
      if (count > 1 && !cluster && lacks_network()) continue;
      ASSERT_TRUE(cluster) << cluster.error().text();
      expect_all_right(*cluster);
    }
  }
}

/// What a step, a transfer and a prompt take on the machine that a line describes.
std::vector<Asked> ask_line(const std::string& line) {
  const auto cluster = Catalog::builtin().cluster(line);
  EXPECT_TRUE(cluster) << line << " " << cluster.error().text();
  return cluster ? ask_all(*cluster) : std::vector<Asked>();
}

// The same by the keys of a cluster's line: whoever describes a machine of their own is answered with its numbers.
TEST(MachineProperty, EveryKeyOfALineMovesEveryAnswerTheRightWay) {
  struct Key {
    const char* less;
    const char* more;
    int times;
  };
  const Key keys[] = {
      {"node.bandwidth 45GB/s", "node.bandwidth 225GB/s", -1},
      {"node.latency 1us", "node.latency 10us", 1},
      {"node.efficiency 0.4", "node.efficiency 0.8", -1},
      {"fabric.bandwidth 5GB/s", "fabric.bandwidth 25GB/s", -1},
      {"fabric.latency 2us", "fabric.latency 1ms", 1},
      {"fabric.efficiency 0.5", "fabric.efficiency 0.9", -1},
      {"fabric.oversubscription 1", "fabric.oversubscription 4", 1},
      {"fabric.ports 4", "fabric.ports 8", -1},
      {"chip.hbm_bandwidth 1TB/s", "chip.hbm_bandwidth 3TB/s", -1},
      {"chip.hbm_capacity 80GB", "chip.hbm_capacity 160GB", 0},
      {"chip.matrix.bf16 300TFLOP/s", "chip.matrix.bf16 900TFLOP/s", -1},
      {"chip.power_w 350W", "chip.power_w 700W", -1},
  };
  for (const char* node : {"2 x dgx-h100", "2 x dgx-a100"}) {
    for (const Key& key : keys) {
      const Number number{key.more, key.times, {}};
      expect_right(node, number, ask_line(fmt::format("{}, {}", node, key.less)),
                   ask_line(fmt::format("{}, {}", node, key.more)));
    }
  }
}

// A recorded run on another network.
TEST(MachineProperty, WhatIfsOnOtherNetworksMoveTheRightWay) {
  const auto whatif = WhatIf::open({test::sample_run()});
  ASSERT_TRUE(whatif) << whatif.error().text();
  const auto after = [&](const std::string& line) {
    WhatIfChanges changes;
    changes.on = line;
    const auto answer = whatif->ask(changes);
    EXPECT_TRUE(answer) << line << " " << answer.error().text();
    EXPECT_TRUE(answer->refused.empty()) << line;
    return answer->after.seconds();
  };
  const double base = after("1 x dgx-h100");
  EXPECT_LE(after("1 x dgx-h100, node.bandwidth 900GB/s"), base);
  EXPECT_GE(after("1 x dgx-h100, node.bandwidth 45GB/s"), base);
  EXPECT_GT(after("1 x dgx-h100, node.bandwidth 4.5GB/s"), base);
  EXPECT_GE(after("1 x dgx-h100, node.latency 100us"), base);
}

// A search finds nothing slower on a faster machine.
TEST(MachineProperty, SearchesMoveTheRightWay) {
  const auto best = [](const Cluster& cluster) {
    const auto training =
        TrainingModel::make(*load_model("gpt-3-1.3b"), cluster, Catalog::builtin());
    PlanSearchOptions options;
    options.global_batch = 16, options.sequence = 2048, options.best = 1;
    options.constraints = {*parse_plan_constraint("pp<=2"),
                           *parse_plan_constraint("recompute=none")};
    const auto found = search_plans(*training, options);
    EXPECT_TRUE(found && !found->best.empty());
    return found->best.front().time.value;
  };
  const Cluster cluster = *Catalog::builtin().cluster("1 x dgx-h100");
  const double base = best(cluster);
  for (const Number& number : numbers_of(cluster)) {
    const auto same = number.scaled(cluster, 1), more = number.scaled(cluster, 2);
    if (same) {
      EXPECT_EQ(best(*same), base) << number.name;
    }
    // More memory lets larger plans fit, which may be faster.
    const int times = number.times == 0 ? -1 : number.times;
    if (more) {
      EXPECT_TRUE(moves_right(base, best(*more), times)) << number.name;
    }
  }
}

}  // namespace
}  // namespace flopcast
