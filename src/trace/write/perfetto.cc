// Columns to a Perfetto trace: begin and end events on named tracks, one packet sequence per rank.
//
// Perfetto closes slices of a track in the reverse order of opening, so two rows that overlap
// without nesting cannot share a track: the later one goes to the first overflow track that has
// room. Times are rounded down to whole nanoseconds, which keeps order and nesting. Field numbers
// are those of the public perfetto_trace.proto.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <protozero/pbf_writer.hpp>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/files/output_file.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "base/text/utf8.h"
#include "flopcast/trace/io.h"
#include "trace/write/launch_rows.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

using protozero::pbf_writer;

namespace field {
constexpr std::uint32_t kTracePacket = 1;
namespace packet {
constexpr std::uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                        kSequenceFlags = 13, kTrackDescriptor = 60;
}
namespace descriptor {
constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kParent = 5, kChildOrdering = 11,
                        kSiblingRank = 12;
}
namespace process {
constexpr std::uint32_t kPid = 1, kName = 6;
}
namespace event {
constexpr std::uint32_t kCategoryIds = 3, kAnnotations = 4, kType = 9, kNameId = 10, kTrack = 11,
                        kFlowIds = 47, kTerminatingFlowIds = 48;
}
namespace annotation {
constexpr std::uint32_t kNameId = 1, kInt = 4, kStringId = 17;
}
namespace interned {
constexpr std::uint32_t kCategories = 1, kNames = 2, kAnnotationNames = 3, kStringValues = 29;
constexpr std::uint32_t kId = 1, kText = 2;
}  // namespace interned
}  // namespace field

constexpr std::uint32_t kStateCleared = 1, kNeedsState = 2;  // TracePacket.SequenceFlags
constexpr std::int32_t kSliceBegin = 1, kSliceEnd = 2;       // TrackEvent.Type
constexpr std::int32_t kExplicitOrder = 3;                   // TrackDescriptor.ChildTracksOrdering
enum AnnotationName : std::uint64_t { kCorrelation = 1, kCollective, kBytes };

constexpr std::int32_t kLanesPerGroup = 1000;  // room for overflow tracks in the order of tracks

std::int64_t floor_ns(Time t) { return t.ps / 1000 - (t.ps % 1000 < 0 ? 1 : 0); }

/// The rows of one track of the trace; on a GPU track, work and annotations apart, so that an
/// annotation never pushes a kernel off its stream's track.
struct Group {
  std::uint32_t track = 0;
  bool is_gpu = false;
  bool is_annotation = false;
  std::int32_t device = -1;
  std::int32_t stream = kNoStream;
  std::string name;
};

struct Lane {
  std::uint64_t uuid = 0;
  std::vector<std::int64_t> open_ends;  // of the slices open on it, outermost first
};

bool lies_on_gpu(Category c) {
  return is_gpu_work(c) || c == Category::kSync || c == Category::kGpuUserAnnotation;
}

/// Sorts rows into groups and names these.
class Groups {
  using StreamId = std::pair<std::int32_t, std::int32_t>;  // device, stream

 public:
  Groups(const Trace& trace, const StringTable& strings) : trace_(trace), strings_(strings) {
    find_gpu_tracks();
    find_groups();
    order_groups();
    name_groups();
  }

  std::size_t size() const { return groups_.size(); }
  const Group& operator[](std::size_t i) const { return groups_[i]; }
  std::size_t of(std::size_t row) const { return place_[key(row)]; }

 private:
  std::size_t key(std::size_t row) const {
    const std::uint32_t track = trace_.events.track[row];
    const bool apart = on_gpu_[track] && !is_gpu_work(trace_.events.category[row]);
    return std::size_t{track} * 2 + (apart ? 1 : 0);
  }

  void find_gpu_tracks() {
    const Events& events = trace_.events;
    on_gpu_.resize(trace_.tracks.size());
    streams_.resize(trace_.tracks.size(), {-1, kNoStream});
    for (std::size_t row = 0; row < events.size(); ++row) {
      if (!lies_on_gpu(events.category[row])) continue;
      on_gpu_[events.track[row]] = true;
      StreamId& id = streams_[events.track[row]];
      id = std::max(id, StreamId(events.device[row], events.stream[row]));
    }
  }

  void find_groups() {
    const Events& events = trace_.events;
    place_.assign(trace_.tracks.size() * 2, std::numeric_limits<std::size_t>::max());
    for (std::size_t row = 0; row < events.size(); ++row) {
      std::size_t& place = place_[key(row)];
      if (place != std::numeric_limits<std::size_t>::max()) continue;
      place = groups_.size();
      const std::uint32_t track = events.track[row];
      const auto [device, stream] = streams_[track];
      groups_.push_back({track, on_gpu_[track], key(row) % 2 == 1, device, stream, {}});
    }
  }

