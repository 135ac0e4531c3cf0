// A machine's numbers are believed: none that is changed is ignored or goes the wrong way, and a change by 1 changes nothing.
#include "flopcast/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flopcast/machine/training.h"

namespace flopcast {
namespace {

const Catalog& catalog() { return Catalog::builtin(); }

Machine on(const std::string& line, const Catalog& of = catalog()) {
  Result<Cluster> cluster = of.cluster(line);
  EXPECT_TRUE(cluster) << (cluster ? "" : cluster.error().text());
  return std::move(*Machine::make(std::move(*cluster), of));
}

constexpr std::array kOps = {CollectiveOp::kAllReduce,     CollectiveOp::kAllGather,
                             CollectiveOp::kReduceScatter, CollectiveOp::kBroadcast,
                             CollectiveOp::kReduce,        CollectiveOp::kAllToAll,
                             CollectiveOp::kBarrier};
constexpr std::array kSources = {CollectiveSource::kBest, CollectiveSource::kNcclConstants,
                                 CollectiveSource::kAlphaBeta};
constexpr std::array kSizes = {1e3, 1e6, 1e9};

/// Seconds of every collective that the machine has an answer for, by name.
std::map<std::string, double> transfers(const Machine& machine) {
  std::map<std::string, double> times;
  for (const CollectiveSource source : kSources) {
    if (source == CollectiveSource::kNcclConstants && machine.cluster().chip.vendor != "NVIDIA")
      continue;
    for (const CollectiveOp op : kOps) {
      for (const double size : kSizes) {
        CollectiveQuery query;
        query.op = op, query.size = {size}, query.source = source;
        const auto time = machine.transfers().estimate(query);
        if (!time) continue;
        EXPECT_LE(time->low.value, time->time.value);
        EXPECT_GE(time->high.value, time->time.value);
        times[fmt::format("{} {} of {}", name(source), name(op), size)] = time->time.value;
      }
    }
  }
  return times;
}

/// Seconds of kernels of every class, by name.
std::map<std::string, double> kernels(const Machine& machine) {
  std::map<std::string, double> times;
  const auto add = [&](const std::string& what, const Kernel& kernel) {
    const KernelTime time = machine.kernels().time(kernel);
    EXPECT_GE(time.time.value, time.roofline.value * (1 - 1e-12)) << what;
    times[what] = time.time.value;
  };
  for (const GemmType type : {GemmType::kBf16, GemmType::kFp8, GemmType::kNvfp4, GemmType::kFp32}) {
    for (const std::int64_t m : {1, 64, 4096}) {
      add(fmt::format("gemm {} {}", name(type), m), Gemm{m, 4096, 8192, 1, type});
    }
  }
  for (const bool backward : {false, true}) {
    Attention attention{2, 4096, 4096, 32, 8};
    attention.backward = backward;
    add(fmt::format("attention {}", backward), attention);
  }
  add("decode", Attention{64, 1, 8192, 32, 8});
  add("experts", GroupedGemm{4096, 4096, 1536, 8, 128});
  for (const MemoryOp op : {MemoryOp::kRmsNorm, MemoryOp::kAdd, MemoryOp::kOptimizer}) {
    add(std::string(name(op)), MemoryBound{op, 8192, 8192});
  }
  return times;
}

/// @param rises whether times rise with the number
void expect_order(const std::map<std::string, double>& less,
                  const std::map<std::string, double>& more, bool rises, const std::string& where) {
  ASSERT_EQ(less.size(), more.size()) << where;
  for (const auto& [what, time] : less) {
    const double other = more.at(what), slack = 1e-9 * std::max(time, other);
    if (rises) {
      EXPECT_LE(time, other + slack) << where << ": " << what;
    } else {
      EXPECT_GE(time, other - slack) << where << ": " << what;
    }
  }
}

std::vector<std::string> every_node(bool two) {
  std::vector<std::string> lines;
  for (const std::string& node : catalog().node_names()) {
    const std::string line = "2 x " + node;
    const bool joined = two && catalog().cluster(line);
    lines.push_back(joined ? line : node);
  }
  return lines;
}

TEST(Machine, EveryNumberMovesTheRightWay) {
  constexpr std::array kLinks = {MachineNumber::kLinkBandwidth, MachineNumber::kLinkLatency};
  for (const std::string& line : every_node(true)) {
    const Machine machine = on(line);
    const auto now = transfers(machine);
    for (const MachineNumber number : kLinks) {
      for (unsigned level = 0; level < machine.cluster().levels.size(); ++level) {
        const Knob knob{number, level, 1};
        const std::string where = fmt::format("{}, level {}, {}", line, level,
                                              number == kLinks[0] ? "bandwidth" : "latency");
        const bool rises = number == MachineNumber::kLinkLatency;
        auto before = now;
        for (const double factor : {1.01, 2.0, 10.0}) {
          const auto more = machine.with(knob, {factor, true});
          ASSERT_TRUE(more) << more.error().text();
          const auto after = transfers(*more);
          expect_order(before, after, rises, fmt::format("{} x {}", where, factor));
          before = after;
        }
        const auto less = machine.with(knob, {0.3, true});
        ASSERT_TRUE(less);
        expect_order(transfers(*less), now, rises, where + " x 0.3");
      }
    }
  }
}

TEST(Machine, EveryRateMovesTheRightWay) {
  for (const Chip& chip : catalog().chips()) {
    const Machine machine = std::move(*Machine::of(chip, catalog()));
    const auto now = kernels(machine);
    for (const MachineNumber number : {MachineNumber::kRates, MachineNumber::kHbmBandwidth}) {
      if (number == MachineNumber::kHbmBandwidth && chip.hbm_bandwidth.value == 0) continue;
      auto before = now;
      for (const double factor : {1.01, 1.5, 4.0}) {
        const auto more = machine.with({number}, {factor, true});
        ASSERT_TRUE(more) << more.error().text();
        const auto after = kernels(*more);
        expect_order(before, after, false,
                     fmt::format("{}, {} x {}", chip.name, static_cast<int>(number), factor));
        before = after;
      }
      const auto less = machine.with({number}, {0.25, true});
      ASSERT_TRUE(less);
      expect_order(kernels(*less), now, false, chip.name + " x 0.25");
    }
  }
}

TEST(Machine, ChangedByOneIsTheSame) {
  for (const std::string& line : every_node(true)) {
    const Machine machine = on(line);
    const auto now = transfers(machine), priced = kernels(machine);
    for (int number = 0; number <= static_cast<int>(MachineNumber::kLinkLatency); ++number) {
      const auto same = machine.with({static_cast<MachineNumber>(number)}, {1, true});
      if (!same && same.error().what.find("no such number") != std::string::npos) continue;
      ASSERT_TRUE(same) << line << ": " << same.error().text();
      EXPECT_EQ(transfers(*same), now) << line;
      EXPECT_EQ(kernels(*same), priced) << line;
    }
  }
}

TEST(Machine, ALinesNumbersAreTheKnobs) {
  const Machine node = on("dgx-h100");
  const auto slower = transfers(on("dgx-h100, node.bandwidth 45GB/s"));
  EXPECT_EQ(slower, transfers(*node.with({MachineNumber::kLinkBandwidth}, {0.1, true})));
  const double whole = transfers(node).at("best all_reduce of 1000000000");
  EXPECT_GT(slower.at("best all_reduce of 1000000000"), 9 * whole);
  const auto narrow = kernels(on("h100, chip.hbm_bandwidth 335GB/s"));
  EXPECT_EQ(narrow, kernels(*on("h100").with({MachineNumber::kHbmBandwidth}, {335e9, false})));
}

TEST(Machine, SaysThatAnAnswerWasMovedAndWidensItsBand) {
  CollectiveQuery query;
  query.size = {1e9};
  const Machine node = on("dgx-h100");
  const auto now = node.transfers().time(query);
  const auto near = node.with({MachineNumber::kLinkBandwidth}, {0.9, true});
  const auto far = node.with({MachineNumber::kLinkBandwidth}, {0.1, true});
  const auto width = [](const CollectiveTime& time) { return time.high / time.low; };
  const auto moved = near->transfers().time(query), farther = far->transfers().time(query);
  EXPECT_EQ(now->basis, Basis::kTable);
  EXPECT_EQ(moved->basis, Basis::kRoofline);
  EXPECT_NE(moved->source.find("moved"), std::string::npos) << moved->source;
  EXPECT_LT(width(*now), width(*moved));
  EXPECT_LT(width(*moved), width(*farther));
  const auto slower = near->with({MachineNumber::kMatrixRate}, {0.5, true});
  const KernelTime gemm = slower->kernels().time(Gemm{4096, 4096, 4096});
  EXPECT_EQ(gemm.basis, Basis::kRoofline);
  EXPECT_NE(gemm.source.find("moved to 0.5 x"), std::string_view::npos) << gemm.source;
}

/// Another name changes nothing, and a name brings nothing that its numbers do not.
TEST(Machine, NamesDecideNothing) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("names{}.toml", getpid());
  std::ofstream(file) << R"(
[link.our-cable]
kind = "scale-out"
transport = "rdma"
bandwidth = "50GB/s"
latency = "5us"
efficiency = 0.96
[link.slingshot-pcie-tcp]
kind = "scale-out"
transport = "rdma"
bandwidth = "50GB/s"
latency = "5us"
efficiency = 0.96
[node.gb-box]
chip = "h100-sxm"
level = [{ fabric = "switch", size = 8, link = "18 x nvlink4", in_network_reduction = true }]
nic = { fabric = "rail", ports = 8, link = "our-cable" }
)";
  const Result<Catalog> own = Catalog::load({file});
  std::filesystem::remove(file);
  ASSERT_TRUE(own) << own.error().text();
  const auto usual = transfers(on("4 x dgx-h100"));
  for (const char* line :
       {"4 x gb-box", "4 x dgx-h100, rail our-cable", "4 x dgx-h100, rail slingshot-pcie-tcp"}) {
    const auto renamed = transfers(on(line, *own));
    ASSERT_EQ(renamed.size(), usual.size());
    for (const auto& [what, time] : usual) {
      EXPECT_DOUBLE_EQ(renamed.at(what), time) << line << ": " << what;
    }
  }
}

