// Whole files: those that a script makes up, and where ../shared is at hand real traces, as recorded
// and damaged one way each. What damage comes to is tested row by row in reader_test.cc.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "flopcast/trace.h"
#include "support/sample_run.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"
#include "trace/trace_dump.h"

namespace flopcast::trace {
namespace {

constexpr int kRefused = -1;

/// What reading a damaged file comes to: how many rows, and the anomaly or words of the error that
/// say why.
struct Expected {
  int rows;
  std::string why;
};

// The undamaged source has 57 X rows; those cut from a larger file have more.
const std::map<std::string, Expected>& expected() {
  static const std::map<std::string, Expected> all = {
      {"truncated_text.json", {6740, "damaged_tail"}},
      {"truncated_gzip.json.gz", {6728, "truncated_gzip"}},
      {"corrupt_gzip.json.gz", {kRefused, "gzip checksum does not match"}},
      {"missing_tail_only.json", {57, "damaged_tail"}},
      {"concatenated_twice.json", {57, "text_after_document"}},
      {"garbage_after.json", {57, "text_after_document"}},
      {"empty.json", {kRefused, "empty"}},
      {"empty.json.gz", {kRefused, "empty"}},
      {"only_braces.json", {kRefused, "no \"traceEvents\""}},
      {"no_events.json", {0, ""}},
      {"top_level_null.json", {kRefused, "found 'n'"}},
      {"not_json.json", {kRefused, "found 'T'"}},
      {"bare_array.json", {57, ""}},
      {"gz_named_json.json", {57, ""}},
      {"plain_named.json.gz", {57, ""}},
      {"utf8_bom.json", {57, ""}},
      {"crlf.json", {57, ""}},
      {"lone_surrogate.json", {57, "bad_text"}},
      {"invalid_utf8.json", {57, "bad_text"}},
      {"raw_control_char.json", {57, "bad_text"}},
      {"ts_nan.json", {56, "bad_ts"}},
      {"dur_infinity.json", {56, "bad_dur"}},
      {"dur_negative.json", {57, "negative_dur"}},
      {"dur_missing.json", {57, "missing_dur"}},
      {"ts_dur_strings.json", {57, ""}},
      {"ts_word.json", {56, "bad_ts"}},
      {"ts_exponent.json", {57, ""}},
      {"duplicate_correlation_gpu.json", {57, "several_gpu_rows_per_launch"}},
      {"duplicate_correlation_runtime.json", {57, "duplicate_runtime_correlation"}},
      {"kernel_without_correlation.json", {57, "gpu_row_without_launch"}},
      {"kernel_orphan_correlation.json", {57, "gpu_row_without_launch"}},
      {"launches_missing.json", {54, "gpu_row_without_launch"}},
      {"launches_without_kernels.json", {54, "launch_without_gpu_row"}},
      {"kernel_before_launch.json", {57, "gpu_starts_before_launch"}},
      {"args_null.json", {57, "gpu_row_without_launch"}},
      {"args_array.json", {56, "bad_args"}},
      {"rows_not_objects.json", {57, "rows_not_objects"}},
      {"begin_without_end.json", {57, "unmatched_begin"}},
      {"shuffled_rows.json", {57, ""}},
      {"distributedInfo_wrong_types.json", {57, "bad_distributed_info"}},
      {"rank_outside_world.json", {57, "rank_outside_world"}},
      {"cpu_only.json", {7, ""}},
      {"gpu_only.json", {6, "gpu_row_without_launch"}},
      {"deep_nesting.json.gz", {kRefused, "nested deeper than 1024 levels"}},
      {"huge_number.json", {56, "huge_number"}},
      {"long_name.json.gz", {57, ""}},
      {"escaped_unicode_name.json", {57, ""}},
  };
  return all;
}

void check(const std::filesystem::path& path, const Expected& want) {
  const auto set = read_traces({path});
  if (want.rows == kRefused) {
    ASSERT_FALSE(set) << path;
    EXPECT_EQ(set.error().code, ErrorCode::kBadInput);
    EXPECT_NE(set.error().text().find(want.why), std::string::npos) << set.error().text();
    EXPECT_NE(set.error().text().find(path.filename().string()), std::string::npos);
    return;
  }
  ASSERT_TRUE(set) << set.error().text();
  ASSERT_EQ(set->traces.size(), 1U);
  const Trace& trace = set->traces[0];
  EXPECT_EQ(trace.events.size(), static_cast<std::size_t>(want.rows)) << path;
  if (want.why.empty()) {
    EXPECT_TRUE(trace.anomalies.empty()) << path << "\n" << dump_anomalies(trace.anomalies, true);
  } else {
    EXPECT_GE(trace.anomalies.count(want.why), 1U) << path;
  }
}

TEST(OddFiles, AnArchiveThatIsCutOrWrong) {
  const auto whole = read_traces({test::sample_run() / "sample_rank0.json.gz"});
  ASSERT_TRUE(whole) << whole.error().text();
  const std::string bytes = test::read_text(test::sample_run() / "sample_rank0.json.gz");
  const test::TemporaryFolder folder;
  const auto cut = read_traces({folder.write("cut.json.gz", bytes.substr(0, bytes.size() / 2))});
  ASSERT_TRUE(cut) << cut.error().text();
  EXPECT_GT(cut->traces[0].events.size(), 0U);
  EXPECT_LT(cut->traces[0].events.size(), whole->traces[0].events.size());
  EXPECT_EQ(cut->traces[0].anomalies.count("truncated_gzip"), 1U);
  constexpr std::size_t kTrailer = 8;  // checksum and length
  std::string wrong = bytes;
  wrong[wrong.size() - kTrailer] ^= 1;
  check(folder.write("wrong.json.gz", wrong), {kRefused, "gzip checksum does not match"});
}

TEST(OddFiles, EveryDamagedFileBehavesAsExpected) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces");
  std::ifstream list(folder / "odd_derived" / "expect.tsv");
  std::string line;
  std::size_t files = 0;
  while (std::getline(list, line)) {
    const std::string name = line.substr(0, line.find('\t'));
    if (name.empty()) continue;
    const auto known = expected().find(name);
    ASSERT_NE(known, expected().end()) << "no expectation for " << name;
    check(folder / "odd_derived" / name, known->second);
    ++files;
  }
  EXPECT_EQ(files, expected().size());
}

std::string rows_of(const std::filesystem::path& path) {
  const auto set = read_traces({path});
  return set ? dump_set(*set, false) : set.error().text();
}

TEST(OddFiles, HarmlessFormsReadLikeTheSource) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces");
  const std::string source =
      rows_of(folder / "cuda_sync_small" / "event_sync_multi_stream_a100.json.gz");
  for (const char* name :
       {"gz_named_json.json", "plain_named.json.gz", "utf8_bom.json", "crlf.json",
        "ts_dur_strings.json", "ts_exponent.json", "shuffled_rows.json"}) {
    EXPECT_EQ(rows_of(folder / "odd_derived" / name), source) << name;
  }
}

