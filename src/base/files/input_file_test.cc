#include "base/files/input_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/files/byte_source.h"
#include "base/files/read_file.h"
#include "support/temporary_folder.h"

namespace flopcast {
namespace {

/// Standard input is this file until the end of the scope.
class StandardInput {
 public:
  explicit StandardInput(const std::filesystem::path& path) : before_(::dup(STDIN_FILENO)) {
    const int file = ::open(path.c_str(), O_RDONLY);
    ::dup2(file, STDIN_FILENO);
    ::close(file);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    ::dup2(before_, STDIN_FILENO);
    ::close(before_);
  }

 private:
  int before_;
};

TEST(InputFile, ADashIsStandardInput) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("text", "all of it");
  {
    const StandardInput input(path);
    EXPECT_EQ(*read_file("-"), "all of it");
  }
  const StandardInput input(path);
  auto source = file_source("-");
  ASSERT_TRUE(source) << source.error().text();
  EXPECT_EQ(read_all(**source), "all of it");
}

TEST(InputFile, DevicesAreRefused) {
  for (const char* device : {"/dev/zero", "/dev/null", "/dev/full"}) {
    EXPECT_EQ(read_file(device).error().what, "is a device") << device;
    EXPECT_EQ(file_source(device).error().what, "is a device") << device;
  }
  const StandardInput input("/dev/zero");
  EXPECT_EQ(read_file("-").error().text(),
            "standard input: is a device (name a file, or - for standard input)");
}

TEST(InputFile, APipeThatNobodyWritesToIsRefused) {
  const test::TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_file(pipe).error().what, "is a pipe that no program writes to");
}

TEST(InputFileThreads, APipeIsReadHoweverLateItsWriterComes) {
  const test::TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::jthread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // after the reader looked first
    const int file = ::open(pipe.c_str(), O_WRONLY);
    for (const char* part : {"in ", "two parts"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      EXPECT_GT(::write(file, part, std::string_view(part).size()), 0);
    }
    ::close(file);
  });
  const Result<std::string> text = read_file(pipe);
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "in two parts");
}

TEST(InputFile, WhatWasPeekedAtIsReadToo) {
  const test::TemporaryFolder folder;
  Result<InputFile> file = InputFile::open(folder.write("text", "abc"), "");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->peek(2), 2);
  EXPECT_EQ(file->head(), "ab");
  EXPECT_EQ(file->position(), 0U);
  std::string text(10, '\0');
  ASSERT_EQ(file->read(text.data(), 1), 1);
  ASSERT_EQ(file->read(text.data() + 1, 9), 1);
  ASSERT_EQ(file->read(text.data() + 2, 8), 1);
  EXPECT_EQ(text.substr(0, 3), "abc");
  EXPECT_EQ(file->position(), 3U);
}

}  // namespace
}  // namespace flopcast
