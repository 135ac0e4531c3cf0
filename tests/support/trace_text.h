// Small traces for tests, written as Kineto JSON text and read by the reader proper. Times in
// microseconds.
//
//   TraceText text;
//   text.op("aten::mm", 0, 10).call("cudaLaunchKernel", 1, 3, 17).kernel("gemm", 8, 20, 7, 17);
//   const TraceSet set = text.read();
//
// The whole is a merged multi-rank file: rank(1) starts the rows of another rank.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "flopcast/trace.h"

namespace flopcast::test {

inline Time us(std::int64_t n) { return Time::from_us(n); }

class TraceText {
 public:
  /// Following rows are of this rank; `clock_us` is added to all their times.
  TraceText& rank(int number, double clock_us = 0) {
    rank_ = number;
    clock_us_ = clock_us;
    return *this;
  }
  /// Following host rows are of this thread.
  TraceText& thread(int tid) {
    thread_ = tid;
    return *this;
  }
  TraceText& op(std::string_view name, double from, double to, std::string_view args = "") {
    return row("cpu_op", name, from, to, 1000, thread_, std::string(args));
  }
  TraceText& step(int number, double from, double to) {
    return row("user_annotation", fmt::format("ProfilerStep#{}", number), from, to, 1000, thread_,
               "");
  }
  TraceText& annotation(std::string_view name, double from, double to) {
    return row("user_annotation", name, from, to, 1000, thread_, "");
  }
  TraceText& call(std::string_view name, double from, double to, std::int64_t correlation = 0) {
    return row("cuda_runtime", name, from, to, 1000, thread_, number("correlation", correlation));
  }
  TraceText& launch(double from, double to, std::int64_t correlation) {
    return call("cudaLaunchKernel", from, to, correlation);
  }
  TraceText& kernel(std::string_view name, double from, double to, int stream,
                    std::int64_t correlation = 0, std::string_view args = "") {
    return gpu("kernel", name, from, to, stream, correlation, args);
  }
  TraceText& copy(std::string_view name, double from, double to, int stream,
                  std::int64_t correlation, std::int64_t bytes) {
    return gpu("gpu_memcpy", name, from, to, stream, correlation, number("bytes", bytes));
  }
  /// A cuda_sync row: `stream` waits for what stood before the record on `wait_on`.
  TraceText& sync_row(std::string_view kind, double from, double to, int stream, int wait_on,
                      std::int64_t correlation, std::int64_t record) {
    return row("cuda_sync", kind, from, to, 0, stream,
               fmt::format(R"("cuda_sync_kind": "{}", "stream": {}, "wait_on_stream": {},
                              "wait_on_cuda_event_record_corr_id": {}, "correlation": {})",
                           kind, stream, wait_on, record, correlation));
  }
  /// A kernel that tells its collective.
  TraceText& collective(double from, double to, int stream, std::int64_t correlation, int sequence,
                        std::string_view group = "0", std::string_view name = "allreduce") {
    return kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", from,
                  to, stream, correlation, collective_args(sequence, group, name));
  }
  static std::string collective_args(int sequence, std::string_view group, std::string_view name) {
    return fmt::format(R"("Collective name": "{}", "dtype": "Float", "Process Group Name": "{}",
                          "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2,
                          "Process Group Ranks": "[0, 1]", "Seq": {})",
                       name, group, sequence);
  }

  std::string text() const { return "{\"traceEvents\": [" + rows_ + "\n]}"; }
  TraceSet read() const {
    Result<TraceSet> set = read_trace_text(text());
    EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().text());
    return set.ok() ? std::move(*set) : TraceSet{};
  }

 private:
  static std::string number(std::string_view key, std::int64_t value) {
    return value == 0 ? "" : fmt::format("\"{}\": {}", key, value);
  }
  TraceText& gpu(std::string_view category, std::string_view name, double from, double to,
                 int stream, std::int64_t correlation, std::string_view args) {
    std::string all = fmt::format("\"device\": 0, \"stream\": {}", stream);
    if (correlation != 0) all += ", " + number("correlation", correlation);
    if (!args.empty()) all += fmt::format(", {}", args);
    return row(category, name, from, to, 0, stream, all);
  }
  TraceText& row(std::string_view category, std::string_view name, double from, double to, int pid,
                 int tid, const std::string& args) {
    rows_ += fmt::format(
        "{}\n{{\"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, \"tid\": {}, \"ts\": "
        "{:.3f}, \"dur\": {:.3f}, \"args\": {{\"rank\": {}{}{}}}}}",
        rows_.empty() ? "" : ",", category, name, std::int64_t{rank_} * 100000000 + pid, tid,
        kOrigin + from + clock_us_, to - from, rank_, args.empty() ? "" : ", ", args);
    return *this;
  }

  static constexpr double kOrigin = 1000000;  // so that no time is negative
  std::string rows_;
  int rank_ = 0;
  int thread_ = 1;
  double clock_us_ = 0;
};

}  // namespace flopcast::test
