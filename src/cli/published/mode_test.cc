#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/published/options.h"
#include "cli/published/sweep.h"
#include "flopcast/report/published.h"

namespace flopcast::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

struct Printed {
  int code;
  std::string out, err;
  json document() const { return json::parse(out); }
};

template <typename Command>
Printed printed(int (*run)(Io&, const Command&), const Command& command) {
  std::ostringstream out;
  std::ostringstream err;
  Io io{out, err, false};
  const int code = run(io, command);
  return {code, out.str(), err.str()};
}

PaperOptions on(std::string system, std::string strategy = "1d") {
  PaperOptions options;
  options.model_of = "subramanian";
  options.system = std::move(system);
  options.strategy = std::move(strategy);
  return options;
}

/// The worked number of flopcast/published/subramanian.h.
PaperEstimateCommand worked() {
  PaperEstimateCommand command;
  command.model = "gpt3_1T";
  command.size = {8, 0, 128, 16};
  command.paper = on("B200-NVS8");
  return command;
}

PaperPlanCommand search(std::int64_t chips) {
  PaperPlanCommand command;
  command.model = "gpt3_1T";
  command.chips = chips;
  command.paper = on("B200-NVS8");
  return command;
}

double sum(const json& object) {
  double total = 0;
  for (const auto& [key, value] : object.items()) total += value.get<double>();
  return total;
}

TEST(PaperEstimateCommand, PrintsTheWorkedNumber) {
  const Printed text = printed(run_paper_estimate, worked());
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, HasSubstr("16384 GPUs of B200-NVS8, global batch 4096\n"));
  EXPECT_THAT(text.out, HasSubstr("tp 8, pp 128, dp 16, microbatch 1; in a domain: tp 8\n"));
  EXPECT_THAT(text.out, HasSubstr("3.2665 s   (16 x 256 microbatches of 1)"));
  EXPECT_TRUE(text.err.empty());
}

TEST(PaperEstimateCommand, JsonHasTheWholeEstimateAndItsOperators) {
  PaperEstimateCommand command = worked();
  command.format.json = true;
  const json found = printed(run_paper_estimate, command).document();
  const double time = found["iteration_time_s"];
  EXPECT_NEAR(time, 3.2665, 5e-5);
  EXPECT_NEAR(sum(found["parts_s"]), time, 1e-12 * time);
  EXPECT_NEAR(sum(found["memory"]), found["memory_bytes"].get<double>(), 1);
  ASSERT_EQ(found["operators"].size(), 14);
  double layer = 0;
  for (const json& op : found["operators"]) {
    layer += op["forward"]["time_s"].get<double>() + op["backward"]["time_s"].get<double>();
  }
  const json& parts = found["parts_s"];
  EXPECT_NEAR(layer * 256,
              parts["compute"].get<double>() + parts["exposed_memory"].get<double>() +
                  parts["tensor_communication"].get<double>(),
              1e-9);
  EXPECT_EQ(found["plan"]["domain"]["tp"], 8);
  EXPECT_FALSE(found.contains("nearest"));
}

TEST(PaperEstimateCommand, CsvIsOneLineOfTheFiguresTable) {
  PaperEstimateCommand command = worked();
  command.format.csv = true;
  const Printed csv = printed(run_paper_estimate, command);
  EXPECT_EQ(std::ranges::count(csv.out, '\n'), 2);
  EXPECT_THAT(csv.out, HasSubstr("\ngpt3_1T,1d,B200-NVS8,16384,"));
}

TEST(PaperEstimateCommand, GivenGpusInADomainAreTaken) {
  PaperEstimateCommand command = worked();
  command.format.json = true;
  command.paper.domain = {4, 0, 2, 1};
  const json found = printed(run_paper_estimate, command).document();
  EXPECT_EQ(found["plan"]["domain"]["tp"], 4);
  EXPECT_EQ(found["plan"]["domain"]["pp"], 2);
  EXPECT_GT(found["iteration_time_s"], 3.2665);
}

// 3 GPUs fill no domain of 8 in the published search, which any placement given in full overrules.
TEST(PaperEstimateCommand, PlansThePublishedSearchSkipsNeedTheirPlacement) {
  PaperEstimateCommand command = worked();
  command.model = "gpt3";
  command.size = {3, 1, 1, 4};
  const Printed open = printed(run_paper_estimate, command);
  EXPECT_EQ(open.code, 2);
  EXPECT_THAT(open.err, HasSubstr("give --domain-tp"));
  command.paper.domain = {3, 0, 1, 2};
  EXPECT_THAT(printed(run_paper_estimate, command).out, HasSubstr("in a domain: tp 3, dp 2"));
}

