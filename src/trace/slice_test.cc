#include <gtest/gtest.h>

#include "flopcast/trace/io.h"
#include "support/sample_run.h"
#include "support/temporary_folder.h"
#include "trace/trace_dump.h"

namespace flopcast::trace {
namespace {

std::string row(const std::string& name, const char* cat, int ts, int dur,
                const std::string& args = "{}", const char* track = R"("pid": 1, "tid": 1)") {
  return R"({"ph": "X", "cat": ")" + std::string(cat) + R"(", "name": ")" + name + "\", " + track +
         ", \"ts\": " + std::to_string(ts) + ", \"dur\": " + std::to_string(dur) +
         ", \"args\": " + args + "}";
}

// Two steps; a kernel of step 1 runs into step 2, and a launch of step 2 has its kernel after the
// end.
std::string two_steps() {
  return "{\"baseTimeNanoseconds\": 5000, \"distributedInfo\": {\"rank\": 0}, \"traceEvents\": "
         "[\n" +
         row("ProfilerStep#1", "user_annotation", 100, 100) + ",\n" +
         row("ProfilerStep#2", "user_annotation", 200, 100) + ",\n" +
         row("op1", "cpu_op", 110, 20) + ",\n" + row("op2", "cpu_op", 210, 20) + ",\n" +
         row("launch1", "cuda_runtime", 112, 2, R"({"correlation": 1})") + ",\n" +
         row("launch1b", "cuda_runtime", 115, 2, R"({"correlation": 2})") + ",\n" +
         row("launch2", "cuda_runtime", 212, 2, R"({"correlation": 3})") + ",\n" +
         row("kernel1", "kernel", 130, 20, R"({"correlation": 1, "stream": 7})") + ",\n" +
         row("kernel1b", "kernel", 190, 20, R"({"correlation": 2, "stream": 7})") + ",\n" +
         row("kernel2", "kernel", 310, 20, R"({"correlation": 3, "stream": 7})") + ",\n" +
         R"({"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},)" +
         R"({"ph": "s", "id": 3, "pid": 1, "tid": 1, "ts": 212, "cat": "ac2g", "name": "ac2g"},)" +
         R"({"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 112, "cat": "ac2g", "name": "ac2g"})" +
         "\n], \"traceName\": \"x\\\"y\"}";
}

std::string names(const TraceSet& set, std::size_t trace = 0) {
  std::string out;
  for (const std::uint32_t name : set.traces[trace].events.name) {
    out += (out.empty() ? "" : " ") + std::string(set.strings[name]);
  }
  return out;
}

TEST(SliceTraces, AStepWithItsGpuRows) {
  const test::TemporaryFolder folder;
  const auto source = folder.write("a.json", two_steps());
  const auto set = read_traces({source});
  ASSERT_TRUE(set);
  Slice slice;
  slice.step = "2";
  const auto written = slice_traces(*set, slice, folder.path() / "cut");
  ASSERT_TRUE(written) << written.error().text();
  ASSERT_EQ(written->size(), 1U);
  const auto cut = read_traces({written->front()});
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_EQ(names(*cut), "launch1b kernel1b ProfilerStep#2 op2 launch2 kernel2");
  EXPECT_EQ(cut->traces[0].rank, 0);
  EXPECT_EQ(cut->traces[0].other_rows, 2U);  // the process name and one flow
  EXPECT_EQ(cut->traces[0].origin_ns, 5000 + 115000);
  EXPECT_TRUE(cut->traces[0].anomalies.empty()) << dump_anomalies(cut->traces[0].anomalies, true);
  const std::string text = test::read_text(written->front());
  EXPECT_NE(text.find(row("op2", "cpu_op", 210, 20)), std::string::npos);
  EXPECT_NE(text.find("\"traceName\": \"x\\\"y\""), std::string::npos);
}

TEST(SliceTraces, AnIntervalInSecondsAndABareArray) {
  const test::TemporaryFolder folder;
  const auto source = folder.write("a.json", "[" + row("a", "cpu_op", 1000, 10) + "," +
                                                 row("b", "cpu_op", 1020, 0) + "," +
                                                 row("c", "cpu_op", 1030, 10) + "]");
  const auto set = read_traces({source});
  ASSERT_TRUE(set);
  Slice slice;
  slice.from_s = 20e-6;
  slice.to_s = 30e-6;
  const auto written = slice_traces(*set, slice, folder.path() / "cut");
  ASSERT_TRUE(written) << written.error().text();
  const auto cut = read_traces({written->front()});
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_EQ(names(*cut), "b");
}

TEST(SliceTraces, OneRankOfAMergedFile) {
  const test::TemporaryFolder folder;
  const auto of = [](const char* name, int ts, const char* track, int rank) {
    return row(name, "cpu_op", ts, 1, "{\"rank\": " + std::to_string(rank) + "}", track);
  };
  const auto source =
      folder.write("all.json", R"({"traceEvents": [)" + of("a0", 10, R"("pid": 7, "tid": 1)", 0) +
                                   "," + of("a1", 30, R"("pid": 100000007, "tid": 1)", 1) + "," +
                                   of("b1", 40, R"("pid": 100000007, "tid": 1)", 1) + "]}");
  const auto set = read_traces({source});
  ASSERT_TRUE(set);
  ASSERT_EQ(set->traces.size(), 2U);
  Slice slice;
  slice.ranks = {1};
  slice.to_s = 25e-6;  // since the first row of the file, which is rank 0's
  const auto written = slice_traces(*set, slice, folder.path() / "cut");
  ASSERT_TRUE(written) << written.error().text();
  const auto cut = read_traces({written->front()});
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_EQ(names(*cut), "a1");
  EXPECT_EQ(cut->traces[0].rank, 1);
}

TEST(SliceTraces, NonsenseIsRefused) {
  const test::TemporaryFolder folder;
  const auto set = read_traces({folder.write("a.json", two_steps())});
  ASSERT_TRUE(set);
  const auto refusal = [&](const Slice& slice, const std::filesystem::path& directory) {
    const auto written = slice_traces(*set, slice, directory);
    return written ? "accepted" : written.error().text();
  };
  Slice step, rank, empty;
  step.step = "9";
  rank.ranks = {4};
  empty.from_s = 2;
  empty.to_s = 1;
  const auto cut = folder.path() / "cut";
  EXPECT_NE(refusal(step, cut).find("ProfilerStep#1, ProfilerStep#2"), std::string::npos);
  EXPECT_NE(refusal(rank, cut).find("none of the ranks"), std::string::npos);
  EXPECT_NE(refusal(empty, cut).find("is empty"), std::string::npos);
  EXPECT_NE(refusal({}, folder.path()).find("would overwrite"), std::string::npos);
  EXPECT_EQ(test::read_text(folder.path() / "a.json"), two_steps());
}

TEST(SliceTraces, EverythingIsKeptWhenNothingIsAskedFor) {
  const test::TemporaryFolder folder;
  const auto set = read_traces({test::sample_run() / "sample_rank0.json.gz"});
  ASSERT_TRUE(set);
  const auto written = slice_traces(*set, {}, folder.path());
  ASSERT_TRUE(written) << written.error().text();
  const auto again = read_traces(*written);
  ASSERT_TRUE(again);
  EXPECT_EQ(dump_set(*again, false), dump_set(*set, false));
}

}  // namespace
}  // namespace flopcast::trace
