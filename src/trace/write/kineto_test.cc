#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "flopcast/trace/io.h"
#include "support/sample_run.h"
#include "support/shared_traces.h"
#include "support/temporary_folder.h"
#include "trace/write/sample_traces.h"

namespace flopcast::trace {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

TraceSet small_set(int rank = 0) {
  Result<TraceSet> set = read_trace_text(test::small_trace_json(rank));
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().text());
  return std::move(*set);
}

TraceSet read_back(const std::filesystem::path& path, const ReadOptions& options = {}) {
  Result<TraceSet> set = read_traces({path}, options);
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().text());
  return std::move(*set);
}

// Two ranks in one set, sharing its strings.
TraceSet two_ranks(const TemporaryFolder& dir) {
  test::write_text(dir / "r0.json", test::small_trace_json(0));
  test::write_text(dir / "r1.json", test::small_trace_json(1));
  Result<TraceSet> set = read_traces({dir / "r0.json", dir / "r1.json"});
  EXPECT_TRUE(set.ok());
  return std::move(*set);
}

// --- Equality of columns, by text: two sets number strings and tracks in their own way ----------

struct Side {
  const TraceSet& set;
  const Trace& trace;
  std::string text(std::uint32_t id) const { return std::string(set.strings[id]); }
  // Unix picoseconds modulo 2^64: exact, whatever the origins.
  std::uint64_t time(Time t) const {
    return static_cast<std::uint64_t>(trace.origin_ns) * 1000u + static_cast<std::uint64_t>(t.ps);
  }
};

void expect_same_kernel(const KernelDetail& a, const KernelDetail& b) {
  EXPECT_EQ(a.blocks, b.blocks);
  EXPECT_EQ(a.threads_per_block, b.threads_per_block);
  EXPECT_EQ(a.blocks_per_sm, b.blocks_per_sm);
  EXPECT_EQ(a.graph_node, b.graph_node);
}

void expect_same_sync(const SyncDetail& a, const SyncDetail& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.wait_on_stream, b.wait_on_stream);
  EXPECT_EQ(a.record_correlation, b.record_correlation);
  EXPECT_EQ(a.event_id, b.event_id);
}

void expect_same_op(const Side& x, const OpDetail& a, const Side& y, const OpDetail& b) {
  EXPECT_EQ(a.sequence_number, b.sequence_number);
  EXPECT_EQ(a.forward_thread, b.forward_thread);
  EXPECT_EQ(a.record_function_id, b.record_function_id);
  EXPECT_EQ(x.text(a.input_dims), y.text(b.input_dims));
  EXPECT_EQ(x.text(a.input_types), y.text(b.input_types));
  EXPECT_EQ(x.text(a.concrete_inputs), y.text(b.concrete_inputs));
}

void expect_same_collective(const Side& x, const CollectiveDetail& a, const Side& y,
                            const CollectiveDetail& b) {
  EXPECT_EQ(x.text(a.name), y.text(b.name));
  EXPECT_EQ(x.text(a.dtype), y.text(b.dtype));
  EXPECT_EQ(x.text(a.group_name), y.text(b.group_name));
  EXPECT_EQ(x.text(a.group_desc), y.text(b.group_desc));
  EXPECT_EQ(x.text(a.group_ranks), y.text(b.group_ranks));
  EXPECT_EQ(a.group_size, b.group_size);
  EXPECT_EQ(a.in_elements, b.in_elements);
  EXPECT_EQ(a.out_elements, b.out_elements);
  EXPECT_EQ(a.sequence, b.sequence);
  EXPECT_EQ(a.is_wait, b.is_wait);
  EXPECT_EQ(a.is_async, b.is_async);
}

