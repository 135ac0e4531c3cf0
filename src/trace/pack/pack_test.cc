// A pack gives what its traces gave, and what is no longer what was written is told.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <string>

#include "base/pack/columns.h"
#include "flopcast/trace/io.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"
#include "trace/pack/block.h"
#include "trace/pack/index.h"
#include "trace/pack/reader.h"
#include "trace/trace_dump.h"

namespace flopcast::trace {
namespace {

namespace fs = std::filesystem;

std::vector<ReadOptions> ways_to_read() {
  std::vector<ReadOptions> ways(3);
  ways[1].keep_python = true;
  ways[2].keep_arguments = false;
  return ways;
}

// Examples of oddities name the file, which a pack has another path of.
void expect_same(const std::vector<fs::path>& traces, const fs::path& pack) {
  for (const ReadOptions& options : ways_to_read()) {
    const auto wanted = read_traces(traces, options), got = read_traces({pack}, options);
    ASSERT_TRUE(wanted.ok() && got.ok()) << pack;
    EXPECT_TRUE(dump_set(*wanted, false) == dump_set(*got, false))
        << pack << (options.keep_python ? " with Python" : "");
    for (std::size_t i = 0; i < wanted->traces.size(); ++i) {
      const Trace &a = wanted->traces[i], &b = got->traces[i];
      EXPECT_TRUE(std::equal(std::begin(a.row_counts), std::end(a.row_counts), b.row_counts));
      EXPECT_EQ(a.bytes_read, b.bytes_read);
      EXPECT_EQ(fs::path(a.path).filename(), fs::path(b.path).filename());
    }
  }
}

std::string row_text(int i) {
  const std::string n = std::to_string(i), ts = std::to_string(1000000 + 7 * i);
  switch (i % 4) {
    case 0:
      return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":)" +
             ts + R"(.25,"dur":3,"args":{"correlation":)" + n + "}}";
    case 1:
      return R"({"ph":"X","cat":"kernel","name":"k)" + std::to_string(i % 97) +
             R"(","pid":0,"tid":7,"ts":)" + ts + R"(,"dur":2,"args":{"stream":7,"correlation":)" +
             n + R"(,"grid":[4,1,1],"block":[64,1,1]}})";
    case 2:
      return R"({"ph":"X","cat":"python_function","name":"f)" + n + R"(","pid":1,"tid":2,"ts":)" +
             ts + R"(,"dur":1})";
    default:
      return R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":)" + ts +
             R"(,"dur":1,"args":{"External id":)" + n + R"(,"Input Dims":"[[)" +
             std::to_string(i % 5) + R"(]]"}})";
  }
}

std::string made_trace(int rows, int rank) {
  std::string text =
      R"({"distributedInfo":{"rank":)" + std::to_string(rank) + R"(},"traceEvents":[)";
  for (int i = 0; i < rows; ++i) text += (i == 0 ? "\n" : ",\n") + row_text(i);
  return text + "\n]}";
}

RC_GTEST_PROP(Pack, ColumnsComeBack, (std::vector<std::uint64_t> values)) {
  for (const Coding coding : {Coding::kPlain, Coding::kDelta}) {
    std::vector<std::uint64_t> used = values;
    const auto again = unpacked_column(packed_column(used, coding), coding);
    RC_ASSERT(again && *again == values);
  }
}

TEST(Pack, ExtremeNumbersComeBack) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::vector<std::uint64_t>& values :
       {std::vector<std::uint64_t>{}, {0}, {most}, {most, 0, most / 2, 1}, {255, 256}}) {
    for (const Coding coding : {Coding::kPlain, Coding::kDelta}) {
      std::vector<std::uint64_t> used = values;
      EXPECT_EQ(unpacked_column(packed_column(used, coding), coding), values);
    }
  }
}

TEST(Pack, GivesWhatEveryKindOfRowGave) {
  const test::TemporaryFolder folder;
  for (const auto& seed : fs::directory_iterator("src/trace/kineto/corpus/kineto")) {
    if (!read_traces({seed.path()}).ok()) continue;
    const fs::path pack = folder / (seed.path().stem().string() + ".fcpack");
    const auto report = pack_traces({seed.path()}, pack);
    ASSERT_TRUE(report.ok()) << report.error().text();
    expect_same({seed.path()}, pack);
  }
}

