#include "live/account/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "live/account/kernel_name.h"
#include "live/pricing/kernels.h"

namespace flopcast::live {
namespace {

constexpr std::int64_t kNumberOfStream = 0xffffffff;  // below its device

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
    case Collective::kReceive:
      return {"SendRecv", "recv"};
    default:
      return {"SendRecv", "send"};
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

TimelineWriter::TimelineWriter(std::string gpu, std::int32_t cores)
    : gpu_(std::move(gpu)), cores_(cores) {}

std::uint32_t TimelineWriter::track_of(Rank& rank, const Processor& on) const {
  const std::pair id(on.kind, on.id);
  const auto found = std::find(rank.track_ids.begin(), rank.track_ids.end(), id);
  if (found == rank.track_ids.end()) rank.track_ids.push_back(id);
  return static_cast<std::uint32_t>(std::find(rank.track_ids.begin(), rank.track_ids.end(), id) -
                                    rank.track_ids.begin());
}

void TimelineWriter::add(const ToldTask& told, const Processor& on, std::string_view name,
                         std::string_view group) {
  if (on.kind == Processor::Kind::kHub) return;
  Rank& rank = ranks_[on.rank];
  Row row;
  row.start = told.task.start;
  row.end = told.task.end;
  row.track = track_of(rank, on);
  row.note = told.note;
  row.note.group = group.empty() ? 0 : set_.strings.intern(fmt::format("[{}]", group));
  if (on.kind == Processor::Kind::kStream) {
    row.stream = static_cast<std::int32_t>(on.id & kNumberOfStream);
    return add_gpu(rank, row, told, name);
  }
  const Act act = told.note.act;
  if (act == Act::kMark) {
    row.category = Category::kUserAnnotation;
    return add_range(rank, row, rank.marks[row.track], name, told.note.detail == 1);
  }
  if (act == Act::kOperatorBegin || act == Act::kOperatorEnd) {
    row.category = Category::kCpuOp;
    return add_range(rank, row, rank.operators[row.track], name, act == Act::kOperatorBegin);
  }
  const std::string_view call = call_name(told);
  if (call.empty()) return;
  row.name = set_.strings.intern(call);
  row.correlation = static_cast<std::int64_t>(told.task.task);
  rank.rows.push_back(row);
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
      row.name = set_.strings.intern(
          fmt::format("ncclDevKernel_{}", collective_names(told.note.detail).first));
      break;
    case TaskKind::kCopy:
      row.category = told.note.act == Act::kFill ? Category::kMemset : Category::kMemcpy;
      row.name = set_.strings.intern(copy_name(told.note));
      break;
    default:
      return;  // of no length
  }
  rank.rows.push_back(row);
}

/// Each name is read once.
std::uint32_t TimelineWriter::name_of_kernel(const ToldTask& told, std::string_view signature) {
  const auto [known, is_new] = kernel_names_.try_emplace(told.task.name, 0);
  if (is_new) {
    const std::uint64_t threads = told.note.blocks * told.note.threads;
    known->second = set_.strings.intern(kernel_name(parse_signature(signature, threads).name));
  }
  return known->second;
}

void TimelineWriter::add_range(Rank& rank, Row row, std::vector<Open>& open, std::string_view name,
                               bool begins) {
  if (begins) {
    open.push_back({set_.strings.intern(name), row.start});
    return;
  }
  if (open.empty()) return;
  row.name = open.back().name;
  row.start = open.back().start;
  open.pop_back();
  rank.rows.push_back(row);
}

TraceSet TimelineWriter::take(std::string label, const std::vector<LiveRank>& ranks) {
  set_.label = std::move(label);
  for (auto& [number, rank] : ranks_) {
    Trace& trace = set_.traces.emplace_back();
    trace.path = fmt::format("rank{}", number);
    trace.rank = number;
    trace.world_size = static_cast<std::int32_t>(ranks_.size());
    trace.backend = "nccl";
    trace.clock_step = Time{1};
    trace.devices.push_back({0, gpu_, cores_, 0});
    const auto found =
        std::find_if(ranks.begin(), ranks.end(),
                     [number = number](const LiveRank& one) { return one.rank == number; });
    if (found != ranks.end()) add_steps(rank, found->steps);
    write(trace, rank);
  }
  ranks_.clear();
  return std::move(set_);
}

/// As the profiler marks steps: on the host, from the call that begins one to the call that begins the next. Steps that the
/// script marked are there already.
void TimelineWriter::add_steps(Rank& rank, const std::vector<LiveStep>& steps) {
  const bool marked = std::any_of(rank.rows.begin(), rank.rows.end(), [this](const Row& row) {
    return set_.strings[row.name].starts_with("ProfilerStep#");
  });
  const auto thread =
      std::find_if(rank.track_ids.begin(), rank.track_ids.end(),
                   [](const auto& id) { return id.first == Processor::Kind::kThread; });
  if (marked || thread == rank.track_ids.end()) return;
  std::unordered_map<std::int64_t, Time> calls;         // by correlation
  std::unordered_map<std::int64_t, std::int64_t> work;  // by start: correlation
  Time end;
  for (const Row& row : rank.rows) {
    if (row.stream == kNoStream) calls.emplace(row.correlation, row.start);
    if (row.stream != kNoStream) work.try_emplace(row.start.ps, row.correlation);
    end = std::max(end, row.end);
  }
  const auto called_at = [&](Time start) {
    const auto task = work.find(start.ps);
    const auto call = task == work.end() ? calls.end() : calls.find(task->second);
    return call == calls.end() ? start : call->second;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Row row;
    row.category = Category::kUserAnnotation;
    row.track = static_cast<std::uint32_t>(thread - rank.track_ids.begin());
    row.name = set_.strings.intern(fmt::format("ProfilerStep#{}", i + 1));
    row.start = called_at(steps[i].start);
    row.end = std::max(row.start, i + 1 < steps.size() ? called_at(steps[i + 1].start) : end);
    rank.rows.push_back(row);
  }
}

void TimelineWriter::write(Trace& trace, Rank& rank) {
  const auto text = [this](std::int64_t number) {
    return set_.strings.intern(std::to_string(number));
  };
  for (const auto& [kind, id] : rank.track_ids) {
    const bool stream = kind == Processor::Kind::kStream;
    const std::int64_t number = id & kNumberOfStream;
    // Kineto counts threads of the host under its process, streams under their device.
    trace.tracks.push_back(
        {text(stream ? (id >> 32) & 0xffff : 1), text(number), set_.strings.intern("python"),
         set_.strings.intern(fmt::format("{} {}", stream ? "stream" : "thread", number))});
  }
  std::stable_sort(rank.rows.begin(), rank.rows.end(), [](const Row& a, const Row& b) {
    return a.start != b.start ? a.start < b.start : a.end > b.end;
  });
  // Tasks are numbered as they come; rows as they start, which is the same in every run.
  std::unordered_map<std::int64_t, std::int64_t> numbers;
  for (const Row& row : rank.rows) {
    if (row.stream == kNoStream) numbers.emplace(row.correlation, numbers.size() + 1);
  }
  for (Row& row : rank.rows) {
    const auto call = numbers.find(row.correlation);
    row.correlation = call == numbers.end() ? kNoId : call->second;
    append(trace, row);
  }
  if (!rank.rows.empty()) trace.window_end = rank.rows.back().end;
  rank = {};
}

std::uint32_t TimelineWriter::detail_of(Trace& trace, const Row& row) const {
  if (row.category == Category::kKernel && row.note.act == Act::kKernel) {
    KernelDetail& kernel = trace.kernels.emplace_back();
    kernel.blocks = row.note.blocks;
    kernel.threads_per_block = row.note.threads;
    return static_cast<std::uint32_t>(trace.kernels.size() - 1);
  }
  if (row.category != Category::kMemcpy && row.category != Category::kMemset) return kNoDetail;
  trace.copies.push_back({static_cast<std::int64_t>(row.note.bytes)});
  return static_cast<std::uint32_t>(trace.copies.size() - 1);
}

std::uint32_t TimelineWriter::collective_of(Trace& trace, const Row& row) {
  if (row.category != Category::kKernel || row.note.act != Act::kCollective) return kNoDetail;
  CollectiveDetail& one = trace.collectives.emplace_back();
  one.name = set_.strings.intern(collective_names(row.note.detail).second);
  one.dtype = set_.strings.intern("Byte");
  one.in_elements = one.out_elements = static_cast<std::int64_t>(row.note.bytes);
  one.group_ranks = row.note.group;
  return static_cast<std::uint32_t>(trace.collectives.size() - 1);
}

void TimelineWriter::append(Trace& trace, const Row& row) {
  Events& events = trace.events;
  events.start.push_back(row.start);
  events.duration.push_back(row.end - row.start);
  events.name.push_back(row.name);
  events.track.push_back(row.track);
  events.category.push_back(row.category);
  events.stream.push_back(row.stream);
  events.device.push_back(row.device);
  events.correlation.push_back(row.correlation);
  events.external_id.push_back(kNoId);
  events.detail.push_back(detail_of(trace, row));
  events.collective.push_back(collective_of(trace, row));
  ++trace.row_counts[static_cast<int>(row.category)];
}

}  // namespace flopcast::live
