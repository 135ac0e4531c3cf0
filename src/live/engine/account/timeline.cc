#include "live/engine/account/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text/json_writer.h"
#include "live/engine/account/kernel_name.h"
#include "live/engine/pricing/kernels.h"

namespace flopcast::live {
namespace {

constexpr std::int64_t kNumberOfStream = 0xffffffff;            // below its device
constexpr std::int64_t kInstance = std::int64_t{0xffff} << 48;  // of the processes of its rank

/// As a profiler's clock shows it, which counts nanoseconds.
Time on_clock(Time at) { return Time{at.ps - at.ps % 1000}; }

std::int64_t stream_id(std::int64_t instance, std::uint16_t device, std::uint64_t number) {
  return instance | static_cast<std::int64_t>(device) << 32 | static_cast<std::int64_t>(number);
}

/// The call that a record stands for, as the profiler names it; empty where it shows none.
std::string_view call_name(const ToldTask& told) {
  const bool waits = told.task.kind == TaskKind::kSync;
  switch (told.note.act) {
    case Act::kKernel:
      return "cudaLaunchKernel";
    case Act::kCollective:
      return "cudaLaunchKernelExC";
    case Act::kCopy:
      return waits ? "cudaStreamSynchronize" : "cudaMemcpyAsync";
    case Act::kFill:
      return waits ? "cudaStreamSynchronize" : "cudaMemsetAsync";
    case Act::kHostWork:
      return "cudaLaunchHostFunc";
    case Act::kRecordEvent:
      return "cudaEventRecord";
    case Act::kStreamWaitsEvent:
      return "cudaStreamWaitEvent";
    case Act::kWaitEvent:
      return "cudaEventSynchronize";
    case Act::kWaitStream:
      return "cudaStreamSynchronize";
    case Act::kWaitDevice:
      return "cudaDeviceSynchronize";
    case Act::kElapsed:
      return "cudaEventElapsedTime";
    case Act::kMakeStream:
      return "cudaStreamCreateWithPriority";
    case Act::kAllocate:
      return "cudaMalloc";
    case Act::kFree:
      return "cudaFree";
    case Act::kMakeGroup:
      return "ncclCommInitRank";
    case Act::kSplitGroup:
      return "ncclCommSplit";
    case Act::kGraphLaunch:
      return "cudaGraphLaunch";
    default:
      return {};
  }
}

/// NCCL's name of an operation, and the profiler's.
std::pair<std::string_view, std::string_view> collective_names(std::uint8_t operation) {
  switch (static_cast<Collective>(operation)) {
    case Collective::kAllReduce:
      return {"AllReduce", "allreduce"};
    case Collective::kBroadcast:
      return {"Broadcast", "broadcast"};
    case Collective::kReduce:
      return {"Reduce", "reduce"};
    case Collective::kAllGather:
      return {"AllGather", "_allgather_base"};
    case Collective::kReduceScatter:
      return {"ReduceScatter", "_reduce_scatter_base"};
    case Collective::kAllToAll:
      return {"SendRecv", "all_to_all"};
    case Collective::kGather:
      return {"SendRecv", "gather"};
    case Collective::kScatter:
      return {"SendRecv", "scatter"};
    case Collective::kBarrier:
      return {"Barrier", "barrier"};
    case Collective::kReceive:
      return {"SendRecv", "recv"};
    default:
      return {"SendRecv", "send"};
  }
}

/// As PyTorch names it.
std::string_view type_name(Element element) {
  static constexpr std::string_view kNames[] = {
      "Char", "Byte",  "Int",    "UInt32",   "Long",          "UInt64",
      "Half", "Float", "Double", "BFloat16", "Float8_e4m3fn", "Float8_e5m2"};
  const auto index = static_cast<std::size_t>(element);
  return index < std::size(kNames) ? kNames[index] : "Byte";
}
std::int64_t type_bytes(Element element) {
  static constexpr std::int64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  const auto index = static_cast<std::size_t>(element);
  return index < std::size(kBytes) ? kBytes[index] : 1;
}

SyncDetail::Kind kind_of_sync(Act act) {
  switch (act) {
    case Act::kStreamWaitsEvent:
      return SyncDetail::Kind::kStreamWaitEvent;
    case Act::kWaitEvent:
      return SyncDetail::Kind::kEventSync;
    default:
      return SyncDetail::Kind::kStreamSync;
  }
}

std::string_view sync_name(Act act) {
  switch (kind_of_sync(act)) {
    case SyncDetail::Kind::kStreamWaitEvent:
      return "Stream Wait Event";
    case SyncDetail::Kind::kEventSync:
      return "Event Sync";
    default:
      return "Stream Sync";
  }
}

std::string_view copy_name(const TaskNote& note) {
  if (note.act == Act::kFill) return "Memset (Device)";
  switch (static_cast<CopyKind>(note.detail)) {
    case CopyKind::kHostToDevice:
      return "Memcpy HtoD (Pinned -> Device)";
    case CopyKind::kDeviceToHost:
      return "Memcpy DtoH (Device -> Pinned)";
    case CopyKind::kPeer:
      return "Memcpy PtoP (Device -> Device)";
    default:
      return "Memcpy DtoD (Device -> Device)";
  }
}

}  // namespace

TimelineWriter::TimelineWriter(std::string gpu, std::int32_t cores, std::uint32_t world)
    : gpu_(std::move(gpu)), cores_(cores), world_(world) {}

std::uint32_t TimelineWriter::track_of(Rank& rank, Processor::Kind kind, std::int64_t id) {
  const auto found = std::find(rank.track_ids.begin(), rank.track_ids.end(), std::pair(kind, id));
  const auto index = static_cast<std::uint32_t>(found - rank.track_ids.begin());
  if (found == rank.track_ids.end()) rank.track_ids.emplace_back(kind, id);
  return index;
}

void TimelineWriter::add(const ToldTask& told, const Processor& on, std::string_view name,
                         std::string_view group) {
  if (on.kind == Processor::Kind::kHub) return;
  Rank& rank = ranks_[on.rank];
  Row row;
  row.start = on_clock(told.task.start);
  row.end = on_clock(told.task.end);
  row.track = track_of(rank, on.kind, on.id);
  row.note = told.note;
  row.note.group = group.empty() ? 0 : names_.intern(fmt::format("[{}]", group));
  if (on.kind == Processor::Kind::kStream) {
    row.stream = static_cast<std::int32_t>(on.id & kNumberOfStream);
    return add_gpu(rank, row, told, name);
  }
  const Act act = told.note.act;
  if (act == Act::kMark) {
    row.category = Category::kUserAnnotation;
    rank.marked = rank.marked || name.starts_with("ProfilerStep#");
    return add_range(rank, row, rank.marks[row.track], name, told.note.detail == 1);
  }
  if (act == Act::kOperatorBegin || act == Act::kOperatorEnd) {
    row.category = Category::kCpuOp;
    return add_range(rank, row, rank.operators[row.track], name, act == Act::kOperatorBegin);
  }
  add_call(rank, row, told, name, on.id);
}

void TimelineWriter::add_call(Rank& rank, Row row, const ToldTask& told, std::string_view name,
                              std::int64_t on) {
  const std::string_view call = call_name(told);
  if (call.empty()) return;
  if (told.note.act == Act::kKernel) {  // what it computes, around the call that launches it
    Row op = row;
    op.category = Category::kCpuOp;
    op.name = name_of_kernel(told, name);
    op.signature = names_.intern(name);
    rank.rows.push(op, file_);
  }
  row.name = names_.intern(call);
  row.correlation = static_cast<std::int64_t>(told.task.task);
  rank.rows.push(row, file_);
  add_sync(rank, row, told, on);
}

/// What the call makes wait, for what: a row beside it on the stream.
void TimelineWriter::add_sync(Rank& rank, Row row, const ToldTask& told, std::int64_t on) {
  const Act act = told.note.act;
  const bool of_event = act == Act::kStreamWaitsEvent || act == Act::kWaitEvent;
  const bool of_stream = told.task.kind == TaskKind::kSync &&
                         (act == Act::kWaitStream || act == Act::kCopy || act == Act::kFill);
  if (!of_stream && !(of_event && told.note.recorder != kNoGrowingTask)) return;
  const std::uint64_t stream = act == Act::kWaitEvent ? told.note.recorded_on : told.note.stream;
  row.category = Category::kSync;
  row.name = names_.intern(sync_name(act));
  row.stream = static_cast<std::int32_t>(stream);
  row.device = told.note.device;
  row.track =
      track_of(rank, Processor::Kind::kStream, stream_id(on & kInstance, told.note.device, stream));
  rank.rows.push(row, file_);
}

void TimelineWriter::add_gpu(Rank& rank, Row row, const ToldTask& told, std::string_view name) {
  row.device = told.note.device;
  if (told.note.launcher != kNoGrowingTask)
    row.correlation = static_cast<std::int64_t>(told.note.launcher);
  switch (told.task.kind) {
    case TaskKind::kCompute:
      row.category = Category::kKernel;
      row.name = name_of_kernel(told, name);
      break;
    case TaskKind::kTransfer:
      row.category = Category::kKernel;
      row.name =
          names_.intern(fmt::format("ncclDevKernel_{}", collective_names(told.note.detail).first));
      row.note.communicator =
          communicators_.try_emplace(told.note.communicator, communicators_.size()).first->second;
      break;
    case TaskKind::kCopy:
      row.category = told.note.act == Act::kFill ? Category::kMemset : Category::kMemcpy;
      row.name = names_.intern(copy_name(told.note));
      break;
    default:
      return;  // of no length
  }
  rank.rows.push(row, file_);
}

/// Each name is read once.
std::uint32_t TimelineWriter::name_of_kernel(const ToldTask& told, std::string_view signature) {
  const auto [known, is_new] = kernel_names_.try_emplace(told.task.name, 0);
  if (is_new) {
    const std::uint64_t threads = told.note.blocks * told.note.threads;
    known->second = names_.intern(kernel_name(parse_signature(signature, threads).name));
  }
  return known->second;
}

void TimelineWriter::add_range(Rank& rank, Row row, std::vector<Open>& open, std::string_view name,
                               bool begins) {
  if (begins) {
    open.push_back({names_.intern(name), row.start});
    return;
  }
  if (open.empty()) return;
  row.name = open.back().name;
  row.start = open.back().start;
  open.pop_back();
  rank.rows.push(row, file_);
}

std::size_t TimelineWriter::rows() const {
  std::size_t rows = 0;
  for (const auto& [number, rank] : ranks_) rows += rank.rows.size();
  return rows;
}

std::size_t TimelineWriter::rows_held() const {
  std::size_t rows = 0;
  for (const auto& [number, rank] : ranks_) rows += rank.rows.held();
  return rows;
}

// --- traces -------------------------------------------------------------------------------------

/// Rows of one rank as the columns of a trace.
class TimelineWriter::TraceMaker {
 public:
  TraceMaker(const StringTable& names, StringTable& strings, Trace& trace)
      : names_(names), strings_(strings), trace_(trace) {}

