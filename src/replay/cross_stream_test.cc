#include "flopcast/replay/cross_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;
using testing::HasSubstr;

constexpr Time kLatency = Time::from_us(4);

struct Found {
  TraceSet set;
  RankModel model;
  CrossStream cross;

  explicit Found(const TraceText& text)
      : set(text.read()),
        model(make_rank_model(set, 0, Time{})),
        cross(find_cross_stream(set, model, kLatency)) {}

  /// "a->b event" for every edge, in order.
  std::string edges() const {
    std::string out;
    const auto name = [&](std::uint32_t t) {
      return set.strings[model.trace->events.name[model.gpu[t].row]];
    };
    for (const GpuEdge& e : cross.edges) {
      out += fmt::format("{}{}->{} {}", out.empty() ? "" : ", ", name(e.source), name(e.target),
                         edge_kind_name(e.kind));
    }
    return out;
  }
};

TEST(CrossStream, ACudaSyncRowTellsStreamAndRecord) {
  // The record stands behind A on stream 7; what is put there later, and by whom, does not matter.
  const Found f(TraceText()
                    .launch(0, 5, 1)
                    .call("cudaEventRecord", 6, 7, 2)
                    .launch(10, 15, 3)
                    .call("cudaStreamWaitEvent", 20, 21, 4)
                    .launch(30, 35, 5)
                    .kernel("A", 10, 60, 7, 1)
                    .kernel("A2", 60, 70, 7, 3)
                    .kernel("B", 61, 90, 9, 5)
                    .sync_row("Stream Wait Event", 20, 21, 9, 7, 4, 2));
  EXPECT_EQ(f.edges(), "A->B event");
  EXPECT_EQ(f.cross.event.count, 0u);
}

TEST(CrossStream, ACudaSyncRowForWorkOutsideTheRecordingOrdersNothing) {
  const Found f(TraceText()
                    .call("cudaEventRecord", 0, 1, 2)
                    .call("cudaStreamWaitEvent", 3, 4, 4)
                    .launch(30, 35, 5)
                    .kernel("B", 61, 90, 9, 5)
                    .sync_row("Stream Wait Event", 3, 4, 9, 7, 4, 2));
  EXPECT_EQ(f.edges(), "");
  EXPECT_EQ(f.cross.unresolved, 0u);
}

TEST(CrossStream, ARecordBeforeAWaitIsOfTheWorkBeforeIt) {
  const Found f(TraceText()
                    .launch(0, 5, 1)
                    .call("cudaEventRecord", 6, 7, 2)
                    .call("cudaStreamWaitEvent", 8, 9, 3)
                    .launch(10, 15, 4)
                    .kernel("A", 10, 60, 7, 1)
                    .kernel("B", 62, 90, 9, 4));
  EXPECT_EQ(f.edges(), "A->B event");
}

TEST(CrossStream, AWaitForWorkOnTheSameStreamIsCountedAndAddsNothing) {
  const Found f(TraceText()
                    .launch(0, 5, 1)
                    .call("cudaEventRecord", 6, 7, 2)
                    .call("cudaStreamWaitEvent", 8, 9, 3)
                    .launch(10, 15, 4)
                    .kernel("A", 10, 60, 7, 1)
                    .kernel("B", 62, 90, 7, 4));
  EXPECT_EQ(f.edges(), "");
  EXPECT_EQ(f.cross.same_stream, 1u);
}

TEST(CrossStream, AnEdgeTheRecordingContradictsIsDroppedAndCounted) {
  const Found f(TraceText()
                    .launch(0, 5, 1)
                    .call("cudaEventRecord", 6, 7, 2)
                    .call("cudaStreamWaitEvent", 8, 9, 3)
                    .launch(10, 15, 4)
                    .kernel("A", 10, 60, 7, 1)
                    .kernel("B", 20, 90, 9, 4));
  EXPECT_EQ(f.edges(), "");
  EXPECT_EQ(f.cross.event.count, 1u);
  EXPECT_THAT(f.cross.event.example, HasSubstr("A on stream 7 ends 40.0 us after B on stream 9"));
}