TEST(Pack, GivesWhatRealTracesGave) {
  FLOPCAST_SHARED_OR_SKIP(traces, "traces");
  const test::TemporaryFolder folder;
  // Rows of Python functions, shapes, flows; collectives; copies and waits of several ranks.
  for (const char* run :
       {"single_gpu_h100_mi300/h100_gaunernst_bert-small-uncased__1016001.json.gz",
        "dlrm_8xv100_kineto_et"}) {
    const auto report = pack_traces({traces / run}, folder / "run.fcpack");
    ASSERT_TRUE(report.ok()) << report.error().text();
    EXPECT_GT(report->text_bytes, 8 * report->bytes) << run;
    EXPECT_EQ(read_traces({folder / "run.fcpack"})->label, read_traces({traces / run})->label);
    const auto packed = read_traces({folder / "run.fcpack"});
    auto plain = read_traces({traces / run});
    plain->anomalies = packed->anomalies;  // of what lies beside the traces
    EXPECT_TRUE(dump_set(*plain, false) == dump_set(*packed, false)) << run;
  }
}

TEST(PackThreads, SeveralBlocksAndFilesGiveTheSameBytes) {
  const test::TemporaryFolder folder;
  folder.write("rank0.json", made_trace(500, 0));
  folder.write("rank1.json", made_trace(5, 1));
  const test::TemporaryFolder out;
  for (const unsigned threads : {1U, 4U}) {
    PackOptions options;
    options.threads = threads;
    options.rows_of_block = 50;
    const auto report =
        pack_traces({folder.path()}, out / (std::to_string(threads) + ".fcpack"), options);
    ASSERT_TRUE(report.ok()) << report.error().text();
    EXPECT_EQ(report->rows, 505U);
  }
  EXPECT_TRUE(test::read_text(out / "1.fcpack") == test::read_text(out / "4.fcpack"));
  expect_same({folder.path()}, out / "1.fcpack");
}

TEST(Pack, IsReadInAFolderAsTracesAre) {
  const test::TemporaryFolder from, to;
  ASSERT_TRUE(pack_traces({from.write("rank3.json", made_trace(9, 3))}, to / "run.fcpack").ok());
  const auto set = read_traces({to.path()});
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(set->traces.front().rank, 3);
}

TEST(Pack, TellsEveryDamage) {
  const test::TemporaryFolder folder;
  const fs::path trace = folder.write("rank0.json", made_trace(40, 0));
  const fs::path pack = folder / "run.fcpack";
  ASSERT_TRUE(pack_traces({trace}, pack).ok());
  const std::string good = test::read_text(pack);
  const std::string wanted = dump_set(*read_traces({pack}), false);
  for (std::size_t at = 0; at < good.size(); at += 29) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x24);
    test::write_text(pack, bad);
    const auto set = read_traces({pack});
    if (set.ok()) {  // bits of a frame's head that say nothing
      EXPECT_EQ(dump_set(*set, false), wanted) << "byte " << at;
    } else {
      EXPECT_EQ(set.error().code, ErrorCode::kBadInput) << "byte " << at;
      EXPECT_NE(set.error().where.find("run.fcpack"), std::string::npos);
    }
    test::write_text(pack, good.substr(0, at));
    EXPECT_FALSE(read_traces({pack}).ok()) << "cut at " << at;
  }
}

// Three steps.
std::string stepped_trace() {
  std::string text =
      R"({"traceEvents":[{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"main"}})";
  const int rows = 300;
  for (int step = 0; step < 3; ++step) {
    for (int i = step * rows; i < (step + 1) * rows; ++i) text += ",\n" + row_text(i);
    text += R"(,{"ph":"X","cat":"user_annotation","name":"ProfilerStep#)" + std::to_string(step) +
            R"(","pid":1,"tid":2,"ts":)" + std::to_string(1000000 + 7 * step * rows) +
            R"(,"dur":)" + std::to_string(7 * rows) + "}";
  }
  return text + "]}";
}

