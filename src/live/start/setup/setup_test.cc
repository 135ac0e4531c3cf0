#include "flopcast/live/setup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "support/temporary_folder.h"

namespace flopcast {
namespace {

/// A Python that says what we want.
std::string python_that_says(const test::TemporaryFolder& folder, const std::string& torch) {
  const auto path =
      folder.write("python", "#!/bin/sh\nprintf '3.12.1\\n/usr/bin/py\\n" + torch + "\\n'\n");
  ::chmod(path.c_str(), 0755);
  return path.string();
}

TEST(LiveSetup, ReadsWhatPyTorchSaysOfItself) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "torch");
  folder.write("torch/version.py",
               "from typing import Optional\n__version__ = '2.15.0+cu132'\ndebug = False\n"
               "cuda: Optional[str] = '13.2'\nhip: Optional[str] = None\n");
  const auto python =
      look_at_python(python_that_says(folder, (folder / "torch/__init__.py").string()));
  ASSERT_TRUE(python) << python.error().text();
  EXPECT_EQ(python->version, "3.12.1");
  EXPECT_EQ(python->torch_version, "2.15.0+cu132");
  EXPECT_EQ(python->cuda_major(), 13u);
}

TEST(LiveSetup, APyTorchWithoutCudaHasNoMajor) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "torch");
  folder.write("torch/version.py", "__version__ = '2.15.0+cpu'\ncuda: Optional[str] = None\n");
  const auto python =
      look_at_python(python_that_says(folder, (folder / "torch/__init__.py").string()));
  ASSERT_TRUE(python);
  EXPECT_EQ(python->torch_version, "2.15.0+cpu");
  EXPECT_EQ(python->cuda_major(), 0u);
}

TEST(LiveSetup, WhatIsNoPythonIsRefused) {
  const auto absent = look_at_python("/nowhere/python");
  ASSERT_FALSE(absent);
  EXPECT_NE(absent.error().text().find("No such file"), std::string::npos) << absent.error().text();
  const auto wrong = look_at_python("false");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text().find("--python"), std::string::npos);
}

TEST(LiveSetup, MemoryGrowsWithRanks) {
  const LiveMemory one = live_memory(1, true, true), many = live_memory(64, true, true);
  EXPECT_GT(one.available, 0);
  EXPECT_GT(many.needed, one.needed);
  EXPECT_GT(live_memory(64, false, true).needed, many.needed);
}

TEST(LiveSetup, KnowsWhenALauncherStartedSeveral) {
  const auto in = [](const std::vector<std::pair<const char*, const char*>>& variables) {
    for (const auto& [name, value] : variables) setenv(name, value, 1);
    const std::optional<LiveCopies> copies = live_copies();
    for (const auto& [name, value] : variables) unsetenv(name);
    return copies ? copies->variable + " " + std::to_string(copies->number) + " of " +
                        std::to_string(copies->all)
                  : std::string("one");
  };
  EXPECT_EQ(in({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}), "SLURM_PROCID 1 of 4");
  EXPECT_EQ(in({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
            "OMPI_COMM_WORLD_RANK 0 of 2");
  EXPECT_EQ(in({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"TORCHELASTIC_RUN_ID", "none"}}),
            "RANK 3 of 8");
  // A batch script that may start 64 tasks is one process; who sets RANK means the program.
  EXPECT_EQ(in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "64"}}), "one");
  EXPECT_EQ(in({{"RANK", "3"}, {"WORLD_SIZE", "8"}}), "one");
  EXPECT_EQ(in({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}), "one");
  EXPECT_EQ(in({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}), "one");
}

}  // namespace
}  // namespace flopcast
