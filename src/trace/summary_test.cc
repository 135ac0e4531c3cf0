// A summary tells what all rows tell, and never holds more than a piece of them.
#include "flopcast/trace/summary.h"

#include <gtest/gtest.h>

#include <string>

#include "flopcast/trace/io.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"

namespace flopcast {
namespace {

namespace fs = std::filesystem;

std::string text_of(const TraceSummary& t) {
  std::string text = t.path + " " + std::to_string(t.rank.value_or(-1)) + " " + t.backend + " " +
                     std::to_string(t.world_size.value_or(-1)) + " " + std::to_string(t.origin_ns) +
                     " " + std::to_string(t.clock_step.ps) + " " + std::to_string(t.bytes_read) +
                     " " + std::to_string(t.other_rows) + " " + std::to_string(t.devices.size()) +
                     " span " + std::to_string(t.span.ps);
  for (const std::uint64_t count : t.row_counts) text += " " + std::to_string(count);
  for (const std::uint64_t count : {t.gpu_rows, t.communication_rows, t.threads, t.streams}) {
    text += " " + std::to_string(count);
  }
  for (const StepLength& s : t.steps) text += "\n" + s.name + " " + std::to_string(s.length.ps);
  for (const GroupSummary& g : t.groups) {
    text += "\n" + g.name + " " + g.description + " " + g.ranks + " " + std::to_string(g.size) +
            " " + std::to_string(g.rows);
  }
  for (const bool flag : {t.has_steps, t.has_shapes, t.has_event_records, t.has_communication,
                          t.has_collectives, t.has_launch_shapes}) {
    text += flag ? " yes" : " no";
  }
  return text + "\n";
}

std::string text_of(const RunSummary& run) {
  std::string text = run.label + "\n";
  for (const TraceSummary& trace : run.traces) text += text_of(trace);
  for (const std::string& file : truncated_files(run)) text += file + "\n";
  return text;
}

SummaryOptions in_pieces(std::uint32_t rows) {
  SummaryOptions options;
  options.rows_at_once = rows;
  return options;
}

// What all rows together say, and what pieces of few rows say.
void expect_same(const std::vector<fs::path>& paths, std::uint32_t rows) {
  const auto whole = read_traces(paths);
  const auto pieces = summarise_traces(paths, in_pieces(rows));
  ASSERT_EQ(whole.ok(), pieces.ok()) << paths.front();
  if (!whole.ok()) {
    EXPECT_EQ(whole.error().text(), pieces.error().text());
    return;
  }
  EXPECT_EQ(text_of(summary_of(*whole)), text_of(*pieces)) << paths.front();
}

std::string row(const std::string& category, const std::string& name, int tid, int ts, int duration,
                const std::string& args) {
  return R"({"ph":"X","cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":)" +
         std::to_string(tid) + R"(,"ts":)" + std::to_string(ts) + R"(,"dur":)" +
         std::to_string(duration) + R"(,"args":{)" + args + "}}";
}

// Steps, one of them seen by two threads; launches of kernels, collectives of a group; operators.
std::string made_trace(int rank, int steps) {
  constexpr int kOfStep = 40;
  std::string text = R"({"distributedInfo":{"rank":)" + std::to_string(rank) +
                     R"(,"world_size":2,"backend":"nccl"},"traceEvents":[{"ph":"M","name":"n"})";
  for (int i = 0; i < steps * kOfStep; ++i) {
    const std::string id = std::to_string(i);
    const int ts = 1000 + 10 * i, tid = 2 + i % 3;
    text += ",\n" + row("cuda_runtime", i % 7 == 0 ? "cudaEventRecord" : "cudaLaunchKernel", tid,
                        ts, 3, R"("correlation":)" + id);
    text +=
        ",\n" + row("kernel", i % 5 == 0 ? "ncclDevKernel_AllReduce" : "gemm", 7, ts + 4, 5,
                    R"("stream":7,"device":0,"grid":[4,1,1],"correlation":)" + id +
                        (i % 5 == 0 ? R"(,"Collective name":"allreduce","Group size":2,)"
                                      R"("Process Group Name":"0","Process Group Ranks":"[0, 1]")"
                                    : ""));
    text += ",\n" + row("cpu_op", "aten::mm", tid, ts, 9, R"("Input Dims":"[[4]]")");
    if (i % kOfStep == 0) {
      const std::string step = "ProfilerStep#" + std::to_string(i / kOfStep);
      text += ",\n" + row("user_annotation", step, 2, ts, 10 * kOfStep, "");
      text += ",\n" + row("user_annotation", step, 3, ts + 1, 10 * kOfStep - 2, "");
    }
  }
  return text + "]}";
}

TEST(Summary, HoldsNoMoreRowsOfLongerOrMoreFiles) {
  const test::TemporaryFolder folder, packs;
  PackOptions small;
  small.rows_of_block = 50;
  for (const int steps : {4, 16}) {
    for (int rank = 0; rank < steps / 2; ++rank) {
      folder.write("rank" + std::to_string(rank) + ".json", made_trace(rank, steps));
    }
    expect_same({folder.path()}, 50);
    const auto pieces = summarise_traces({folder.path()}, in_pieces(50));
    ASSERT_TRUE(pieces.ok());
    EXPECT_EQ(pieces->most_rows, 50U);
    EXPECT_EQ(pieces->traces[0].steps.size(), static_cast<std::size_t>(steps));
    EXPECT_EQ(pieces->traces[0].threads, 3U);
    ASSERT_EQ(pieces->traces[0].groups.size(), 1U);
    EXPECT_EQ(pieces->traces[0].groups[0].rows, static_cast<std::uint64_t>(8 * steps));

    const fs::path pack = packs / (std::to_string(steps) + ".fcpack");
    ASSERT_TRUE(pack_traces({folder.path()}, pack, small).ok());
    expect_same({pack}, 1);
    EXPECT_LE(summarise_traces({pack})->most_rows, 51U);
  }
}

TEST(Summary, OfEveryKindOfRowIsThatOfAllRows) {
  const test::TemporaryFolder folder;
  for (const auto& seed : fs::directory_iterator("src/trace/kineto/corpus/kineto")) {
    for (const std::uint32_t rows : {1U, 3U, 1000U}) expect_same({seed.path()}, rows);
    const fs::path pack = folder / (seed.path().stem().string() + ".fcpack");
    PackOptions small;
    small.rows_of_block = 2;
    if (pack_traces({seed.path()}, pack, small).ok()) expect_same({pack}, 1);
  }
}

TEST(Summary, OfRealRunsIsThatOfAllRows) {
  FLOPCAST_SHARED_OR_SKIP(traces, "traces");
  for (const char* run : {"dlrm_8xv100_kineto_et", "odd_real/long_name.json.gz"}) {
    expect_same({traces / run}, 500);
  }
}

// Rows weeks apart, and rows that begin and end apart, say nothing alone: their file is read whole.
TEST(Summary, HoldsAFileWhereAPieceOfItSaysNothing) {
  const test::TemporaryFolder folder;
  const std::string head = R"({"traceEvents":[)", tail = "]}";
  std::string far = head + row("kernel", "k", 7, 1, 1, "");
  for (int i = 0; i < 9; ++i) far += "," + row("kernel", "k", 7, 2'000'000'000, 1, "");
  far.replace(far.find("\"ts\":1,"), 7, "\"ts\":1700000000000000,");
  const std::string apart =
      head + R"({"ph":"B","cat":"cpu_op","name":"a","pid":1,"tid":2,"ts":10},)" +
      row("cpu_op", "b", 2, 11, 1, "") + R"(,{"ph":"E","pid":1,"tid":2,"ts":30})";
  for (const std::string& text : {far + tail, apart + tail}) {
    const fs::path file = folder.write("rank0.json", text), pack = folder / "run.fcpack";
    expect_same({file}, 1);
    EXPECT_GT(summarise_traces({file}, in_pieces(1))->most_rows, 1U);
    ASSERT_TRUE(pack_traces({file}, pack).ok());
    expect_same({pack}, 1);
  }
}

// A file of two ranks, whose pids say which; where they do not, the file is one rank's.
TEST(Summary, SplitsMergedFiles) {
  const test::TemporaryFolder folder;
  for (const char* second : {"100000001", "1"}) {
    std::string text = R"({"traceEvents":[)" + row("cpu_op", "a", 2, 10, 5, R"("rank":0)");
    std::string other = row("cpu_op", "b", 2, 12, 9, R"("rank":1)");
    other.replace(other.find("\"pid\":1"), 7, std::string("\"pid\":") + second);
    text += "," + row("cpu_op", "c", 3, 11, 5, "") + "," + other + "]}";
    const fs::path file = folder.write("run.json", text);
    expect_same({file}, 1);
    EXPECT_EQ(summarise_traces({file}, in_pieces(1))->traces.size(), second[1] == '0' ? 2U : 1U);
  }
}

TEST(Summary, OfStepsIsThatOfTheirRows) {
  const test::TemporaryFolder folder;
  const fs::path file = folder.write("rank0.json", made_trace(0, 4)), pack = folder / "run.fcpack";
  PackOptions small;
  small.rows_of_block = 50;
  ASSERT_TRUE(pack_traces({file}, pack, small).ok());
  ReadOptions read;
  SummaryOptions options;
  read.steps = options.steps = {"1", "ProfilerStep#2"};
  const auto wanted = read_traces({file}, read);
  ASSERT_TRUE(wanted.ok());
  RunSummary of_file = *summarise_traces({file}, options),
             of_pack = *summarise_traces({pack}, options);
  EXPECT_EQ(text_of(of_file), text_of(summary_of(*wanted)));
  EXPECT_EQ(of_file.traces[0].steps.size(), 2U);
  of_pack.traces[0].path = of_file.traces[0].path;
  EXPECT_EQ(text_of(of_pack), text_of(of_file));
  options.steps = {"7", "7"};
  const auto none = summarise_traces({file}, options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().hint.find("ProfilerStep#3"), std::string::npos);
}

}  // namespace
}  // namespace flopcast
