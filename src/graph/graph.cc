#include "flopcast/graph.h"

#include <algorithm>
#include <tuple>

namespace flopcast {

const char* task_kind_name(TaskKind kind) {
  static constexpr const char* kNames[] = {"operator",   "host_call", "launch",  "sync",
                                           "compute",    "copy",      "arrival", "transfer",
                                           "rendezvous", "event"};
  return kNames[static_cast<int>(kind)];
}

const char* edge_kind_name(EdgeKind kind) {
  static constexpr const char* kNames[] = {"launch", "stream",         "graph",
                                           "event",  "event_inferred", "occupancy",
                                           "sync",   "thread",         "rendezvous"};
  return kNames[static_cast<int>(kind)];
}

std::uint32_t GraphBuilder::add_processor(Processor::Kind kind, std::int32_t rank,
                                          std::int64_t id) {
  const auto first = static_cast<TaskId>(graph_.task_count());
  graph_.processors.push_back({kind, rank, id, first, first});
  return static_cast<std::uint32_t>(graph_.processors.size() - 1);
}

TaskId GraphBuilder::add_task(TaskKind kind, std::uint32_t name, Time duration, Time gap) {
  const auto id = static_cast<TaskId>(graph_.task_count());
  Processor& processor = graph_.processors.back();
  // A hub is on no processor's clock: hubs share one processor but not its order.
  const bool in_order = processor.kind != Processor::Kind::kHub && id != processor.first;
  processor.last = id + 1;
  graph_.duration.push_back(duration);
  graph_.gap.push_back(gap);
  graph_.processor.push_back(static_cast<std::uint32_t>(graph_.processors.size() - 1));
  graph_.name.push_back(name);
  graph_.kind.push_back(kind);
  graph_.launcher.push_back(kNoTask);
  graph_.pending.push_back(in_order ? 1 : 0);
  return id;
}

void GraphBuilder::add_wait(TaskId task, const std::vector<std::uint32_t>& sources, Time lag) {
  const auto first = static_cast<std::uint32_t>(graph_.wait_sources.size());
  graph_.wait_sources.insert(graph_.wait_sources.end(), sources.begin(), sources.end());
  graph_.waits.push_back(
      {task, first, static_cast<std::uint32_t>(graph_.wait_sources.size()), lag});
}

void GraphBuilder::reserve(std::size_t tasks, std::size_t edges) {
  graph_.duration.reserve(tasks);
  graph_.gap.reserve(tasks);
  graph_.processor.reserve(tasks);
  graph_.name.reserve(tasks);
  graph_.kind.reserve(tasks);
  graph_.launcher.reserve(tasks);
  graph_.pending.reserve(tasks);
  edges_.reserve(edges);
}

Graph GraphBuilder::build() && {
  Graph& g = graph_;
  // Counting sort by source keeps the given order among the edges of one source.
  g.edge_begin.assign(g.task_count() + 1, 0);
  for (const Edge& e : edges_) ++g.edge_begin[e.source + 1];
  for (std::size_t t = 0; t < g.task_count(); ++t) g.edge_begin[t + 1] += g.edge_begin[t];
  std::vector<std::uint32_t> at(g.edge_begin.begin(), g.edge_begin.end() - 1);
  g.edge_target.resize(edges_.size());
  g.edge_lag.resize(edges_.size());
  g.edge_info.resize(edges_.size());
  for (const Edge& e : edges_) {
    const std::uint32_t slot = at[e.source]++;
    g.edge_target[slot] = e.target;
    g.edge_lag[slot] = e.lag;
    g.edge_info[slot] =
        static_cast<std::uint8_t>(static_cast<int>(e.kind) | (e.from_start ? 0x80 : 0));
    ++g.pending[e.target];
  }
  std::sort(g.waits.begin(), g.waits.end(),
            [](const RuntimeWait& a, const RuntimeWait& b) { return a.task < b.task; });
  return std::move(graph_);
}

}  // namespace flopcast
