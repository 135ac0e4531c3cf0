#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "flopcast/trace/io.h"
#include "support/shared_traces.h"
#include "trace/execution/trace.h"

namespace flopcast::trace {
namespace {

struct Linked {
  TraceSet set;
  LinkReport report;
  const Trace& trace() const { return set.traces[0]; }
  std::uint32_t row(const std::string& name) const {
    for (std::uint32_t i = 0; i < trace().events.size(); ++i) {
      if (set.strings[trace().events.name[i]] == name) return i;
    }
    ADD_FAILURE() << "no row " << name;
    return 0;
  }
  const OpDetail& op(const std::string& name) const {
    return trace().ops.at(trace().events.detail[row(name)]);
  }
  std::string text(std::uint32_t id) const { return std::string(set.strings[id]); }
};

std::string op_row(const std::string& name, int thread, int id, const std::string& args = "") {
  return R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","pid":1,"tid":)" +
         std::to_string(thread) + R"(,"ts":)" + std::to_string(id * 10) +
         R"(,"dur":1,"args":{"External id":)" + std::to_string(id) + args + "}}";
}

std::string node(const std::string& name, int thread, int rf_id, const std::string& inputs = "[]",
                 const std::string& shapes = "[]", const std::string& types = "[]") {
  return R"({"name":")" + name + R"(","id":)" + std::to_string(rf_id + 100) + R"(,"rf_id":)" +
         std::to_string(rf_id) + R"(,"tid":)" + std::to_string(thread) + R"(,"inputs":)" + inputs +
         R"(,"input_shapes":)" + shapes + R"(,"input_types":)" + types + "}";
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ",") + item;
  return "[" + out + "]";
}

Linked linked(const std::vector<std::string>& rows, const std::vector<std::string>& nodes) {
  Result<TraceSet> set = read_trace_text("{\"traceEvents\":" + joined(rows) + "}");
  EXPECT_TRUE(set.ok());
  Linked out{std::move(*set), {}};
  const auto execution =
      parse_execution_trace("{\"nodes\":" + joined(nodes) + "}", "et", out.set.strings);
  EXPECT_TRUE(execution.ok());
  out.report = link_execution_trace(out.set.traces[0], *execution, out.set.strings);
  return out;
}

TEST(ExecutionLink, ByRecordFunctionId) {
  const Linked link = linked(
      {op_row("a", 1, 1, R"(,"Record function id":20)"),
       op_row("b", 1, 2, R"(,"Record function id":10)"),
       op_row("c", 1, 3, R"(,"Record function id":30)")},
      {node("a", 9, 20, "[7]", "[[]]", R"(["Int"])"), node("b", 9, 10), node("not c", 9, 30)});
  EXPECT_EQ(link.report.by, "record function id");
  EXPECT_EQ(link.report.rows, 3u);
  EXPECT_EQ(link.report.linked, 2u);
  EXPECT_EQ(link.text(link.op("a").concrete_inputs), R"(["7"])");
}

TEST(ExecutionLink, ByOrderAroundGaps) {
  const Linked link =
      linked({op_row("x", 1, 1), op_row("a", 1, 2), op_row("b", 1, 3), op_row("c", 1, 4)},
             {node("root", 1, 0), node("a", 1, 1), node("c", 1, 5), node("b", 1, 3)});
  EXPECT_EQ(link.report.by, "order");
  EXPECT_EQ(link.report.linked, 3u);  // nodes are sorted by rf_id: a b c
  EXPECT_EQ(link.op("b").record_function_id, 3);
}

TEST(ExecutionLink, ThreadsAreMatchedApart) {
  // The same two threads, interleaved differently, with unrelated numbers.
  const Linked link = linked({op_row("a", 70, 1), op_row("p", 80, 2), op_row("q", 80, 3),
                              op_row("r", 80, 4), op_row("b", 70, 5), op_row("c", 70, 6)},
                             {node("a", 2, 1), node("b", 2, 2), node("c", 2, 3), node("p", 1, 4),
                              node("q", 1, 5), node("r", 1, 6)});
  EXPECT_EQ(link.report.linked, 6u);
}

TEST(ExecutionLink, NodesWithoutThreads) {
  const Linked link = linked({op_row("a", 70, 1), op_row("p", 80, 2), op_row("b", 70, 3)},
                             {node("a", 0, 1), node("p", 0, 2), node("b", 0, 3)});
  EXPECT_EQ(link.report.linked, 3u);
}

TEST(ExecutionLink, ArgumentsTakeTheFormOfKineto) {
  const Linked link = linked(
      {op_row("f", 1, 1)},
      {node(
          "f", 1, 1,
          R"([[1,2,0,6,2,"cuda:0"],5,0.5,true,"<None>","cuda:0",[4,-1],[[1,2,0,6,4,"cpu"]],[]])",
          "[[2,3],[],[],[],[],[],[[],[]],[[8]],[]]",
          R"json(["Tensor(c10::Half)","Int","Double","Bool","None","Device","GenericList[Int,Int]",
                "GenericList[Tensor(float)]","GenericList[]"])json")});
  EXPECT_EQ(
      link.text(link.op("f").input_types),
      R"(["c10::Half", "Scalar", "Scalar", "Scalar", "", "", "ScalarList", "TensorList", "ScalarList"])");
  EXPECT_EQ(link.text(link.op("f").input_dims), "[[2, 3], [], [], [], [], [], [], [[8]], []]");
  EXPECT_EQ(link.text(link.op("f").concrete_inputs),
            R"(["", "5", "0.5", "True", "", "", "[4, -1]", "", "[]"])");
}

TEST(ExecutionLink, WhatARowSaysItselfStays) {
  const Linked link = linked({op_row("f", 1, 1, R"(,"Input Dims":[[9]],"Input type":["int"])")},
                             {node("f", 1, 1, "[5]", "[[]]", R"(["Int"])")});
  EXPECT_EQ(link.text(link.op("f").input_dims), "[[9]]");
  EXPECT_EQ(link.text(link.op("f").input_types), R"(["int"])");
  EXPECT_EQ(link.text(link.op("f").concrete_inputs), R"(["5"])");
}

TEST(ExecutionLink, CollectivesGetNameSizeAndNumber) {
  const std::string name = "record_param_comms";
  const Linked link = linked(
      {op_row(name, 1, 1), op_row("w", 1, 2)},
      {node(name, 1, 1, R"([[[1,2,0,64,2,"cuda:0"]],337,93825,0,"allreduce",[],[],8])",
            "[[[4,16]],[],[],[],[],[],[],[]]",
            R"json(["GenericList[Tensor(c10::BFloat16)]","Int","Int","Int","String","GenericList[]",
                "GenericList[]","Int"])json"),
       node("w", 1, 2)});
  const CollectiveDetail& c =
      link.trace().collectives.at(link.trace().events.collective[link.row(name)]);
  EXPECT_EQ(link.text(c.name), "allreduce");
  EXPECT_EQ(link.text(c.dtype), "BFloat16");
  EXPECT_EQ(c.in_elements, 64);
  EXPECT_EQ(c.sequence, 337);
  EXPECT_FALSE(c.is_wait);
}

TEST(ExecutionLink, WaitsAreKnownByName) {
  const std::string name = "record_param_comms";
  const Linked link =
      linked({op_row(name, 1, 1)},
             {node(name, 1, 1, R"([337,0,0,"wait",[],[],1])", "[[],[],[],[],[],[],[]]",
                   R"(["Int","Int","Int","String","GenericList[]","GenericList[]","Int"])")});
  const CollectiveDetail& c = link.trace().collectives.at(0);
  EXPECT_TRUE(c.is_wait);
  EXPECT_EQ(c.sequence, 337);
}

TEST(ExecutionLink, NothingInCommon) {
  EXPECT_EQ(linked({op_row("a", 1, 1)}, {node("b", 1, 1)}).report.linked, 0u);
  EXPECT_EQ(linked({}, {}).report.linked, 0u);
}

// The rows that only the profiler wrote have no node; all others find theirs.
TEST(ExecutionLink, AllButTheProfilersOwnRows) {
  std::vector<std::string> rows = {op_row("profiler starts", 1, 1)}, nodes;
  constexpr int kLast = 4000;
  for (int id = 2; id < kLast; ++id) {
    const std::string name = "op" + std::to_string(id * id % 37);
    rows.push_back(op_row(name, 1 + id % 3 / 2, id));
    nodes.push_back(node(name, 1 + id % 3 / 2, id + 50));
  }
  rows.push_back(op_row("profiler ends", 1, kLast));
  const Linked link = linked(rows, nodes);
  EXPECT_EQ(link.report.by, "order");
  EXPECT_EQ(link.report.rows, nodes.size() + 2);
  EXPECT_EQ(link.report.linked, nodes.size());
}

// --- Recorded pairs: how many of the rows that both sides have are found ------------------------

struct Recorded {
  const char* folder;
  std::uint64_t rows, nodes, linked;
};

class ExecutionLinkRecorded : public testing::TestWithParam<Recorded> {};

TEST_P(ExecutionLinkRecorded, AllButTheProfilersOwnRows) {
  const Recorded& expected = GetParam();
  FLOPCAST_SHARED_OR_SKIP(folder, std::string("traces/") + expected.folder);
  for (int rank = 0; rank < 8; ++rank) {
    const std::string file = "rank" + std::to_string(rank) + ".json.gz";
    Result<TraceSet> set = read_traces({folder / ("kineto_" + file)});
    ASSERT_TRUE(set.ok());
    const auto execution = read_execution_trace(folder / ("et_" + file), set->strings);
    ASSERT_TRUE(execution.ok());
    const LinkReport report = link_execution_trace(set->traces[0], *execution, set->strings);
    EXPECT_EQ(report.by, "order");
    EXPECT_EQ(report.rows, expected.rows);
    EXPECT_EQ(report.nodes, expected.nodes);
    EXPECT_EQ(report.linked, expected.linked);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ExecutionLinkRecorded,
                         testing::Values(Recorded{"megatron_tp8_a100", 5424, 5424, 5422},
                                         Recorded{"dlrm_8xv100_kineto_et", 1673, 1675, 1672}));

// The recording has both: what the link would fill in must equal what the profiler wrote.
TEST(ExecutionLinkRecordedArguments, AgreeWithTheProfiler) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces/megatron_tp8_a100");
  Result<TraceSet> own = read_traces({folder / "kineto_rank0.json.gz"});
  ReadOptions bare;
  bare.keep_arguments = false;
  Result<TraceSet> filled = read_traces({folder / "kineto_rank0.json.gz"}, bare);
  ASSERT_TRUE(own.ok() && filled.ok());
  const auto execution = read_execution_trace(folder / "et_rank0.json.gz", filled->strings);
  ASSERT_TRUE(execution.ok());
  link_execution_trace(filled->traces[0], *execution, filled->strings);
  std::size_t equal = 0, different = 0;
  const Trace &a = own->traces[0], &b = filled->traces[0];
  for (std::size_t row = 0; row < a.events.size(); ++row) {
    if (a.events.category[row] != Category::kCpuOp) continue;
    const OpDetail &x = a.ops[a.events.detail[row]], &y = b.ops[b.events.detail[row]];
    if (x.input_dims == 0 || y.input_dims == 0) continue;
    const bool same = own->strings[x.input_dims] == filled->strings[y.input_dims] &&
                      own->strings[x.input_types] == filled->strings[y.input_types];
    ++(same ? equal : different);
  }
  // Kineto leaves lists of optional tensors (the indices of aten::index) empty; the link does not.
  EXPECT_EQ(equal, 4967u);
  EXPECT_EQ(different, 10u);
}

}  // namespace
}  // namespace flopcast::trace
