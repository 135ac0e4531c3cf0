// The grammar of sweeps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fmt/format.h>

#include <algorithm>

#include "flopcast/mapping/explore.h"

namespace flopcast::mapping {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> values(std::string_view sweep) {
  const auto axis = parse_explore_sweep(sweep);
  if (!axis) return {axis.error().text()};
  return axis->values;
}

TEST(ExploreSweep, ListsAndRanges) {
  EXPECT_THAT(values("sram=150MB..300MB:50MB"), ElementsAre("150MB", "200MB", "250MB", "300MB"));
  EXPECT_THAT(values("sram=800MB..1.2GB:0.2GB"), ElementsAre("800MB", "1000MB", "1200MB"));
  EXPECT_THAT(values("memory-bandwidth=100GB/s,300GB/s"), ElementsAre("100GB/s", "300GB/s"));
  EXPECT_THAT(values("memory-bandwidth=1x..8x"), ElementsAre("1x", "2x", "4x", "8x"));
  EXPECT_THAT(values("sram=1x..2x:0.5x"), ElementsAre("1x", "1.5x", "2x"));
  EXPECT_THAT(values("tp=1..9"), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(values("tp=1..4:1, 3"), ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(values("utilisation=0,0.9"), ElementsAre("0", "0.9"));
  EXPECT_THAT(values("chip=sn30,h100"), ElementsAre("sn30", "h100"));
  EXPECT_THAT(values("topology=torus:8x4,ring:8+switch:4"),
              ElementsAre("torus:8x4", "ring:8+switch:4"));
  EXPECT_THAT(values("link-bandwidth-1=25GB/s"), ElementsAre("25GB/s"));
  EXPECT_THAT(values("link-latency=100ns..400ns"), ElementsAre("100ns", "200ns", "400ns"));
  EXPECT_THAT(values("mode=paper,full"), ElementsAre("paper", "full"));
  EXPECT_THAT(values("sram=150..300MB:150MB"), ElementsAre("150MB", "300MB"));
}

TEST(ExploreSweep, OtherSpellings) {
  EXPECT_EQ(parse_explore_sweep("model=full")->name, "mode");
  EXPECT_EQ(parse_explore_sweep("batch=64")->name, "global-batch");
  EXPECT_EQ(parse_explore_sweep("utilization=0.5")->name, "utilisation");
}

TEST(ExploreSweep, EveryNameIsKnown) {
  for (const std::string& name : explore_names()) {
    const auto axis = parse_explore_sweep(name + "=1");
    // Words have their own values; everything else can be one.
    if (axis) {
      EXPECT_EQ(axis->name, name);
    } else {
      EXPECT_THAT(axis.error().what, testing::Not(HasSubstr("nothing that can be swept")));
    }
  }
}

TEST(ExploreSweep, RefusesWhatItCannotRead) {
  for (const char* text : {"",
                           "sram",
                           "sram=",
                           "=1",
                           "speed=1x",
                           "sram=3us",
                           "sram=10..50",
                           "sram=40",
                           "memory-bandwidth=100,200",
                           "link-latency=1..4:1",
                           "peak=1e12",
                           "tile-frequency=1000000000",
                           "sram=0MB",
                           "sram=1MB..",
                           "sram=..1MB",
                           "sram=2MB..1MB",
                           "sram=1MB..2MB:0MB",
                           "sram=1MB..2MB:",
                           "sram=1MB..9GB:1kB",
                           "tp=0",
                           "tp=1.5",
                           "tp=1..4:0.4",
                           "tp=1x..2x",
                           "tp=99999999999999",
                           "utilisation=1.5",
                           "mode=draft",
                           "overlap=some",
                           "topology=wheel:8",
                           "chip=",
                           "chip=h100,",
                           "kernel-by-kernel=1",
                           "sram=1MB..2us",
                           "sram=1x..2MB"}) {
    const auto axis = parse_explore_sweep(text);
    ASSERT_FALSE(axis) << text << " is " << axis->values.size() << " values";
    EXPECT_EQ(axis.error().code, ErrorCode::kUsage) << text;
    EXPECT_FALSE(axis.error().hint.empty()) << text;
  }
  EXPECT_THAT(values("srm=1MB").front(), HasSubstr("did you mean 'sram'"));
}

TEST(ExploreSweep, NamesOfTheCatalogueAreCheckedAtOnce) {
  const auto refused = [](const char* sweep) {
    const auto axes = explore_axes({sweep}, Catalog::builtin());
    return axes ? std::string("accepted") : axes.error().text();
  };
  EXPECT_THAT(refused("chip=sn30,sn31"), HasSubstr("no chip is called 'sn31'"));
  EXPECT_THAT(refused("memory=ddr,drd"), HasSubstr("no memory technology"));
  EXPECT_THAT(refused("link=pcie,nvlonk"), HasSubstr("no interconnect technology"));
  EXPECT_THAT(refused("workload=gpt9"), HasSubstr("gpt9"));
  EXPECT_EQ(refused("link=nvlink+pcie,50GB/s"), "accepted");
}

TEST(ExploreSweep, NoNameTwiceAndNotTooManyPoints) {
  const Catalog& catalog = Catalog::builtin();
  EXPECT_THAT(explore_axes({"sram=1x,2x", "sram=4x"}, catalog).error().what,
              HasSubstr("swept already"));
  EXPECT_THAT(explore_axes({"mode=full", "model=paper"}, catalog).error().what,
              HasSubstr("swept already"));
  EXPECT_TRUE(explore_axes({"sram=1kB..1000kB:1kB", "peak=1GFLOPS..100GFLOPS:1GFLOPS"}, catalog));
  EXPECT_THAT(explore_axes({"sram=1kB..1000kB:1kB", "peak=1GFLOPS..101GFLOPS:1GFLOPS"}, catalog)
                  .error()
                  .what,
              HasSubstr("100,000 points"));
  EXPECT_EQ(explore_points(*explore_axes({}, catalog)), 1U);
}

TEST(ExploreSweep, PointsAreAllCombinationsLastOneFastest) {
  const auto axes = explore_axes({"tp=1,2", "memory=ddr,hbm", "sram=1x,2x,4x"}, Catalog::builtin());
  ASSERT_TRUE(axes) << axes.error().text();
  ASSERT_EQ(explore_points(*axes), 12U);
  EXPECT_THAT(explore_values(*axes, 0), ElementsAre("1", "ddr", "1x"));
  EXPECT_THAT(explore_values(*axes, 1), ElementsAre("1", "ddr", "2x"));
  EXPECT_THAT(explore_values(*axes, 3), ElementsAre("1", "hbm", "1x"));
  EXPECT_THAT(explore_values(*axes, 11), ElementsAre("2", "hbm", "4x"));
}

// A range is the list of what it steps through.
TEST(ExploreSweep, ARangeIsItsList) {
  EXPECT_TRUE(rc::check("range == list", [] {
    const int from = *rc::gen::inRange(1, 1000), step = *rc::gen::inRange(1, 50);
    const int count = *rc::gen::inRange(1, 40), over = *rc::gen::inRange(0, step);
    const int to = from + step * (count - 1) + over;
    const auto axis = parse_explore_sweep(fmt::format("sram={}MB..{}MB:{}MB", from, to, step));
    RC_ASSERT(axis.ok());
    RC_ASSERT(axis->values.size() == static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      RC_ASSERT(axis->values[static_cast<std::size_t>(i)] == fmt::format("{}MB", from + step * i));
    }
  }));
}

}  // namespace
}  // namespace flopcast::mapping
