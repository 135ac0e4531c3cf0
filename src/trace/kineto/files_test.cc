#include "trace/kineto/files.h"

#include <gtest/gtest.h>

#include "flopcast/trace.h"
#include "support/temporary_folder.h"

namespace flopcast::trace {
namespace {

std::string trace_of_rank(const std::string& rank, const std::string& name = "a") {
  return R"({"distributedInfo":{"rank":)" + rank +
         R"(},"traceEvents":[{"ph":"X","cat":"cpu_op","name":")" + name +
         R"(","pid":1,"tid":1,"ts":1,"dur":1}]})";
}

TEST(TraceNames, RankAndRun) {
  EXPECT_EQ(rank_in_name("kineto_rank12.json.gz"), 12);
  EXPECT_EQ(rank_in_name("rank-3.pt.trace.json"), 3);
  EXPECT_EQ(rank_in_name("Rank_07.json"), 7);
  EXPECT_EQ(rank_in_name("sampled_rank1_of_128.json.gz"), 1);
  EXPECT_EQ(rank_in_name("frank5_rank2.json"), 2);
  EXPECT_FALSE(rank_in_name("rankings.json"));
  EXPECT_FALSE(rank_in_name("distributedInfo_without_rank.json.gz"));
  EXPECT_FALSE(rank_in_name("rank99999999999999.json"));
  EXPECT_EQ(run_of_name("sst_5.run1.rank0.json.gz"), "sst_5.run1");
  EXPECT_EQ(run_of_name("rank0.json.gz"), "");
  EXPECT_EQ(run_of_name("rank0_step5.json"), "step5");
  EXPECT_EQ(run_of_name("sampled_rank1_of_128.json.gz"), "sampled");
  EXPECT_EQ(run_of_name("h100_Qwen.json.gz"), "h100_Qwen");
}

TEST(TraceNames, ADirectoryIsOneRunWhateverLiesBesideIt) {
  const test::TemporaryFolder folder;
  folder.write("rank1.json", trace_of_rank("1"));
  folder.write("rank0.json", trace_of_rank("0"));
  folder.write("rank2.json", R"({"traceEvents":[{"ph")");
  folder.write("._rank0.json", std::string("\0\5\26\7", 4));
  folder.write("et_rank0.json", R"({"schema":"1.0.1","pid":1,"nodes":[{"id":1}]})");
  folder.write("config.json", R"({"layers": 3})");
  folder.write("empty.json", "");
  folder.write("notes.txt", "hello");
  const auto set = read_traces({folder.path()});
  ASSERT_TRUE(set) << set.error().text();
  ASSERT_EQ(set->traces.size(), 2U);
  EXPECT_EQ(set->traces[0].rank, 0);
  EXPECT_EQ(set->label, folder.path().filename().string());
  EXPECT_EQ(set->anomalies.count("execution_trace_skipped"), 1U);
  EXPECT_EQ(set->unreadable.size(), 3U);  // config, empty, and the broken third rank
}

TEST(TraceNames, TensorBoardFilesOfOneRecordingAreOneRun) {
  const test::TemporaryFolder folder;
  folder.write("hostA_11.1698955629431054031.pt.trace.json", trace_of_rank("0"));
  folder.write("hostA_12.1698955629431054099.pt.trace.json", trace_of_rank("1"));
  EXPECT_EQ(list_runs(folder.path())->size(), 1U);
  EXPECT_EQ(read_traces({folder.path()})->traces.size(), 2U);
  folder.write("hostA_11.1698955639431054031.pt.trace.json", trace_of_rank("0"));
  EXPECT_EQ(list_runs(folder.path())->size(), 2U);
  EXPECT_EQ(read_traces({folder.path()}).error().code, ErrorCode::kUsage);
}

TEST(TraceNames, APrefixChooses) {
  const test::TemporaryFolder folder;
  folder.write("a.rank0.json", trace_of_rank("0"));
  folder.write("ab.rank0.json", trace_of_rank("0"));
  EXPECT_EQ(read_traces({folder.path()}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(read_traces({folder.path()}, {}, "a")->label, "a");  // a whole label wins
  EXPECT_EQ(read_traces({folder.path()}, {}, "ab")->label, "ab");
  EXPECT_EQ(read_traces({folder.path()}, {}, "c").error().code, ErrorCode::kUsage);
}

TEST(TraceNames, RanksThatAreTakenOrMissing) {
  const test::TemporaryFolder folder;
  const auto first = folder.write("x.json", trace_of_rank("0", "x"));
  const auto again = folder.write("y.json", trace_of_rank("0", "y"));
  const auto named = folder.write("z_rank5.json", R"({"traceEvents":[]})");
  const auto set = read_traces({again, named, first});
  ASSERT_TRUE(set);
  ASSERT_EQ(set->traces.size(), 3U);
  EXPECT_EQ(set->traces[0].path, first.string());
  EXPECT_EQ(set->traces[1].rank, 1);
  EXPECT_EQ(set->traces[1].path, again.string());
  EXPECT_EQ(set->anomalies.count("duplicate_rank"), 1U);
  EXPECT_EQ(set->traces[2].rank, 5);
  EXPECT_EQ(set->traces[2].anomalies.count("rank_from_file_name"), 1U);
}

TEST(TraceNames, NothingReadIsAnError) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(read_traces({}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(read_traces({folder.path()}).error().code, ErrorCode::kBadInput);
  const auto missing = read_traces({folder.path() / "absent.json", folder.path() / "gone.json"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().text().find("absent.json"), std::string::npos);
  EXPECT_NE(missing.error().text().find("1 more"), std::string::npos);
  EXPECT_FALSE(list_runs(folder.path() / "absent"));
}

TEST(ReadThreads, ProgressEndsAtTheTotal) {
  const test::TemporaryFolder folder;
  for (int rank = 0; rank < 8; ++rank) {
    folder.write("rank" + std::to_string(rank) + ".json", trace_of_rank(std::to_string(rank)));
  }
  std::uint64_t last = 0, total = 0;
  bool falls = false;
  ReadOptions options;
  options.threads = 4;
  options.progress = [&](std::uint64_t done,
                         std::uint64_t all) {  // never called by two threads at once
    falls = falls || done < last;
    last = done;
    total = all;
  };
  ASSERT_TRUE(read_traces({folder.path()}, options));
  EXPECT_FALSE(falls);
  EXPECT_GT(total, 0U);
  EXPECT_EQ(last, total);
}

}  // namespace
}  // namespace flopcast::trace