void expect_same_details(const Side& x, const Side& y, std::size_t row) {
  const std::uint32_t a = x.trace.events.detail[row], b = y.trace.events.detail[row];
  ASSERT_EQ(a == kNoDetail, b == kNoDetail);
  const std::uint32_t c = x.trace.events.collective[row], d = y.trace.events.collective[row];
  ASSERT_EQ(c == kNoDetail, d == kNoDetail);
  if (c != kNoDetail) expect_same_collective(x, x.trace.collectives[c], y, y.trace.collectives[d]);
  if (a == kNoDetail) return;
  switch (x.trace.events.category[row]) {
    case Category::kKernel:
      return expect_same_kernel(x.trace.kernels[a], y.trace.kernels[b]);
    case Category::kSync:
      return expect_same_sync(x.trace.syncs[a], y.trace.syncs[b]);
    case Category::kCpuOp:
      return expect_same_op(x, x.trace.ops[a], y, y.trace.ops[b]);
    default:
      EXPECT_EQ(x.trace.copies[a].bytes, y.trace.copies[b].bytes);
  }
}

void expect_same_row(const Side& x, const Side& y, std::size_t row) {
  const Events &a = x.trace.events, &b = y.trace.events;
  ASSERT_EQ(x.text(a.name[row]), y.text(b.name[row]));
  EXPECT_EQ(a.category[row], b.category[row]);
  EXPECT_EQ(x.time(a.start[row]), y.time(b.start[row]));
  EXPECT_EQ(a.duration[row], b.duration[row]);
  EXPECT_EQ(a.stream[row], b.stream[row]);
  EXPECT_EQ(a.correlation[row], b.correlation[row]);
  EXPECT_EQ(a.external_id[row], b.external_id[row]);
  EXPECT_EQ(x.text(x.trace.tracks[a.track[row]].tid), y.text(y.trace.tracks[b.track[row]].tid));
  expect_same_details(x, y, row);
}

void expect_same_track(const Side& x, const Side& y, std::size_t row) {
  const Track& a = x.trace.tracks[x.trace.events.track[row]];
  const Track& b = y.trace.tracks[y.trace.events.track[row]];
  EXPECT_EQ(x.text(a.pid), y.text(b.pid));
  EXPECT_EQ(x.text(a.process_name), y.text(b.process_name));
  EXPECT_EQ(x.text(a.thread_name), y.text(b.thread_name));
  EXPECT_EQ(x.trace.events.device[row], y.trace.events.device[row]);
}

/// @param merged pids and process names are changed on purpose
void expect_same(const Side& x, const Side& y, bool merged) {
  EXPECT_EQ(x.trace.rank, y.trace.rank);
  EXPECT_EQ(x.trace.world_size, y.trace.world_size);
  EXPECT_EQ(x.trace.backend, y.trace.backend);
  EXPECT_EQ(x.trace.flows.size(), y.trace.flows.size());
  if (x.trace.window_end && !merged) {  // a merged file has one window for all
    ASSERT_TRUE(y.trace.window_end.has_value());
    EXPECT_EQ(x.time(*x.trace.window_end), y.time(*y.trace.window_end));
  }
  ASSERT_EQ(x.trace.events.size(), y.trace.events.size());
  for (std::size_t row = 0; row < x.trace.events.size(); ++row) {
    SCOPED_TRACE(row);
    expect_same_row(x, y, row);
    if (!merged) expect_same_track(x, y, row);
    if (testing::Test::HasFailure()) return;  // the first difference tells enough
  }
}

// --- One rank -----------------------------------------------------------------------------------

TEST(WriteKineto, ReadsBackAsItWas) {
  const TemporaryFolder dir;
  const TraceSet set = small_set();
  for (const char* name : {"out.json", "out.json.gz"}) {
    const Result<std::uint64_t> bytes = write_kineto(set, dir / name);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    EXPECT_EQ(*bytes, std::filesystem::file_size(dir / name));
    const TraceSet again = read_back(dir / name);
    ASSERT_EQ(again.traces.size(), 1u);
    EXPECT_EQ(again.traces[0].anomalies.list().size(), set.traces[0].anomalies.list().size());
    expect_same({set, set.traces[0]}, {again, again.traces[0]}, false);
    ASSERT_EQ(again.traces[0].devices.size(), 1u);
    EXPECT_EQ(again.traces[0].devices[0].name, "Tesla \"V\"");
    EXPECT_EQ(again.traces[0].devices[0].sm_count, 80);
    EXPECT_EQ(again.traces[0].devices[0].memory_bytes, 34079899648);
  }
}

