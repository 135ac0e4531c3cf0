// Kernels that wait for room: as recorded when nothing is changed, as they come when something is.
#include <gtest/gtest.h>

#include <string>

#include "flopcast/replay/assembly.h"
#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;
using test::us;

/// Stream 7 is full from 20 to 220; what stream 9 was given at 50 starts in the last wave.
TraceText full_gpu(double late_start = 200) {
  return TraceText()
      .launch(10, 15, 1)
      .launch(50, 55, 2)
      .kernel("big", 20, 220, 7, 1)
      .kernel("small", late_start, late_start + 40, 9, 2)
      .call("cudaDeviceSynchronize", 60, late_start + 50);
}

class RoomsOf {
 public:
  explicit RoomsOf(const TraceText& text) : set_(text.read()) {
    Replay notes;
    rec_ = make_recording(set_, 1, notes);
    for (std::uint32_t r = 0; r < rec_.ranks.size(); ++r)
      bindings_.push_back(find_bindings(rec_, r));
  }
  /// Start of each GPU task, by name.
  Time start(const std::string& name, const Durations& durations) const {
    const Lags lags = measure_lags(rec_, bindings_, LagMode::kRecorded);
    const Assembly a = assemble(rec_, durations, lags, bindings_, Baseline::kNone);
    const auto run = simulate(a.graph, a.release);
    EXPECT_TRUE(run.ok());
    return run->start[a.map.ranks[0].gpu_first[task(name)]];
  }
  std::uint32_t task(const std::string& name) const {
    const RankModel& rank = rec_.ranks[0];
    for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
      if (set_.strings[rank.trace->events.name[rank.gpu[t].row]] == name) return t;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  Durations with(const std::string& name, Time duration) const {
    Durations durations = recorded_durations(rec_);
    durations.ranks[0].gpu[task(name)] = durations.ranks[0].transfer[task(name)] = duration;
    return durations;
  }
  const Room& room(const std::string& name) const { return rec_.rooms[0][task(name)]; }
  const Recording& recording() const { return rec_; }

 private:
  TraceSet set_;
  Recording rec_;
  std::vector<std::vector<Binding>> bindings_;
};

TEST(Rooms, WhoWaitsForSpaceStartsWhenItIsLeft) {
  const RoomsOf rooms(full_gpu());
  EXPECT_EQ(rooms.room("small").need, Room::Need::kHeld);
  EXPECT_EQ(rooms.room("big").fills, us(180));
  const Time from = rooms.start("big", recorded_durations(rooms.recording()));
  EXPECT_EQ(rooms.start("small", recorded_durations(rooms.recording())), from + us(180));
  EXPECT_EQ(rooms.start("small", rooms.with("big", us(100))), from + us(90));
  EXPECT_EQ(rooms.start("small", rooms.with("big", us(400))), from + us(360));
  // Done before the other comes: it starts as soon as its launch lets it, 10 us after the call.
  EXPECT_EQ(rooms.start("small", rooms.with("big", us(20))), from + us(40));
}

TEST(Rooms, WhoStartsBesidesAnotherWasLeftSpace) {
  const RoomsOf rooms(full_gpu(61));
  EXPECT_EQ(rooms.room("small").need, Room::Need::kFree);
  EXPECT_LE(rooms.room("big").fills, us(41));
  const Durations longer = rooms.with("big", us(300));
  EXPECT_EQ(rooms.start("small", longer),
            rooms.start("small", recorded_durations(rooms.recording())));
}

TEST(Rooms, OneStreamNeedsNone) {
  const RoomsOf rooms(TraceText()
                          .launch(0, 5, 1)
                          .launch(6, 9, 2)
                          .kernel("a", 10, 50, 7, 1)
                          .kernel("b", 52, 60, 7, 2));
  EXPECT_EQ(rooms.room("a").need, Room::Need::kNone);
  EXPECT_EQ(rooms.room("b").need, Room::Need::kNone);
}

// 80 SMs of 2,048 threads: 8 blocks of 256 threads each, if registers and shared memory allow.
TEST(Rooms, BlocksTellWhenAKernelLeavesSpace) {
  const auto fills = [](std::string_view shape) {
    std::string text = full_gpu(61).kernel("lone", 400, 500, 7, 0, shape).text();
    text.insert(1, R"("deviceProperties": [{"id": 0, "name": "V", "numSms": 80,
        "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536,
        "sharedMemPerMultiprocessor": 98304}],)");
    const Result<TraceSet> set = read_trace_text(text);
    EXPECT_TRUE(set.ok());
    Replay notes;
    const Recording rec = make_recording(*set, 1, notes);
    return rec.rooms[0].back().fills;
  };
  EXPECT_EQ(fills(R"("grid": [639, 1, 1], "block": [256, 1, 1])"), Time{});   // fits beside others
  EXPECT_EQ(fills(R"("grid": [640, 1, 1], "block": [256, 1, 1])"), us(100));  // all of it
  EXPECT_EQ(fills(R"("grid": [960, 1, 1], "block": [256, 1, 1])"), us(50));   // one wave of two
  EXPECT_EQ(fills(R"("grid": [640, 1, 1], "block": [256, 1, 1],
                     "registers per thread": 64)"),
            us(100));  // 4 at once: two full
  EXPECT_NEAR(fills(R"("grid": [200, 1, 1], "block": [256, 1, 1],
                     "shared memory": 98304)")
                  .us(),
              200.0 / 3, 0.001);  // 1 at once: 2 of 3
}

}  // namespace
}  // namespace flopcast::replaying
