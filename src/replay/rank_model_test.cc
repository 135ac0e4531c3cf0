#include "flopcast/replay/rank_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;

using test::us;

std::string piece_text(const TraceSet& set, const RankModel& model, std::size_t thread = 0) {
  std::string text;
  for (const Piece& p : model.threads[thread].pieces) {
    text += fmt::format("{}[{},{}) ", set.strings[model.trace->events.name[p.row]], p.start.us(),
                        p.end.us());
  }
  return text;
}

TEST(RankModel, TheInnermostRowOwnsTheTime) {
  const TraceSet set = TraceText()
                           .op("outer", 0, 100)
                           .op("inner", 10, 60)
                           .launch(20, 30, 5)
                           .op("next", 60, 80)
                           .op("later", 120, 130)
                           .read();
  const RankModel model = make_rank_model(set, 0, Time{});
  EXPECT_EQ(
      piece_text(set, model),
      "outer[0,10) inner[10,20) cudaLaunchKernel[20,30) inner[30,60) next[60,80) outer[80,100) "
      "later[120,130) ");
  ASSERT_EQ(model.calls.size(), 1u);
  EXPECT_EQ(set.strings[model.trace->events.name[model.calls[0].op]], "inner");
  EXPECT_EQ(model.calls[0].first_piece, 2u);
  EXPECT_EQ(model.calls[0].last_piece, 2u);
}

TEST(RankModel, ACallInsideACallSplitsIt) {
  const TraceSet set =
      TraceText().call("cudaMemcpy", 0, 50, 1).call("cudaEventRecord", 10, 20, 2).read();
  const RankModel model = make_rank_model(set, 0, Time{});
  EXPECT_EQ(piece_text(set, model), "cudaMemcpy[0,10) cudaEventRecord[10,20) cudaMemcpy[20,50) ");
  EXPECT_EQ(model.calls[0].first_piece, 0u);
  EXPECT_EQ(model.calls[0].last_piece, 2u);
  EXPECT_EQ(model.calls[1].op, kNoIndex);
}

TEST(RankModel, ACallWithoutLengthStillHasAPiece) {
  const TraceSet set = TraceText().op("a", 0, 10).call("cudaEventRecord", 4, 4, 2).read();
  const RankModel model = make_rank_model(set, 0, Time{});
  EXPECT_EQ(piece_text(set, model), "a[0,4) cudaEventRecord[4,4) a[4,10) ");
}

TEST(RankModel, TimesAreOnTheCommonClock) {
  const TraceSet set = TraceText().launch(0, 10, 1).kernel("k", 12, 20, 7, 1).read();
  RankModel model = make_rank_model(set, 0, us(1000));
  EXPECT_EQ(model.calls[0].start, us(1000));
  EXPECT_EQ(model.gpu[0].start, us(1012));
  shift_gpu(model, us(3));
  EXPECT_EQ(model.gpu_offset, us(3));
  EXPECT_EQ(model.gpu[0].end, us(1023));
  shift_all(model, us(-10));
  EXPECT_EQ(model.host_offset, us(990));
  EXPECT_EQ(model.calls[0].end, us(1000));
  EXPECT_EQ(model.threads[0].pieces[0].start, us(990));
  EXPECT_EQ(model.gpu[0].start, us(1005));
}

