// Logs of nccl-tests as people have them: several versions, launchers, several tests in one file.
#include "network/fit/nccl_tests.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace flopcast::network {
namespace {

using Op = CollectiveOp;

std::string devices(unsigned ranks, unsigned per_host, const char* chip) {
  std::string text = "# Using devices\n";
  for (unsigned i = 0; i < ranks; ++i) {
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on node-{} device {:2} [0x{:02x}] {}\n", i,
                        4000 + i, i / per_host, i % per_host, 16 + i, chip);
  }
  return text;
}

constexpr const char* kHeader =
    "#\n"
    "#                                                              out-of-place               "
    "        in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
    "time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
    "(us)  (GB/s)  (GB/s)       \n";

std::string row(double bytes, double us, const char* redop, int root, double factor) {
  const double rate = bytes / us / 1e3;
  return fmt::format(
      "{:12.0f} {:12.0f} {:>8} {:>6} {:6} {:8.2f} {:7.2f} {:7.2f}      0 {:8.2f} "
      "{:7.2f} {:7.2f}    N/A\n",
      bytes, bytes / 4, "float", redop, root, us, rate, rate * factor, us + 1, rate, rate * factor);
}

std::string run_of(const char* test) {
  return fmt::format(
      "# nccl-tests version 2.18.2 nccl-headers=23007 nccl-library=23007\n"
      "# Collective test starting: {}_perf\n"
      "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 "
      "iters: "
      "20 agg iters: 1 validation: 1 graph: 0\n#\n",
      test);
}

Result<std::vector<CollectiveSample>> parse(const std::string& text, Anomalies& anomalies) {
  return parse_nccl_tests(text, "log.txt", anomalies);
}

TEST(NcclTests, OneRunOnOneNode) {
  const std::string text = run_of("all_reduce") + devices(8, 8, "NVIDIA H100 80GB HBM3") + kHeader +
                           row(1 << 20, 50, "sum", -1, 1.75) + row(4 << 20, 90, "sum", -1, 1.75) +
                           "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 250.0 \n#\n";
  Anomalies anomalies;
  const auto samples = parse(text, anomalies);
  ASSERT_TRUE(samples) << samples.error().text();
  ASSERT_EQ(samples->size(), 2U);
  const CollectiveSample& first = samples->front();
  EXPECT_EQ(first.what.op, Op::kAllReduce);
  EXPECT_EQ(first.what.ranks, 8U);
  EXPECT_EQ(first.what.nodes, 1U);
  EXPECT_EQ(first.what.type, "float");
  EXPECT_EQ(first.what.library, "NCCL");
  EXPECT_EQ(first.what.version, "2.30.7");
  EXPECT_EQ(first.what.system, "h100_sxm");
  EXPECT_EQ(first.chip, "h100-sxm");
  EXPECT_DOUBLE_EQ(first.size.value, 1 << 20);
  EXPECT_DOUBLE_EQ(first.time.value, 50e-6);  // out of place
  EXPECT_TRUE(anomalies.list().empty());
}

TEST(NcclTests, ThroughALauncherOnTwoNodesOneTestAfterAnother) {
  std::string plain = "NCCL version 2.20.5+cuda12.4\n";
  plain +=
      "+ mpirun -np 16 ./build/all_gather_perf_mpi -b 1M -e 4M\n# nThread 1 nGpus 1 minBytes\n" +
      devices(16, 8, "NVIDIA A100-SXM4-80GB") + kHeader + row(1 << 20, 80, "none", -1, 0.94) +
      "# Avg bus bandwidth : 1\n";
  plain += "+ mpirun -np 8 ./build/alltoall_perf_mpi -b 1M -e 4M\n# nThread 1 nGpus 1 minBytes\n" +
           devices(8, 4, "NVIDIA A100-SXM4-80GB") + kHeader + row(1 << 20, 70, "none", -1, 0.88);
  for (const char* prefix : {"", "[1,0]<stdout>:", "0: ", "    "}) {
    std::string text;
    for (std::size_t at = 0; at < plain.size();) {
      const std::size_t end = plain.find('\n', at) + 1;
      text += prefix + plain.substr(at, end - at);
      at = end;
    }
    Anomalies anomalies;
    const auto samples = parse(text, anomalies);
    ASSERT_TRUE(samples) << samples.error().text();
    ASSERT_EQ(samples->size(), 2U) << prefix;
    EXPECT_EQ((*samples)[0].what.op, Op::kAllGather);
    EXPECT_EQ((*samples)[0].what.ranks, 16U);
    EXPECT_EQ((*samples)[0].what.nodes, 2U);
    EXPECT_EQ((*samples)[0].what.version, "2.20.5");
    EXPECT_EQ((*samples)[0].what.system, "a100_sxm");
    EXPECT_EQ((*samples)[1].what.op, Op::kAllToAll);
    EXPECT_EQ((*samples)[1].what.ranks, 8U);
    EXPECT_EQ((*samples)[1].what.nodes, 2U);
  }
}

