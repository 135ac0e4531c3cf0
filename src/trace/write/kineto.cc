// Columns to Kineto JSON. What a Trace does not hold (register counts, callback ids) is not made
// up.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/files/output_file.h"
#include "base/text/json_writer.h"
#include "base/text/numbers.h"
#include "flopcast/trace/io.h"
#include "trace/write/json_text.h"
#include "trace/write/launch_rows.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kPidsPerRank = 100'000'000;
constexpr std::int64_t kIdsPerRank = 10'000'000'000;      // above any 32-bit correlation
constexpr std::int64_t kMostPid = std::int64_t{1} << 53;  // readers hold numbers as doubles

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Calls `visit(picoseconds)` for every time that will be written.
template <typename Visit>
void for_each_time(const TraceSet& set, Visit&& visit) {
  for (const Trace& trace : set.traces) {
    for (const Time t : trace.events.start) visit(t.ps);
    for (const Time t : trace.events.duration) visit(t.ps);
    for (const FlowPoint& flow : trace.flows) visit(flow.time.ps);
    if (trace.window_end) visit(trace.window_end->ps);
  }
}

/// Microseconds with as many decimals as the file's times need: none, 3 (ns) or 6 (ps).
class TimeFormat {
 public:
  explicit TimeFormat(const TraceSet& set) {
    for_each_time(set, [this](std::int64_t ps) {
      if (ps % 1000 != 0) decimals_ = 6;
      if (ps % 1'000'000 != 0 && decimals_ == 0) decimals_ = 3;
    });
    for (const Trace& trace : set.traces) {
      if (trace.origin_ns % 1000 != 0 && decimals_ == 0) decimals_ = 3;
    }
  }

  /// `ps` picoseconds after `ns` nanoseconds. Kept apart: their sum may not fit in picoseconds.
  void print(JsonText& out, std::int64_t ns, std::int64_t ps) const {
    ns += floor_div(ps, 1000);
    ps -= floor_div(ps, 1000) * 1000;
    if (ns < 0) {
      out.raw("-");
      ns = -ns - (ps > 0 ? 1 : 0);
      ps = ps > 0 ? 1000 - ps : 0;
    }
    const std::int64_t us = ns / 1000, rest = ns % 1000;
    if (decimals_ == 0) {
      out.integer(us);
    } else if (decimals_ == 3) {
      out.format(FMT_COMPILE("{}.{:03}"), us, rest);
    } else {
      out.format(FMT_COMPILE("{}.{:03}{:03}"), us, rest, ps);
    }
  }

 private:
  int decimals_ = 0;
};

/// The `args` object of a row: opened by the first member, absent without any.
class Args {
 public:
  explicit Args(JsonText& out) : out_(&out) {}
  JsonText& key(std::string_view name) {
    out_->raw(is_open_ ? ",\"" : ",\"args\":{\"");
    is_open_ = true;
    out_->raw(name);
    out_->raw("\":");
    return *out_;
  }
  void id(std::string_view name, std::int64_t value) {
    if (value != kNoId) key(name).integer(value);
  }
  void close() { out_->raw(is_open_ ? "}}" : "}"); }

 private:
  JsonText* out_;
  bool is_open_ = false;
};

void kernel_args(Args& args, const KernelDetail& kernel) {
  if (kernel.blocks_per_sm > 0) {
    args.key("blocks per SM").format(FMT_COMPILE("{}"), kernel.blocks_per_sm);
  }
  // Only the products are known; how they were spread over x, y and z is not.
  if (kernel.blocks > 0) args.key("grid").format(FMT_COMPILE("[{},1,1]"), kernel.blocks);
  if (kernel.threads_per_block > 0) {
    args.key("block").format(FMT_COMPILE("[{},1,1]"), kernel.threads_per_block);
  }
  args.id("graph node id", kernel.graph_node);
}

void copy_args(Args& args, const CopyDetail& copy, Time duration) {
  args.key("bytes").integer(copy.bytes);
  if (duration.ps <= 0) return;
  const double gb_per_s = static_cast<double>(copy.bytes) / static_cast<double>(duration.ps) * 1e3;
  if (std::isfinite(gb_per_s)) {
    args.key("memory bandwidth (GB/s)").format(FMT_COMPILE("{:.6g}"), gb_per_s);
  }
}

const char* sync_name(SyncDetail::Kind kind) {
  switch (kind) {
    case SyncDetail::Kind::kStreamWaitEvent:
      return "Stream Wait Event";
    case SyncDetail::Kind::kEventSync:
      return "Event Sync";
    case SyncDetail::Kind::kStreamSync:
      return "Stream Sync";
    case SyncDetail::Kind::kContextSync:
      return "Context Sync";
    case SyncDetail::Kind::kOther:
      break;
  }
  return "Unknown";
}