TEST(PaperEstimateCommand, TooMuchMemoryIsCodeFourWithTheNearestPlan) {
  PaperEstimateCommand command = worked();
  command.size = {8, 1, 2, 1024};
  command.paper.system = "B200-NVS64";
  const Printed text = printed(run_paper_estimate, command);
  EXPECT_EQ(text.code, 4);
  EXPECT_THAT(text.out, HasSubstr("309.5 GB of 192 GB: does not fit"));
  EXPECT_THAT(text.err, HasSubstr("the nearest plan that fits: tp 8, pp 4, dp 512"));
  command.format.json = true;
  const json document = printed(run_paper_estimate, command).document();
  EXPECT_EQ(document["fits"], false);
  EXPECT_EQ(document["nearest"]["fits"], true);
  EXPECT_EQ(document["nearest"]["plan"]["pp"], 4);
  command.size = {8, 1, 1, 1};
  EXPECT_THAT(printed(run_paper_estimate, command).err, HasSubstr("no plan of 8 GPUs fits"));
}

TEST(PaperEstimateCommand, NonsenseIsRefusedWithItsReason) {
  PaperEstimateCommand command = worked();
  command.size.tp1 = 7;
  EXPECT_THAT(printed(run_paper_estimate, command).err,
              HasSubstr("tp1 is 7, which does not divide the number of heads, 160"));
  command = worked();
  command.paper.strategy = "3d";
  EXPECT_THAT(printed(run_paper_estimate, command).err, HasSubstr("no such strategy"));
  command.paper = on("V100");
  EXPECT_EQ(printed(run_paper_estimate, command).code, 2);
}

TEST(PaperPlanCommand, BestPlansFastestFirst) {
  PaperPlanCommand command = search(16384);
  command.best = 3;
  EXPECT_THAT(printed(run_paper_plan, command).out, HasSubstr("2,027 plans, 1,340 fit in memory"));
  command.format.json = true;
  const json found = printed(run_paper_plan, command).document()["searches"][0];
  ASSERT_EQ(found["best"].size(), 3);
  EXPECT_NEAR(found["best"][0]["iteration_time_s"].get<double>(), 3.233344402918901, 1e-12);
  EXPECT_LT(found["best"][0]["iteration_time_s"], found["best"][1]["iteration_time_s"]);
  EXPECT_EQ(found["feasible"], 1340);
  command.format = {.json = false, .csv = true};
  EXPECT_EQ(std::ranges::count(printed(run_paper_plan, command).out, '\n'), 4);
}

TEST(PaperPlanCommand, NothingFitsIsCodeFourWithTheLeanestAndAnAnswer) {
  const Printed text = printed(run_paper_plan, search(64));
  EXPECT_EQ(text.code, 4);
  EXPECT_THAT(text.err, HasSubstr("the leanest needs 286.2 GB of 192 GB"));
  EXPECT_THAT(text.err, HasSubstr("128 GPUs are enough"));
  PaperPlanCommand command = search(64);
  command.format.json = true;
  const json found = printed(run_paper_plan, command).document()["searches"][0];
  EXPECT_EQ(found["leanest"]["fits"], false);
  EXPECT_TRUE(found["best"].empty());
}

TEST(PaperPlanCommand, SizesWithoutAPlanNameOneThatHas) {
  const Printed text = printed(run_paper_plan, search(4095));
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.err, HasSubstr("(4096 GPUs have a plan)"));
}

TEST(PaperPlanCommand, FiguresAreTheirCells) {
  PaperPlanCommand command;
  command.paper = on("");
  command.figure = "2b";
  EXPECT_THAT(printed(run_paper_plan, command).out, HasSubstr("309.5*"));
  command.format.csv = true;
  const auto cells = *paper_figure_cells("2b");
  EXPECT_EQ(printed(run_paper_plan, command).out,
            paper_searches_csv({cells, *paper_study(cells), true}));
  command.chips = 8;
  EXPECT_EQ(printed(run_paper_plan, command).code, 2);
}

TEST(PaperPlanCommand, MustFixesDegrees) {
  PaperPlanCommand command = search(4096);
  command.must = {"tp=8,pp=4", "domain_tp=8"};
  command.format.json = true;
  const json found = printed(run_paper_plan, command).document()["searches"][0];
  ASSERT_FALSE(found["best"].empty());
  for (const json& one : found["best"]) {
    EXPECT_EQ(one["plan"]["pp"], 4);
    EXPECT_EQ(one["plan"]["domain"]["tp"], 8);
  }
}

// The points of figure 4a, swept by hand.
TEST(PaperPlanCommand, SweepsGoThroughEveryCombination) {
  PaperPlanCommand command = search(0);
  command.sweeps = {"chips=4..16384"};
  command.format.csv = true;
  PaperPlanCommand figure;
  figure.paper = on("");
  figure.figure = "4a";
  figure.format.csv = true;
  EXPECT_EQ(printed(run_paper_plan, command).out, printed(run_paper_plan, figure).out);
  command.paper.system = "";
  command.sweeps = {"chips=64,128,domain=4,8", "system=A100,B200"};
  EXPECT_EQ(std::ranges::count(printed(run_paper_plan, command).out, '\n'), 1 + 2 * 2 * 2);
  command.sweeps = {"system=A100"};
  EXPECT_THAT(printed(run_paper_plan, command).err, HasSubstr("how many GPUs?"));
}