TEST(CrossStream, AClockStepContradictsNothing) {
  const auto trace = [](double start) {
    return TraceText()
        .launch(0, 5, 1)
        .call("cudaEventRecord", 6, 7, 2)
        .call("cudaStreamWaitEvent", 8, 9, 3)
        .launch(10, 15, 4)
        .kernel("A", 10, 60, 7, 1)
        .kernel("B", start, 90, 9, 4);
  };
  EXPECT_EQ(Found(trace(59)).edges(), "A->B event");
  EXPECT_EQ(Found(trace(58)).cross.event.count, 1u);
}

/// A collective launched as NCCL's process group does: record and wait before, record and wait
/// after.
TraceText& all_reduce(TraceText& text, double at, std::int64_t correlation) {
  return text.op("nccl:all_reduce", at, at + 20)
      .call("cudaEventRecord", at + 1, at + 2)
      .call("cudaStreamWaitEvent", at + 3, at + 4)
      .launch(at + 5, at + 8, correlation)
      .call("cudaEventRecord", at + 9, at + 10)
      .call("cudaStreamWaitEvent", at + 11, at + 12);
}

TEST(CrossStream, ACollectiveWaitsForTheLaunchersWorkAndNcclsOwnPairIsIgnored) {
  TraceText text;
  text.launch(0, 5, 1);
  all_reduce(text, 10, 2).launch(40, 45, 3);
  text.kernel("A", 10, 60, 7, 1).kernel("ncclAllReduce", 61, 100, 20, 2).kernel("B", 62, 90, 7, 3);
  const Found f(text);
  EXPECT_EQ(f.edges(), "A->ncclAllReduce event");
  EXPECT_EQ(f.cross.nccl_own, 1u);
  EXPECT_EQ(f.cross.unresolved, 0u);
}

TEST(CrossStream, LoneWaitsTakeCollectivesFirstInFirstOut) {
  TraceText text;
  text.launch(0, 5, 1);
  all_reduce(text, 10, 2);
  all_reduce(text, 40, 3);
  text.launch(70, 75, 4)
      .call("cudaStreamWaitEvent", 80, 81)
      .launch(85, 90, 5)
      .call("cudaStreamWaitEvent", 92, 93)
      .launch(95, 99, 6)
      .kernel("A", 10, 60, 7, 1)
      .kernel("ncclFirst", 61, 200, 20, 2)
      .kernel("ncclSecond", 201, 300, 20, 3)
      .kernel("B", 80, 110, 7, 4)
      .kernel("C", 202, 230, 7, 5)
      .kernel("D", 302, 330, 7, 6);
  const Found f(text);
  EXPECT_EQ(f.edges(),
            "A->ncclFirst event, A->ncclSecond event, ncclFirst->C event_inferred, "
            "ncclSecond->D event_inferred");
}

TEST(CrossStream, FirstInFirstOutHoldsWithinTheGroupJustLaunchedOn) {
  // Two groups, each with its stream; the wait after a launch on stream 21 is for that group's
  // oldest.
  TraceText text;
  text.launch(0, 5, 1);
  all_reduce(text, 10, 2);
  all_reduce(text, 40, 3);
  text.call("cudaStreamWaitEvent", 65, 66)
      .launch(70, 75, 4)
      .kernel("A", 10, 60, 7, 1)
      .kernel("ncclGroup0", 61, 100, 20, 2)
      .kernel("ncclGroup1", 62, 120, 21, 3)
      .kernel("B", 122, 150, 7, 4);
  EXPECT_EQ(Found(text).edges(),
            "A->ncclGroup0 event, A->ncclGroup1 event, ncclGroup1->B event_inferred");
}

TEST(CrossStream, ASequenceNumberNamesTheCollectiveWaitedFor) {
  // work.wait() of the second collective comes first: first in, first out would be wrong.
  TraceText text;
  text.launch(0, 5, 1);
  all_reduce(text, 10, 2);
  all_reduce(text, 40, 3);
  text.op("record_param_comms", 70, 80, TraceText::collective_args(8, "0", "wait"))
      .call("cudaStreamWaitEvent", 72, 73)
      .launch(85, 90, 4)
      .kernel("A", 10, 60, 7, 1)
      .collective(61, 100, 20, 2, 7)
      .collective(101, 140, 20, 3, 8)
      .kernel("B", 142, 160, 7, 4);
  const Found f(text);
  ASSERT_EQ(f.cross.edges.size(), 3u);
  EXPECT_EQ(f.cross.edges[2].target, 3u);  // B
  EXPECT_EQ(f.cross.edges[2].source, 2u);
  EXPECT_EQ(f.cross.edges[2].kind, EdgeKind::kEvent);
}