TEST(Machine, MoreNodesAreNeverFaster) {
  for (const std::string& node : catalog().node_names()) {
    if (!catalog().cluster("4 x " + node)) continue;
    auto before = transfers(on(node));
    for (const unsigned nodes : {2, 4}) {
      const auto after = transfers(on(fmt::format("{} x {}", nodes, node)));
      for (const auto& [what, time] : after) {
        // Of one buffer that everybody gets or gives: others split what they send among more ranks.
        if (!what.starts_with("alpha_beta broadcast") && !what.starts_with("alpha_beta reduce of"))
          continue;
        if (!before.contains(what)) continue;
        EXPECT_GE(time, before.at(what) * (1 - 1e-9)) << node << what;
      }
      before = after;
    }
  }
}

TEST(Machine, RefusesWhatNoHardwareHas) {
  const Machine node = on("2 x dgx-h100");
  for (const double factor : {1e-9, 1e9}) {
    const auto wrong = node.with({MachineNumber::kLinkBandwidth}, {factor, true});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().code, ErrorCode::kUsage);
  }
  EXPECT_FALSE(on("dgx-h100").with({MachineNumber::kLinkBandwidth, 1}, {2, true}));
}

TEST(Machine, PowerIsThatOfTheChipAsItIs) {
  EXPECT_EQ(on("dgx-h100").power_share(0.5), 1);
  EXPECT_NEAR(on("dgx-h100, chip.power_w 350").power_share(0.5), std::sqrt(0.5), 1e-12);
  EXPECT_EQ(on("dgx-h100, chip.power_w 900").power_share(0.5), 1);
}

