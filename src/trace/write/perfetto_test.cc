#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <vector>

#include "flopcast/trace/io.h"
#include "support/temporary_folder.h"
#include "trace/write/sample_traces.h"

namespace flopcast::trace {
namespace {

using protozero::pbf_reader;
using test::TemporaryFolder;

struct Slice {
  std::string track, name;
  std::uint64_t start = 0, end = 0;
  std::vector<std::uint64_t> flows_out, flows_in;
};

// What a viewer would show. Fails the test where a rule of track events is broken.
class Decoded {
 public:
  explicit Decoded(const std::string& bytes) {
    pbf_reader trace(bytes);
    while (trace.next(1)) read_packet(trace.get_message());
    for (const auto& [track, stack] : open_) EXPECT_TRUE(stack.empty()) << tracks_[track];
  }

  const std::vector<Slice>& slices() const { return slices_; }
  const std::map<std::uint64_t, std::string>& tracks() const { return tracks_; }
  const Slice& find(const std::string& name) const {
    for (const Slice& slice : slices_) {
      if (slice.name == name) return slice;
    }
    ADD_FAILURE() << "no slice " << name;
    return slices_.front();
  }

 private:
  void read_packet(pbf_reader packet) {
    std::uint64_t time = 0;
    pbf_reader event;
    while (packet.next()) {
      switch (packet.tag()) {
        case 8:
          time = packet.get_uint64();
          break;
        case 10:
          sequence_ = packet.get_uint32();
          break;
        case 11:
          event = packet.get_message();
          break;
        case 12:
          read_names(packet.get_message());
          break;
        case 60:
          read_track(packet.get_message());
          break;
        default:
          packet.skip();
      }
    }
    if (event.length() == 0) return;
    EXPECT_GE(time, last_time_[sequence_]);
    last_time_[sequence_] = time;
    read_event(event, time);
  }

  void read_names(pbf_reader data) {
    while (data.next()) {
      if (data.tag() != 2) {
        data.skip();
        continue;
      }
      pbf_reader entry = data.get_message();
      std::uint64_t id = 0;
      while (entry.next()) {
        if (entry.tag() == 1)
          id = entry.get_uint64();
        else
          names_[{sequence_, id}] = entry.get_string();
      }
    }
  }

  void read_track(pbf_reader track) {
    std::uint64_t uuid = 0;
    while (track.next()) {
      if (track.tag() == 1)
        uuid = track.get_uint64();
      else if (track.tag() == 2)
        tracks_[uuid] = track.get_string();
      else
        track.skip();
    }
    EXPECT_NE(uuid, 0u);
  }

  void read_event(pbf_reader event, std::uint64_t time) {
    std::uint64_t track = 0;
    int type = 0;
    Slice slice;
    while (event.next()) {
      switch (event.tag()) {
        case 9:
          type = event.get_enum();
          break;
        case 10:
          slice.name = names_[{sequence_, event.get_uint64()}];
          break;
        case 11:
          track = event.get_uint64();
          break;
        case 47:
          slice.flows_out.push_back(event.get_fixed64());
          break;
        case 48:
          slice.flows_in.push_back(event.get_fixed64());
          break;
        default:
          event.skip();
      }
    }
    ASSERT_EQ(tracks_.count(track), 1u);
    std::vector<std::size_t>& stack = open_[track];
    if (type == 1) {
      slice.track = tracks_[track];
      slice.start = time;
      stack.push_back(slices_.size());
      slices_.push_back(slice);
    } else {
      ASSERT_FALSE(stack.empty());
      slices_[stack.back()].end = time;
      stack.pop_back();
    }
  }

  std::uint32_t sequence_ = 0;
  std::map<std::uint32_t, std::uint64_t> last_time_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::string> names_;
  std::map<std::uint64_t, std::string> tracks_;
  std::map<std::uint64_t, std::vector<std::size_t>> open_;
  std::vector<Slice> slices_;
};

Decoded written(const TraceSet& set) {
  const TemporaryFolder dir;
  const Result<std::uint64_t> bytes = write_perfetto(set, dir / "t.pftrace");
  EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : bytes.error().text());
  return Decoded(test::read_text(dir / "t.pftrace"));
}

struct Row {
  std::int64_t start_ps, duration_ps;
};

// Kernels of one stream, named by their number.
TraceSet stream_of(const std::vector<Row>& rows) {
  TraceSet set;
  Trace trace;
  trace.rank = 0;
  trace.tracks.push_back({set.strings.intern("0"), set.strings.intern("7"), 0, 0});
  Events& events = trace.events;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    events.start.push_back({rows[i].start_ps});
    events.duration.push_back({rows[i].duration_ps});
    events.name.push_back(set.strings.intern(std::to_string(i)));
  }
  events.track.assign(rows.size(), 0);
  events.category.assign(rows.size(), Category::kKernel);
  events.stream.assign(rows.size(), 7);
  events.device.assign(rows.size(), 0);
  events.correlation.assign(rows.size(), kNoId);
  events.external_id = events.correlation;
  events.detail.assign(rows.size(), kNoDetail);
  events.collective = events.detail;
  set.traces.push_back(std::move(trace));
  return set;
}

