// Each test is one way traces are written, or broken, in the field. The texts are made up, as small
// as the point allows; odd_files_test.cc reads real files.
#include "trace/kineto/reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "trace/trace_dump.h"

namespace flopcast::trace {
namespace {

TraceSet read(const std::string& text, const ReadOptions& options = {}) {
  auto set = read_trace_text(text, "test", options);
  if (!set) {
    ADD_FAILURE() << set.error().text();
    return {};
  }
  return std::move(*set);
}
/// The rows between the brackets of an event array.
TraceSet read_rows(const std::string& rows, const ReadOptions& options = {}) {
  TraceSet set =
      read("{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [" + rows + "]}", options);
  if (set.traces.empty()) set.traces.emplace_back();
  return set;
}
std::string words_of_error(const std::string& text) {
  const auto set = read_trace_text(text, "test");
  return set ? "none" : set.error().text();
}
std::string names(const TraceSet& set, std::size_t trace = 0) {
  std::string out;
  for (const std::uint32_t name : set.traces[trace].events.name) {
    out += (out.empty() ? "" : " ") + std::string(set.strings[name]);
  }
  return out;
}
std::string op(const std::string& name, const std::string& ts, const std::string& more = "") {
  return R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","pid":1,"tid":1,"ts":)" + ts +
         R"(,"dur":1)" + more + "}";
}

// --- Clocks ----------------------------------------------------------------------------------

TEST(Kineto, WholeMicrosecondsSince1970) {
  const TraceSet set = read_rows(op("b", "1706850122846040") + "," + op("a", "1706850122846038"));
  const Trace& t = set.traces[0];
  EXPECT_EQ(names(set), "a b");
  EXPECT_EQ(t.origin_ns, 1706850122846038000);
  EXPECT_EQ(t.events.start[1], Time::from_us(2));
  EXPECT_EQ(t.events.duration[0], Time::from_us(1));
  EXPECT_EQ(t.clock_step, Time::from_us(1));
}

TEST(Kineto, NanosecondsSinceABaseThatFollowsTheRows) {
  const TraceSet set =
      read(R"({"traceEvents":[)" + op("a", "6322354305173.787") + "," +
           op("b", "6322354305173.789") + R"(],"baseTimeNanoseconds": 1759300074000000000})");
  EXPECT_EQ(set.traces[0].origin_ns, 1759300074000000000 + 6322354305173787);
  EXPECT_EQ(set.traces[0].events.start[1], Time::from_ns(2));
  EXPECT_EQ(set.traces[0].clock_step, Time::from_ns(1));
}

TEST(Kineto, QuarterMicrosecondsPrintedFromADouble) {
  const TraceSet set =
      read_rows(op("a", "1712195495519689.0") + "," + op("b", "1712195495519689.25"));
  EXPECT_EQ(set.traces[0].events.start[1], Time::from_ns(250));
  EXPECT_EQ(set.traces[0].clock_step, Time::from_ns(250));
}

TEST(Kineto, OneTimestampFarAwayDoesNotPushTheOthersOut) {
  const TraceSet set = read_rows(op("stray", "100") + "," + op("a", "1706850122846038") + "," +
                                 op("b", "1706850122846039"));
  EXPECT_EQ(names(set), "a b");
  EXPECT_EQ(set.traces[0].anomalies.count("far_from_other_rows"), 1U);
}

TEST(Kineto, ABaseThatOverflowsIsTold) {
  const TraceSet set = read(R"({"traceEvents":[)" + op("a", "9e15") +
                            R"(],"baseTimeNanoseconds": 9223372036854775807})");
  EXPECT_EQ(set.traces[0].anomalies.count("bad_base_time"), 1U);
}

// --- Rows ------------------------------------------------------------------------------------

TEST(Kineto, ParentsComeBeforeChildrenAndTiesKeepFileOrder) {
  const auto row = [](const char* name, int ts, int dur) {
    return R"({"ph":"X","cat":"cpu_op","name":")" + std::string(name) +
           R"(","pid":1,"tid":1,"ts":)" + std::to_string(ts) + ",\"dur\":" + std::to_string(dur) +
           "}";
  };
  const TraceSet set = read_rows(row("child", 5, 1) + "," + row("late", 9, 1) + "," +
                                 row("parent", 5, 4) + "," + row("twin", 5, 1));
  EXPECT_EQ(names(set), "parent child twin late");
}

TEST(Kineto, AnnotationsThat2021CallsOperators) {
  const char* names[] = {"ProfilerStep#5",
                         "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                         "Optimizer.step#SGD.step",
                         "Optimizer.zero_grad#SGD.zero_grad",
                         "DistributedDataParallel.forward",
                         "Optimizer",
                         "autograd::engine"};
  std::string rows;
  for (const char* name : names) {
    rows += std::string(rows.empty() ? "" : ",") + R"({"ph":"X","cat":"Operator","name":")" + name +
            R"(","pid":1,"tid":1,"ts":)" + std::to_string(rows.size()) + R"(,"dur":1})";
  }
  const TraceSet set = read_rows(rows);
  const Trace& t = set.traces[0];
  ASSERT_EQ(t.events.size(), 7U);
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(t.events.category[row], Category::kUserAnnotation) << names[row];
  }
  EXPECT_EQ(t.events.category[5], Category::kCpuOp);
  EXPECT_EQ(t.events.category[6], Category::kCpuOp);
  EXPECT_EQ(t.row_counts[static_cast<int>(Category::kUserAnnotation)], 5U);
}

