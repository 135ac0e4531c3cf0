#include "whatif/change/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace flopcast::whatif {
namespace {

using testing::HasSubstr;

bool found(const std::string& pattern, std::string_view text) {
  const Result<Pattern> made = Pattern::make(pattern, "--scale");
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
  return made.ok() && made->found_in(text);
}

TEST(Pattern, IsFoundAnywhereInAName) {
  EXPECT_TRUE(found("gemm.*bf16", "ampere_gemm_64_bf16_nn"));
  EXPECT_TRUE(found("^void .*<\\d+>$", "void reduce<128>"));
  EXPECT_TRUE(found("", "anything"));
  EXPECT_FALSE(found("^gemm", "sgemm"));
}

TEST(Pattern, NamesOfAnyLengthAndBytesTakeLinearTime) {
  const std::string a(1 << 20, 'a');
  for (const char* bomb :
       {"(a*)*b", "(.*)*x", "(a|aa)+$b", "(a|a?)+z", ".*.*.*.*=", "((((a+)+)+)+)c"})
    EXPECT_FALSE(found(bomb, a)) << bomb;
  EXPECT_TRUE(found("(.*)*", a));
  EXPECT_FALSE(found("gemm", std::string("\0\xff\xfe", 3)));
}

TEST(Pattern, WhatIsNoneIsRefusedInWords) {
  for (const char* wrong :
       {"(", "[a", "a{99999}", "(?=look)", "(a)\\1", "*", "\xff", "((a{100}){100}){100}"}) {
    const Result<Pattern> made = Pattern::make(wrong, "--scale");
    ASSERT_FALSE(made.ok()) << wrong;
    EXPECT_EQ(made.error().code, ErrorCode::kUsage);
    EXPECT_EQ(made.error().where, "--scale");
    EXPECT_THAT(made.error().text(), HasSubstr("no regular expression"));
  }
}

}  // namespace
}  // namespace flopcast::whatif
