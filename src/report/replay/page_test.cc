#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/render/varints.h"
#include "report/replay/page_rows.h"
#include "report/replay/testing.h"

namespace flopcast::report {
namespace {

std::string between(const std::string& page, const std::string& from, const std::string& to) {
  const std::size_t begin = page.find(from) + from.size();
  return page.substr(begin, page.find(to, begin) - begin);
}

nlohmann::json embedded(const std::string& page, const std::string& id) {
  return nlohmann::json::parse(
      between(page, "<script type=\"application/json\" id=\"" + id + "\">", "</script>"));
}

/// Reads back what Varints wrote.
class Unpacked {
 public:
  explicit Unpacked(const std::string& base64) {
    static const std::string kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::uint32_t bits = 0;
    int held = 0;
    for (const char c : base64) {
      if (c == '=') break;
      bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(c));
      held += 6;
      if (held < 8) continue;
      held -= 8;
      bytes_ += static_cast<char>(bits >> held & 0xff);
    }
  }
  bool done() const { return at_ == bytes_.size(); }
  std::int64_t next() {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return static_cast<std::int64_t>(value);
    }
  }
  std::int64_t next_signed() {
    const auto z = static_cast<std::uint64_t>(next());
    return static_cast<std::int64_t>(z >> 1) ^ -static_cast<std::int64_t>(z & 1);
  }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

TEST(Varints, NumbersComeBack) {
  Varints packed;
  const std::vector<std::int64_t> values = {
      0, 1, -1, 127, 128, -300, std::int64_t{1} << 40, -(std::int64_t{1} << 50)};
  for (const std::int64_t v : values) packed.add_signed(v);
  Unpacked unpacked(packed.base64());
  for (const std::int64_t v : values) EXPECT_EQ(unpacked.next_signed(), v);
  EXPECT_TRUE(unpacked.done());
}

TEST(Varints, Base64IsTheUsualOne) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
}

TEST(ReplayHtml, PageNeedsNothingFromOutside) {
  const TraceSet set = test::made_set();
  const std::string page = replay_html(set, test::made_replay(set));
  for (const char* outside : {"http://", "https://", "src=", "@import", "<link"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  for (const char* mark : {"{{", "/*{{"}) EXPECT_EQ(page.find(mark), std::string::npos) << mark;
}

TEST(ReplayHtml, HoldsTheReportAndTheRows) {
  const TraceSet set = test::made_set();
  const std::string page = replay_html(set, test::made_replay(set));
  EXPECT_EQ(embedded(page, "report").at("sets").at(0).at("name"), "made");
  const nlohmann::json rows = embedded(page, "rows");
  ASSERT_EQ(rows.at("ranks").size(), 2u);
  EXPECT_EQ(rows.at("length_ns"), 46000);
  EXPECT_EQ(rows.at("ranks").at(1).at("lanes").at(0).at("name"), "stream 7");
  EXPECT_EQ(rows.at("ranks").at(1).at("lanes").at(0).at("rows"), 3);
  EXPECT_EQ(rows.at("ranks").at(0).at("merged_below_ns"), 0);
}

TEST(ReplayHtml, TextOfATraceCannotLeaveItsPlace) {
  TraceSet set = test::made_set();
  set.label = "</title><script>{{rows}}";
  set.traces.push_back(test::make_trace(
      set, 2, {{"</script><script>alert(1)</script>{{report}}", Category::kKernel, 0, 5, 7}}));
  const std::string page = replay_html(set, test::made_replay(set));
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("</title><script>"), std::string::npos);
  EXPECT_EQ(embedded(page, "report").at("sets").at(0).at("name"), "</title><script>{{rows}}");
  EXPECT_EQ(embedded(page, "rows").at("ranks").size(), 3u);
}

TEST(PageRows, PackedRowsHaveTheirTimesWaitsAndMoves) {
  const TraceSet set = test::made_set();
  const Replay replay = test::made_replay(set);
  PageNames names(set.strings);
  const PageRank page = page_rank(set, 0, page_runs(replay, 0, Time{}), 1000, names);
  Unpacked rows(page.rows);
  // stream 7: the gemm, then the all-reduce.
  EXPECT_EQ(rows.next_signed(), 0);
  EXPECT_EQ(rows.next(), 15000);
  EXPECT_EQ(names.list()[static_cast<std::size_t>(rows.next())], "gemm");
  EXPECT_EQ(rows.next(), static_cast<int>(RowClass::kCompute));
  EXPECT_EQ(rows.next_signed(), 1000);  // replayed 1 us later
  EXPECT_EQ(rows.next_signed(), 0);
  EXPECT_EQ(rows.next_signed(), 20000);
  EXPECT_EQ(rows.next(), 20000);
  EXPECT_EQ(rows.next(), 1);
  EXPECT_EQ(rows.next(), static_cast<int>(RowClass::kCommunication));
  EXPECT_EQ(rows.next_signed(), 0);  // moved as much as the row before
  EXPECT_EQ(rows.next_signed(), 0);
  EXPECT_EQ(rows.next(), 5000);  // waiting, recorded
  EXPECT_EQ(rows.next(), 5000);  // and replayed
  EXPECT_EQ(page.place[5], 1u);
}

TEST(PageRows, ShortRowsOfAStreamAreDrawnTogether) {
  TraceSet set;
  std::vector<test::MadeRow> rows;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t start = 10 * i;
    rows.push_back({"k", Category::kKernel, start, start + (i % 10 == 0 ? 9 : 2), 7});
  }
  set.traces.push_back(test::make_trace(set, 0, rows));
  Replay replay;
  replay.recorded = replay.replayed = test::recorded_times(set);
  PageNames names(set.strings);
  const PageRank page = page_rank(set, 0, page_runs(replay, 0, Time{}), 20, names);
  EXPECT_GT(page.merged_below, Time::from_us(2));
  EXPECT_LE(page.lanes.at(0).rows, 100u);
  EXPECT_EQ(page.place[1], kNoDetail);
  EXPECT_NE(page.place[0], kNoDetail);
}

}  // namespace
}  // namespace flopcast::report