TEST(Kineto, CategoriesOf2021AndTheirLowerCaseExternalId) {
  const TraceSet set = read_rows(
      R"({"ph":"X","cat":"Operator","name":"aten::mm","pid":25738,"tid":"25738","ts":1,"dur":9},
         {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":25738,"tid":"25738","ts":2,"dur":1,
          "args":{"cbid":211,"correlation":5,"external id":7,"external ts":1}},
         {"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":3,"dur":2,
          "args":{"device":0,"correlation":5,"external id":7,"grid":[50,2,1],"block":[256,1,1],
          "blocks per SM":0.625}},
         {"ph":"X","cat":"Memset","name":"Memset","pid":0,"tid":"stream 7","ts":6,"dur":1,
          "args":{"device":0,"stream":7,"correlation":6,"bytes":128}},
         {"ph":"i","s":"t","name":"[memory]","pid":25738,"tid":25738,"ts":1,"args":{"Bytes":4}})");
  const Trace& t = set.traces[0];
  ASSERT_EQ(t.events.size(), 4U);
  EXPECT_EQ(t.events.category[0], Category::kCpuOp);
  EXPECT_EQ(t.events.category[1], Category::kRuntime);
  EXPECT_EQ(t.events.category[2], Category::kKernel);
  EXPECT_EQ(t.events.category[3], Category::kMemset);
  EXPECT_EQ(t.events.external_id[1], 7);
  EXPECT_EQ(t.events.stream[2], 7);  // from the tid, as args do not say
  EXPECT_EQ(t.kernels[t.events.detail[2]].blocks, 100U);
  EXPECT_EQ(t.kernels[t.events.detail[2]].threads_per_block, 256U);
  EXPECT_EQ(t.kernels[t.events.detail[2]].blocks_per_sm, 0.625F);
  EXPECT_EQ(t.copies[t.events.detail[3]].bytes, 128);
  EXPECT_EQ(t.events.track[0], t.events.track[1]);
  EXPECT_EQ(t.other_rows, 1U);
  EXPECT_EQ(t.anomalies.count("bad_argument"), 0U);
  EXPECT_EQ(t.anomalies.count("gpu_row_without_launch"), 1U);  // the memset
}

TEST(Kineto, TidsAsTextAndAsNumberAreOneTrack) {
  const TraceSet set = read_rows(
      R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":"-1252714752","ts":1,"dur":1},
         {"ph":"X","cat":"cpu_op","name":"b","pid":"1","tid":-1252714752,"ts":2,"dur":1},
         {"ph":"M","name":"thread_name","pid":1,"tid":-1252714752,"ts":0,"args":{"name":"watchdog "}},
         {"ph":"M","name":"process_name","pid":1,"tid":0,"ts":0,"args":{"name":"python"}})");
  ASSERT_EQ(set.traces[0].tracks.size(), 1U);
  EXPECT_EQ(set.strings[set.traces[0].tracks[0].thread_name], "watchdog");
  EXPECT_EQ(set.strings[set.traces[0].tracks[0].process_name], "python");
}

TEST(Kineto, ManyTracksInTurn) {
  const std::vector<std::string> tids = {"1",       "2",      "stream 7", "a thread of a long name",
                                         "\\u0031", "-12345", "4",        "5",
                                         "6",       "7",      "8",        "9"};
  std::string rows;
  for (int i = 0; i < 60; ++i) {
    rows += std::string(i > 0 ? "," : "") + R"({"ph":"X","cat":"cpu_op","name":"a","pid":)" +
            std::to_string(i % 5) + R"(,"tid":")" + tids[static_cast<std::size_t>(i) % 12] +
            R"(","ts":)" + std::to_string(i) + R"(,"dur":1})";
  }
  const TraceSet set = read_rows(rows);
  const Trace& trace = set.traces[0];
  ASSERT_EQ(trace.events.size(), 60U);
  EXPECT_EQ(trace.tracks.size(), 55U);  // "\u0031" is "1"
  for (std::size_t row = 0; row < 60; ++row) {
    const Track& track = trace.tracks[trace.events.track[row]];
    EXPECT_EQ(set.strings[track.pid], std::to_string(row % 5));
    EXPECT_EQ(set.strings[track.tid], row % 12 == 4 ? "1" : tids[row % 12]);
  }
}

TEST(Kineto, GridsThatAreListsOfWholeNumbers) {
  const auto blocks_of = [](const std::string& grid) {
    const TraceSet set = read_rows(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,)"
                                   R"("dur":1,"args":{"stream":7,"grid":)" +
                                   grid + "}}");
    const Trace& trace = set.traces[0];
    const bool bad = trace.anomalies.count("bad_argument") > 0;
    return std::to_string(trace.kernels.at(0).blocks) + (bad ? " bad" : "");
  };
  EXPECT_EQ(blocks_of("[12288, 2, 1]"), "24576");
  EXPECT_EQ(blocks_of("[ 3,\n4 , 5]"), "60");
  EXPECT_EQ(blocks_of("[7.0, \"2\"]"), "14");
  EXPECT_EQ(blocks_of("[4294967295, 2]"), "8589934590");
  EXPECT_EQ(blocks_of("[3, 0]"), "0");
  for (const std::string grid : {"[]", "[3,]", "[3 4]", "[-3]", "{3}", "\"[3, 4]\"", "[[3]]", "3",
                                 "[99999999999, 99999999999]", "[1, x]"}) {
    EXPECT_EQ(blocks_of(grid), "0 bad") << grid;
  }
}