TEST(WriteKineto, IsJsonThatOtherToolsKnow) {
  const TemporaryFolder dir;
  ASSERT_TRUE(write_kineto(small_set(), dir / "out.json").ok());
  const std::string text = test::read_text(dir / "out.json");
  const json file = json::parse(text);
  EXPECT_EQ(file["baseTimeNanoseconds"], 1759300074000000000);
  EXPECT_NE(text.find("\"rank\": 0"), std::string::npos);  // HolisticTraceAnalysis wants the blank
  const auto find = [&](const std::string& name, const std::string& phase) {
    for (const json& row : file["traceEvents"]) {
      if (row["name"] == name && row["ph"] == phase) return row;
    }
    return json();
  };
  const json gemm = find("gemm<\"\u00e9\", 'x'>", "X");
  EXPECT_EQ(gemm["cat"], "kernel");
  EXPECT_EQ(gemm["pid"], 0);
  EXPECT_EQ(gemm["args"]["grid"], json({64, 1, 1}));
  EXPECT_FALSE(find("nccl:all_reduce", "X")["args"].contains("stream"));
  EXPECT_EQ(find("PyTorch Profiler (0)", "X")["cat"], "Trace");
  EXPECT_EQ(find("Record Window End", "i")["ts"], 1000.999);
  EXPECT_NE(text.find("\"ts\":1000.125,\"dur\":100.500"), std::string::npos);
}

TEST(WriteKineto, ArrowsLeadFromLaunchesToTheirWork) {
  const TemporaryFolder dir;
  ASSERT_TRUE(write_kineto(small_set(), dir / "out.json").ok());
  const json file = json::parse(test::read_text(dir / "out.json"));
  std::map<int, std::string> phases;
  for (const json& row : file["traceEvents"]) {
    if (row.value("cat", "") == "ac2g") phases[row["id"]] += row["ph"].get<std::string>();
  }
  for (auto& [id, found] : phases) std::sort(found.begin(), found.end());
  EXPECT_EQ(phases, (std::map<int, std::string>{{21, "fs"}, {22, "fs"}, {23, "fs"}}));
}

// --- Times --------------------------------------------------------------------------------------

Trace one_row(TraceSet& set, Time start, Time duration, std::int64_t origin_ns) {
  Trace trace;
  trace.origin_ns = origin_ns;
  trace.tracks.push_back({set.strings.intern("1"), set.strings.intern("2"), 0, 0});
  Events& events = trace.events;
  events.start = {start};
  events.duration = {duration};
  events.name = {set.strings.intern("x")};
  events.track = {0};
  events.category = {Category::kCpuOp};
  events.stream = {kNoStream};
  events.device = {-1};
  events.correlation = {kNoId};
  events.external_id = {kNoId};
  events.detail = events.collective = {kNoDetail};
  return trace;
}

std::string written_times(Time start, Time duration, std::int64_t origin_ns) {
  TraceSet set;
  set.traces.push_back(one_row(set, start, duration, origin_ns));
  const TemporaryFolder dir;
  EXPECT_TRUE(write_kineto(set, dir / "t.json").ok());
  const std::string text = test::read_text(dir / "t.json");
  const std::size_t at = text.find("\"ts\":");
  return at == std::string::npos ? text : text.substr(at + 5, text.find('}', at) - at - 5);
}

TEST(WriteKineto, TimesHaveAsManyDecimalsAsTheyNeed) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(written_times(Time::from_us(12), Time::from_us(3), 5 * kSecond), "12,\"dur\":3");
  EXPECT_EQ(written_times(Time::from_ns(1500), Time::from_us(3), 0), "1.500,\"dur\":3.000");
  EXPECT_EQ(written_times({1}, {-1}, 0), "0.000001,\"dur\":-0.000001");
  EXPECT_EQ(written_times({-1'000'001}, {0}, 0), "-1.000001,\"dur\":0.000000");
  EXPECT_EQ(written_times(Time::from_us(-2), {0}, 7), "-1.993,\"dur\":0.000");
  EXPECT_EQ(written_times(Time::max(), {0}, 999'999'999),
            "9223373036854.774807,\"dur\":0.000000");  // more picoseconds than an int64 holds
}