TEST(RankModel, GpuRowsHangOnTheCallOfTheirCorrelation) {
  const TraceSet set = TraceText()
                           .launch(0, 5, 11)
                           .call("cudaGraphLaunch", 6, 9, 12)
                           .kernel("a", 8, 20, 7, 11)
                           .kernel("b", 21, 30, 7, 12)
                           .kernel("c", 22, 35, 9, 12)
                           .kernel("orphan", 40, 50, 7, 99)
                           .kernel("ncclKernel_AllReduce", 60, 70, 20)
                           .read();
  const RankModel model = make_rank_model(set, 0, Time{});
  ASSERT_EQ(model.gpu.size(), 5u);
  EXPECT_EQ(model.calls[0].gpu, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(model.calls[1].gpu, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(model.gpu[3].call, kNoIndex);
  EXPECT_FALSE(model.gpu[3].communication);
  EXPECT_TRUE(model.gpu[4].communication);
  ASSERT_EQ(model.streams.size(), 3u);
  EXPECT_EQ(model.streams[0].tasks, (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(model.gpu[3].order, 2u);
}

TEST(RankModel, RowsThatOverlapOnOneStreamGetALaneOfTheirOwn) {
  const TraceSet set = TraceText()
                           .launch(0, 1, 1)
                           .kernel("a", 10, 30, 7, 1)
                           .kernel("close behind", 28, 40, 7, 1)  // programmatic dependent launch
                           .kernel("beside", 33, 50, 7, 1)
                           .kernel("after", 41, 60, 7, 1)
                           .read();
  const RankModel model = make_rank_model(set, 0, Time{});
  ASSERT_EQ(model.streams.size(), 2u);
  EXPECT_EQ(model.streams[0].tasks, (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(model.streams[1].tasks, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(model.streams[1].lane, 1);
  EXPECT_EQ(model.streams[1].id, 7);
}

TEST(RankModel, ThousandsOfRowsOfOneMoment) {
  // Each kernel has a lane of its own, and each call the operator around all of them.
  constexpr int kRows = 30000;
  TraceText text;
  text.op("around", 0, 100);
  for (int i = 1; i <= kRows; ++i) text.launch(10, 20, i).kernel("k", 30, 40, 7, i);
  for (int i = 1; i <= 3; ++i) text.launch(50, 50, kRows + i).kernel("k", 60, 70, 7, kRows + i);
  const TraceSet set = text.read();
  const RankModel model = make_rank_model(set, 0, Time{});
  ASSERT_EQ(model.streams.size(), static_cast<std::size_t>(kRows));
  for (int lane = 0; lane < kRows; ++lane) {
    ASSERT_EQ(model.streams[static_cast<std::size_t>(lane)].lane, lane);
    // Of those that are free again, the first ones are taken.
    ASSERT_EQ(model.streams[static_cast<std::size_t>(lane)].tasks.size(), lane < 3 ? 2u : 1u);
  }
  const std::uint32_t around = model.calls.front().op;
  EXPECT_EQ(set.strings[set.traces[0].events.name[around]], "around");
  for (const Call& call : model.calls) ASSERT_EQ(call.op, around);
}

TEST(RankModel, PollingAloneMakesNoHostThread) {
  const TraceSet set = TraceText()
                           .launch(0, 5, 1)
                           .thread(2)
                           .call("cudaEventQuery", 1, 2)
                           .call("cudaEventQuery", 3, 4)
                           .thread(3)
                           .call("cudaEventQuery", 1, 2)
                           .call("cudaEventSynchronize", 3, 4)
                           .read();
  const RankModel model = make_rank_model(set, 0, Time{});
  EXPECT_EQ(model.threads.size(), 2u);
  EXPECT_EQ(model.polling_threads, 1u);
}

TEST(RankModel, ALongCallHandsItsWorkOverAtItsEnd) {
  const TraceSet set = TraceText()
                           .launch(0, 500, 1)
                           .launch(600, 1100, 2)
                           .launch(1200, 1240, 3)
                           .kernel("after a full queue", 495, 505, 7, 1)
                           .kernel("during the call", 700, 705, 7, 2)
                           .kernel("after a short call", 1241, 1250, 7, 3)
                           .read();
  const RankModel model = make_rank_model(set, 0, Time{});
  EXPECT_TRUE(launches_at_end(model, model.gpu[0]));
  EXPECT_FALSE(launches_at_end(model, model.gpu[1]));
  EXPECT_FALSE(launches_at_end(model, model.gpu[2]));
}

TEST(RankModel, WhatStartsBeforeItsLaunch) {
  const TraceSet set = TraceText()
                           .launch(10, 12, 1)
                           .launch(20, 22, 2)
                           .kernel("a clock step early", 9, 11, 7, 1)
                           .kernel("too early", 18, 30, 7, 2)
                           .read();
  const RankModel model = make_rank_model(set, 0, Time{});
  EXPECT_EQ(order_slack(*model.trace), us(1));
  EXPECT_FALSE(starts_before_launch(model, model.gpu[0]));
  EXPECT_TRUE(starts_before_launch(model, model.gpu[1]));
  const TraceSet fine = TraceText().launch(10.001, 12, 1).read();
  EXPECT_EQ(order_slack(fine.traces[0]), Time::from_ns(100));
}

// ---- any nesting --------------------------------------------------------------------------------

TEST(RankModel, CallsHoldNoOperators) {
  // By clocks of whole microseconds the copy's operator begins inside the call it makes.
  const TraceSet set = TraceText()
                           .call("cudaMemcpyAsync", 10, 500, 1)
                           .op("aten::copy_", 11, 502)
                           .copy("Memcpy DtoH (Device -> Pageable)", 20, 495, 7, 1, 1 << 20)
                           .read();
  const RankModel model = make_rank_model(set, 0, Time{});
  const std::vector<Piece>& pieces = model.threads.at(0).pieces;
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(set.strings[set.traces[0].events.name[pieces[0].row]], "cudaMemcpyAsync");
  EXPECT_EQ(pieces[0].end - pieces[0].start, us(490));
  EXPECT_EQ(pieces[1].end - pieces[1].start, us(2));
}

struct Span {
  int from, to;
  bool is_call;
};

/// Rows inside [from, to): siblings touch, stand apart or, as clocks of 1 us give it, overlap by 1
/// us.
void fill(std::vector<Span>& spans, const std::vector<int>& numbers, std::size_t& at, int from,
          int to, int depth) {
  const auto next = [&](int below) { return at < numbers.size() ? numbers[at++] % below : 0; };
  int now = from + next(3);
  while (now < to && at < numbers.size()) {
    const int end = std::min(now + next(12), to + (next(5) == 1 ? 1 : 0));
    const bool is_call = next(3) == 1;
    spans.push_back({now, std::max(now, end), is_call});
    if (depth < 4 && next(2) == 1) fill(spans, numbers, at, now, end, depth + 1);
    now = end + next(4) - (next(6) == 1 ? 1 : 0);
    if (now < from) now = from;
  }
}

// Every microsecond of a thread belongs to the innermost row open then, once; calls hold no
// operators. Pieces and gaps make up the whole span.
RC_GTEST_PROP(RankModelProperty, PiecesCoverEveryInstantOnce, ()) {
  const auto numbers = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 2520));
  std::vector<Span> spans;
  std::size_t at = 0;
  fill(spans, numbers, at, 0, 400, 0);
  TraceText text;
  for (const Span& s : spans) {
    s.is_call ? text.call("cudaLaunchKernel", s.from, s.to) : text.op("op", s.from, s.to);
  }
  if (spans.empty()) return;
  const TraceSet set = text.read();
  const RankModel model = make_rank_model(set, 0, Time{});
  const Events& ev = set.traces[0].events;
  RC_ASSERT(model.threads.size() == 1u);
  const std::vector<Piece>& pieces = model.threads[0].pieces;

  Time busy, gaps, last = Time{};
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    RC_ASSERT(pieces[p].start <= pieces[p].end);
    if (p > 0) RC_ASSERT(pieces[p - 1].end <= pieces[p].start);
    busy += pieces[p].end - pieces[p].start;
    gaps += pieces[p].start - last;
    last = pieces[p].end;
  }
  Time end, open;
  for (std::size_t r = 0; r < ev.size(); ++r) {
    // An operator without length owns no instant; a call has a piece all the same.
    if (ev.duration[r] > Time{} || is_host_call(ev.category[r])) end = std::max(end, ev.end(r));
  }
  std::size_t p = 0;
  for (std::int64_t t = 0; us(t) < end; ++t) {
    std::uint32_t owner = kNoIndex;
    bool in_call = false;
    for (std::uint32_t r = 0; r < ev.size(); ++r) {
      const bool holds = ev.start[r] <= us(t) && us(t) < ev.end(r);
      if (holds && (is_host_call(ev.category[r]) || !in_call)) owner = r;
      in_call = in_call || (holds && is_host_call(ev.category[r]));
    }
    if (owner != kNoIndex) open += us(1);
    while (p < pieces.size() && pieces[p].end <= us(t)) ++p;
    const bool inside = p < pieces.size() && pieces[p].start <= us(t);
    RC_ASSERT(inside == (owner != kNoIndex));
    if (inside) RC_ASSERT(pieces[p].row == owner);
  }
  RC_ASSERT(busy == open);
  RC_ASSERT(pieces.empty() || busy + gaps == end);
  for (const Call& call : model.calls) {
    RC_ASSERT(pieces[call.first_piece].row == call.row);
    RC_ASSERT(pieces[call.first_piece].start == call.start);
    RC_ASSERT(pieces[call.last_piece].row == call.row);
    RC_ASSERT(call.first_piece <= call.last_piece);
  }
}

}  // namespace
}  // namespace flopcast::replaying