  void add_tracks(const Rank& rank);
  static void add_steps(const Rank& rank, std::vector<Row>& rows,
                        const std::vector<LiveStep>& steps);
  void add(std::vector<Row>& rows);

 private:
  std::uint32_t text(std::uint32_t name) { return strings_.intern(names_[name]); }
  std::uint32_t text(std::int64_t number) { return strings_.intern(std::to_string(number)); }
  std::int64_t call_number(std::int64_t task) const;
  void append(const Row& row);
  std::uint32_t name_of(const Row& row);
  std::uint32_t detail_of(const Row& row);
  std::uint32_t collective_of(const Row& row);

  const StringTable& names_;
  StringTable& strings_;
  Trace& trace_;
  std::unordered_map<std::int64_t, std::int64_t> calls_;  ///< numbers, by task
};

Result<TraceSet> TimelineWriter::traces(const std::string& label,
                                        const std::vector<LiveRank>& ranks,
                                        std::optional<std::int32_t> only) const {
  TraceSet set;
  set.label = label;
  for (const auto& [number, rank] : ranks_) {
    if (only && *only != number) continue;
    std::optional<std::vector<Row>> rows = rank.rows.read(file_);
    if (!rows) {
      return Diagnostic{ErrorCode::kBadInput, "live run",
                        "what was written of it to a temporary file cannot be read back",
                        "TMPDIR names a folder for such files"};
    }
    Trace& trace = set.traces.emplace_back();
    trace.path = fmt::format("rank{}", number);
    trace.rank = number;
    trace.world_size = static_cast<std::int32_t>(world_ > 0 ? world_ : ranks_.size());
    trace.backend = "nccl";
    trace.clock_step = Time::from_ns(1);
    trace.devices.push_back({0, gpu_, cores_, 0});
    TraceMaker maker(names_, set.strings, trace);
    const auto found =
        std::find_if(ranks.begin(), ranks.end(),
                     [number = number](const LiveRank& one) { return one.rank == number; });
    if (found != ranks.end()) TraceMaker::add_steps(rank, *rows, found->steps);
    maker.add_tracks(rank);
    maker.add(*rows);
  }
  return set;
}

/// As the profiler marks steps: on the host, from the call that begins one to the call that begins the next. Steps that the
/// script marked are there already.
void TimelineWriter::TraceMaker::add_steps(const Rank& rank, std::vector<Row>& rows,
                                           const std::vector<LiveStep>& steps) {
  const auto thread =
      std::find_if(rank.track_ids.begin(), rank.track_ids.end(),
                   [](const auto& id) { return id.first == Processor::Kind::kThread; });
  if (rank.marked || thread == rank.track_ids.end()) return;
  // Found in the GPU's work, steps would cut through other ranges of the host, as a profiler's never do.
  std::erase_if(rows, [](const Row& row) { return row.category == Category::kUserAnnotation; });
  std::unordered_map<std::int64_t, Time> calls;         // by correlation
  std::unordered_map<std::int64_t, std::int64_t> work;  // by start: correlation
  Time end;
  for (const Row& row : rows) {
    if (is_host_call(row.category)) calls.emplace(row.correlation, row.start);
    if (is_gpu_work(row.category)) work.try_emplace(row.start.ps, row.correlation);
    end = std::max(end, row.end);
  }
  const auto called_at = [&](Time at) {
    const Time start = on_clock(at);
    const auto task = work.find(start.ps);
    const auto call = task == work.end() ? calls.end() : calls.find(task->second);
    return call == calls.end() ? start : call->second;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Row row;
    row.category = Category::kUserAnnotation;
    row.track = static_cast<std::uint32_t>(thread - rank.track_ids.begin());
    row.correlation = static_cast<std::int64_t>(i + 1);  // its number: it has no other name
    row.start = called_at(steps[i].start);
    row.end = std::max(row.start, i + 1 < steps.size() ? called_at(steps[i].end) : end);
    rows.push_back(row);
  }
}

void TimelineWriter::TraceMaker::add_tracks(const Rank& rank) {
  for (const auto& [kind, id] : rank.track_ids) {
    const bool stream = kind == Processor::Kind::kStream;
    const std::int64_t number = id & kNumberOfStream;
    // Kineto counts threads of the host under its process, streams under their device.
    trace_.tracks.push_back(
        {text(stream ? (id >> 32) & 0xffff : std::int64_t{1}), text(number),
         strings_.intern("python"),
         strings_.intern(fmt::format("{} {}", stream ? "stream" : "thread", number))});
  }
}

void TimelineWriter::TraceMaker::add(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  // Tasks are numbered as they come; rows as they start, which is the same in every run.
  for (const Row& row : rows) {
    if (is_host_call(row.category))
      calls_.emplace(row.correlation, static_cast<std::int64_t>(calls_.size() + 1));
  }
  for (const Row& row : rows) append(row);
  if (!rows.empty()) trace_.window_end = rows.back().end;
}

std::int64_t TimelineWriter::TraceMaker::call_number(std::int64_t task) const {
  const auto call = calls_.find(task);
  return call == calls_.end() ? kNoId : call->second;
}

std::uint32_t TimelineWriter::TraceMaker::name_of(const Row& row) {
  if (row.category != Category::kUserAnnotation || row.correlation == kNoId) return text(row.name);
  return strings_.intern(fmt::format("ProfilerStep#{}", row.correlation));
}

std::uint32_t TimelineWriter::TraceMaker::detail_of(const Row& row) {
  if (row.category == Category::kKernel && row.note.act == Act::kKernel) {
    KernelDetail& kernel = trace_.kernels.emplace_back();
    kernel.blocks = row.note.blocks;
    kernel.threads_per_block = row.note.threads;
    return static_cast<std::uint32_t>(trace_.kernels.size() - 1);
  }
  if (row.category == Category::kCpuOp && row.signature != 0) {
    std::string list = "[";
    append_json_string(list, names_[row.signature]);
    trace_.ops.emplace_back().concrete_inputs = strings_.intern(list + "]");
    return static_cast<std::uint32_t>(trace_.ops.size() - 1);
  }
  if (row.category == Category::kSync) {
    SyncDetail& sync = trace_.syncs.emplace_back();
    sync.kind = kind_of_sync(row.note.act);
    if (row.note.recorder == kNoGrowingTask)
      return static_cast<std::uint32_t>(trace_.syncs.size() - 1);
    sync.wait_on_stream = static_cast<std::int32_t>(row.note.recorded_on);
    sync.record_correlation = call_number(static_cast<std::int64_t>(row.note.recorder));
    return static_cast<std::uint32_t>(trace_.syncs.size() - 1);
  }
  if (row.category != Category::kMemcpy && row.category != Category::kMemset) return kNoDetail;
  trace_.copies.push_back({static_cast<std::int64_t>(row.note.bytes)});
  return static_cast<std::uint32_t>(trace_.copies.size() - 1);
}

/// As PyTorch tells it: elements that one rank gives and gets.
std::uint32_t TimelineWriter::TraceMaker::collective_of(const Row& row) {
  if (row.category != Category::kKernel || row.note.act != Act::kCollective) return kNoDetail;
  CollectiveDetail& one = trace_.collectives.emplace_back();
  one.name = strings_.intern(collective_names(row.note.detail).second);
  one.dtype = strings_.intern(type_name(row.note.element));
  one.group_name = text(static_cast<std::int64_t>(row.note.communicator));
  one.group_ranks = text(row.note.group);
  const std::string_view ranks = names_[row.note.group];
  one.group_size = static_cast<std::int32_t>(std::count(ranks.begin(), ranks.end(), ',')) + 1;
  one.sequence = static_cast<std::int64_t>(row.note.sequence);
  const std::int64_t all = static_cast<std::int64_t>(row.note.bytes) / type_bytes(row.note.element);
  const std::int64_t part = all / one.group_size;
  const auto op = static_cast<Collective>(row.note.detail);
  const bool spreads = op == Collective::kReduceScatter || op == Collective::kScatter;
  const bool gathers = op == Collective::kAllGather || op == Collective::kGather;
  one.in_elements = gathers ? part : all;
  one.out_elements = spreads ? part : all;
  return static_cast<std::uint32_t>(trace_.collectives.size() - 1);
}

void TimelineWriter::TraceMaker::append(const Row& row) {
  Events& events = trace_.events;
  events.start.push_back(row.start);
  events.duration.push_back(row.end - row.start);
  events.name.push_back(name_of(row));
  events.track.push_back(row.track);
  events.category.push_back(row.category);
  events.stream.push_back(row.stream);
  events.device.push_back(row.device);
  const bool annotates = row.category == Category::kUserAnnotation;
  events.correlation.push_back(annotates ? kNoId : call_number(row.correlation));
  events.external_id.push_back(kNoId);
  events.detail.push_back(detail_of(row));
  events.collective.push_back(collective_of(row));
  ++trace_.row_counts[static_cast<int>(row.category)];
}

}  // namespace flopcast::live