TEST(Kineto, AStreamOnATritonOperatorMakesNoKernelOfIt) {
  const TraceSet set = read_rows(
      R"({"ph":"X","cat":"cpu_op","name":"triton_poi","pid":1,"tid":1,"ts":1,"dur":1,
          "args":{"stream":0,"kernel_name":"triton_poi","num_warps":4}})");
  EXPECT_EQ(set.traces[0].events.category[0], Category::kCpuOp);
  EXPECT_EQ(set.traces[0].events.device[0], -1);
  EXPECT_EQ(set.traces[0].row_counts[static_cast<int>(Category::kKernel)], 0U);
}

TEST(Kineto, RocmHostRowsNameTheirStreamInHexadecimal) {
  const TraceSet set = read_rows(
      R"({"ph":"X","cat":"cuda_runtime","name":"hipMemcpyWithStream","pid":1,"tid":1,"ts":1,"dur":1,
          "args":{"cid":9,"correlation":3,"stream":"0x1f"}})");
  EXPECT_EQ(set.traces[0].events.stream[0], 31);
  EXPECT_EQ(set.traces[0].events.correlation[0], 3);
}

TEST(Kineto, PythonRowsAreCountedAndKeptOnlyOnDemand) {
  const std::string rows =
      R"({"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":1,"dur":5,"args":{"Python id":1}},)" +
      op("a", "2");
  const auto python = static_cast<std::size_t>(Category::kPythonFunction);
  const TraceSet without = read_rows(rows);
  EXPECT_EQ(names(without), "a");
  EXPECT_EQ(without.traces[0].row_counts[python], 1U);
  ReadOptions options;
  options.keep_python = true;
  const TraceSet with = read_rows(rows, options);
  EXPECT_EQ(names(with), "f a");
  EXPECT_EQ(with.traces[0].row_counts[python], 1U);
}

TEST(Kineto, ArgumentsOfAnOperator) {
  const std::string rows =
      op("aten::mm", "1",
         R"(,"args":{"External id":3,"Record function id":8,"Concrete Inputs":["","4"],
          "Input type":["long int",""],"Input Strides":[[1],[]],"Input Dims":[[4,2048],[]],"Ev Idx":2,
          "Sequence number":1661,"Fwd thread id":1})");
  const TraceSet set = read_rows(rows);
  const Trace& t = set.traces[0];
  const OpDetail& op_detail = t.ops.at(t.events.detail[0]);
  EXPECT_EQ(op_detail.sequence_number, 1661);
  EXPECT_EQ(op_detail.forward_thread, 1);
  EXPECT_EQ(op_detail.record_function_id, 8);
  EXPECT_EQ(set.strings[op_detail.input_dims], "[[4,2048],[]]");
  EXPECT_EQ(set.strings[op_detail.input_types], R"(["long int",""])");
  EXPECT_EQ(set.strings[op_detail.concrete_inputs], R"(["","4"])");
  ReadOptions options;
  options.keep_arguments = false;
  const TraceSet bare = read_rows(rows, options);
  EXPECT_EQ(bare.traces[0].ops[0].input_dims, 0U);
  EXPECT_EQ(bare.traces[0].ops[0].sequence_number, 1661);
}

TEST(Kineto, SyncRowsSayWhatIsWaitedFor) {
  const TraceSet set = read_rows(
      R"({"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":24,"ts":1,"dur":2,"args":{
          "cuda_sync_kind":"Stream Wait Event","wait_on_stream":20,"wait_on_cuda_event_record_corr_id":1385,
          "wait_on_cuda_event_id":19,"stream":24,"correlation":1389,"device":0}},
         {"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":-1,"ts":5,"dur":2,"args":{
          "stream":4294967295,"correlation":1400,"device":0}})");
  const Trace& t = set.traces[0];
  EXPECT_EQ(t.syncs[0].kind, SyncDetail::Kind::kStreamWaitEvent);
  EXPECT_EQ(t.syncs[0].wait_on_stream, 20);
  EXPECT_EQ(t.syncs[0].record_correlation, 1385);
  EXPECT_EQ(t.syncs[0].event_id, 19);
  EXPECT_EQ(t.events.stream[0], 24);
  EXPECT_EQ(t.syncs[1].kind, SyncDetail::Kind::kContextSync);
  EXPECT_EQ(t.events.stream[1], kNoStream);
  EXPECT_EQ(t.syncs[1].record_correlation, kNoId);
}

