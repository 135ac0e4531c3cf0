// The rules on publishers' launches: what holds of which run, and what is not used of sets that nobody has seen.
#include "measured/training/launches.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "catalog_files.h"
#include "flopcast/machine/training.h"
#include "measured/training/book.h"
#include "measured/training/runs.h"
#include "measured/training/words.h"

namespace flopcast::measured {
namespace {

/// A run of experts whose publisher left its plan to a recipe of Megatron-Bridge of October 2025.
TrainingRun bridge_run(const std::string& cluster, int vpp,
                       const std::vector<std::string>& unseen) {
  const std::string text = R"({"id": "bridge-25.10-x", "model": {"name": "qwen3-235b-a22b",
 "arch": "moe", "layers": 8, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8,
 "head_dim": 128, "vocab": 128256, "gated": true, "seq_len": 4096, "experts": 8, "topk": 2,
 "expert_ffn": 1536}, "system": {"on": ")" +
                           cluster + R"("}, "source": {"repo": "NVIDIA-NeMo/Megatron-Bridge"},
 "parallel": {"tp": 1, "pp": 2, "ep": 8, "etp": 1, "vp": )" +
                           std::to_string(vpp) + R"(, "dp": 8, "zero": 1},
 "batch": {"gbs": 64, "mbs": 1}, "dtype": "bf16", "recompute": "recipe-defined",
 "measured": {"iter_time_s": 2.5}})";
  auto runs = parse_runs(text, "here", RunReading{unseen});
  EXPECT_TRUE(runs) << runs.error().text();
  EXPECT_EQ(runs->front().incomplete, "");
  return std::move(runs->front());
}

// "b200" is in "gb200" and in "dgx-b200", and "b300" in "gb300": chips are those of the catalogue.
TEST(LaunchRules, TakeChipsOfTheCatalogueAndNoPartsOfNames) {
  for (const char* boxes : {"16 x b200-sxm", "2 x dgx-b200", "2 x dgx-b300", "16 x b300-sxm"}) {
    EXPECT_TRUE(bridge_run(boxes, 4, {}).plan.overlap.experts) << boxes;
    EXPECT_FALSE(bridge_run(boxes, 1, {}).plan.overlap.experts) << boxes;
  }
  for (const char* racks : {"16 x gb200", "16 x gb300"}) {
    EXPECT_FALSE(bridge_run(racks, 4, {}).plan.overlap.experts) << racks;
    EXPECT_EQ(bridge_run(racks, 4, {}).software, "megatron-2025-flex") << racks;
  }
  EXPECT_EQ(bridge_run("2 x dgx-b300", 1, {}).software, "megatron-2025-flex");
  EXPECT_EQ(bridge_run("2 x dgx-b200", 1, {}).software, "megatron-2025");
  EXPECT_TRUE(bridge_run("2 x dgx-h100", 1, {}).plan.overlap.experts);
}

// A fit without a source forecasts its runs as nobody would have known them; other sources' rules stay.
TEST(LaunchRules, OfASetThatNobodyHasSeenAreNotUsed) {
  EXPECT_EQ(bridge_run("16 x gb200", 1, {"dgxc"}).software, "megatron-2025-flex");
  const TrainingRun unseen = bridge_run("16 x gb200", 1, {"bridge"});
  EXPECT_EQ(unseen.software, "megatron-2025");  // by its month, which other sets tell as well
  EXPECT_TRUE(bridge_run("2 x dgx-h100", 1, {"primus", "dgxc"}).plan.overlap.experts);
  EXPECT_FALSE(bridge_run("2 x dgx-h100", 1, {"bridge"}).plan.overlap.experts);
}

TEST(LaunchRules, OfTheCatalogueAreWhole) {
  ASSERT_TRUE(launch_book()) << launch_book().error().text();
  const LaunchBook& book = *launch_book();
  EXPECT_GT(book.launch.size(), 20U);
  const std::vector<std::string> profiles = training_software();
  for (const LaunchRule& rule : book.software) {
    EXPECT_NE(std::ranges::find(profiles, rule.software), profiles.end()) << rule.software;
  }
  for (const auto* rules : {&book.layout, &book.launch}) {
    for (const LaunchRule& rule : *rules) {
      EXPECT_FALSE(rule.set.empty());
      for (const std::string& name : rule.match.software) {
        EXPECT_NE(std::ranges::find(profiles, name), profiles.end()) << name;
      }
      for (const std::string& chip : rule.match.chips) {
        const Result<Chip> known = Catalog::builtin().chip(chip);
        EXPECT_TRUE(known && known->name == chip) << chip;
      }
      for (const std::string& precision : rule.match.precisions) {
        const auto known = parse_precision(precision);
        EXPECT_TRUE(known && name(*known) == precision) << precision;
      }
    }
  }
}