void sync_args(Args& args, const SyncDetail& sync) {
  args.key("cuda_sync_kind").format(FMT_COMPILE("\"{}\""), sync_name(sync.kind));
  if (sync.wait_on_stream != kNoStream) args.key("wait_on_stream").integer(sync.wait_on_stream);
  const bool is_wait =
      sync.kind == SyncDetail::Kind::kStreamWaitEvent || sync.kind == SyncDetail::Kind::kEventSync;
  if (is_wait || sync.record_correlation != kNoId) {
    args.key("wait_on_cuda_event_record_corr_id").integer(sync.record_correlation);
  }
  args.id("wait_on_cuda_event_id", sync.event_id);
}

void op_args(Args& args, const OpDetail& op) {
  args.id("Record function id", op.record_function_id);
  args.id("Sequence number", op.sequence_number);
  if (op.forward_thread != 0) args.key("Fwd thread id").integer(op.forward_thread);
  if (op.input_dims != 0) args.key("Input Dims").value_id(op.input_dims);
  if (op.input_types != 0) args.key("Input type").value_id(op.input_types);
  if (op.concrete_inputs != 0) args.key("Concrete Inputs").value_id(op.concrete_inputs);
}

void collective_args(Args& args, const CollectiveDetail& collective) {
  if (collective.name != 0) args.key("Collective name").quoted_id(collective.name);
  if (collective.name != 0 || collective.in_elements != 0 || collective.out_elements != 0) {
    args.key("In msg nelems").integer(collective.in_elements);
    args.key("Out msg nelems").integer(collective.out_elements);
  }
  if (collective.group_size != 0) args.key("Group size").integer(collective.group_size);
  if (collective.dtype != 0) args.key("dtype").quoted_id(collective.dtype);
  if (collective.group_name != 0) args.key("Process Group Name").quoted_id(collective.group_name);
  if (collective.group_desc != 0) {
    args.key("Process Group Description").quoted_id(collective.group_desc);
  }
  if (collective.group_ranks != 0) {
    args.key("Process Group Ranks").quoted_id(collective.group_ranks);
  }
  args.id("Seq", collective.sequence);
  if (collective.is_async) args.key("Is asynchronized op").raw("true");
}

/// One rank's rows.
class RankWriter {
 public:
  RankWriter(JsonText& out, const Trace& trace, const StringTable& strings, const TimeFormat& times,
             std::int64_t base_ns, std::optional<std::int32_t> rank)
      : out_(out),
        trace_(trace),
        strings_(strings),
        times_(times),
        shift_ns_(trace.origin_ns - base_ns),
        rank_(rank) {
    for (const Track& track : trace.tracks) {
      places_.push_back(place(track));
      has_numbers_.push_back(parse_whole(strings[track.pid]).has_value());
    }
  }

  /// @param has_rows whether a row was written before; true from the first one on
  void write(bool& has_rows) {
    has_rows_ = &has_rows;
    write_names();
    write_events();
    write_flow_points();
    write_window_end();
  }

 private:
  void begin_row(std::string_view head) {
    out_.flush_if_full();
    out_.raw(*has_rows_ ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    *has_rows_ = true;
    out_.raw(head);
  }
  void rank_arg(Args& args) const {
    if (rank_) args.key("rank").integer(*rank_);
  }
  void time(std::string_view key, Time t) {
    out_.raw(key);
    times_.print(out_, shift_ns_, t.ps);
  }

  std::string number_or_text(std::uint32_t id, bool is_pid) const {
    const std::string_view text = strings_[id];
    const std::optional<std::int64_t> number = parse_whole(text);
    // Pids below 0 stand for "no process" and do so in merged files too.
    const bool moves = is_pid && rank_ && number.value_or(-1) >= 0;
    const std::int64_t offset = moves ? *rank_ * kPidsPerRank : 0;
    if (number && std::abs(*number) <= kMostPid) return fmt::format("{}", *number + offset);
    std::string quoted;
    append_json_string(quoted, text);
    return quoted;
  }

  // The part of a row that is the same for all rows of a track.
  std::string place(const Track& track) const {
    return fmt::format(",\"pid\":{},\"tid\":{}", number_or_text(track.pid, true),
                       number_or_text(track.tid, false));
  }

  void write_names() {
    std::vector<std::uint32_t> seen;
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      if (std::find(seen.begin(), seen.end(), track.pid) == seen.end()) {
        seen.push_back(track.pid);
        write_process_name(track);
      }
      if (track.thread_name != 0) write_name("thread_name", i, track.thread_name);
    }
  }

