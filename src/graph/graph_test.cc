#include "flopcast/graph.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace flopcast::graph {
namespace {

Time us(std::int64_t n) { return Time::from_us(n); }

TEST(GraphBuilder, TasksOfAProcessorAreConsecutiveAndInOrder) {
  GraphBuilder builder;
  const auto thread = builder.add_processor(Processor::Kind::kThread, 3, 77);
  const TaskId a = builder.add_task(TaskKind::kOperator, 1, us(5), us(0));
  const TaskId b = builder.add_task(TaskKind::kLaunch, 2, us(6), us(2));
  const auto stream = builder.add_processor(Processor::Kind::kStream, 3, 7);
  const TaskId c = builder.add_task(TaskKind::kCompute, 3, us(9), us(0));
  builder.set_launcher(c, b);
  const Graph g = std::move(builder).build();

  ASSERT_EQ(g.task_count(), 3u);
  EXPECT_EQ(g.processors[thread].first, a);
  EXPECT_EQ(g.processors[thread].last, c);
  EXPECT_EQ(g.processors[stream].first, c);
  EXPECT_EQ(g.processors[stream].last, c + 1);
  EXPECT_EQ(g.processors[thread].rank, 3);
  EXPECT_EQ(g.processors[thread].id, 77);
  EXPECT_EQ(g.processor, (std::vector<std::uint32_t>{thread, thread, stream}));
  EXPECT_EQ(g.name, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(g.gap[b], us(2));
  EXPECT_EQ(g.launcher, (std::vector<TaskId>{kNoTask, kNoTask, b}));
}

TEST(GraphBuilder, PendingCountsProcessorOrderAndEdgesButNoOrderAmongHubs) {
  GraphBuilder builder;
  builder.add_processor(Processor::Kind::kStream, 0, 0);
  const TaskId a = builder.add_task(TaskKind::kCompute, 0, us(1), us(0));
  const TaskId b = builder.add_task(TaskKind::kCompute, 0, us(1), us(0));
  builder.add_processor(Processor::Kind::kHub, -1, 0);
  const TaskId hub = builder.add_task(TaskKind::kRendezvous, 0, us(0), us(0));
  const TaskId lonely = builder.add_task(TaskKind::kRendezvous, 0, us(0), us(0));
  builder.add_edge({a, hub, us(0), EdgeKind::kRendezvous, false});
  builder.add_edge({hub, b, us(0), EdgeKind::kRendezvous, false});
  builder.expect_arrivals(hub, 2);
  const Graph g = std::move(builder).build();
  EXPECT_EQ(g.pending[a], 0u);
  EXPECT_EQ(g.pending[b], 2u);
  EXPECT_EQ(g.pending[hub], 3u);
  EXPECT_EQ(g.pending[lonely], 0u);
}

TEST(GraphBuilder, EdgesAreGroupedBySourceInTheOrderGiven) {
  GraphBuilder builder;
  builder.add_processor(Processor::Kind::kThread, 0, 0);
  for (int i = 0; i < 4; ++i) builder.add_task(TaskKind::kOperator, 0, us(1), us(0));
  builder.add_edge({2, 3, us(-7), EdgeKind::kGraph, false});
  builder.add_edge({0, 3, us(1), EdgeKind::kOccupancy, true});
  builder.add_edge({2, 1, us(3), EdgeKind::kThread, false});
  builder.add_edge({0, 2, us(4), EdgeKind::kEvent, false});
  EXPECT_EQ(builder.edges().size(), 4u);
  const Graph g = std::move(builder).build();

  EXPECT_EQ(g.edge_begin, (std::vector<std::uint32_t>{0, 2, 2, 4, 4}));
  EXPECT_EQ(g.edge_target, (std::vector<TaskId>{3, 2, 3, 1}));
  EXPECT_EQ(g.edge_lag, (std::vector<Time>{us(1), us(4), us(-7), us(3)}));
  EXPECT_EQ(g.edge_kind(0), EdgeKind::kOccupancy);
  EXPECT_TRUE(g.edge_from_start(0));
  EXPECT_EQ(g.edge_kind(1), EdgeKind::kEvent);
  EXPECT_FALSE(g.edge_from_start(1));
  EXPECT_EQ(g.edge_kind(2), EdgeKind::kGraph);
  EXPECT_EQ(g.edge_count(), 4u);
}

TEST(GraphBuilder, EveryKindOfEdgeKeepsItsKindAndItsSide) {
  GraphBuilder builder;
  builder.add_processor(Processor::Kind::kThread, 0, 0);
  builder.add_task(TaskKind::kOperator, 0, us(1), us(0));
  builder.add_task(TaskKind::kOperator, 0, us(1), us(0));
  for (int k = 0; k < kEdgeKindCount; ++k) {
    builder.add_edge({0, 1, us(k), static_cast<EdgeKind>(k), k % 2 == 1});
  }
  const Graph g = std::move(builder).build();
  for (std::size_t k = 0; k < kEdgeKindCount; ++k) {
    EXPECT_EQ(g.edge_kind(k), static_cast<EdgeKind>(k));
    EXPECT_EQ(g.edge_from_start(k), k % 2 == 1);
  }
}

TEST(GraphBuilder, WaitsAreOrderedByTaskAndKeepTheirSources) {
  GraphBuilder builder;
  const auto thread = builder.add_processor(Processor::Kind::kThread, 0, 0);
  for (int i = 0; i < 3; ++i) builder.add_task(TaskKind::kSync, 0, us(1), us(0));
  builder.add_wait(2, {thread}, us(5));
  builder.add_wait(0, {thread, 1u | kFixedSource}, us(6));
  const Graph g = std::move(builder).build();
  ASSERT_EQ(g.waits.size(), 2u);
  EXPECT_EQ(g.waits[0].task, 0u);
  EXPECT_EQ(g.waits[0].lag, us(6));
  EXPECT_EQ(g.waits[0].last_source - g.waits[0].first_source, 2u);
  EXPECT_EQ(g.wait_sources[g.waits[0].first_source + 1], 1u | kFixedSource);
  EXPECT_EQ(g.waits[1].task, 2u);
  EXPECT_EQ(g.wait_sources[g.waits[1].first_source], thread);
}

TEST(GraphBuilder, AnEmptyGraphIsAGraph) {
  const Graph g = GraphBuilder().build();
  EXPECT_EQ(g.task_count(), 0u);
  EXPECT_EQ(g.edge_count(), 0u);
  EXPECT_EQ(g.edge_begin.size(), 1u);
}

TEST(GraphNames, AreDistinct) {
  std::set<std::string> names;
  for (int k = 0; k <= static_cast<int>(TaskKind::kRendezvous); ++k) {
    names.insert(task_kind_name(static_cast<TaskKind>(k)));
  }
  EXPECT_EQ(names.size(), 9u);
  names.clear();
  for (int k = 0; k < kEdgeKindCount; ++k) {
    names.insert(edge_kind_name(static_cast<EdgeKind>(k)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kEdgeKindCount));
}

}  // namespace
}  // namespace flopcast::graph