// Before 2.10 there was no column for the root, and "error" where "#wrong" stands now.
TEST(NcclTests, OldTablesWithoutRootAndWithoutDevices) {
  const std::string text =
      "$ ./build/all_reduce_perf -b 8 -e 128M -f 2 -g 2\n"
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: "
      "20\n"
      "host:880:887 [0] NCCL INFO comm 0x55 rank 0 nranks 2 cudaDev 0 busId a4000 - Init COMPLETE\n"
      "#       size         count    type   redop     time   algbw   busbw  error     time   algbw "
      "  "
      "busbw  error\n"
      "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s) "
      " "
      "(GB/s)\n"
      "        1024           256   float     sum    12.50    0.08    0.08  0e+00    12.40    0.08 "
      "   "
      "0.08  0e+00\n"
      "host:880:887 [0] NCCL INFO comm 0x55 rank 0 nranks 2 - Destroy COMPLETE\n";
  Anomalies anomalies;
  const auto samples = parse(text, anomalies);
  ASSERT_TRUE(samples) << samples.error().text();
  ASSERT_EQ(samples->size(), 1U);
  EXPECT_EQ(samples->front().what.ranks, 2U);
  EXPECT_DOUBLE_EQ(samples->front().time.value, 12.5e-6);
}

TEST(NcclTests, TestsThatNobodyNamesAreToldByTheirColumns) {
  const auto op = [](const char* redop, int root, double factor) {
    const std::string text =
        "# nThread 1 nGpus 4 minBytes\n" + devices(4, 4, "AMD Instinct MI300X") + kHeader +
        row(64, 9, redop, root, factor) + row(1 << 30, 5000, redop, root, factor);
    Anomalies anomalies;
    const auto samples = parse(text, anomalies);
    if (!samples) return std::optional<Op>();
    EXPECT_EQ(samples->size(), 2U);
    return std::optional(samples->front().what.op);
  };
  EXPECT_EQ(op("sum", -1, 1.5), Op::kAllReduce);
  EXPECT_EQ(op("sum", -1, 0.75), Op::kReduceScatter);
  EXPECT_EQ(op("sum", 0, 1), Op::kReduce);
  EXPECT_EQ(op("none", 0, 1), Op::kBroadcast);
  EXPECT_EQ(op("none", -1, 0.75), std::nullopt);  // all-gather or all-to-all
}

TEST(NcclTests, WhatCannotBeUsedIsCountedOrRefused) {
  const std::string head = run_of("all_reduce") + devices(4, 4, "NVIDIA H200");
  Anomalies anomalies;
  const auto some = parse(head + kHeader + row(0, 9, "sum", -1, 1.5) + row(64, 9, "sum", -1, 1.5) +
                              "  128  32  float  sum  -1  nan  0.1  0.1  0  1.0  0.1  0.1  0\n" +
                              run_of("hypercube") + devices(4, 4, "NVIDIA H200") + kHeader +
                              row(64, 9, "none", -1, 1),
                          anomalies);
  ASSERT_TRUE(some) << some.error().text();
  EXPECT_EQ(some->size(), 1U);
  EXPECT_EQ(anomalies.count("not_positive"), 1U);
  EXPECT_EQ(anomalies.count("not_a_number"), 1U);
  EXPECT_EQ(anomalies.count("unknown_collective"), 1U);

  const auto what = [](const std::string& text) {
    Anomalies ignored;
    const auto samples = parse(text, ignored);
    return samples ? std::string("read") : samples.error().where + " " + samples.error().what;
  };
  EXPECT_EQ(what(run_of("all_reduce") + kHeader + row(64, 9, "sum", -1, 1)),
            "log.txt:7 nothing above this table tells how many ranks took part");
  EXPECT_NE(what(head + kHeader).find("no row that can be used"), std::string::npos);
}

TEST(NcclTests, RowsWhoseResultsWereWrongAreCountedAndNotFitted) {
  const std::string head = run_of("all_reduce") + devices(4, 4, "NVIDIA H200") + kHeader;
  const auto with = [](const char* wrong) {
    return fmt::format("  64  16  float  sum  -1  9.0  0.1  0.1  {}  9.1  0.1  0.1  0\n", wrong);
  };
  Anomalies anomalies;
  const auto some = parse(head + with("0") + with("999") + with("N/A") + with("1"), anomalies);
  ASSERT_TRUE(some) << some.error().text();
  EXPECT_EQ(some->size(), 2U);
  EXPECT_EQ(anomalies.count("wrong_results"), 2U);
  Anomalies ignored;
  EXPECT_FALSE(parse(head + with("999"), ignored));
  EXPECT_EQ(ignored.count("wrong_results"), 1U);
}

std::string what_of(const std::string& text, const RunSize& told = {}) {
  Anomalies anomalies;
  const auto samples = parse_nccl_tests(text, "log.txt", anomalies, told);
  if (!samples) return samples.error().where + " " + samples.error().what;
  const CollectiveCase& first = samples->front().what;
  return fmt::format("{} ranks {} nodes, {} rows", first.ranks, first.nodes, samples->size());
}