TEST(Pack, GivesStepsWithoutReadingOthers) {
  const test::TemporaryFolder folder;
  const fs::path trace = folder.write("rank0.json", stepped_trace()), pack = folder / "run.fcpack";
  PackOptions small;
  small.rows_of_block = 50;
  ASSERT_TRUE(pack_traces({trace}, pack, small).ok());
  ReadOptions options;
  options.steps = {"2", "ProfilerStep#2"};
  const auto wanted = read_traces({trace}, options), got = read_traces({pack}, options);
  ASSERT_TRUE(wanted.ok() && got.ok());
  EXPECT_EQ(find_steps(*got, got->traces[0]).size(), 1U);
  EXPECT_LT(got->traces[0].events.size(), 304U);
  EXPECT_TRUE(dump_set(*wanted, false) == dump_set(*got, false));
  options.steps = {"7", "7"};
  const auto none = read_traces({pack}, options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().hint.find("ProfilerStep#1"), std::string::npos);
  // A block of the first step is no longer what it was: who wants the third does not meet it.
  const auto opened = PackFile::open(pack);
  ASSERT_TRUE(opened.ok());
  std::string bytes = test::read_text(pack);
  for (const BlockPlace& block : opened->index().members[0].blocks) {
    if (block.always || block.python) continue;
    bytes[block.offset + block.bytes / 2] ^= 1;
    break;
  }
  test::write_text(pack, bytes);
  EXPECT_FALSE(read_traces({pack}).ok());
  options.steps = {"2", "2"};
  EXPECT_TRUE(read_traces({pack}, options).ok());
  options.steps = {"2", "7"};
  EXPECT_EQ(read_traces({pack}, options).error().code, ErrorCode::kUsage);
}

TEST(Pack, IsCutToTraces) {
  const test::TemporaryFolder folder, out;
  const fs::path trace = folder.write("rank0.json", made_trace(40, 0)),
                 pack = folder / "run.fcpack";
  ASSERT_TRUE(pack_traces({trace}, pack).ok());
  Slice slice;
  slice.to_s = 50e-6;
  const auto of_pack = slice_traces(*read_traces({pack}), slice, out / "pack");
  const auto of_trace = slice_traces(*read_traces({trace}), slice, out / "trace");
  ASSERT_TRUE(of_pack.ok() && of_trace.ok());
  const auto a = read_traces(*of_pack), b = read_traces(*of_trace);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->traces[0].events.start, b->traces[0].events.start);
  EXPECT_EQ(a->traces[0].events.correlation, b->traces[0].events.correlation);
}

TEST(Pack, OfALaterVersionIsNamed) {
  const test::TemporaryFolder folder;
  const fs::path pack = folder / "run.fcpack";
  ASSERT_TRUE(pack_traces({folder.write("rank0.json", made_trace(4, 0))}, pack).ok());
  std::string later = test::read_text(pack);
  later[kPackMagic.size()] = 2;
  test::write_text(pack, later);
  const auto set = read_traces({pack});
  ASSERT_FALSE(set.ok());
  EXPECT_NE(set.error().what.find("version 2"), std::string::npos);
}

TEST(Pack, LeavesNothingWhereItFails) {
  const test::TemporaryFolder folder;
  const fs::path trace = folder.write("rank0.json", made_trace(4, 0));
  const fs::path no_trace = folder.write("other.json", "[1, 2]");
  EXPECT_FALSE(pack_traces({no_trace}, folder / "run.fcpack").ok());
  EXPECT_FALSE(fs::exists(folder / "run.fcpack"));
  EXPECT_FALSE(pack_traces({trace}, folder / "none" / "run.fcpack").ok());
  ASSERT_TRUE(pack_traces({trace, no_trace}, folder / "run.fcpack").ok());
  const auto again = pack_traces({folder / "run.fcpack"}, folder / "again.fcpack");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kUsage);
  if (fs::exists("/dev/full")) {
    EXPECT_FALSE(pack_traces({trace}, "/dev/full").ok());
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 3);
}

}  // namespace
}  // namespace flopcast::trace