TEST(Kineto, CollectivesWithMetadata) {
  const TraceSet set = read_rows(op(
      "record_param_comms", "1",
      R"(,"args":{"Collective name":"allreduce","In msg nelems":8,"Out msg nelems":4,"dtype":"Float",
          "Group size":2,"Process Group Name":"13","Process Group Description":"default_pg",
          "Process Group Ranks":"[0, 1]","Seq":41,"Is asynchronized op":true,"Rank":1,
          "Concrete Inputs":["","40","13","1"]})"));
  const CollectiveDetail& c = set.traces[0].collectives.at(0);
  EXPECT_EQ(set.strings[c.name], "allreduce");
  EXPECT_EQ(set.strings[c.dtype], "Float");
  EXPECT_EQ(set.strings[c.group_name], "13");
  EXPECT_EQ(set.strings[c.group_desc], "default_pg");
  EXPECT_EQ(set.strings[c.group_ranks], "[0, 1]");
  EXPECT_EQ(c.group_size, 2);
  EXPECT_EQ(c.in_elements, 8);
  EXPECT_EQ(c.out_elements, 4);
  EXPECT_EQ(c.sequence, 41);
  EXPECT_TRUE(c.is_async);
  EXPECT_FALSE(c.is_wait);
  EXPECT_EQ(set.traces[0].rank, 0);  // "Rank" is no args.rank
}

TEST(Kineto, SequenceNumbersInsideConcreteInputs) {
  const auto inputs = [](const std::string& list) {
    return R"(,"args":{"Concrete Inputs":)" + list + "}";
  };
  const TraceSet set = read_rows(
      op("record_param_comms", "1",
         inputs(R"(["", "337", "93825114103440", "0", "", "[]", "[]", "8"])")) +
      "," + op("record_param_comms", "2", inputs(R"(["337", "0", "0", "", "[]", "[]", "1"])")) +
      "," +
      op("record_param_comms", "3", inputs(R"(["", "", "", "0", "", "[]", "[]", "0", "1", "8"])")));
  const auto& c = set.traces[0].collectives;
  EXPECT_EQ(c[0].sequence, 337);
  EXPECT_FALSE(c[0].is_wait);
  EXPECT_EQ(c[1].sequence, 337);
  EXPECT_TRUE(c[1].is_wait);
  EXPECT_EQ(c[2].sequence, kNoId);
}

TEST(Kineto, ForwardBackwardFlowsAreKeptOthersCounted) {
  const TraceSet set =
      read_rows(op("a", "1") +
                R"(,{"ph":"s","id":4,"pid":1,"tid":1,"ts":1,"cat":"fwdbwd","name":"fwdbwd"},
         {"ph":"f","id":4,"pid":1,"tid":2,"ts":9,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
         {"ph":"s","id":5,"pid":1,"tid":1,"ts":1,"cat":"ac2g","name":"ac2g"},
         {"ph":"f","id":5,"pid":0,"tid":7,"ts":3,"cat":"async","name":"launch","bp":"e"})");
  const Trace& t = set.traces[0];
  ASSERT_EQ(t.flows.size(), 2U);
  EXPECT_TRUE(t.flows[0].is_source);
  EXPECT_EQ(t.flows[1].id, 4);
  EXPECT_EQ(t.flows[1].time, Time::from_us(8));
  EXPECT_EQ(set.strings[t.tracks[t.flows[1].track].tid], "2");
  EXPECT_EQ(t.other_rows, 4U);
}

TEST(Kineto, BeginAndEndRowsBecomeOneRow) {
  const TraceSet set = read_rows(
      R"({"ph":"B","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":1},
         {"ph":"B","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":2},
         {"ph":"E","pid":1,"tid":1,"ts":5},
         {"ph":"E","pid":1,"tid":1,"ts":8},
         {"ph":"B","cat":"cpu_op","name":"never closed","pid":1,"tid":2,"ts":3},
         {"ph":"E","pid":1,"tid":3,"ts":8})");
  const Trace& t = set.traces[0];
  EXPECT_EQ(names(set), "outer inner");
  EXPECT_EQ(t.events.duration[0], Time::from_us(7));
  EXPECT_EQ(t.events.duration[1], Time::from_us(3));
  EXPECT_EQ(t.anomalies.count("unmatched_begin"), 1U);
  EXPECT_EQ(t.anomalies.count("unmatched_end"), 1U);
  EXPECT_EQ(t.row_counts[0], 2U);
}

TEST(Kineto, WindowEndAndStringPids) {
  const TraceSet set =
      read_rows(op("a", "10") +
                R"(,{"ph":"X","cat":"Trace","ts":9,"dur":100,"pid":"Spans","tid":"PyTorch Profiler",
          "name":"Profiler 0","args":{"Op count":0}},
         {"name":"Record Window End","ph":"i","s":"g","pid":"","tid":"","ts":29})");
  EXPECT_EQ(set.traces[0].window_end, Time::from_us(20));
  EXPECT_EQ(set.traces[0].row_counts[static_cast<int>(Category::kOther)], 1U);
}

TEST(Kineto, KeysOfARowInAnyOrder) {
  const TraceSet set = read_rows(
      R"({"args":{"correlation":5,"stream":7},"dur":2,"ts":3,"tid":7,"pid":0,"name":"k","cat":"kernel",
          "ph":"X"})");
  EXPECT_EQ(set.traces[0].events.correlation[0], 5);
  EXPECT_EQ(set.traces[0].events.category[0], Category::kKernel);
}

// --- Values that are not what they should be
// -------------------------------------------------------