TEST(NcclTests, RanksThatNoLineTellsAreThoseOfTheBandwidths) {
  const std::string head = run_of("all_reduce");
  const auto rows = [](double factor) {
    return row(64 << 20, 900, "sum", -1, factor) + row(1 << 30, 5000, "sum", -1, factor);
  };
  EXPECT_EQ(what_of(head + kHeader + rows(1.75)), "8 ranks 1 nodes, 2 rows");
  // Rank 0 alone is named, of a process with eight chips.
  const std::string eight = "# nThread 1 nGpus 8 minBytes 1\n";
  EXPECT_EQ(what_of(head + eight + devices(1, 8, "NVIDIA H100 80GB HBM3") + kHeader + rows(1.875)),
            "16 ranks 2 nodes, 2 rows");
  // The first and the last rank of 72 are named, the last as the fourth of its node.
  const std::string ends =
      "#  Rank  0 Group  0 Pid  1 on tray-1 device  0 [0x01] NVIDIA GB200\n"
      "#  Rank 71 Group  0 Pid  1 on tray-18 device  3 [0x01] NVIDIA GB200\n";
  EXPECT_EQ(what_of(head + ends + kHeader + rows(2 * 71.0 / 72)), "72 ranks 18 nodes, 2 rows");
}

TEST(NcclTests, RanksThatNothingTellsAreAskedFor) {
  const std::string head = run_of("all_reduce");
  const std::string rows =
      row(64 << 20, 900, "sum", -1, 2 * 23.0 / 24) + row(1 << 30, 5000, "sum", -1, 2 * 23.0 / 24);
  EXPECT_EQ(what_of(head + kHeader + rows),
            "log.txt:7 24 ranks took part, and nothing tells on how many nodes");
  EXPECT_EQ(what_of(head + kHeader + rows, {0, 3}), "24 ranks 3 nodes, 2 rows");
  EXPECT_EQ(what_of(head + kHeader + rows, {32, 4}), "32 ranks 4 nodes, 2 rows");
  const std::string root = run_of("broadcast") + kHeader + row(1 << 20, 90, "none", 0, 1);
  EXPECT_EQ(what_of(root), "log.txt:7 nothing above this table tells how many ranks took part");
  EXPECT_EQ(what_of(root, {4, 1}), "4 ranks 1 nodes, 1 rows");
}

TEST(NcclTests, RowsOfOtherRanksThanThoseNamedAreLeftOut) {
  Anomalies anomalies;
  const auto samples =
      parse(run_of("all_reduce") + devices(4, 4, "NVIDIA H200") + kHeader +
                row(1 << 30, 5000, "sum", -1, 1.75) + run_of("all_reduce") +
                devices(4, 4, "NVIDIA H200") + kHeader + row(1 << 30, 5000, "sum", -1, 1.5),
            anomalies);
  ASSERT_TRUE(samples) << samples.error().text();
  EXPECT_EQ(samples->size(), 1U);
  EXPECT_EQ(anomalies.count("ranks_unlike_bandwidths"), 1U);
}

// Hydra and others write a rank before every piece that a program prints, not before every line.
TEST(NcclTests, MarksOfLaunchersMayStandWithinLines) {
  const std::string text =
      "[0]# nThread 1 nGpus 8 minBytes 1\n"
      "[0]#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "[0]    67108864      16777216     float     sum      -1[0]     900.0   74.57  130.49      "
      "0[0]     901.0   74.48  130.35      0\n";
  EXPECT_EQ(what_of(text), "8 ranks 1 nodes, 1 rows");
}

TEST(NcclTests, RowsThatAreTornAreCountedWithTheirLine) {
  Anomalies anomalies;
  const auto samples = parse(run_of("all_reduce") + devices(4, 4, "NVIDIA H200") + kHeader +
                                 row(1 << 30, 5000, "sum", -1, 1.5) +
                                 "  67108864  16777216  float  sum  -1  900.0  74.57  111.86\n",
                             anomalies);
  ASSERT_TRUE(samples) << samples.error().text();
  EXPECT_EQ(anomalies.count("torn_row"), 1U);
  EXPECT_EQ(anomalies.list()[0].first, "log.txt:15");
}

TEST(NcclTests, AreReadWhereverATableOfCollectivesIs) {
  const test::TemporaryFolder folder;
  const auto file =
      folder.write("log.txt", run_of("all_reduce") + devices(8, 8, "NVIDIA H100 80GB HBM3") +
                                  kHeader + row(1 << 20, 50, "sum", -1, 1.75));
  Anomalies anomalies;
  const auto samples = read_collective_samples(file, anomalies);
  ASSERT_TRUE(samples) << samples.error().text();
  EXPECT_EQ(samples->size(), 1U);
  const CollectiveFit fit = CollectiveFit::make(*samples);
  EXPECT_EQ(fit.systems(), std::vector<std::string>{"h100_sxm"});
}

}  // namespace
}  // namespace flopcast::network