  void write_process_name(const Track& track) {
    const bool has_number = parse_whole(strings_[track.pid]).has_value();
    if (track.process_name == 0 && !(rank_ && has_number)) return;
    begin_row("M\",\"name\":\"process_name\"");
    out_.raw(fmt::format(",\"pid\":{},\"tid\":0", number_or_text(track.pid, true)));
    Args args(out_);
    if (rank_) {
      // Viewers show little but this name, so in a merged file it says whose process it is.
      const std::string_view name = strings_[track.process_name];
      args.key("name").quoted(fmt::format("rank {}{}{}", *rank_, name.empty() ? "" : ": ", name));
      rank_arg(args);
    } else {
      args.key("name").quoted_id(track.process_name);
    }
    args.close();
  }

  void write_name(std::string_view kind, std::size_t track, std::uint32_t name) {
    begin_row("M\",\"name\":\"");
    out_.raw(kind);
    out_.raw("\"");
    out_.raw(places_[track]);
    Args args(out_);
    args.key("name").quoted_id(name);
    rank_arg(args);
    args.close();
  }

  void write_events() {
    const std::vector<std::uint32_t> launches = launch_rows(trace_.events);
    std::vector<char> is_launch(trace_.events.size());
    for (const std::uint32_t launch : launches) {
      if (launch != kNoDetail) is_launch[launch] = 1;
    }
    for (std::size_t row = 0; row < trace_.events.size(); ++row) {
      write_event(row);
      if (launches[row] == kNoDetail && is_launch[row] == 0) continue;
      write_flow("ac2g", is_launch[row] != 0, file_wide(trace_.events.correlation[row]),
                 trace_.events.track[row], trace_.events.start[row]);
    }
  }

  void write_event(std::size_t row) {
    const Events& events = trace_.events;
    begin_row("X\",\"cat\":\"");
    out_.raw(category_text(row));
    out_.raw("\",\"name\":");
    out_.quoted_id(events.name[row]);
    out_.raw(places_[events.track[row]]);
    time(",\"ts\":", events.start[row]);
    out_.raw(",\"dur\":");
    times_.print(out_, 0, events.duration[row].ps);
    Args args(out_);
    rank_arg(args);
    args.id("External id", events.external_id[row]);
    place_args(args, row);
    args.id("correlation", file_wide(events.correlation[row]));
    if (rank_) args.id("correlation_raw", events.correlation[row]);
    detail_args(args, row);
    args.close();
  }

  // Only the profiler's own spans lie on processes without a number: tools pass over category
  // "Trace".
  std::string_view category_text(std::size_t row) const {
    const Category category = trace_.events.category[row];
    const bool is_span = category == Category::kOther && !has_numbers_[trace_.events.track[row]];
    return is_span ? "Trace" : category_name(category);
  }

  // Without these on annotations, as in Kineto's own files: tools take any row with a stream for
  // work.
  void place_args(Args& args, std::size_t row) const {
    const Events& events = trace_.events;
    const Category category = events.category[row];
    if (category == Category::kGpuUserAnnotation) return;
    if (events.device[row] >= 0) args.key("device").integer(events.device[row]);
    if (events.stream[row] != kNoStream || category == Category::kSync) {
      args.key("stream").integer(events.stream[row]);
    }
  }

  template <typename Detail>
  static const Detail* at(const std::vector<Detail>& details, std::uint32_t index) {
    return index < details.size() ? &details[index] : nullptr;
  }

  void detail_args(Args& args, std::size_t row) const {
    const Events& events = trace_.events;
    const std::uint32_t detail = events.detail[row];
    const Category category = events.category[row];
    if (category == Category::kKernel) {
      if (const auto* kernel = at(trace_.kernels, detail)) kernel_args(args, *kernel);
    } else if (is_gpu_work(category)) {
      if (const auto* copy = at(trace_.copies, detail)) {
        copy_args(args, *copy, events.duration[row]);
      }
    } else if (category == Category::kSync) {
      if (const auto* sync = at(trace_.syncs, detail)) sync_args(args, *sync);
    } else if (const auto* op = at(trace_.ops, detail)) {
      op_args(args, *op);
    }
    if (const auto* c = at(trace_.collectives, events.collective[row])) collective_args(args, *c);
  }

  // Correlations and flow ids count from 1 in every rank: in a merged file they must not meet.
  std::int64_t file_wide(std::int64_t id) const {
    return rank_ && id >= 0 && id < kIdsPerRank ? *rank_ * kIdsPerRank + id : id;
  }