TEST(Kineto, BadRowsCostOnlyThemselves) {
  const auto row = [](const std::string& times) {
    return R"({"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,)" + times + "},";
  };
  const TraceSet set = read_rows(
      row(R"("ts":NaN,"dur":1)") + row(R"("ts":"soon","dur":1)") + row(R"("dur":1)") +
      row(R"("ts":5,"dur":Infinity)") + row(R"("ts":5,"dur":null)") + row(R"("ts":1e300,"dur":1)") +
      row(R"("ts":5,"dur":1e300)") + row(R"("ts":5,"dur":9e15)") +
      R"({"cat":"cpu_op","name":"no phase","ts":5},null,7,"text",[1,{"a":[]}],)" + op("good", "5"));
  const Anomalies& seen = set.traces[0].anomalies;
  EXPECT_EQ(names(set), "good");
  EXPECT_EQ(seen.count("bad_ts"), 3U);
  EXPECT_EQ(seen.count("bad_dur"), 2U);
  EXPECT_EQ(seen.count("huge_number"), 3U);
  EXPECT_EQ(seen.count("row_without_phase"), 1U);
  EXPECT_EQ(seen.count("rows_not_objects"), 4U);
  EXPECT_EQ(set.traces[0].row_counts[0], 1U);
}

TEST(Kineto, RepairableRowsAreRepairedAndCounted) {
  const TraceSet set = read_rows(
      R"({"ph":"X","cat":"cpu_op","name":"minus","pid":1,"tid":1,"ts":1,"dur":-5},
         {"ph":"X","cat":"cpu_op","name":"without","pid":1,"tid":1,"ts":2},
         {"ph":"X","cat":"cpu_op","name":"text","pid":1,"tid":1,"ts":"3","dur":"4.5"},
         {"ph":"X","cat":"kernel","name":"args","pid":0,"tid":7,"ts":4,"dur":1,
          "args":{"stream":"seven","correlation":{},"grid":[1,"x",1]}},
         {"ph":"X","cat":"kernel","name":"null","pid":0,"tid":7,"ts":6,"dur":1,"args":null},
         {"ph":"X","cat":"kernel","name":"list","pid":0,"tid":7,"ts":7,"dur":1,"args":[1,2]})");
  const Trace& t = set.traces[0];
  EXPECT_EQ(names(set), "minus without text args null");
  EXPECT_EQ(t.events.duration[0], Time{});
  EXPECT_EQ(t.events.duration[2], Time::from_ns(4500));
  EXPECT_EQ(t.events.stream[3], 7);
  EXPECT_EQ(t.anomalies.count("negative_dur"), 1U);
  EXPECT_EQ(t.anomalies.count("missing_dur"), 1U);
  EXPECT_EQ(t.anomalies.count("bad_argument"), 3U);
  EXPECT_EQ(t.anomalies.count("bad_args"), 1U);
}

/// A kernel with these arguments, a row behind it.
TraceSet with_args(const std::string& args) {
  return read_rows(
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":4,"dur":1,"args":{)" + args +
      "}}," + op("behind", "9"));
}

TEST(Kineto, ABrokenFieldCostsThatFieldAlone) {
  for (const char* broken :
       {R"("stream": 7, "Process Group Description": , "correlation": 5)",
        R"("stream": 7, "Process Group Description": default pg, "correlation": 5)",
        R"("stream": 7, "Process Group Description": "a "quoted" one", "correlation": 5)",
        R"("stream": 7, "Process Group Description" "x", "correlation": 5)",
        R"("stream": 7, x: 3, "correlation": 5)", R"("stream": 7, "correlation": 5,)",
        R"("correlation": 5, "stream": 7, "Process Group Description": )"}) {
    const TraceSet set = with_args(broken);
    EXPECT_EQ(names(set), "k behind") << broken;
    const Trace& t = set.traces[0];
    EXPECT_EQ(t.anomalies.count("broken_field"), 1U) << broken;
    EXPECT_EQ(t.anomalies.count("damaged_tail"), 0U) << broken;
    EXPECT_EQ(t.events.stream[0], 7) << broken;
    EXPECT_EQ(t.events.correlation[0], 5) << broken;
  }
}

TEST(Kineto, WhatWasReadOfABrokenFieldIsNoValue) {
  const TraceSet args = with_args(R"("correlation": 12 34, "stream": 7)");
  EXPECT_EQ(args.traces[0].events.correlation[0], kNoId);
  EXPECT_EQ(args.traces[0].events.stream[0], 7);
  const TraceSet times =
      read_rows(R"({"ph":"X","cat":"cpu_op","name":"x","pid":1,"tid":1,"ts":5 6,"dur":1},)" +
                op("behind", "9"));
  EXPECT_EQ(names(times), "behind");
  EXPECT_EQ(times.traces[0].anomalies.count("broken_field"), 1U);
  EXPECT_EQ(times.traces[0].anomalies.count("bad_ts"), 1U);
}

TEST(Kineto, ManyRowsWithABrokenFieldAreMendedEach) {
  std::string rows;
  for (int i = 0; i < 100; ++i) {
    rows += R"({"ph":"X","cat":"cpu_op","name":"c","pid":1,"tid":1,"ts":)" +
            std::to_string(10 * i) +
            R"(,"dur":1,"args":{"Process Group Description": ,"Process Group Name":"0"}},)";
  }
  const TraceSet set = read_rows(rows + op("last", "2000"));
  EXPECT_EQ(set.traces[0].events.size(), 101U);
  EXPECT_EQ(set.traces[0].anomalies.count("broken_field"), 100U);
}