PaperCell gpt3_on_a100() {
  PaperCell cell;
  cell.c.model = *paper_model("gpt3");
  cell.c.system = *paper_system("A100");
  cell.gpus = 8;
  return cell;
}

std::vector<double> capacities(const std::string& text) {
  const PaperCell base = gpt3_on_a100();
  const auto cells = paper_sweep_cells({text}, base);
  std::vector<double> values;
  if (!cells) return values;
  for (const PaperCell& cell : *cells) values.push_back(cell.c.system.hbm_capacity.value);
  return values;
}

TEST(PaperSweep, RangesDoubleOrSpreadEvenly) {
  EXPECT_THAT(capacities("hbm_capacity=80GB,1TB"), ElementsAre(80e9, 1e12));
  EXPECT_THAT(capacities("hbm_capacity=80GB..400GB"), ElementsAre(80e9, 160e9, 320e9));
  EXPECT_THAT(capacities("hbm_capacity=80GB..100GB/3"), ElementsAre(80e9, 90e9, 100e9));
}

TEST(PaperSweep, BandwidthsMayHaveAStrokeInTheirUnit) {
  const PaperCell base = gpt3_on_a100();
  EXPECT_EQ(paper_sweep_cells({"hbm_bandwidth=1TB/s..8TB/s"}, base)->size(), 4);
  EXPECT_EQ(paper_sweep_cells({"hbm_bandwidth=1TB/s..8TB/s/15"}, base)->size(), 15);
}

TEST(PaperSweep, ASystemComesBeforeItsDomainWhateverTheOrder) {
  const PaperCell base = gpt3_on_a100();
  const auto cells = paper_sweep_cells({"domain=64", "system=B200-NVS8"}, base);
  ASSERT_TRUE(cells.ok());
  EXPECT_EQ(cells->at(0).c.system.domain, 64);
  EXPECT_EQ(cells->at(0).c.system.name, "B200-NVS64");
}

TEST(PaperSweep, TheNamesOfFullModeAreUnderstood) {
  const auto cells =
      paper_sweep_cells({"n=64", "node-size=4", "hbm-capacity=1TB", "nics=0.5"}, gpt3_on_a100());
  ASSERT_TRUE(cells.ok());
  EXPECT_EQ(cells->at(0).gpus, 64);
  EXPECT_EQ(cells->at(0).c.system.domain, 4);
  EXPECT_EQ(cells->at(0).c.system.hbm_capacity.value, 1e12);
  EXPECT_EQ(cells->at(0).c.system.nics_per_gpu, 0.5);
}

TEST(PaperSweep, WhatIsNoSweepIsNamed) {
  const PaperCell base = gpt3_on_a100();
  for (const std::string text :
       {"chips", "chips=", "chips=1.5", "chips=0", "chips=8..4", "chips=4..8/3", "foo=3",
        "hbm_capacity=1GB..2GB/1", "hbm_capacity=3us", "domain=4,domain=8", "strategy=9d",
        "hbm_capacity=0..1GB", "chips=1..2/1e9", "=4", ",chips=4"}) {
    const auto cells = paper_sweep_cells({text}, base);
    ASSERT_FALSE(cells.ok()) << text;
    EXPECT_EQ(cells.error().code, ErrorCode::kUsage) << text;
  }
  PaperCell cell = base;
  EXPECT_FALSE(apply_paper_musts({"pp=4,8"}, cell).ok());
  EXPECT_FALSE(apply_paper_musts({"system=A100"}, cell).ok());
}

TEST(PaperSweep, MoreThanAMillionPointsAreRefused) {
  const PaperCell base = gpt3_on_a100();
  const auto cells =
      paper_sweep_cells({"hbm_capacity=1GB..2GB/2000", "matrix=1TFLOP/s..2TFLOP/s/2000"}, base);
  EXPECT_THAT(cells.error().text(), HasSubstr("more than 1000000 points"));
}

TEST(PaperMode, OptionsOfTheOtherModeAreRefused) {
  const auto mode = [](const std::vector<std::string>& arguments) {
    CLI::App app;
    PaperOptions options;
    std::string recompute;
    std::int64_t tp = 0;
    app.add_option("--recompute", recompute);
    app.add_option("--tensor-model-parallel-size,--tp", tp);
    add_paper_options(app, options);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return paper_mode(app, options);
  };
  EXPECT_EQ(*mode({"--model-of", "subramanian", "--tp", "8", "--system", "A100"}), true);
  EXPECT_EQ(*mode({"--recompute", "full", "--tp", "8"}), false);
  EXPECT_THAT(mode({"--system", "A100"}).error().text(), HasSubstr("it needs --model-of"));
  EXPECT_THAT(mode({"--model-of", "subramanian", "--recompute", "full"}).error().text(),
              HasSubstr("--recompute: is no option of paper mode"));
  EXPECT_FALSE(mode({"--model-of", "someone"}).ok());
}

}  // namespace
}  // namespace flopcast::cli
