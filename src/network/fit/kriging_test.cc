#include "network/fit/kriging.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "flopcast/network/fit.h"
#include "network/collective/engine_all_reduce.h"
#include "network/fit/mean_time.h"

namespace flopcast::network {
namespace {

using Op = CollectiveOp;

CollectiveCase nccl(const std::string& system, Op op, unsigned ranks) {
  return {system, "NCCL", "2.29.2", "half", op, ranks, 1};
}

/// Times that are `factor` times what physics says of the system.
void add_samples(const CollectiveCase& what, double factor, std::vector<CollectiveSample>& out) {
  const MeanTime mean(what.system, {});
  for (int power = 9; power <= 29; ++power) {
    CollectiveSample sample;
    sample.what = what;
    sample.size = {std::exp2(power)};
    sample.time = {factor * mean.at(what, sample.size.value)};
    out.push_back(sample);
  }
}

double miss(const CollectiveFit& fit, const CollectiveCase& what, double factor) {
  const double mean = MeanTime(what.system, {}).at(what, 1 << 20);
  return std::fabs(std::log(fit.curve(what)->time({1 << 20}).value / (factor * mean)));
}

TEST(Kriging, WhatTwoRanksDoOnOneSystemTellsOfTwoOnItsLike) {
  // Two ranks are 1.5 times as slow as physics says, four and eight are not.
  std::vector<CollectiveSample> samples;
  for (const unsigned ranks : {4U, 8U}) {
    add_samples(nccl("h200_sxm", Op::kAllReduce, ranks), 1, samples);
    add_samples(nccl("h100_sxm", Op::kAllReduce, ranks), 1, samples);
  }
  const double alone = miss(CollectiveFit::make(samples), nccl("h200_sxm", Op::kAllReduce, 2), 1.5);
  add_samples(nccl("h100_sxm", Op::kAllReduce, 2), 1.5, samples);
  const double helped =
      miss(CollectiveFit::make(samples), nccl("h200_sxm", Op::kAllReduce, 2), 1.5);
  EXPECT_LT(helped, alone / 3);
}

TEST(Kriging, AnOutlierCountsForLess) {
  // One of seven curves was measured on a broken host.
  std::vector<CollectiveSample> samples;
  for (const char* system : {"h100_sxm", "h200_sxm", "b200_sxm", "gb200", "b300_sxm", "gb300"}) {
    add_samples(nccl(system, Op::kAllReduce, 4), 1, samples);
  }
  add_samples(nccl("h200_sxm", Op::kAllReduce, 2), 10, samples);
  EXPECT_LT(miss(CollectiveFit::make(samples), nccl("h100_sxm", Op::kAllReduce, 2), 1), 0.8);
}

TEST(Kinship, IsSymmetricAndGreatestWithItself) {
  const Platform h100 = platform_of("h100_sxm"), l40s = platform_of("l40s"),
                 own = platform_of("own");
  EXPECT_TRUE(h100.known());
  EXPECT_EQ(l40s.joint(2, 1).fabric, "pcie");
  EXPECT_FALSE(own.known());
  std::vector<Kin> all;
  for (const Platform* platform : {&h100, &l40s, &own}) {
    for (const Op op : {Op::kAllReduce, Op::kAllGather, Op::kReduceScatter}) {
      for (const char* library : {"NCCL", "vLLM_custom_eager", "vLLM_custom_graph"}) {
        all.emplace_back(CollectiveCase{platform->system, library, "1", "", op, 4, 1}, *platform);
      }
    }
  }
  for (const Sizes sizes : {Sizes::kSmall, Sizes::kMiddle, Sizes::kLarge}) {
    for (const Kin& a : all) {
      for (const Kin& b : all) {
        EXPECT_EQ(kinship(a, b, sizes), kinship(b, a, sizes));
        EXPECT_LE(kinship(a, b, sizes) * kinship(a, b, sizes),
                  kinship(a, a, sizes) * kinship(b, b, sizes) * (1 + 1e-12));
        if (a.platform->known() != b.platform->known()) {
          EXPECT_EQ(kinship(a, b, sizes), 0);
        }
      }
    }
  }
}

TEST(Kinship, GoesByTheLinksThatACaseUses) {
  const Platform pairs = platform_of("a100_pairwise_nvlink"), l40s = platform_of("l40s");
  EXPECT_EQ(pairs.joint(2, 1).fabric, "fully-connected");
  EXPECT_EQ(pairs.joint(4, 1).fabric, "pcie");
  EXPECT_EQ(pairs.joint(2, 2).fabric, "pcie");
  const auto alike = [](const Platform& on, unsigned a, unsigned b) {
    const Kin x(nccl(on.system, Op::kAllReduce, a), on), y(nccl(on.system, Op::kAllReduce, b), on);
    return kinship(x, y, Sizes::kMiddle) /
           std::sqrt(kinship(x, x, Sizes::kMiddle) * kinship(y, y, Sizes::kMiddle));
  };
  EXPECT_LT(alike(pairs, 2, 4), 0.1);
  // Eight cards cross the bridges of four, two cross none.
  EXPECT_GT(alike(l40s, 4, 8), alike(l40s, 2, 4) + 0.2);
  EXPECT_GT(alike(l40s, 2, 4), alike(l40s, 2, 8));
}

TEST(Kinship, NetworksOfOneNameAreOneAcrossNodes) {
  const Platform a100 = platform_of("a100_pairwise_nvlink"),
                 h100 = platform_of("h100_pairwise_nvlink"), dgx = platform_of("a100_sxm");
  const auto related = [](const Platform& a, const Platform& b, unsigned nodes) {
    const Kin x({a.system, "NCCL", "1", "", Op::kSendRecv, 2, nodes}, a);
    const Kin y({b.system, "NCCL", "1", "", Op::kSendRecv, 2, nodes}, b);
    return kinship(x, y, Sizes::kMiddle) / kinship(x, x, Sizes::kMiddle);
  };
  EXPECT_GT(related(a100, h100, 2), 0.99);
  EXPECT_LT(related(a100, h100, 1), 0.7);
  EXPECT_EQ(platform_of("perlmutter").network, "");
  EXPECT_EQ(dgx.network, "a100_sxm");  // nobody says which: it tells of itself alone
}

TEST(Kriging, WhatAStepOfARingCostsIsCarriedToOtherNumbersOfNodes) {
  // Twice as slow where a step's message is of 16 to 64 KB, whatever the number of ranks.
  const auto slow = [](unsigned ranks, double bytes) {
    const double step = bytes / ranks;
    return step > 15e3 && step < 70e3 ? 2.0 : 1.0;
  };
  const MeanTime mean("perlmutter", {});
  std::vector<CollectiveSample> samples;
  const auto gather = [](unsigned nodes) {
    return CollectiveCase{"perlmutter",   "NCCL",    "nccl-tests", "float",
                          Op::kAllGather, 4 * nodes, nodes};
  };
  for (const unsigned nodes : {8U, 16U, 64U, 128U}) {
    for (int power = 15; power <= 32; ++power) {
      CollectiveSample sample;
      sample.what = gather(nodes);
      sample.size = {std::exp2(power)};
      sample.time = {slow(4 * nodes, sample.size.value) * mean.at(sample.what, sample.size.value)};
      samples.push_back(sample);
    }
  }
  const auto curve = CollectiveFit::make(samples).curve(gather(32));
  ASSERT_TRUE(curve);
  for (int power = 20; power <= 28; ++power) {
    const double bytes = std::exp2(power);
    const double expected = slow(128, bytes) * mean.at(gather(32), bytes);
    EXPECT_NEAR(curve->time({bytes}).value / expected, 1, 0.12) << power;
  }
}

RC_GTEST_PROP(MeanTimeProperty, NoCardMoreIsFaster, ()) {
  // With multicast three chips may beat two; without, every one more is a step more.
  const std::string system =
      *rc::gen::element<std::string>("l40s", "rtx_pro_6000_server", "b60", "a100_sxm");
  const Op op = *rc::gen::element(Op::kAllReduce, Op::kAllGather, Op::kReduceScatter);
  const char* library = *rc::gen::element("NCCL", "TRTLLM");
  const double bytes = std::exp2(*rc::gen::inRange(6 * 16, 32 * 16) / 16.0);
  const MeanTime mean(system, {});
  double before = 0;
  for (unsigned ranks = 2; ranks <= 8; ++ranks) {
    if (system == "a100_sxm" && library != std::string("NCCL")) break;
    const double now = mean.at({system, library, "1", "", op, ranks, 1}, bytes);
    RC_ASSERT(now >= before * (1 - 1e-12));
    before = now;
  }
}

TEST(Kriging, SlowBridgesSayLittleOfTwoCards) {
  std::vector<CollectiveSample> samples;
  for (const unsigned ranks : {4U, 8U}) {
    add_samples(nccl("l40s", Op::kAllReduce, ranks), 8, samples);
  }
  const CollectiveFit fit = CollectiveFit::make(samples);
  EXPECT_LT(miss(fit, nccl("l40s", Op::kAllReduce, 2), 1), 0.4 * std::log(8));
}

TEST(Kriging, ANodeNobodyMeasuredLeansOnItsLike) {
  std::vector<CollectiveSample> samples;
  for (const char* system : {"a100_sxm", "h100_sxm", "b200_sxm"}) {
    add_samples(nccl(system, Op::kAllReduce, 8), 1.5, samples);
  }
  const CollectiveFit fit = CollectiveFit::make(samples);
  const CollectiveCase what = nccl("", Op::kAllReduce, 8);
  const auto answer = [&](const char* cluster) {
    return fit.curve_on(*Catalog::builtin().cluster(cluster), what);
  };
  const double mean = MeanTime("h200_sxm", {}).at(what, 1 << 20);
  const auto near = answer("dgx-h200"), far = answer("l20-8");
  ASSERT_TRUE(near && far);
  EXPECT_NEAR(near->time({1 << 20}).value / mean, 1.5, 0.1);
  const auto width = [](const CollectiveFit::Answer& a) { return a.high / a.low; };
  EXPECT_GT(width(far->at({1 << 20})), 1.5 * width(near->at({1 << 20})));
  EXPECT_FALSE(answer("mi300x-8"));
  EXPECT_FALSE(fit.curve_on(*Catalog::builtin().cluster("dgx-h200"), nccl("", Op::kAllGather, 8)));
}

TEST(Kinship, LaunchesAreToldFromNames) {
  const auto mode = [](const char* library, const char* version, Op op) {
    return launch_mode({"x", library, version, "", op, 2, 1});
  };
  EXPECT_EQ(mode("NCCL", "2.29.2", Op::kAllReduce), "nccl");
  EXPECT_EQ(mode("NCCL", "torch.distributed", Op::kAllReduce), "eager");
  EXPECT_EQ(mode("NCCL", "torch.distributed", Op::kSendRecv), "nccl");
  EXPECT_EQ(mode("vLLM_custom_eager", "0.19", Op::kAllReduce), "eager");
  EXPECT_EQ(mode("TRTLLM", "1.3", Op::kAllReduce), "graph");
}

TEST(EngineAllReduce, SwitchesShotsAndHandsOverAsTheEnginesDo) {
  const auto time = [](const char* cluster, std::vector<std::uint32_t> ranks, double bytes,
                       const char* library = "vLLM_custom_graph", const char* version = "") {
    const Result<Cluster> found = Catalog::builtin().cluster(cluster);
    EXPECT_TRUE(found);
    const Result<GroupShape> shape = group_shape(*found, ranks);
    EXPECT_TRUE(shape);
    return engine_all_reduce({library, version}, *shape, {bytes});
  };
  const char* const sglang = "SGLang_CustomAllReduce_graph";
  // Below the switch seven whole buffers arrive at a rank, above it twice 7/8 of one.
  const auto below = time("dgx-h100", {}, 256 * 1024 - 1, sglang);
  const auto above = time("dgx-h100", {}, 256 * 1024, sglang);
  ASSERT_TRUE(below && above);
  EXPECT_NEAR((*below - Seconds{4e-6}) / (*above - Seconds{8e-6}), 4, 0.01);
  EXPECT_TRUE(time("dgx-h100", {}, (8 << 20) - 1));
  EXPECT_FALSE(time("dgx-h100", {}, 8 << 20));
  EXPECT_FALSE(time("dgx-h100", {0, 1, 2}, 1024));  // no kernel for three
  // SGLang keeps 8 MB to itself, its later kernel 16 MB.
  EXPECT_TRUE(time("dgx-h100", {}, 8 << 20, sglang, "0.5.10"));
  EXPECT_FALSE(time("dgx-h100", {}, (8 << 20) + 1, sglang, "0.5.10"));
  EXPECT_TRUE(time("dgx-h100", {}, 16 << 20, sglang, "0.5.14"));
  EXPECT_FALSE(time("dgx-h100", {}, (16 << 20) + 1, sglang, "0.5.14"));
  EXPECT_TRUE(time("dgx-h100", {}, 8e6, "TRTLLM"));
  EXPECT_FALSE(time("dgx-h100", {}, 8 << 20, "TRTLLM"));
  EXPECT_TRUE(time("dgx-h100", {0, 1}, 8 << 20, "TRTLLM"));
  EXPECT_FALSE(time("dgx-h100", {0, 1}, 16 << 20, "TRTLLM"));
  EXPECT_FALSE(time("2 x dgx-h100", {}, 1024));
  EXPECT_TRUE(time("l40s-8", {0, 1}, 1024));
  EXPECT_FALSE(time("l40s-8", {0, 1, 2, 3}, 1024));
  // TensorRT-LLM's kernel needs NVLink.
  EXPECT_FALSE(time("l40s-8", {0, 1}, 1024, "TRTLLM"));
  EXPECT_TRUE(time("dgx-h100", {0, 1}, 1024, "TRTLLM"));
}

}  // namespace
}  // namespace flopcast::network
