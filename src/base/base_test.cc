#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "flopcast/base.h"

namespace flopcast {
namespace {

TEST(StringTable, IdZeroIsTheEmptyString) {
  StringTable table;
  EXPECT_EQ(table.size(), 1U);
  EXPECT_EQ(table[0], "");
  EXPECT_EQ(table.intern(""), 0U);
  EXPECT_EQ(table.find(""), 0U);
}

TEST(StringTable, EqualTextHasEqualIdAndViewsStayValid) {
  StringTable table;
  std::vector<std::string_view> views;
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t id = table.intern("text " + std::to_string(i));
    ASSERT_EQ(id, static_cast<std::uint32_t>(i + 1));
    views.push_back(table[id]);
  }
  const StringTable moved = std::move(table);
  for (int i = 0; i < 5000; ++i) {
    EXPECT_EQ(views[static_cast<std::size_t>(i)], "text " + std::to_string(i));
    EXPECT_EQ(moved.find("text " + std::to_string(i)), static_cast<std::uint32_t>(i + 1));
  }
  EXPECT_FALSE(moved.find("absent"));
}

TEST(StringTable, LongTextsDoNotDisturbShortOnes) {
  StringTable table;
  const std::string huge(5 << 20, 'x');
  const auto a = table.intern("a");
  const auto h = table.intern(huge);
  const auto b = table.intern("b");
  EXPECT_EQ(table[a], "a");
  EXPECT_EQ(table[h], huge);
  EXPECT_EQ(table[b], "b");
  // Exactly the size of a shared block, and texts that differ in the last byte only.
  for (std::size_t n : {7U, 8U, 9U, 15U, 16U, 17U, 31U, 32U, 33U, 16384U, 16385U, 65536U}) {
    const std::string one(n, 'y'), other = std::string(n - 1, 'y') + 'z';
    EXPECT_NE(table.intern(one), table.intern(other));
    EXPECT_EQ(table[table.intern(one)], one);
    EXPECT_EQ(table[table.intern(other)], other);
  }
}

TEST(Anomalies, CountsByKindAndDescribesTheFirst) {
  Anomalies seen;
  seen.add("negative_dur", [] { return "row 3"; });
  seen.add("negative_dur", []() -> std::string { throw std::logic_error("described twice"); });
  Anomalies other;
  other.add(
      "bad_ts", [] { return "row 9"; }, 4);
  other.add("negative_dur", [] { return "row 1"; });
  seen.merge(other);
  ASSERT_EQ(seen.list().size(), 2U);
  EXPECT_EQ(seen.count("negative_dur"), 3U);
  EXPECT_EQ(seen.list()[0].first, "row 3");
  EXPECT_EQ(seen.count("bad_ts"), 4U);
  EXPECT_EQ(seen.count("unknown"), 0U);
}

TEST(Diagnostic, TextLeavesOutWhatIsEmpty) {
  EXPECT_EQ((Diagnostic{ErrorCode::kBadInput, "a.json", "empty", "write it"}.text()),
            "a.json: empty (write it)");
  EXPECT_EQ((Diagnostic{ErrorCode::kBadInput, "", "empty", ""}.text()), "empty");
}

TEST(ParallelForThreads, RunsEveryIndexOnce) {
  for (unsigned threads : {0U, 1U, 2U, 7U}) {
    std::vector<std::atomic<int>> runs(100);
    parallel_for(runs.size(), threads, [&](std::size_t i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelForThreads, AnExceptionReachesTheCaller) {
  EXPECT_THROW(parallel_for(50, 3,
                            [](std::size_t i) {
                              if (i == 7) throw std::runtime_error("x");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace flopcast