TEST(Machine, ChipsLoseInTrainingWhatTheyAreKnownToLose) {
  const auto own = chip_constants(*catalog().chip("h100"));
  ASSERT_TRUE(own);
  EXPECT_NE(own->attention_share, TrainingConstants{}.attention_share);
  const auto with_software = training_constants(*catalog().chip("h100"), "fsdp");
  ASSERT_TRUE(with_software) << with_software.error().text();
  EXPECT_FALSE(training_constants(*catalog().chip("h100"), "no such"));
}

TEST(TrainingConstants, EveryDispatcherHasItsConstants) {
  for (const char* chip : {"h100", "gb200", "mi300x", "tpu-v5p"}) {
    const Chip of = *catalog().chip(chip);
    const auto rows = dispatcher_constants(of, "alltoall");
    ASSERT_TRUE(rows) << rows.error().text();
    EXPECT_EQ(rows->expert_once, 0);
    for (const char* name : {"deepep", "hybridep"}) {
      const auto once = dispatcher_constants(of, name);
      ASSERT_TRUE(once) << once.error().text();
      EXPECT_EQ(once->expert_once, 1);
      EXPECT_LT(once->expert_traffic, rows->expert_traffic);  // sorted on their way
    }
  }
  const auto none = dispatcher_constants(*catalog().chip("h100"), "pigeons");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().where, "pigeons");
}

TEST(Machine, BandsOfChipsThatNoRunWasOnAreWiderByTheCataloguesFactor) {
  const Result<double> factor = unseen_chip_factor();
  ASSERT_TRUE(factor) << factor.error().text();
  EXPECT_GT(*factor, 1);
  Chip chip = *catalog().chip("h100");
  const auto seen = training_constants(chip, "fsdp");
  chip.name = chip.architecture = "of tomorrow";
  const auto unseen = training_constants(chip, "fsdp");
  ASSERT_TRUE(seen && unseen);
  EXPECT_DOUBLE_EQ(unseen->band_high, seen->band_high * *factor);
  EXPECT_DOUBLE_EQ(unseen->band_low, seen->band_low / *factor);
  EXPECT_DOUBLE_EQ(unseen->band_experts_high, seen->band_experts_high * *factor);
  EXPECT_DOUBLE_EQ(unseen->band_experts_low, seen->band_experts_low / *factor);
}

}  // namespace
}  // namespace flopcast