TEST(Kineto, NamesAreUnescapedAndCleaned) {
  const TraceSet set = read_rows(op(R"(q\"\\\u6838)", "1") + "," + op("a\xff", "2") + "," +
                                 op("a\xff", "3") + "," + op(R"(\ud800)", "4"));
  EXPECT_EQ(names(set), "q\"\\\u6838 a? a? \uFFFD");
  EXPECT_EQ(set.traces[0].events.name[1], set.traces[0].events.name[2]);
  EXPECT_EQ(set.traces[0].anomalies.count("bad_text"), 2U);
}

TEST(Kineto, TheSameNameEscapedOrNotIsTheSame) {
  const TraceSet set = read_rows(op(R"(a\/b)", "1") + "," + op("a/b", "2"));
  EXPECT_EQ(set.traces[0].events.name[0], set.traces[0].events.name[1]);
}

// --- Documents -----------------------------------------------------------------------------------

TEST(Kineto, TheWholeFileInOtherForms) {
  const std::string row = op("a", "1");
  EXPECT_EQ(names(read("[" + row + "]")), "a");
  EXPECT_EQ(names(read("\xef\xbb\xbf{\"traceEvents\":[" + row + "]}\r\n")), "a");
  EXPECT_EQ(names(read("{\"x\":{\"traceEvents\":[1]},\"traceEvents\":[" + row + ",]}")), "a");
  EXPECT_EQ(read("{\"traceEvents\": []}").traces[0].events.size(), 0U);
  EXPECT_EQ(read("[]").traces[0].events.size(), 0U);
}

TEST(Kineto, DamageKeepsTheRowsBeforeIt) {
  const std::string good =
      R"({"deviceProperties":[],"traceEvents":[)" + op("a", "1") + "," + op("b", "2");
  for (const char* tail : {"", ",", ",{", R"(,{"ph":"X","na)", R"(,{"ph":"X" "cat"})", "]", "],",
                           R"(],"tr)", "]]", "{}]}", ",}]}", R"(,{"ph":"X","name":"c)"}) {
    const TraceSet set = read(good + tail);
    EXPECT_EQ(names(set), "a b") << tail;
    EXPECT_EQ(set.traces[0].anomalies.count("damaged_tail"), 1U) << tail;
  }
  const TraceSet after = read(good + "]}{\"traceEvents\":[]}");
  EXPECT_EQ(after.traces[0].anomalies.count("text_after_document"), 1U);
  EXPECT_EQ(after.traces[0].anomalies.count("damaged_tail"), 0U);
}

TEST(Kineto, DamageNamesItsByte) {
  const TraceSet set = read("[" + op("a", "1") + ", %");
  ASSERT_EQ(set.traces[0].anomalies.count("damaged_tail"), 1U);
  const std::string first = set.traces[0].anomalies.list()[0].first;
  EXPECT_NE(first.find("byte " + std::to_string(op("a", "1").size() + 3)), std::string::npos)
      << first;
}

TEST(Kineto, WhatIsNoTraceIsRefusedWithAReason) {
  EXPECT_NE(words_of_error("").find("is empty"), std::string::npos);
  EXPECT_NE(words_of_error("null").find("found 'n' (byte 0"), std::string::npos);
  EXPECT_NE(words_of_error("{}").find("no \"traceEvents\""), std::string::npos);
  EXPECT_NE(words_of_error(R"({"a":1,"b":{}})").find("(a, b)"), std::string::npos);
  EXPECT_NE(words_of_error(R"({"traceEvents":null})").find("no \"traceEvents\""),
            std::string::npos);
  EXPECT_NE(words_of_error("[[-1,1],[2,3]]").find("none of the 2 elements"), std::string::npos);
  EXPECT_NE(words_of_error(R"({"traceEvents":[{"ph")").find("byte 16"), std::string::npos);
  EXPECT_NE(words_of_error(R"({"schema":"1.0.1","nodes":[]})").find("execution trace"),
            std::string::npos);
  const std::string utf16("{\0\"\0", 4);
  EXPECT_NE(words_of_error(utf16).find("UTF-16 (little-endian)"), std::string::npos);
  EXPECT_NE(words_of_error("\xff\xfe" + utf16).find("iconv -f UTF-16LE"), std::string::npos);
  EXPECT_NE(words_of_error(std::string("\xfe\xff\0{", 4)).find("big-endian"), std::string::npos);
  const std::string deep(100000, '[');
  EXPECT_NE(words_of_error("{\"traceEvents\":[" + deep).find("nested deeper"), std::string::npos);
  EXPECT_NE(words_of_error("{\"other\":" + deep).find("nested deeper"), std::string::npos);
}

TEST(Kineto, ARowLargerThanTheWindowMayBeIsAnError) {
  const std::string text = "[" + op(std::string(5000, 'x'), "1") + "]";
  const auto set = read_trace_text_in_windows(text, "test", {}, {64, 1024});
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().text().find("larger than the window limit"), std::string::npos);
}

TEST(Kineto, DistributedInfo) {
  const auto info = [](const std::string& json) {
    return read("{\"distributedInfo\":" + json + ",\"traceEvents\":[" + op("a", "1") + "]}");
  };
  const TraceSet good = info(R"({"backend":"nccl","rank":3,"world_size":"8"})");
  EXPECT_EQ(good.traces[0].rank, 3);
  EXPECT_EQ(good.traces[0].world_size, 8);
  EXPECT_EQ(good.traces[0].backend, "nccl");
  EXPECT_EQ(good.anomalies.count("ranks_missing"), 7U);
  const TraceSet wrong = info(R"({"backend":4,"rank":"zero","world_size":-1})");
  EXPECT_FALSE(wrong.traces[0].rank);
  EXPECT_EQ(wrong.traces[0].anomalies.count("bad_distributed_info"), 2U);
  EXPECT_EQ(info(R"({"rank":9,"world_size":2})").traces[0].anomalies.count("rank_outside_world"),
            1U);
  EXPECT_EQ(info("[]").traces[0].anomalies.count("bad_distributed_info"), 1U);
}