TEST(CrossStream, WithoutRecordsACollectiveIsHeldByTheLastWork) {
  const Found f(TraceText()
                    .launch(0, 5, 1)
                    .op("nccl:all_to_all", 10, 30)
                    .call("cudaStreamWaitEvent", 12, 13)
                    .launch(15, 18, 2)
                    .kernel("A", 10, 60, 7, 1)
                    .kernel("ncclAllToAll", 61, 100, 20, 2));
  EXPECT_EQ(f.edges(), "A->ncclAllToAll event_inferred");
}

/// A pipeline's exchange by the main thread after a backward by autograd's.
TraceText exchange_after_backward(double backward_ends) {
  TraceText text;
  text.launch(0, 5, 1).thread(2).launch(10, 15, 2).thread(1);
  all_reduce(text, 20, 3);
  text.kernel("forward", 5, 10, 7, 1)
      .kernel("backward", 15, backward_ends, 7, 2)
      .kernel("ncclSendRecv", 41, 100, 20, 3);
  return text;
}

TEST(CrossStream, ARecordStandsForWhatAnotherThreadPutOnItsStream) {
  EXPECT_EQ(Found(exchange_after_backward(40)).edges(), "backward->ncclSendRecv event");
  // Where the recording says otherwise, for this thread's own work.
  EXPECT_EQ(Found(exchange_after_backward(60)).edges(), "forward->ncclSendRecv event");
}

TEST(CrossStream, AWaitHoldsWhatAnotherThreadPutsThereNext) {
  const auto edges = [](double starts) {
    TraceText text;
    all_reduce(text, 0, 1)
        .op("c10d::wait", 30, 35)
        .call("cudaStreamWaitEvent", 31, 32)
        .thread(2)
        .launch(40, 45, 2)
        .thread(1)
        .launch(50, 55, 3);
    text.kernel("ncclAllReduce", 10, 100, 20, 1)
        .kernel("autograd's", starts, 110, 7, 2)
        .kernel("own", 111, 120, 7, 3);
    return Found(text).edges();
  };
  EXPECT_EQ(edges(102), "ncclAllReduce->autograd's event_inferred");
  EXPECT_EQ(edges(80), "ncclAllReduce->own event_inferred");
}

TEST(CrossStream, RowsOfOneGraphAreOrderedAcrossStreamsByTime) {
  const Found f(TraceText()
                    .call("cudaGraphLaunch", 0, 5, 1)
                    .kernel("a", 10, 20, 7, 1)
                    .kernel("b", 21, 30, 8, 1)
                    .kernel("c", 21, 40, 7, 1)
                    .kernel("d", 41, 50, 8, 1));
  EXPECT_EQ(f.edges(), "a->b graph, c->d graph");
}

TEST(CrossStream, ALateKernelIsHeldByWhatFilledTheGpu) {
  const Found f(TraceText()
                    .launch(0, 5, 1)
                    .launch(6, 10, 2)
                    .kernel("wide", 10, 200, 7, 1)
                    .kernel("late", 195, 220, 9, 2));
  EXPECT_EQ(f.edges(), "wide->late occupancy");
}

TEST(CrossStream, APunctualKernelIsHeldByNothing) {
  const Found f(TraceText()
                    .launch(0, 5, 1)
                    .launch(6, 10, 2)
                    .kernel("wide", 10, 200, 7, 1)
                    .kernel("beside", 14, 40, 9, 2));
  EXPECT_EQ(f.edges(), "");
}

TEST(CrossStream, AWaitNothingExplainsIsUnresolved) {
  const Found f(
      TraceText().call("cudaStreamWaitEvent", 0, 1).launch(2, 4, 1).kernel("B", 10, 20, 7, 1));
  EXPECT_EQ(f.edges(), "");
  EXPECT_EQ(f.cross.unresolved, 1u);
}

}  // namespace
}  // namespace flopcast::replaying
