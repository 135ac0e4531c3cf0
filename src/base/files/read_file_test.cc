#include "base/files/read_file.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace flopcast {
namespace {

TEST(ReadFile, GivesEveryByte) {
  const test::TemporaryFolder folder;
  for (const std::size_t size : {0u, 1u, 65536u, 65537u, 200'000u}) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) text += static_cast<char>(i * 7);
    const Result<std::string> read = read_file(folder.write("bytes", text));
    ASSERT_TRUE(read.ok()) << size;
    EXPECT_EQ(*read, text) << size;
  }
}

TEST(ReadFile, WhatCannotBeReadIsNamedWithWhatToDo) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_file("/no/such.toml").error().text(),
            "/no/such.toml: cannot be read: No such file or directory "
            "(check the path and its permissions)");
  EXPECT_EQ(read_file(folder.path(), "name a file").error().hint, "name a file");
}

}  // namespace
}  // namespace flopcast