TEST(Kineto, MergedFilesAreSplitByRank) {
  const auto row = [](const char* name, int ts, const char* pid, const char* rank) {
    return R"({"ph":"X","cat":"cpu_op","name":")" + std::string(name) + R"(","pid":)" + pid +
           R"(,"tid":1,"ts":)" + std::to_string(ts) + R"(,"dur":1,"args":{"rank":)" + rank + "}}";
  };
  const TraceSet set = read(
      R"({"traceEvents":[{"ph":"M","name":"process_name","pid":103194583,"tid":0,"args":{"name":"python"}},)" +
      row("b1", 7, "103194583", "1") + "," + row("a0", 3, "3194580", "0") + "," +
      row("a1", 5, "103194583", "1") + "," +
      R"({"ph":"X","cat":"kernel","name":"no args","pid":100000000,"tid":7,"ts":6,"dur":1},
         {"ph":"s","id":1,"pid":103194583,"tid":1,"ts":5,"cat":"fwdbwd","name":"fwdbwd"}]})");
  ASSERT_EQ(set.traces.size(), 2U);
  EXPECT_EQ(set.traces[0].rank, 0);
  EXPECT_EQ(names(set, 0), "a0");
  EXPECT_EQ(set.traces[1].rank, 1);
  EXPECT_EQ(names(set, 1), "a1 no args b1");
  EXPECT_EQ(set.traces[1].origin_ns, 5000);
  EXPECT_EQ(set.traces[1].flows.size(), 1U);
  const Track& track = set.traces[1].tracks[set.traces[1].events.track[0]];
  EXPECT_EQ(set.strings[track.pid], "3194583");
  EXPECT_EQ(set.strings[track.process_name], "python");
  EXPECT_EQ(set.traces[1].row_counts[static_cast<int>(Category::kKernel)], 1U);
}

TEST(Kineto, AnArgumentCalledRankInOneRanksFileMeansNothing) {
  const TraceSet set = read_rows(op("a", "1", R"(,"args":{"rank":3})") + "," +
                                 op("b", "2", R"(,"args":{"rank":5})"));
  ASSERT_EQ(set.traces.size(), 1U);
  EXPECT_EQ(set.traces[0].rank, 0);
}

// --- Across rows ---------------------------------------------------------------------------------

std::string call(int ts, int correlation, const char* name = "cudaLaunchKernel") {
  return R"({"ph":"X","cat":"cuda_runtime","name":")" + std::string(name) +
         R"(","pid":1,"tid":1,"ts":)" + std::to_string(ts) + R"(,"dur":1,"args":{"correlation":)" +
         std::to_string(correlation) + "}}";
}
std::string kernel(int ts, int dur, int correlation) {
  return R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" + std::to_string(ts) +
         R"(,"dur":)" + std::to_string(dur) + R"(,"args":{"stream":7,"correlation":)" +
         std::to_string(correlation) + "}}";
}

TEST(Checks, LaunchesAndTheirGpuRows) {
  const TraceSet set = read_rows(
      call(1, 10) + "," + kernel(5, 1, 10) + "," + kernel(6, 1, 10) + "," +  // two rows, one launch
      call(11, 20) + "," + call(12, 20) + "," + kernel(20, 1, 20) + "," +    // two launches, one id
      call(31, 30) + "," + call(33, 31, "cudaEventRecord") + "," +           // leads nowhere
      kernel(41, 1, 40) + "," + kernel(44, 1, -1) + "," +                    // from nowhere
      call(60, 50) + "," + kernel(55, 1, 50));                               // before its launch
  const Anomalies& seen = set.traces[0].anomalies;
  EXPECT_EQ(seen.count("several_gpu_rows_per_launch"), 1U);
  EXPECT_EQ(seen.count("duplicate_runtime_correlation"), 1U);
  EXPECT_EQ(seen.count("launch_without_gpu_row"), 1U);
  EXPECT_EQ(seen.count("gpu_row_without_launch"), 2U);
  EXPECT_EQ(seen.count("gpu_starts_before_launch"), 1U);
  EXPECT_EQ(seen.count("kernels_overlap_in_stream"), 0U);
}

TEST(Checks, OverlapsBeyondTheClockStep) {
  const auto row = [](int ts, int dur) {
    return R"({"ph":"X","cat":"cpu_op","name":"o","pid":1,"tid":1,"ts":)" + std::to_string(ts) +
           R"(,"dur":)" + std::to_string(dur) + "}";
  };
  const TraceSet set = read_rows(row(0, 10) + "," + row(2, 9) + "," +  // 1 us out: the clock's step
                                 row(20, 10) + "," + row(25, 8) + "," +  // 3 us out
                                 call(1, 1) + "," + kernel(30, 5, 1) + "," + kernel(33, 5, 1) +
                                 "," + kernel(37, 1, 1));
  EXPECT_EQ(set.traces[0].anomalies.count("child_outlasts_parent"), 1U);
  EXPECT_EQ(set.traces[0].anomalies.count("kernels_overlap_in_stream"), 1U);
}

