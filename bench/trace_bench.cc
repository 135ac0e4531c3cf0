// Speed of the trace reader on unpacked text, beside simdjson's parse of the same text into its own
// document (which finds the values but makes no columns of them); and of the same rows from a pack, told in
// bytes of that text, with how many times smaller the pack is. Without real traces at hand a
// made-up one of the same shape is used.
#include <benchmark/benchmark.h>
#include <simdjson.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/files/byte_source.h"
#include "flopcast/trace.h"
#include "flopcast/trace/io.h"

namespace flopcast {
namespace {

std::string made_up_trace(int rows) {
  std::string text =
      "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [";
  for (int i = 0; i < rows; ++i) {
    const std::string id = std::to_string(i), ts = std::to_string(1700000000000000 + i * 7);
    text += i == 0 ? "\n  {\n" : ",\n  {\n";
    text +=
        "    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": "
        "75, "
        "\"tid\": 155,\n    \"ts\": " +
        ts +
        ".123, \"dur\": 5.5,\n    \"args\": {\n      "
        "\"External id\": " +
        id + ", \"cbid\": 211, \"correlation\": " + id + "\n    }\n  },\n  {\n";
    text +=
        "    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
        "at::native::vectorized_elementwise_"
        "kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >\", \"pid\": 0, "
        "\"tid\": 7,"
        "\n    \"ts\": " +
        ts +
        ".999, \"dur\": 4.031,\n    \"args\": {\n      \"queued\": 0, "
        "\"device\": 0, \"context\": 1,\n      \"stream\": 7, \"correlation\": " +
        id +
        ",\n      "
        "\"registers per thread\": 32,\n      \"shared memory\": 0,\n      \"blocks per SM\": "
        "9.696970,"
        "\n      \"warps per SM\": 38.787880,\n      \"grid\": [1280, 1, 1],\n      \"block\": "
        "[128, 1, "
        "1],\n      \"est. achieved occupancy %\": 56\n    }\n  }";
  }
  return text + "\n]}";
}

std::string unpacked(const std::filesystem::path& path) {
  std::string text;
  auto source = file_source(path);
  if (!source) return text;
  std::array<char, 65536> piece{};
  while (const std::size_t n = (*source)->read(piece.data(), piece.size())) {
    text.append(piece.data(), n);
  }
  return text;
}

const std::string& text_of(int number) {
  static const std::array<const char*, 4> kFiles = {
      "nanogpt_8xh100/rank0.json.gz", "megatron_tp8_a100/kineto_rank0.json.gz",
      "resnet50_1xv100/num_workers_0.json.gz", "graph_decode_8xh200/rank0.json.gz"};
  static std::array<std::string, kFiles.size() + 1> texts;
  const auto place = static_cast<std::size_t>(number);
  if (!texts[place].empty()) return texts[place];
  if (place < kFiles.size()) {
    const char* shared = std::getenv("FLOPCAST_SHARED");
    const std::filesystem::path root = shared != nullptr ? shared : "../shared";
    texts[place] = unpacked(root / "traces" / kFiles[place]);
  }
  if (texts[place].empty()) texts[place] = made_up_trace(20000);
  return texts[place];
}

void tell_speed(benchmark::State& state, const std::string& text) {
  state.SetLabel(std::to_string(text.size() >> 20) + " MiB");
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}

// Text to sorted columns with their strings and checks, on one thread.
void read_columns(benchmark::State& state) {
  const std::string& text = text_of(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    auto set = read_trace_text(text);
    benchmark::DoNotOptimize(set);
  }
  tell_speed(state, text);
}
BENCHMARK(read_columns)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

std::filesystem::path folder_of_packs() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "flopcast_trace_bench";
  std::filesystem::create_directories(folder);
  return folder;
}

void read_pack(benchmark::State& state) {
  const std::string& text = text_of(static_cast<int>(state.range(0)));
  const std::filesystem::path trace = folder_of_packs() / "trace.json",
                              pack = folder_of_packs() / "run.fcpack";
  std::ofstream(trace, std::ios::binary) << text;
  const auto report = pack_traces({trace}, pack);
  if (!report) return state.SkipWithError(report.error().what.c_str());
  ReadOptions options;
  options.threads = 1;
  for (auto _ : state) {
    auto set = read_traces({pack}, options);
    benchmark::DoNotOptimize(set);
  }
  state.counters["times_smaller"] =
      static_cast<double>(text.size()) / static_cast<double>(report->bytes);
  std::filesystem::remove_all(folder_of_packs());
  tell_speed(state, text);
}
BENCHMARK(read_pack)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

void write_pack(benchmark::State& state) {
  const std::string& text = text_of(static_cast<int>(state.range(0)));
  const std::filesystem::path trace = folder_of_packs() / "trace.json",
                              pack = folder_of_packs() / "run.fcpack";
  std::ofstream(trace, std::ios::binary) << text;
  PackOptions options;
  options.threads = 1;
  for (auto _ : state) {
    if (!pack_traces({trace}, pack, options)) return state.SkipWithError("cannot be packed");
  }
  std::filesystem::remove_all(folder_of_packs());
  tell_speed(state, text);
}
BENCHMARK(write_pack)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

void simdjson_document(benchmark::State& state) {
  const simdjson::padded_string text(text_of(static_cast<int>(state.range(0))));
  simdjson::dom::parser parser;
  for (auto _ : state) {
    simdjson::dom::element root;
    if (parser.parse(text).get(root)) state.SkipWithError("not JSON");
    benchmark::DoNotOptimize(root);
  }
  tell_speed(state, text_of(static_cast<int>(state.range(0))));
}
BENCHMARK(simdjson_document)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

// The ratio in one number, both measured turn by turn so that a busy machine slows both.
void ratio_to_simdjson(benchmark::State& state) {
  const std::string& text = text_of(static_cast<int>(state.range(0)));
  const simdjson::padded_string padded(text);
  simdjson::dom::parser parser;
  double ours = 0, theirs = 0;
  const auto seconds = [](auto run) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (auto _ : state) {
    ours += seconds([&] { benchmark::DoNotOptimize(read_trace_text(text)); });
    theirs += seconds([&] { benchmark::DoNotOptimize(parser.parse(padded).error()); });
  }
  state.counters["time_ours_over_simdjson"] = ours / theirs;
}
BENCHMARK(ratio_to_simdjson)->DenseRange(0, 4)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flopcast