TEST(WriteKineto, BaseIsAWholeSecond) {
  EXPECT_EQ(written_times(Time::from_us(1), {0}, 1'500'000'000), "500001,\"dur\":0");
  EXPECT_EQ(written_times(Time::from_us(1), {0}, -1), "1000000.999,\"dur\":0.000");
}

// --- Several ranks ------------------------------------------------------------------------------

TEST(WriteKineto, MergedFileReadsBackByRank) {
  const TemporaryFolder dir;
  const TraceSet set = two_ranks(dir);
  ASSERT_EQ(set.traces.size(), 2u);
  ASSERT_TRUE(write_kineto(set, dir / "merged.json.gz").ok());
  const TraceSet again = read_back(dir / "merged.json.gz");
  ASSERT_EQ(again.traces.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    expect_same({set, set.traces[i]}, {again, again.traces[i]}, true);
  }
}

TEST(WriteKineto, MergedRowsTellTheirRank) {
  const TemporaryFolder dir;
  ASSERT_TRUE(write_kineto(two_ranks(dir), dir / "merged.json").ok());
  const json file = json::parse(test::read_text(dir / "merged.json"));
  EXPECT_FALSE(file["distributedInfo"].contains("rank"));
  std::map<std::pair<std::string, int>, std::set<int>> ranks_of_flow;
  for (const json& row : file["traceEvents"]) {
    const int rank = row["args"]["rank"];
    if (row["pid"].is_number() && row["pid"] >= 0) {
      EXPECT_EQ(row["pid"].get<int>() / 100000000, rank);
    }
    if (row["name"] == "process_name" && row["pid"] == 100000075) {
      EXPECT_EQ(row["args"]["name"], "rank 1: python");
    }
    if (row.contains("id")) ranks_of_flow[{row["cat"], row["id"]}].insert(rank);
  }
  EXPECT_EQ(ranks_of_flow.size(), 8u);  // 3 launches and 1 forward-backward pair for each rank
  for (const auto& [id, ranks] : ranks_of_flow) EXPECT_EQ(ranks.size(), 1u);
}

// --- Odd content --------------------------------------------------------------------------------

TEST(WriteKineto, AnyNameBecomesJson) {
  const std::string names[] = {"quote\" back\\slash", std::string("nul\0tab\t\x7f", 9),
                               "\xff\xfe broken",     "\xed\xa0\x80 surrogate",
                               "\xc0\xaf overlong",   "\xf0\x9f\x98\x80 fine"};
  for (const std::string& name : names) {
    TraceSet set;
    set.traces.push_back(one_row(set, {0}, {0}, 0));
    set.traces[0].events.name[0] = set.strings.intern(name);
    const TemporaryFolder dir;
    ASSERT_TRUE(write_kineto(set, dir / "t.json").ok());
    const json file = json::parse(test::read_text(dir / "t.json"), nullptr, false);
    ASSERT_FALSE(file.is_discarded()) << name;
    if (name[0] != '\xff' && name[0] != '\xed' && name[0] != '\xc0') {
      EXPECT_EQ(file["traceEvents"][0]["name"], name);
    }
  }
}

TEST(WriteKineto, ArgumentsThatAreNoJsonAreQuoted) {
  TraceSet set;
  set.traces.push_back(one_row(set, {0}, {0}, 0));
  OpDetail op;
  op.input_dims = set.strings.intern("[[1, 2]");
  op.input_types = set.strings.intern("[\"float\"]");
  set.traces[0].ops.push_back(op);
  set.traces[0].events.detail[0] = 0;
  const TemporaryFolder dir;
  ASSERT_TRUE(write_kineto(set, dir / "t.json").ok());
  const json file = json::parse(test::read_text(dir / "t.json"));
  EXPECT_EQ(file["traceEvents"][0]["args"]["Input Dims"], "[[1, 2]");
  EXPECT_EQ(file["traceEvents"][0]["args"]["Input type"], json::array({"float"}));
}

TEST(WriteKineto, EmptySetIsAnEmptyTrace) {
  const TemporaryFolder dir;
  ASSERT_TRUE(write_kineto(TraceSet{}, dir / "t.json").ok());
  EXPECT_TRUE(json::parse(test::read_text(dir / "t.json"))["traceEvents"].empty());
}

// --- Failures -----------------------------------------------------------------------------------

TEST(WriteKineto, MissingFolderIsNamed) {
  const TemporaryFolder dir;
  const Result<std::uint64_t> result = write_kineto(small_set(), dir / "no/such/out.json");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().where.find("no/such/out.json"), std::string::npos);
  EXPECT_NE(result.error().what.find("No such file"), std::string::npos);
}

TEST(WriteKineto, FullDiskIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Result<std::uint64_t> result = write_kineto(small_set(), "/dev/full");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("No space left"), std::string::npos);
}