  // Threads in order of appearance, then streams by device and number, annotations above their
  // work.
  void order_groups() {
    const auto rank = [](const Group& g) {
      if (!g.is_gpu) return std::tuple(false, std::int32_t{0}, std::int32_t{0}, g.track, false);
      return std::tuple(true, g.device, g.stream, g.track, !g.is_annotation);
    };
    std::sort(groups_.begin(), groups_.end(),
              [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      place_[std::size_t{groups_[i].track} * 2 + (groups_[i].is_annotation ? 1 : 0)] = i;
    }
  }

  void name_groups() {
    std::set<std::int32_t> devices;
    for (const Group& group : groups_) {
      if (group.is_gpu && !group.is_annotation) devices.insert(group.device);
    }
    std::set<std::string> taken;
    for (Group& group : groups_) {
      group.name = name_of(group, devices.size() > 1);
      // Viewers merge tracks that share a name.
      if (taken.count(group.name) != 0) {
        group.name += fmt::format(" (pid {})", strings_[trace_.tracks[group.track].pid]);
      }
      const std::string name = group.name;
      for (int n = 2; !taken.insert(group.name).second; ++n) {
        group.name = fmt::format("{} #{}", name, n);
      }
    }
  }

  std::string name_of(const Group& group, bool several_devices) const {
    const Track& track = trace_.tracks[group.track];
    std::string name(trim(strings_[track.thread_name]));
    const std::string_view tid = strings_[track.tid];
    if (name.empty() && group.is_gpu && group.stream != kNoStream) {
      name = fmt::format("stream {}", group.stream);
    } else if (name.empty()) {
      name = parse_whole(tid) ? fmt::format("thread {}", tid) : std::string(tid);
    }
    if (group.is_gpu && several_devices && group.device >= 0) {
      name = fmt::format("GPU {} {}", group.device, name);
    }
    if (group.is_annotation) name += " annotations";
    return valid_utf8(name);
  }

  const Trace& trace_;
  const StringTable& strings_;
  std::vector<bool> on_gpu_;        // by track
  std::vector<StreamId> streams_;   // by track; annotations may lack what their work says
  std::vector<std::size_t> place_;  // by key: index of the group
  std::vector<Group> groups_;
};

/// GPU rows by launch, as flow ids: one id per pair, since an id that ended must not be used again.
class Flows {
 public:
  Flows(const Events& events, std::uint64_t& next_id) : first_(events.size() + 1) {
    const std::vector<std::uint32_t> launches = launch_rows(events);
    base_ = next_id;
    for (std::size_t row = 0; row < events.size(); ++row) {
      if (is_forward(events, launches, row)) ++first_[launches[row] + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<std::uint32_t> used(first_);
    into_.assign(events.size(), kNoDetail);
    for (std::size_t row = 0; row < events.size(); ++row) {
      if (is_forward(events, launches, row)) into_[row] = used[launches[row]]++;
    }
    next_id += first_.back();
  }

  template <typename Visit>
  void out_of(std::size_t row, Visit&& visit) const {
    for (std::uint32_t i = first_[row]; i < first_[row + 1]; ++i) visit(base_ + i);
  }
  /// 0 where none.
  std::uint64_t into(std::size_t row) const {
    return into_[row] == kNoDetail ? 0 : base_ + into_[row];
  }

 private:
  // An arrow that would point back in time (clock skew) is left out: viewers reject it.
  static bool is_forward(const Events& events, const std::vector<std::uint32_t>& launches,
                         std::size_t row) {
    const std::uint32_t launch = launches[row];
    return launch != kNoDetail && floor_ns(events.start[launch]) <= floor_ns(events.start[row]);
  }

  std::uint64_t base_ = 0;
  std::vector<std::uint32_t> first_;  // by launch row
  std::vector<std::uint32_t> into_;   // by GPU row
};

/// What the ranks share while the file is written.
struct Output {
  OutputFile& file;
  const StringTable& strings;
  std::int64_t origin_ns = 0;
  std::uint64_t next_flow = 1;
  std::string buffer;

  void flush(std::size_t at_least = 1) {
    if (buffer.size() < at_least) return;
    file.write(buffer);
    buffer.clear();
  }
};

/// One rank's packets.
class Sequence {
 public:
  Sequence(Output& out, const Trace& trace, std::uint32_t number)
      : out_(out),
        trace_(trace),
        number_(number),
        groups_(trace, out.strings),
        flows_(trace.events, out.next_flow),
        lanes_(groups_.size()),
        names_known_(out.strings.size()),
        values_known_(out.strings.size()) {
    process_uuid_ = std::uint64_t{number} << 32;
    last_uuid_ = process_uuid_;
  }

  void write() {
    begin_sequence();
    for (const std::uint32_t row : rows_in_order()) {
      const std::int64_t start = ns(trace_.events.start[row]);
      const std::int64_t end = ns(trace_.events.end(row));
      end_slices(start);
      const std::uint64_t lane = lane_for(groups_.of(row), start, end);
      begin_slice(row, lane, start);
      open_.push({end, opened_++, lane});
      out_.flush(std::size_t{1} << 20);
    }
    end_slices(std::numeric_limits<std::int64_t>::max());
  }

 private:
  struct OpenSlice {
    std::int64_t end;
    std::uint64_t opened;
    std::uint64_t lane;
    // The queue gives the greatest first: the earliest end, and of these the innermost.
    bool operator<(const OpenSlice& o) const {
      return end != o.end ? end > o.end : opened < o.opened;
    }
  };

  std::int64_t ns(Time t) const { return trace_.origin_ns - out_.origin_ns + floor_ns(t); }

  // Fills in one packet; `fill` adds what it holds.
  template <typename Fill>
  void packet(std::uint32_t flags, Fill&& fill) {
    pbf_writer file(out_.buffer);
    pbf_writer packet(file, field::kTracePacket);
    packet.add_uint32(field::packet::kSequence, number_);
    packet.add_uint32(field::packet::kSequenceFlags, flags);
    fill(packet);
  }

  static void intern(pbf_writer& data, std::uint32_t kind, std::uint64_t id,
                     std::string_view text) {
    pbf_writer entry(data, kind);
    entry.add_uint64(field::interned::kId, id);
    entry.add_string(field::interned::kText, std::string(text));
  }

  std::string process_name() const {
    std::string name = trace_.rank ? fmt::format("rank {}", *trace_.rank) : std::string("trace");
    for (const Track& track : trace_.tracks) {
      const std::string_view process = trim(out_.strings[track.process_name]);
      if (!process.empty()) return valid_utf8(fmt::format("{}: {}", name, process));
    }
    return name;
  }

  void begin_sequence() {
    packet(kStateCleared, [&](pbf_writer& packet) {
      {
        pbf_writer data(packet, field::packet::kInternedData);
        for (int c = 0; c < kCategoryCount; ++c) {
          const auto id = static_cast<std::uint64_t>(c) + 1;
          intern(data, field::interned::kCategories, id, category_name(static_cast<Category>(c)));
        }
        intern(data, field::interned::kAnnotationNames, kCorrelation, "correlation");
        intern(data, field::interned::kAnnotationNames, kCollective, "collective");
        intern(data, field::interned::kAnnotationNames, kBytes, "bytes");
      }
      pbf_writer track(packet, field::packet::kTrackDescriptor);
      track.add_uint64(field::descriptor::kUuid, process_uuid_);
      track.add_enum(field::descriptor::kChildOrdering, kExplicitOrder);
      track.add_int32(field::descriptor::kSiblingRank, static_cast<std::int32_t>(number_));
      // Not the recorded pid: ranks on different hosts may share it.
      pbf_writer process(track, field::descriptor::kProcess);
      process.add_int32(field::process::kPid, static_cast<std::int32_t>(number_));
      process.add_string(field::process::kName, process_name());
    });
  }

  // By time in whole ns; at one instant host rows come first, so that an arrow leaves before it
  // arrives.
  std::vector<std::uint32_t> rows_in_order() const {
    std::vector<std::uint32_t> rows(trace_.events.size());
    std::iota(rows.begin(), rows.end(), 0u);
    const auto key = [this](std::uint32_t row) {
      return std::pair(floor_ns(trace_.events.start[row]),
                       is_gpu_work(trace_.events.category[row]));
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    return rows;
  }

  std::uint64_t lane_for(std::size_t group, std::int64_t start, std::int64_t end) {
    for (Lane& lane : lanes_[group]) {
      std::vector<std::int64_t>& ends = lane.open_ends;
      while (!ends.empty() && ends.back() <= start) ends.pop_back();
      if (!ends.empty() && ends.back() < end) continue;
      ends.push_back(end);
      return lane.uuid;
    }
    return new_lane(group, end);
  }

  std::uint64_t new_lane(std::size_t group, std::int64_t end) {
    const std::size_t index = lanes_[group].size();
    lanes_[group].push_back({++last_uuid_, {end}});
    packet(kNeedsState, [&](pbf_writer& packet) {
      pbf_writer track(packet, field::packet::kTrackDescriptor);
      track.add_uint64(field::descriptor::kUuid, last_uuid_);
      track.add_uint64(field::descriptor::kParent, process_uuid_);
      const std::string& name = groups_[group].name;
      track.add_string(field::descriptor::kName,
                       index == 0 ? name : fmt::format("{} ({})", name, index + 1));
      const std::size_t rank = group * kLanesPerGroup + std::min(index, std::size_t{999});
      track.add_int32(field::descriptor::kSiblingRank, static_cast<std::int32_t>(rank));
    });
    return last_uuid_;
  }

  void end_slices(std::int64_t until) {
    while (!open_.empty() && open_.top().end <= until) {
      const OpenSlice slice = open_.top();
      open_.pop();
      packet(kNeedsState, [&](pbf_writer& packet) {
        packet.add_uint64(field::packet::kTimestamp, static_cast<std::uint64_t>(slice.end));
        pbf_writer event(packet, field::packet::kTrackEvent);
        event.add_enum(field::event::kType, kSliceEnd);
        event.add_uint64(field::event::kTrack, slice.lane);
      });
    }
  }

  std::uint32_t collective_name(std::size_t row) const {
    const std::uint32_t index = trace_.events.collective[row];
    return index < trace_.collectives.size() ? trace_.collectives[index].name : 0;
  }

  // Strings are sent once per sequence, in the packet that first uses them.
  void intern_strings(pbf_writer& packet, std::uint32_t name, std::uint32_t value) {
    const bool new_name = !names_known_[name];
    const bool new_value = value != 0 && !values_known_[value];
    if (!new_name && !new_value) return;
    pbf_writer data(packet, field::packet::kInternedData);
    if (new_name) {
      names_known_[name] = true;
      intern(data, field::interned::kNames, name + 1ull, valid_utf8(out_.strings[name]));
    }
    if (new_value) {
      values_known_[value] = true;
      intern(data, field::interned::kStringValues, value, valid_utf8(out_.strings[value]));
    }
  }

  void begin_slice(std::uint32_t row, std::uint64_t lane, std::int64_t start) {
    const Events& events = trace_.events;
    packet(kNeedsState, [&](pbf_writer& packet) {
      packet.add_uint64(field::packet::kTimestamp, static_cast<std::uint64_t>(start));
      intern_strings(packet, events.name[row], collective_name(row));
      pbf_writer event(packet, field::packet::kTrackEvent);
      event.add_uint64(field::event::kCategoryIds,
                       static_cast<std::uint64_t>(events.category[row]) + 1);
      event.add_enum(field::event::kType, kSliceBegin);
      event.add_uint64(field::event::kNameId, events.name[row] + 1ull);
      event.add_uint64(field::event::kTrack, lane);
      flows_.out_of(row, [&](std::uint64_t id) { event.add_fixed64(field::event::kFlowIds, id); });
      if (const std::uint64_t id = flows_.into(row)) {
        event.add_fixed64(field::event::kTerminatingFlowIds, id);
      }
      add_annotations(event, row);
    });
  }

  void add_annotations(pbf_writer& event, std::uint32_t row) const {
    const Events& events = trace_.events;
    const auto integer = [&](AnnotationName name, std::int64_t value) {
      pbf_writer annotation(event, field::event::kAnnotations);
      annotation.add_uint64(field::annotation::kNameId, name);
      annotation.add_int64(field::annotation::kInt, value);
    };
    if (events.correlation[row] != kNoId) integer(kCorrelation, events.correlation[row]);
    const Category category = events.category[row];
    const bool is_copy = category == Category::kMemcpy || category == Category::kMemset;
    if (is_copy && events.detail[row] < trace_.copies.size()) {
      integer(kBytes, trace_.copies[events.detail[row]].bytes);
    }
    if (const std::uint32_t name = collective_name(row); name != 0) {
      pbf_writer annotation(event, field::event::kAnnotations);
      annotation.add_uint64(field::annotation::kNameId, kCollective);
      annotation.add_uint64(field::annotation::kStringId, name);
    }
  }

  Output& out_;
  const Trace& trace_;
  std::uint32_t number_;
  Groups groups_;
  Flows flows_;
  std::vector<std::deque<Lane>> lanes_;  // by group
  std::vector<bool> names_known_, values_known_;
  std::priority_queue<OpenSlice> open_;
  std::uint64_t opened_ = 0;
  std::uint64_t process_uuid_ = 0, last_uuid_ = 0;
};

// The run's origin, or the first row where that comes earlier: Perfetto's times are not negative.
std::int64_t run_origin_ns(const TraceSet& set) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const Trace& trace : set.traces) {
    std::int64_t first = 0;
    for (const Time t : trace.events.start) first = std::min(first, floor_ns(t));
    origin = std::min(origin, trace.origin_ns + first);
  }
  return origin;
}

}  // namespace

Result<std::uint64_t> write_perfetto(const TraceSet& set, const std::filesystem::path& path) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  Output out{*file, set.strings, run_origin_ns(set), 1, {}};
  std::uint32_t number = 0;
  for (const Trace& trace : set.traces) {
    if (!file->failed()) Sequence(out, trace, ++number).write();
  }
  out.flush();
  return file->commit();
}

}  // namespace flopcast