TEST(WritePerfetto, NestedRowsShareATrack) {
  const Decoded trace = written(stream_of({{0, 100000}, {10000, 20000}, {40000, 60000}}));
  ASSERT_EQ(trace.slices().size(), 3u);
  for (const Slice& slice : trace.slices()) EXPECT_EQ(slice.track, "stream 7");
  EXPECT_EQ(trace.find("2").start, 40u);
  EXPECT_EQ(trace.find("2").end, 100u);
}

TEST(WritePerfetto, OverlapGoesToAnOverflowTrack) {
  const Decoded trace =
      written(stream_of({{0, 50000}, {40000, 50000}, {45000, 100000}, {60000, 1000}}));
  EXPECT_EQ(trace.find("0").track, "stream 7");
  EXPECT_EQ(trace.find("1").track, "stream 7 (2)");
  EXPECT_EQ(trace.find("2").track, "stream 7 (3)");
  EXPECT_EQ(trace.find("3").track, "stream 7");
}

TEST(WritePerfetto, TouchingAndEmptyRowsNeedNoOverflow) {
  const Decoded trace = written(stream_of({{0, 50000}, {50000, 0}, {50000, 0}, {50000, 10000}}));
  EXPECT_EQ(trace.tracks().size(), 1u);
  EXPECT_EQ(trace.find("1").end, 50u);
}

TEST(WritePerfetto, TimesCountFromTheFirstRowAndRoundDown) {
  const Decoded trace = written(stream_of({{-5500, 2000}, {1999, 1}}));
  EXPECT_EQ(trace.find("0").start, 0u);
  EXPECT_EQ(trace.find("0").end, 2u);
  EXPECT_EQ(trace.find("1").start, 7u);
  EXPECT_EQ(trace.find("1").end, 8u);
}

RC_GTEST_PROP(WritePerfetto, AnyRowsAreBalancedAndKeepTheirTimes, ()) {
  const auto times = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 40), rc::gen::inRange(0, 30)));
  std::vector<Row> rows;
  rows.reserve(times.size());
  for (const auto& [start, duration] : times) rows.push_back({start * 500, duration * 500});
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.start_ps != b.start_ps ? a.start_ps < b.start_ps : a.duration_ps > b.duration_ps;
  });
  const Decoded trace = written(stream_of(rows));
  RC_ASSERT(trace.slices().size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Slice& slice = trace.find(std::to_string(i));
    RC_ASSERT(slice.start == static_cast<std::uint64_t>(rows[i].start_ps / 1000));
    RC_ASSERT(slice.end ==
              static_cast<std::uint64_t>((rows[i].start_ps + rows[i].duration_ps) / 1000));
  }
}

TEST(WritePerfetto, ArrowsLeadFromLaunchesToWork) {
  const Result<TraceSet> set = read_trace_text(test::small_trace_json(0));
  ASSERT_TRUE(set.ok());
  const Decoded trace = written(*set);
  const Slice& launch = trace.find("cudaLaunchKernel");
  const Slice& work = trace.find("gemm<\"\u00e9\", 'x'>");
  ASSERT_EQ(launch.flows_out.size(), 1u);
  EXPECT_EQ(work.flows_in, launch.flows_out);
  EXPECT_TRUE(trace.find("Memcpy HtoD (Pinned -> Device)").flows_in.empty());
  EXPECT_EQ(launch.track, "thread 75 (python)");
  EXPECT_EQ(trace.find("nccl:all_reduce").track, "stream 23 annotations");
}

TEST(WritePerfetto, EmptySetIsAnEmptyFile) {
  const TemporaryFolder dir;
  const Result<std::uint64_t> bytes = write_perfetto(TraceSet{}, dir / "t.pftrace");
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, 0u);
}

TEST(WritePerfetto, FullDiskIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Result<std::uint64_t> result = write_perfetto(stream_of({{0, 1000}}), "/dev/full");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().where, "/dev/full");
}

}  // namespace
}  // namespace flopcast::trace