// --- Steps ---------------------------------------------------------------------------------------

TEST(Steps, AnnotationsOrElseTheWholeWindow) {
  const TraceSet set = read_rows(
      R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":1,"ts":10,"dur":10},
         {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#4","pid":0,"tid":7,"ts":12,"dur":10},
         {"ph":"X","cat":"user_annotation","name":"ProfilerStep#4","pid":1,"tid":2,"ts":11,"dur":8},
         {"ph":"X","cat":"Operator","name":"ProfilerStep#5","pid":1,"tid":1,"ts":20,"dur":5})");
  const auto steps = find_steps(set, set.traces[0]);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].name, "ProfilerStep#4");
  EXPECT_EQ(steps[0].end, Time::from_us(10));
  EXPECT_EQ(steps[1].start, Time::from_us(10));
  const TraceSet none = read_rows(op("a", "5") + "," + op("b", "9"));
  const auto window = find_steps(none, none.traces[0]);
  ASSERT_EQ(window.size(), 1U);
  EXPECT_EQ(window[0].event, kNoDetail);
  EXPECT_EQ(window[0].end, Time::from_us(5));
}

// --- Properties ----------------------------------------------------------------------------------

/// A text with everything in it that windows could cut in two.
std::string awkward_text() {
  std::string rows =
      op("a", "1") + " ,\n" + op(R"(esc\\\"aped \u6838)", "2.125") + "," +
      op("brackets ]}{[ , in a name", "3") + "," + call(4, 10) + "," + kernel(5, 3, 10) +
      R"(,{"ph":"s","id":4,"pid":1,"tid":1,"ts":1,"cat":"fwdbwd","name":"fwdbwd"},)" +
      R"({"ph":"X","cat":"python_function","name":"f","args":{"deep":[[[{"x":"]"}]]]}},)" +
      op("a\xff\x01", "6", R"(,"args":{"Input Dims":[[1,2],[]],"other":{"a":"\\"}})") +
      R"(,null,-1.5e3,"element",[{}],)" + op("z", "7");
  return "\xef\xbb\xbf { \"schemaVersion\" : 1, \"x\": {\"y\": [\"]}\\\"\", 2]}, "
         "\"distributedInfo\": "
         "{\"rank\": 2, \"world_size\": 4}, \"traceEvents\" : [ " +
         rows + " ] , \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": 1000 }\n";
}

std::string result_in_windows(const std::string& text, std::size_t window) {
  const auto set = read_trace_text_in_windows(text, "test", {}, {window, std::size_t{1} << 20});
  return set ? dump_set(*set, true) : set.error().text();
}

TEST(Windows, TheirSizeDoesNotMatter) {
  const std::string text = awkward_text();
  const std::string whole = result_in_windows(text, 1 << 20);
  EXPECT_NE(whole.find("rank 2 of 4"), std::string::npos) << whole;
  for (std::size_t window = 16; window < 600; ++window) {
    ASSERT_EQ(result_in_windows(text, window), whole) << "window of " << window;
  }
}

TEST(Windows, NeitherDoesItWhereTheTextIsCutOff) {
  const std::string text = awkward_text();
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string cut = text.substr(0, length);
    const std::string whole = result_in_windows(cut, 1 << 20);
    for (const std::size_t window : {16U, 64U, 257U}) {
      ASSERT_EQ(result_in_windows(cut, window), whole)
          << "cut to " << length << ", window " << window;
    }
  }
}

RC_GTEST_PROP(Windows, OrWhereBytesAreWrong, ()) {
  std::string text = awkward_text();
  const auto changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) {
    const auto place = *rc::gen::inRange<std::size_t>(0, text.size());
    const std::string bytes(
        "\"{}[],:\\ \x00\xff"
        "0eN",
        14);
    text[place] = *rc::gen::elementOf(bytes);
  }
  const auto window = *rc::gen::inRange<std::size_t>(16, 4096);
  RC_ASSERT(result_in_windows(text, window) == result_in_windows(text, 1 << 20));
}

RC_GTEST_PROP(Rows, TheirOrderInTheFileDoesNotMatter, ()) {
  const auto count = *rc::gen::inRange(0, 40);
  std::vector<std::string> rows;
  for (int i = 0; i < count; ++i) {
    const int ts = i * 3 + *rc::gen::inRange(0, 3);  // no two rows start and end together
    const int correlation = *rc::gen::inRange(0, 10);
    rows.push_back(
        *rc::gen::element(call(ts, correlation), kernel(ts, 2, correlation),
                          op("op" + std::to_string(correlation), std::to_string(ts),
                             R"(,"args":{"Input Dims":[[)" + std::to_string(correlation) + "]]}")));
  }
  const auto dump = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& row : list) text += (text.empty() ? "" : ",") + row;
    const TraceSet set = read_rows(text);
    return dump_set(set, false) + std::to_string(set.strings.size());
  };
  std::vector<std::string> shuffled = rows;
  for (std::size_t i = shuffled.size(); i > 1; --i) {
    std::swap(shuffled[i - 1], shuffled[*rc::gen::inRange<std::size_t>(0, i)]);
  }
  RC_ASSERT(dump(rows) == dump(shuffled));
}

}  // namespace
}  // namespace flopcast::trace