  void write_flow(std::string_view kind, bool is_source, std::int64_t id, std::uint32_t track,
                  Time when) {
    begin_row(is_source ? "s\",\"id\":" : "f\",\"bp\":\"e\",\"id\":");
    out_.integer(id);
    out_.format(FMT_COMPILE(",\"cat\":\"{}\",\"name\":\"{}\""), kind, kind);
    out_.raw(places_[track]);
    time(",\"ts\":", when);
    Args args(out_);
    rank_arg(args);
    args.close();
  }

  void write_flow_points() {
    for (const FlowPoint& flow : trace_.flows) {
      write_flow("fwdbwd", flow.is_source, file_wide(flow.id), flow.track, flow.time);
    }
  }

  void write_window_end() {
    if (!trace_.window_end) return;
    begin_row("i\",\"s\":\"g\",\"pid\":\"\",\"tid\":\"\",\"name\":\"Record Window End\"");
    time(",\"ts\":", *trace_.window_end);
    Args args(out_);
    rank_arg(args);
    args.close();
  }

  JsonText& out_;
  const Trace& trace_;
  const StringTable& strings_;
  const TimeFormat& times_;
  std::int64_t shift_ns_;
  std::optional<std::int32_t> rank_;  // set in merged files only
  std::vector<std::string> places_;   // by track
  std::vector<bool> has_numbers_;     // by track: whether its pid is one
  bool* has_rows_ = nullptr;
};

void write_devices(JsonText& out, const TraceSet& set) {
  std::vector<std::int32_t> seen;
  out.raw(",\n\"deviceProperties\":[");
  for (const Trace& trace : set.traces) {
    for (const Device& device : trace.devices) {
      if (std::find(seen.begin(), seen.end(), device.id) != seen.end()) continue;
      out.raw(seen.empty() ? "\n" : ",\n");
      seen.push_back(device.id);
      out.format(FMT_COMPILE("{{\"id\":{},\"name\":"), device.id);
      out.quoted(device.name);
      if (device.memory_bytes > 0) {
        out.format(FMT_COMPILE(",\"totalGlobalMem\":{}"), device.memory_bytes);
      }
      if (device.sm_count > 0) out.format(FMT_COMPILE(",\"numSms\":{}"), device.sm_count);
      out.raw("}");
    }
  }
  out.raw("]");
}

void write_distributed_info(JsonText& out, const TraceSet& set) {
  const Trace& first = set.traces.front();
  const bool has_rank = first.rank && set.traces.size() == 1;
  if (!has_rank && !first.world_size && first.backend.empty()) return;
  out.raw(",\n\"distributedInfo\":{");
  const char* comma = "";
  if (!first.backend.empty()) {
    out.raw("\"backend\": ");
    out.quoted(first.backend);
    comma = ",";
  }
  if (has_rank) {
    // HolisticTraceAnalysis looks for the rank by a pattern that demands the blank.
    out.format(FMT_COMPILE("{}\"rank\": {}"), comma, *first.rank);
    comma = ",";
  }
  if (first.world_size) {
    out.format(FMT_COMPILE("{}\"world_size\": {}"), comma, *first.world_size);
  }
  out.raw("}");
}

void write_head(JsonText& out, const TraceSet& set, std::int64_t base_ns) {
  out.raw("{\n\"schemaVersion\":1");
  if (!set.traces.empty()) {
    write_devices(out, set);
    write_distributed_info(out, set);
  }
  out.raw(",\n\"displayTimeUnit\":\"ms\"");
  out.format(FMT_COMPILE(",\n\"baseTimeNanoseconds\":{}"), base_ns);
  out.raw(",\n\"traceEvents\":[");
}

std::int64_t base_time(const TraceSet& set) {
  if (set.traces.empty()) return 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Trace& trace : set.traces) least = std::min(least, trace.origin_ns);
  return floor_div(least, kNsPerSecond) * kNsPerSecond;
}

}  // namespace

Result<std::uint64_t> write_kineto(const TraceSet& set, const std::filesystem::path& path) {
  Result<OutputFile> file = OutputFile::create(path);
  if (!file) return file.error();
  JsonText out(*file, set.strings);
  const TimeFormat times(set);
  const std::int64_t base_ns = base_time(set);
  write_head(out, set, base_ns);
  bool has_rows = false;
  const bool is_merged = set.traces.size() > 1;
  for (std::size_t i = 0; i < set.traces.size() && !file->failed(); ++i) {
    const Trace& trace = set.traces[i];
    std::optional<std::int32_t> rank;
    if (is_merged) rank = trace.rank.value_or(static_cast<std::int32_t>(i));
    RankWriter(out, trace, set.strings, times, base_ns, rank).write(has_rows);
  }
  out.raw("\n]}\n");
  out.flush();
  return file->commit();
}

}  // namespace flopcast
