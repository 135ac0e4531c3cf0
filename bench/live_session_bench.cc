// Speed of a live run's engine: records of 8 processes of one thread and two streams, sharded data parallelism of a few layers.
// Transfers take what their size says, so that the network does not count; names of kernels are as long as real ones.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "live/engine/session/session.h"
#include "support/plain_work.h"

namespace flopcast::live {
namespace {

constexpr std::uint32_t kLayers = 16, kKernels = 24;
constexpr std::uint64_t kWorld = 1, kCompute = 1, kNetwork = 2;

class Ranks {
 public:
  explicit Ranks(std::uint32_t ranks) : session_(work_), numbers_(ranks, 0) {
    for (std::uint32_t i = 0; i < kKernels; ++i)
      kernels_.push_back("kernel " + std::string(90, 'x') + std::to_string(i));
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      session_.add_process(static_cast<std::int32_t>(rank));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Record make = call(Act::kMakeGroup);
      make.word[0] = kWorld;
      make.word[1] = rank;
      make.word[2] = ranks;
      say(rank, make, "world");
      Record aloof = call(Act::kMakeStream);
      aloof.word[1] = 1;
      for (const std::uint64_t stream : {kCompute, kNetwork}) {
        aloof.stream = stream;
        say(rank, aloof, "");
      }
    }
  }

  void step() {
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
      for (std::uint32_t rank = 0; rank < numbers_.size(); ++rank) this->layer(rank);
    }
    for (std::uint32_t rank = 0; rank < numbers_.size(); ++rank) {
      Record wait = call(Act::kWaitDevice);
      wait.flags = kAnswerWanted;
      say(rank, wait, "");
    }
    std::size_t answered = 0;
    while (answered < numbers_.size()) answered += session_.advance().size();
    benchmark::DoNotOptimize(session_.run().take_settled(session_.horizon()));
  }
  std::int64_t records() const { return records_; }

 private:
  static Record call(Act act) {
    Record record;
    record.act = act;
    record.gap_ns = 3000;
    record.duration_ns = 1500;
    return record;
  }
  void say(std::uint32_t rank, Record record, std::string_view signature) {
    record.number = numbers_[rank]++;
    ++records_;
    benchmark::DoNotOptimize(session_.take(rank, 0, record, signature));
  }
  void layer(std::uint32_t rank) {
    for (const std::string& name : kernels_) {
      Record kernel = call(Act::kKernel);
      kernel.stream = kCompute;
      kernel.word[0] = 5;
      say(rank, kernel, name);
    }
    Record event = call(Act::kRecordEvent);
    event.stream = kCompute;
    event.word[0] = 1;
    say(rank, event, "");
    event.act = Act::kStreamWaitsEvent;
    event.stream = kNetwork;
    say(rank, event, "");
    Record reduce = call(Act::kCollective);
    reduce.stream = kNetwork;
    reduce.word[0] = kWorld;
    reduce.word[2] = 40;
    reduce.word[3] = 1;
    say(rank, reduce, "");
  }

  PlainWork work_;
  Session session_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::string> kernels_;
  std::int64_t records_ = 0;
};

void records_of_ranks(benchmark::State& state) {
  Ranks ranks(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) ranks.step();
  state.SetItemsProcessed(ranks.records());
}
BENCHMARK(records_of_ranks)->Arg(1)->Arg(8)->Arg(64);

}  // namespace
}  // namespace flopcast::live