TEST(OddFiles, UnusualButRealFilesReadOrSayWhyNot) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces");
  for (const auto& entry : std::filesystem::directory_iterator(folder / "odd_real")) {
    if (entry.path().extension() != ".gz") continue;
    const auto set = read_traces({entry.path()});
    if (entry.path().filename() == "memory_timeline_not_a_trace.json.gz") {
      ASSERT_FALSE(set);
      EXPECT_NE(set.error().text().find("expected a Kineto trace"), std::string::npos);
    } else {
      ASSERT_TRUE(set) << set.error().text();
      EXPECT_GT(set->traces[0].events.size(), 0U) << entry.path();
    }
  }
}

std::uint64_t total(const TraceSet& set, std::initializer_list<Category> categories) {
  std::uint64_t sum = 0;
  for (const Trace& trace : set.traces) {
    for (const Category c : categories) sum += trace.row_counts[static_cast<int>(c)];
  }
  return sum;
}

// Counts made by an independent reader (Python's json module).
TEST(RealTraces, EightRanksOfNanogpt) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces");
  const auto set = read_traces({folder / "nanogpt_8xh100"});
  ASSERT_TRUE(set) << set.error().text();
  ASSERT_EQ(set->traces.size(), 8U);
  EXPECT_EQ(set->label, "nanogpt_8xh100");
  EXPECT_EQ(total(*set, {Category::kRuntime, Category::kDriver}), 41394U);
  EXPECT_EQ(total(*set, {Category::kKernel}), 25409U);
  std::uint64_t orphans = 0, rows = 0;
  for (std::size_t rank = 0; rank < 8; ++rank) {
    const Trace& trace = set->traces[rank];
    EXPECT_EQ(trace.rank, static_cast<std::int32_t>(rank));
    EXPECT_EQ(trace.devices.size(), 8U);
    EXPECT_EQ(trace.devices[0].sm_count, 132);
    EXPECT_EQ(trace.clock_step, Time::from_ns(1));
    EXPECT_EQ(find_steps(*set, trace).size(), 4U);
    orphans += trace.anomalies.count("gpu_row_without_launch");
    rows += trace.events.size() + trace.other_rows;
  }
  EXPECT_EQ(orphans, 6332U);
  EXPECT_EQ(rows, 220031U);
  EXPECT_TRUE(set->anomalies.empty()) << dump_anomalies(set->anomalies, true);
}

