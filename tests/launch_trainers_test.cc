// Launch configurations on Hugging Face's Trainer, PyTorch's FSDP, DeepSpeed and JAX: the whole plan that each file of
// their folders is, as tests/data/launch/trainers.tsv has it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "flopcast/parallel/fields.h"
#include "flopcast/parallel/files.h"
#include "flopcast/question/launch.h"

namespace flopcast {
namespace {

namespace fs = std::filesystem;

const fs::path kTrainerCorpus = "tests/data/launch";
constexpr std::string_view kTrainers[] = {"torchtitan",    "accelerate", "hf-trainer", "trl",
                                          "llama-factory", "axolotl",    "nanotron",   "olmo-core",
                                          "automodel",     "maxtext",    "deepspeed"};
constexpr std::string_view kTrainerTitles =
    "file\tsoftware\tmodel\treplicas\taccumulation\twhat the plan has beside bf16, ZeRO 1 and ones";

/// Files of these launchers that are read.
std::map<std::string, PlanFile> trainer_files() {
  std::map<std::string, PlanFile> files;
  for (const std::string_view launcher : kTrainers) {
    for (const auto& entry : fs::directory_iterator(kTrainerCorpus / launcher)) {
      const std::string file = fs::relative(entry.path(), kTrainerCorpus).string();
      if (file.find("/beside_") != std::string::npos) continue;
      if (const Result<PlanFile> read = read_plan(entry.path().string())) files[file] = *read;
    }
  }
  return files;
}

std::string model_words(const FileModel& model) {
  if (!model.whole) return model.name.empty() ? "-" : model.name;
  return fmt::format("{} of {}", model.whole->name, count_parameters(*model.whole).total);
}

std::string trainer_row(const std::string& file, const PlanFile& read) {
  Plan plain;
  plain.global_batch = 0;
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}", file, read.software.empty() ? "-" : read.software,
                     model_words(read.model), read.replicas, read.accumulation,
                     plan_change_words(plain, read.plan));
}

TEST(LaunchTrainers, FilesAreThePlansOfTheTable) {
  std::ifstream in(kTrainerCorpus / "trainers.tsv");
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, kTrainerTitles);
  std::map<std::string, std::string> expected;
  while (std::getline(in, line)) expected[line.substr(0, line.find('\t'))] = line;
  const auto files = trainer_files();
  EXPECT_GE(files.size(), 35U);
  for (const auto& [file, read] : files) {
    const auto row = expected.find(file);
    EXPECT_EQ(row == expected.end() ? "no row" : row->second, trainer_row(file, read));
  }
  for (const auto& [file, row] : expected) EXPECT_TRUE(files.contains(file)) << file;
}

// MaxText counts devices: two of a TPU v7, one of its cores, one of any GPU.
TEST(LaunchTrainers, ChipsOfSeveralDevicesAreKnown) {
  const auto devices = [](const char* cluster) {
    const Result<Cluster> on = Catalog::builtin().cluster(cluster);
    EXPECT_TRUE(on.ok()) << cluster;
    return on.ok() ? launch_site(*on).devices : 0;
  };
  EXPECT_EQ(devices("64 x tpu-v7"), 2U);
  EXPECT_EQ(devices("64 x tpu-v5p"), 1U);
  EXPECT_EQ(devices("4 x dgx-h100"), 1U);
}

// 34 of 43 scripts of one launcher once came out in fp32.
TEST(LaunchTrainers, NoneIsInFp32ThatDoesNotSayIt) {
  const std::set<std::string> single = {"accelerate/replicas.yaml", "hf-trainer/replicas_fp32.sh"};
  for (const auto& [file, read] : trainer_files()) {
    if (!single.contains(file)) EXPECT_GE(read.plan.precision, Precision::kFp16) << file;
  }
}

}  // namespace
}  // namespace flopcast
