#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <filesystem>

#include "flopcast/serving/requests.h"
#include "serving/requests/clock.h"
#include "support/shared_traces.h"

namespace flopcast {
namespace {

RequestList read_all_of(std::string_view text) {
  auto read = parse_requests(text, "trace");
  EXPECT_TRUE(read.ok()) << read.error().text();
  return read.ok() ? std::move(*read) : RequestList();
}

TEST(Requests, AzuresTimesHaveSevenDecimals) {
  const RequestList list = read_all_of(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2023-11-16 23:59:59.6805900,374,44\n"
      "2023-11-17 00:00:00.0000001,396,109\n");
  ASSERT_EQ(list.requests.size(), 2U);
  EXPECT_EQ(list.requests[0].arrival, Time{});
  EXPECT_EQ(list.requests[0].input, 374);
  EXPECT_EQ(list.requests[0].output, 44);
  EXPECT_EQ(list.requests[1].arrival, Time{319'410'100'000});
  EXPECT_EQ(list.prefix_block, 0);
  EXPECT_TRUE(list.anomalies.empty());
}

TEST(Requests, MooncakesHashesAreOfBlocksOf512) {
  const RequestList list = read_all_of(
      R"({"timestamp": 0, "input_length": 1300, "output_length": 5, "hash_ids": [0, 1, 2]}
{"timestamp": 27, "input_length": 1024, "output_length": 7, "hash_ids": [0, 1]}
{"timestamp": 27.5, "input_length": 1500, "output_length": 7, "hash_ids": [9, 1, 2]}
)");
  ASSERT_EQ(list.requests.size(), 3U);
  EXPECT_EQ(list.prefix_block, 512);
  EXPECT_EQ(list.requests[1].arrival, Time{27'000'000'000});
  EXPECT_EQ(list.requests[2].arrival, Time{27'500'000'000});
  const auto hash = [&](std::size_t request, std::uint32_t block) {
    return list.prefixes[list.requests[request].prefix_begin + block];
  };
  EXPECT_EQ(list.requests[0].prefix_end - list.requests[0].prefix_begin, 3U);
  EXPECT_EQ(hash(0, 0), hash(1, 0));
  EXPECT_EQ(hash(0, 1), hash(1, 1));
  EXPECT_NE(hash(0, 1), hash(2, 1)) << "equal blocks after unequal ones share nothing";
}

TEST(Requests, TimelinesOfVllmBeginAtTheirFirstArrival) {
  const RequestList list = read_all_of(
      R"({"request_id": "b-0", "input_toks": 2358, "output_toks": 531, "arrival_time": 1787267980.0827403, "queued_ts": 1.5}
{"request_id": "b-1", "input_toks": 1034, "output_toks": 769, "arrival_time": 1787267980.3478317, "queued_ts": 1.9}
)");
  ASSERT_EQ(list.requests.size(), 2U);
  EXPECT_EQ(list.requests[1].arrival, Time{265'091'400'000});
  EXPECT_EQ(list.requests[1].input, 1034);
  EXPECT_EQ(list.requests[1].output, 769);
}

TEST(Requests, OnesOwnTableMayNameSessions) {
  const RequestList list = read_all_of(
      "# "
      "comment\narrival_s,input,output,session\n0.5,100,20,anna\n0.75,7,1,\n1,8,2,bert\n2e0,9,3,"
      "anna\n");
  ASSERT_EQ(list.requests.size(), 4U);
  EXPECT_EQ(list.requests[1].arrival, Time::from_us(250'000));
  EXPECT_EQ(list.requests[0].session, list.requests[3].session);
  EXPECT_NE(list.requests[0].session, list.requests[2].session);
  EXPECT_EQ(list.requests[1].session, 0U);
}

TEST(Requests, RowsLeftOutAreCountedAndTheFirstNamed) {
  const RequestList list = read_all_of(
      "arrival_s,input,output\n1,10,10\nsoon,10,10\n2,0,10\n3,10\n0.5,11,10\n4,10,9999999999\n2.5."
      "1,1,1\n");
  ASSERT_EQ(list.requests.size(), 2U);
  EXPECT_EQ(list.requests[0].input, 11) << "sorted by time";
  EXPECT_EQ(list.anomalies.count("bad_request_row"), 3U);
  EXPECT_EQ(list.anomalies.count("request_without_tokens"), 1U);
  EXPECT_EQ(list.anomalies.count("csv_field_count"), 1U);
  EXPECT_EQ(list.anomalies.count("request_out_of_order"), 1U);
  EXPECT_NE(list.anomalies.list()[0].first.find("trace:3"), std::string::npos);
}

TEST(Requests, ErrorsNameTheLine) {
  const auto none = parse_requests("arrival_s,input,output\n\n1,-1,x\n", "trace.csv");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kBadInput);
  EXPECT_NE(none.error().what.find("trace.csv:3"), std::string::npos) << none.error().what;
  const auto strange = parse_requests("\n{\"a\": 1}\n", "trace.jsonl");
  ASSERT_FALSE(strange.ok());
  EXPECT_EQ(strange.error().where, "trace.jsonl:2");
  const auto torn = parse_requests(
      "{\"timestamp\": 0, \"input_length\": 0, \"output_length\": 5}\n{\"timestamp\":", "t");
  ASSERT_FALSE(torn.ok());
  EXPECT_NE(torn.error().what.find("t:1"), std::string::npos) << torn.error().what;
  EXPECT_FALSE(parse_requests("", "empty").ok());
  EXPECT_FALSE(parse_requests("a,b\n1,2\n", "other").ok());
  EXPECT_FALSE(read_requests("no/such/file.csv").ok());
}

TEST(RequestClock, DecimalsAreExact) {
  using serving::decimal_ps;
  constexpr std::int64_t kS = 1'000'000'000'000;
  EXPECT_EQ(decimal_ps("0.0000000000015", kS), serving::WidePs{2});
  EXPECT_EQ(decimal_ps("0.0000000000014999", kS), serving::WidePs{1});
  EXPECT_EQ(decimal_ps("1.5e3", 1'000'000'000), serving::WidePs{1'500'000'000'000});
  EXPECT_EQ(decimal_ps("-15E-1", kS), serving::WidePs{-1'500'000'000'000});
  EXPECT_EQ(decimal_ps("1787267980.0827403", kS),
            static_cast<serving::WidePs>(17872679800827403) * 100'000);
  for (const char* wrong : {"", "-", ".5", "5.", "1e", "nan", "1 ", "1e13", "0x1", "--1"}) {
    EXPECT_FALSE(decimal_ps(wrong, kS).has_value()) << wrong;
  }
  EXPECT_EQ(decimal_ps("1e-999999999", kS), serving::WidePs{0});
}

TEST(RequestClock, DaysAndZonesCount) {
  using serving::calendar_ps;
  constexpr serving::WidePs kS = 1'000'000'000'000;
  EXPECT_EQ(calendar_ps("1970-01-01 00:00:00"), serving::WidePs{0});
  EXPECT_EQ(calendar_ps("2024-02-29T12:30:00.25Z"), 1709209800 * kS + kS / 4);
  EXPECT_EQ(calendar_ps("2024-02-29 13:30:00+01:00"), 1709209800 * kS);
  EXPECT_EQ(calendar_ps("2024-02-29 11:00:00-0130"), 1709209800 * kS);
  EXPECT_EQ(calendar_ps("1969-12-31 23:59:59"), -kS);
  for (const char* wrong :
       {"2023-02-29 00:00:00", "2024-13-01 00:00:00", "2024-01-01 24:00:00", "2024-01-01 00:00:60",
        "2024-01-01", "24-01-01 00:00:00", "2024-01-01 00:00:00 UTC", "2024-01-01 00:00:"}) {
    EXPECT_FALSE(calendar_ps(wrong).has_value()) << wrong;
  }
}

RC_GTEST_PROP(Requests, WhatIsWrittenIsRead, ()) {
  const auto times = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000)));
  std::string text = "arrival_s,input,output\n";
  std::int64_t least = times.front();
  for (std::size_t i = 0; i < times.size(); ++i) {
    text += fmt::format("{}.{:012},{},{}\n", times[i] / 1'000'000'000'000,
                        times[i] % 1'000'000'000'000, i + 1, i + 2);
    least = std::min(least, times[i]);
  }
  const auto read = parse_requests(text, "trace");
  RC_ASSERT(read.ok());
  RC_ASSERT(read->requests.size() == times.size());
  for (const ServingRequest& request : read->requests) {
    const auto i = static_cast<std::size_t>(request.input - 1);
    RC_ASSERT(request.arrival.ps == times[i] - least);
    RC_ASSERT(request.output == request.input + 1);
  }
}

TEST(Requests, PublishedTracesAreReadWhole) {
  FLOPCAST_SHARED_OR_SKIP(folder, "serving");
  const auto count = [&](const char* name) -> std::size_t {
    const auto read = read_requests(folder / name);
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().text());
    if (!read) return 0;
    EXPECT_TRUE(read->anomalies.empty()) << name << ": " << read->anomalies.list()[0].first;
    return read->requests.size();
  };
  EXPECT_EQ(count("azure_2023_conv.csv"), 19'366U);
  EXPECT_EQ(count("azure_2023_code.csv"), 8'819U);
  EXPECT_EQ(count("mooncake_conversation_trace.jsonl"), 12'031U);
  EXPECT_EQ(count("mooncake_synthetic_trace.jsonl"), 3'993U);
  EXPECT_EQ(count("vllm_measured_RTX4090_Llama-3.1-8B.jsonl"), 300U);
}

}  // namespace
}  // namespace flopcast
