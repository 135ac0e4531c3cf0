#include "flopcast/live/setup.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "live/setup/elf.h"
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

TEST(LiveSetup, ReadsSymbolsOfALibrary) {
#ifdef FLOPCAST_LIVE_CORE
  const auto symbols = live::dynamic_symbols(FLOPCAST_LIVE_CORE);
  ASSERT_TRUE(symbols) << symbols.error().text();
  const auto of = [&](std::string_view name) {
    return std::find_if(symbols->begin(), symbols->end(),
                        [&](const auto& symbol) { return symbol.name == name; });
  };
  ASSERT_NE(of("cudaMalloc"), symbols->end());
  EXPECT_EQ(of("cudaMalloc")->version, "libcudart.so.13");
  EXPECT_TRUE(of("cudaMalloc")->defined);
  EXPECT_EQ(of("ncclAllReduce")->version, "");
  ASSERT_NE(of("mmap"), symbols->end());
  EXPECT_FALSE(of("mmap")->defined);
#else
  GTEST_SKIP() << "the stand-ins are not built here";
#endif
}

TEST(LiveSetup, DamagedLibrariesAreErrors) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(live::dynamic_symbols(folder.write("empty.so", "")));
  EXPECT_FALSE(live::dynamic_symbols(folder.write("text.so", std::string(5000, 'x'))));
  EXPECT_FALSE(live::dynamic_symbols(folder / "absent.so"));
#ifdef FLOPCAST_LIVE_CORE
  const std::string whole = test::read_text(FLOPCAST_LIVE_CORE);
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 50 + 1) {
    // Cut anywhere, it is refused or read as far as it goes, and never read beyond.
    const auto symbols = live::dynamic_symbols(folder.write("cut.so", whole.substr(0, size)));
    EXPECT_FALSE(symbols) << size;
  }
#endif
}

TEST(LiveSetup, MemoryGrowsWithRanks) {
  const LiveMemory one = live_memory(1, true, true), many = live_memory(64, true, true);
  EXPECT_GT(one.available, 0);
  EXPECT_GT(many.needed, one.needed);
  EXPECT_GT(live_memory(64, false, true).needed, many.needed);
}

}  // namespace
}  // namespace flopcast
