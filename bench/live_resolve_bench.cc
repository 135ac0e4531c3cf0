// A captured run of 64 ranks, timed again on another cluster: sharded data parallelism of a transformer's layers, whose products
// and element-wise kernels are told as PyTorch's are. Reading the file, prices, the network and the summary count.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "flopcast/hardware.h"
#include "flopcast/live.h"
#include "live/engine/capture/capture.h"
#include "live/engine/session/session.h"
#include "support/plain_work.h"
#include "support/temporary_folder.h"

namespace flopcast::live {
namespace {

constexpr std::uint32_t kRanks = 64, kLayers = 16, kProducts = 21, kOthers = 40;
constexpr std::uint64_t kWorld = 1, kCompute = 1, kNetwork = 2, kLayerBytes = 100 << 20;

/// Steps of all ranks, written to a file as a run does.
class Captured {
 public:
  explicit Captured(const std::filesystem::path& path)
      : session_(work_, HostTimes()), numbers_(kRanks, 0) {
    auto writer = CaptureWriter::create(path, {.cluster = "8 x dgx-h100",
                                               .chip = "h100-sxm",
                                               .ranks = kRanks,
                                               .chips_per_node = 8,
                                               .memory_bytes = std::uint64_t{80} << 30,
                                               .host = HostTable::builtin().toml("of a bench"),
                                               .operators = ""});
    writer_ = std::move(*writer);
    session_.set_listener(writer_.get());
    session_.set_node(8);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      session_.add_process(static_cast<std::int32_t>(rank));
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      Record make = call(Act::kMakeGroup);
      make.word[0] = kWorld;
      make.word[1] = rank;
      make.word[2] = kRanks;
      say(rank, make, "world");
      make.act = Act::kWaitGroup;
      make.flags = kAnswerWanted;
      say(rank, make, "");
    }
    wait_for_all();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (const std::uint64_t stream : {kCompute, kNetwork}) {
        Record aloof = call(Act::kMakeStream, stream);
        aloof.word[1] = 1;
        say(rank, aloof, "");
      }
    }
  }

  void step() {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      for (std::uint32_t layer = 0; layer < kLayers; ++layer) this->layer(rank);
      Record step = call(Act::kMark);
      for (const std::uint64_t begins : {1, 0}) {
        step.word[0] = begins;
        say(rank, step, "Optimizer.step#AdamW.step");
      }
      Record wait = call(Act::kWaitDevice);
      wait.flags = kAnswerWanted;
      say(rank, wait, "");
    }
    wait_for_all();
  }
  std::int64_t commit() {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) session_.lose(rank);
    session_.set_listener(nullptr);
    benchmark::DoNotOptimize(writer_->commit(LiveReport()));
    return records_;
  }

 private:
  static Record call(Act act, std::uint64_t stream = 0) {
    Record record;
    record.act = act;
    record.gap_ns = 3000;
    record.duration_ns = 1500;
    record.stream = stream;
    return record;
  }
  void say(std::uint32_t rank, Record record, std::string_view signature) {
    record.number = numbers_[rank]++;
    ++records_;
    benchmark::DoNotOptimize(session_.take(rank, 0, record, signature));
  }
  void wait_for_all() {
    std::size_t answered = 0;
    while (answered < kRanks) answered += session_.advance().size();
  }
  void meet(std::uint32_t rank, Collective op) {
    Record record = call(Act::kCollective, kNetwork);
    record.word[0] = kWorld;
    record.word[1] = static_cast<std::uint64_t>(op) << 32;
    record.word[2] = kLayerBytes;
    record.word[3] = 1;
    say(rank, record, "");
  }
  /// The next stream goes on when the other has come so far.
  void order(std::uint32_t rank, std::uint64_t first, std::uint64_t then) {
    Record event = call(Act::kRecordEvent, first);
    event.word[0] = first;
    say(rank, event, "");
    event.act = Act::kStreamWaitsEvent;
    event.stream = then;
    say(rank, event, "");
  }
  void layer(std::uint32_t rank) {
    meet(rank, Collective::kAllGather);
    order(rank, kNetwork, kCompute);
    for (std::uint32_t i = 0; i < kProducts; ++i) {
      Record product = call(Act::kKernel, kCompute);
      product.word[0] = 256;
      say(rank, product, fmt::format("gemm bf16 4096 {} 4096 1 cublas", 1024 * (1 + i % 4)));
    }
    for (std::uint32_t i = 0; i < kOthers; ++i) {
      Record other = call(Act::kKernel, kCompute);
      other.word[0] = 4096;
      say(rank, other,
          fmt::format("operator aten::mul.Tensor bf16:4096x{0},bf16:4096x{0} =0 1000 "
                      "vectorized_elementwise_kernel",
                      1024 * (1 + i % 8)));
    }
    order(rank, kCompute, kNetwork);
    meet(rank, Collective::kReduceScatter);
  }

  PlainWork work_;
  std::unique_ptr<CaptureWriter> writer_;
  Session session_;
  std::vector<std::uint32_t> numbers_;
  std::int64_t records_ = 0;
};

void resolve_of_steps(benchmark::State& state) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "run.fccap";
  Captured run(path);
  for (std::int64_t i = 0; i < state.range(0); ++i) run.step();
  const std::int64_t records = run.commit();
  for (auto _ : state) {
    const Result<LiveReport> report =
        resolve_live({path, "8 x dgx-h100, node.bandwidth 100GB/s", {}, false}, Catalog::builtin());
    if (!report) return state.SkipWithError(report.error().text().c_str());
    benchmark::DoNotOptimize(report->ranks.size());
  }
  state.SetItemsProcessed(records * state.iterations());
}
BENCHMARK(resolve_of_steps)->Arg(1)->Arg(5)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace flopcast::live
