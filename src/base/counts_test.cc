#include "base/counts.h"

#include <gtest/gtest.h>

namespace flopcast {
namespace {

TEST(Counts, OfTokensGoByThePowersOfTwoThatLengthsAre) {
  EXPECT_EQ(parse_tokens("8192"), 8192);
  EXPECT_EQ(parse_tokens("8k"), 8192);
  EXPECT_EQ(parse_tokens("8K"), 8192);
  EXPECT_EQ(parse_tokens(" 128 k "), 131072);
  EXPECT_EQ(parse_tokens("1M"), 1048576);
  EXPECT_EQ(parse_tokens("1.5k"), 1536);
  EXPECT_EQ(parse_tokens("4k tokens"), 4096);
  EXPECT_EQ(parse_tokens("512 tokens"), 512);
  EXPECT_EQ(parse_tokens("0"), 0);
  for (const char* none : {"", "k", "8kb", "8kk", "-8k", "8 sequences", "0.3k", "1e300", "nan",
                           "8k8", "8x", "tokens"}) {
    EXPECT_EQ(parse_tokens(none), std::nullopt) << none;
  }
}

TEST(Counts, OfWholeRunsGoByThePowersOfTenThatPeopleTrainOn) {
  EXPECT_EQ(parse_total("15T"), 15e12);
  EXPECT_EQ(parse_total("1.5e12 tokens"), 1.5e12);
  EXPECT_EQ(parse_total("300B"), 300e9);
  EXPECT_EQ(parse_total("500k steps"), 500e3);
  for (const char* none : {"", "T", "15X", "-1", "15T sequences", "1e19"})
    EXPECT_FALSE(parse_total(none)) << none;
}

TEST(Counts, OfBatchesSayOfWhat) {
  EXPECT_EQ(parse_batch("1024")->sequences, 1024);
  EXPECT_EQ(parse_batch("1024 sequences")->sequences, 1024);
  const auto tokens = parse_batch("16M");
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->sequences, 0);
  EXPECT_EQ(tokens->binary, 16 << 20);
  EXPECT_EQ(tokens->decimal, 16000000);
  EXPECT_EQ(parse_batch("16M-tokens")->binary, 16 << 20);
  EXPECT_EQ(parse_batch("0.5Mtok")->binary, 1 << 19);
  EXPECT_EQ(parse_batch("3.2M")->binary, 0);  // no whole number of tokens
  EXPECT_EQ(parse_batch("4194304 tokens")->decimal, 4194304);
  const auto either = parse_batch("2k");
  ASSERT_FALSE(either);
  EXPECT_EQ(either.error().text(),
            "2k: may be tokens, or sequences by 1,000 or by 1,024 (write 2000 or 2048 for "
            "sequences, 2k tokens for tokens)");
  EXPECT_FALSE(parse_batch("2k sequences"));
  EXPECT_TRUE(parse_batch("512k tokens"));
  for (const char* none : {"", "0", "-1", "many", "1.5", "1 GB", "1e300"}) {
    EXPECT_FALSE(parse_batch(none)) << none;
  }
}

// Where it may be either, tokens are counted by 1,024: batches are powers of two (Llama 3: 16M are 2,048 x 8,192).
TEST(Counts, OfTokensAreWholeSequences) {
  const auto counted = [](const char* batch, std::int64_t sequence) {
    const auto sequences = sequences_of(*parse_batch(batch), sequence);
    return sequences ? sequences->sequences : -1;
  };
  EXPECT_EQ(counted("16M", 8192), 2048);
  EXPECT_EQ(counted("16M", 4000), 4000);  // 16,000,000
  EXPECT_EQ(counted("16M", 1000), 16000);
  EXPECT_EQ(counted("16M", 1024), 16384);
  EXPECT_EQ(counted("4194304 tokens", 4096), 1024);
  EXPECT_EQ(counted("64", 4096), 64);
  EXPECT_EQ(counted("16M", 6000), -1);
  EXPECT_EQ(counted("16k tokens", 32768), -1);  // less than one
  EXPECT_EQ(sequences_of(*parse_batch("16M"), 6000).error().hint,
            "give sequences instead, such as 2796 or 2797");
  EXPECT_EQ(sequences_of(*parse_batch("64"), 4096)->words, "");
  EXPECT_EQ(sequences_of(*parse_batch("16M tokens"), 4000)->words,
            "global batch 16M tokens: 16,000,000 tokens (by 1,000), 4,000 sequences of 4,000");
}

}  // namespace
}  // namespace flopcast