TEST(WriteKineto, LeavesNothingButTheFile) {
  const TemporaryFolder dir;
  test::write_text(dir / "out.json", "old");
  ASSERT_TRUE(write_kineto(small_set(), dir / "out.json").ok());
  EXPECT_FALSE(write_kineto(small_set(), dir.path()).ok());
  const auto count = std::distance(std::filesystem::directory_iterator(dir.path()), {});
  EXPECT_EQ(count, 1);
  EXPECT_EQ(test::read_text(dir / "out.json").front(), '{');
}

TEST(WriteKineto, LinkIsFollowed) {
  const TemporaryFolder dir;
  test::write_text(dir / "real.json", "old");
  std::filesystem::create_symlink("real.json", dir / "link.json");
  ASSERT_TRUE(write_kineto(small_set(), dir / "link.json").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link.json"));
  EXPECT_NE(test::read_text(dir / "real.json"), "old");
}

// --- Made-up and recorded traces ----------------------------------------------------------------

void expect_read_back_as_it_was(const std::filesystem::path& path, const ReadOptions& options) {
  const TemporaryFolder dir;
  const TraceSet set = read_back(path, options);
  ASSERT_TRUE(write_kineto(set, dir / "out.json.gz").ok());
  const TraceSet again = read_back(dir / "out.json.gz", options);
  ASSERT_EQ(again.traces.size(), set.traces.size());
  for (std::size_t i = 0; i < set.traces.size(); ++i) {
    expect_same({set, set.traces[i]}, {again, again.traces[i]}, set.traces.size() > 1);
  }
}

TEST(WriteSample, ReadsBackAsItWas) {
  ReadOptions options;
  options.keep_python = true;
  expect_read_back_as_it_was(test::sample_run() / "sample_rank0.json.gz", options);
  expect_read_back_as_it_was(test::sample_run(), {});  // eight ranks merged in one file
}

class WriteRecorded : public testing::TestWithParam<const char*> {};

TEST_P(WriteRecorded, ReadsBackAsItWas) {
  FLOPCAST_SHARED_OR_SKIP(path, std::string("traces/") + GetParam());
  ReadOptions options;
  options.keep_python = true;
  expect_read_back_as_it_was(path, options);
}

INSTANTIATE_TEST_SUITE_P(
    Files, WriteRecorded,
    testing::Values("megatron_tp8_a100/kineto_rank0.json.gz", "nanogpt_8xh100/rank0.json.gz",
                    "cuda_sync_small/alexnet_a100.json.gz", "odd_real/mi250_rocm62.json.gz",
                    "single_gpu_h100_mi300/mi300_gaunernst_bert-small-uncased__1016001.json.gz",
                    "odd_real/cpu_only_rank34_of_300.json.gz", "odd_real/large_integer.json.gz",
                    "odd_real/mtia_inference.json.gz"));

TEST(WriteRecordedRanks, MergedFileReadBack) {
  FLOPCAST_SHARED_OR_SKIP(path, "traces/nanogpt_8xh100");
  expect_read_back_as_it_was(path, {});
}

}  // namespace
}  // namespace flopcast::trace
