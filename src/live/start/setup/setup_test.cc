#include "flopcast/live/setup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

}  // namespace
}  // namespace flopcast