TEST(LaunchRules, DevicesAreChipsOfTheCatalogue) {
  ASSERT_TRUE(launch_book()) << launch_book().error().text();
  EXPECT_GT(launch_book()->devices.size(), 3U);
  for (const DeviceRule& device : launch_book()->devices) {
    for (const std::string& name : {device.chip, device.core}) {
      if (name.empty()) continue;
      const Result<Chip> known = Catalog::builtin().chip(name);
      EXPECT_TRUE(known && known->name == name) << name;
    }
  }
}

TEST(LaunchRules, MistakesAreNamedWithTheirPlace) {
  const auto refused = [](const std::string& rule) {
    const std::string head = "[sources]\nx = \"here\"\n[publisher.p]\nrepos = [\"a/b\"]\n";
    const auto book = parse_launches(head + rule, "l.toml");
    return book ? std::string() : book.error().text();
  };
  const std::string good = "[[launch]]\nsource = \"x\"\n";
  EXPECT_EQ(refused(good + "publisher = \"p\"\nset = { lora_rank = 8 }\n"), "");
  EXPECT_NE(refused("[[launch]]\nset = {}\n").find("no source"), std::string::npos);
  EXPECT_NE(refused(good + "chip = [\"h100\"]\n").find("l.toml:7:"), std::string::npos);
  EXPECT_NE(refused(good + "chip = [\"h100\"]\n").find("no 'chip'"), std::string::npos);
  EXPECT_NE(refused(good + "from = \"soon\"\n").find("no month"), std::string::npos);
  EXPECT_NE(refused(good + "publisher = \"q\"\n").find("publisher.q"), std::string::npos);
  EXPECT_NE(refused(good + "says = { name = [\"a\"] }\n").find("'name'"), std::string::npos);
  EXPECT_NE(refused(good + "memory_below = \"1s\"\n").find("l.toml"), std::string::npos);
  EXPECT_NE(refused(good + "set = { reshard = 1 }\n").find("'reshard'"), std::string::npos);
  EXPECT_NE(refused(good + "set = { recompute = [\"all\"] }\n").find("'recompute'"),
            std::string::npos);
  const std::string device = "[[device]]\nsource = \"x\"\nchip = \"tpu-v7\"\n";
  EXPECT_EQ(refused(device + "core = \"tpu-v7-core\"\ncores = 2\n"), "");
  EXPECT_NE(refused("[[device]]\nchip = \"tpu-v7\"\n").find("no source"), std::string::npos);
  EXPECT_NE(refused("[[device]]\nsource = \"x\"\n").find("no chip"), std::string::npos);
  EXPECT_NE(refused(device + "core = \"tpu-v7-core\"\n").find("core and cores"), std::string::npos);
  EXPECT_NE(refused(device + "names = [\"v7\"]\n").find("l.toml:8:"), std::string::npos);
}

TEST(LaunchRules, WordsFollowEachOtherWhateverIsBetween) {
  EXPECT_TRUE(says("NeMo AutoModel, PyTorch FSDP2, Transformer Engine", "transformer-engine"));
  EXPECT_TRUE(says("qkv_proj_offloaded", "qkv_proj"));
  EXPECT_TRUE(says("selective(op)", "selective(op)"));
  EXPECT_FALSE(says("selective", "selective(op)"));
  EXPECT_FALSE(says("FSDP2", "FSDP"));  // a word is one whole
  EXPECT_FALSE(says("not XLAnything", "xla"));
  EXPECT_TRUE(says("torch_xla 2.5", "XLA"));
}

TEST(RunMonths, AreReadAsTheyAreWritten) {
  EXPECT_EQ(leading_month("25.04.01"), 202504);
  EXPECT_EQ(leading_month("2407-x"), 202407);
  EXPECT_EQ(leading_month("202412_torchtitan"), 202412);
  EXPECT_EQ(leading_month("2025-06_torchtitan"), 202506);
  for (const char* none :
       {"", "latest", "25", "25.13", "h100", "2", "20250", "1999-01", "9999999"}) {
    EXPECT_EQ(leading_month(none), 0) << none;
  }
  EXPECT_EQ(set_of_id("mlperf-v5.1-llama31_8b-a-b"), "mlperf-llama31_8b");
  EXPECT_EQ(set_of_id("mlperf-x"), "mlperf");
  EXPECT_EQ(set_of_id("nemo2407-gpt3"), "nemo");
  EXPECT_EQ(month_of({"", "nemo2407-gpt3", "", "", "", 0}), 202407);
  EXPECT_EQ(month_of({"", "x", "", "a/h100_2025-06_b.md", "pytorch/torchtitan", 0}), 202506);
  EXPECT_EQ(month_of({"", "x", "", "a/h100_2025-06_b.md", "some/body", 0}), 0);
}

}  // namespace
}  // namespace flopcast::measured