/// All that is read of a folder, with any number of threads.
std::string read_by_threads(const std::filesystem::path& folder) {
  const auto dump = [&folder](unsigned threads) {
    ReadOptions options;
    options.threads = threads;
    const auto set = read_traces({folder}, options);
    return set ? dump_set(*set, true) + std::to_string(set->strings.size()) : set.error().text();
  };
  std::string one = dump(1);
  // Not EXPECT_EQ: it would print both.
  EXPECT_TRUE(dump(2) == one);
  EXPECT_TRUE(dump(5) == one);
  return one;
}

TEST(SampleTraces, TheOrderOfThreadsDoesNotMatter) {
  EXPECT_NE(read_by_threads(test::sample_run()).find("ncclDevKernel"), std::string::npos);
}

TEST(RealTraces, TheOrderOfThreadsDoesNotMatter) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces/dlrm_8xv100_kineto_et");
  EXPECT_NE(read_by_threads(folder).find("execution_trace_skipped 8"), std::string::npos);
}

TEST(RealTraces, SeveralRunsInADirectoryMustBeChosen) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces");
  const auto directory = folder / "torchrec_dlrm_4xv100";
  const auto all = read_traces({directory});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, ErrorCode::kUsage);
  EXPECT_NE(all.error().text().find("sst_long_a2a_optimizer_5_qcomm.run1 (4 files)"),
            std::string::npos);
  const auto runs = list_runs(directory);
  ASSERT_TRUE(runs);
  EXPECT_EQ(runs->size(), 4U);
  const auto one = read_traces({directory}, {}, "sst_long_a2a_optimizer_5.run1");
  ASSERT_TRUE(one) << one.error().text();
  EXPECT_EQ(one->traces.size(), 4U);
  EXPECT_EQ(one->label, "sst_long_a2a_optimizer_5.run1");
  for (const char* single : {"single_gpu_h100_mi300", "cuda_sync_small", "resnet50_1xv100"}) {
    const auto singles = list_runs(folder / single);
    ASSERT_TRUE(singles);
    for (const auto& [label, files] : *singles) EXPECT_EQ(files.size(), 1U) << label;
  }
}

}  // namespace
}  // namespace flopcast::trace
