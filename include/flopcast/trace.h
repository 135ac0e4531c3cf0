// Floor 1: profiler traces as columns. Knows file formats and nothing of simulation.
//
// A Trace holds the rows of one rank (one process) as parallel columns; a TraceSet holds all ranks
// of one run and the strings they share. Reading never fails because of one bad row: the row is
// dropped or repaired, and counted under a named anomaly. It fails, naming file and byte, when a
// file is not a trace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"

namespace flopcast {

/// What a row is. Decided by its `cat` (a cpu_op may carry a `stream`); 2021 names map to today's.
/// PyTorch's own annotations (ProfilerStep#N, Optimizer.step#..., enumerate(DataLoader)#...) are
/// annotations also where a file of 2021 calls them operators.
enum class Category : std::uint8_t {
  kCpuOp,              ///< cpu_op, Operator
  kRuntime,            ///< cuda_runtime, Runtime: host calls, hip* included
  kDriver,             ///< cuda_driver
  kKernel,             ///< kernel, Kernel
  kMemcpy,             ///< gpu_memcpy, Memcpy
  kMemset,             ///< gpu_memset, Memset
  kSync,               ///< cuda_sync: tells which event, stream or context a wait is for
  kUserAnnotation,     ///< user_annotation (ProfilerStep#N among them), whatever their `cat`
  kGpuUserAnnotation,  ///< gpu_user_annotation: not work, spans the kernels of an annotation
  kPythonFunction,     ///< python_function
  kOverhead,           ///< profiler overhead
  kOther,              ///< anything else (mtia_*, cuda_profiler_range, Trace, ...)
};
inline constexpr int kCategoryCount = 12;      ///< how many Category there are
const char* category_name(Category category);  ///< today's Kineto name
/// What runs on a GPU's stream.
constexpr bool is_gpu_work(Category c) {
  return c == Category::kKernel || c == Category::kMemcpy || c == Category::kMemset;
}
/// A call of the host into the runtime or the driver.
constexpr bool is_host_call(Category c) {
  return c == Category::kRuntime || c == Category::kDriver;
}

inline constexpr std::int32_t kNoStream = -1;            ///< not on any stream
inline constexpr std::int64_t kNoId = -1;                ///< the file does not say
inline constexpr std::uint32_t kNoDetail = 0xffffffffu;  ///< nothing in a side table

/// One (pid, tid) pair as written in the file (text for string pids such as "Spans").
struct Track {
  std::uint32_t pid = 0;           ///< string id
  std::uint32_t tid = 0;           ///< string id
  std::uint32_t process_name = 0;  ///< from ph M, string id
  std::uint32_t thread_name = 0;   ///< from ph M, string id
};

/// Kernel launch shape; 0 where the file does not say.
struct KernelDetail {
  std::uint64_t blocks = 0;             ///< grid x*y*z
  std::uint32_t threads_per_block = 0;  ///< block x*y*z
  float blocks_per_sm = 0;              ///< as the profiler reports it
  std::int64_t graph_node = kNoId;      ///< of a CUDA graph
  std::uint32_t registers = 0;          ///< of a thread
  std::uint32_t shared_memory = 0;      ///< of a block, bytes
};

/// Arguments of a copy or set.
struct CopyDetail {
  std::int64_t bytes = 0;  ///< copied or set
};

/// Arguments of a collective, on its kernel and on its record_param_comms row.
struct CollectiveDetail {
  std::uint32_t name = 0;         ///< string id: allreduce, wait, ...
  std::uint32_t dtype = 0;        ///< string id
  std::uint32_t group_name = 0;   ///< string id, Process Group Name
  std::uint32_t group_desc = 0;   ///< string id, Process Group Description
  std::uint32_t group_ranks = 0;  ///< string id, e.g. "[0, 1]"
  std::int32_t group_size = 0;    ///< 0 where unknown
  std::int64_t in_elements = 0;   ///< of one rank; 0 where unknown
  std::int64_t out_elements = 0;  ///< of one rank; 0 where unknown
  std::int64_t sequence = kNoId;  ///< Seq, or the number inside Concrete Inputs
  bool is_wait = false;           ///< a work.wait(): `sequence` names the collective waited for
  bool is_async = false;          ///< the host did not wait for it
};

/// What a cuda_sync row says.
struct SyncDetail {
  /// What is waited for.
  enum class Kind : std::uint8_t {
    kStreamWaitEvent,
    kEventSync,
    kStreamSync,
    kContextSync,
    kOther
  };
  Kind kind = Kind::kOther;                 ///< see Kind
  std::int32_t wait_on_stream = kNoStream;  ///< the stream whose event is waited for
  std::int64_t record_correlation = kNoId;  ///< correlation of the cudaEventRecord waited for
  std::int64_t event_id = kNoId;            ///< of the event waited for
};

/// Arguments of a cpu_op.
struct OpDetail {
  std::int64_t sequence_number = kNoId;     ///< autograd sequence number
  std::int64_t forward_thread = 0;          ///< of the operator whose gradient this is, 0: none
  std::int64_t record_function_id = kNoId;  ///< PyTorch execution trace rf_id
  std::uint32_t input_dims = 0;             ///< string id, JSON text
  std::uint32_t input_types = 0;            ///< string id, JSON text
  std::uint32_t concrete_inputs = 0;        ///< string id, JSON text
};

/// Complete ("X") rows, in order of (start, longer first, correlation, External id, file order):
/// parents before children.
struct Events {
  std::vector<Time> start;                ///< since the trace's origin
  std::vector<Time> duration;             ///< never negative
  std::vector<std::uint32_t> name;        ///< string id
  std::vector<std::uint32_t> track;       ///< index into Trace::tracks
  std::vector<Category> category;         ///< what the row is
  std::vector<std::int32_t> stream;       ///< kNoStream where the row has none
  std::vector<std::int32_t> device;       ///< GPU rows: device ordinal, otherwise -1
  std::vector<std::int64_t> correlation;  ///< kNoId where the row has none
  std::vector<std::int64_t> external_id;  ///< kNoId where the row has none
  /// Index into the side table of the row's category (kernels, copies, syncs, ops), or kNoDetail.
  std::vector<std::uint32_t> detail;
  /// Index into Trace::collectives, or kNoDetail. NCCL kernels and record_param_comms rows.
  std::vector<std::uint32_t> collective;

  std::size_t size() const { return start.size(); }                       ///< how many rows
  Time end(std::size_t row) const { return start[row] + duration[row]; }  ///< of a row
};

/// An end of a forward→backward flow ("fwdbwd").
/// One end.
struct FlowPoint {
  std::int64_t id = 0;      ///< the same at both ends
  std::uint32_t track = 0;  ///< index into Trace::tracks
  Time time;                ///< since the trace's origin
  bool is_source = false;   ///< where the arrow begins
};

/// A GPU as the file describes it.
struct Device {
  std::int32_t id = 0;                    ///< ordinal
  std::string name;                       ///< "NVIDIA H100 80GB HBM3"
  std::int32_t sm_count = 0;              ///< 0 where unknown
  std::int64_t memory_bytes = 0;          ///< 0 where unknown
  std::int32_t threads_per_sm = 0;        ///< 0 where unknown
  std::int32_t registers_per_sm = 0;      ///< 0 where unknown
  std::int32_t shared_memory_per_sm = 0;  ///< bytes, 0 where unknown
};

/// What a recording says besides rows.
struct TraceFacts {
  std::string path;                  ///< of the file
  std::optional<std::int32_t> rank;  ///< distributedInfo, or the row's own rank in merged files
  std::optional<std::int32_t> world_size;         ///< ranks of the run
  std::string backend;                            ///< nccl, gloo, ...
  std::vector<Device> devices;                    ///< as the file lists them
  std::int64_t origin_ns = 0;                     ///< unix time of Time 0
  Time clock_step;                                ///< resolution of the timestamps: 1 us, 1 ns, ...
  std::uint64_t bytes_read = 0;                   ///< size of the unpacked text
  std::uint64_t row_counts[kCategoryCount] = {};  ///< X rows by category
  std::uint64_t other_rows = 0;  ///< flows, instants, metadata: read, not kept as events
  Anomalies anomalies;           ///< of this file
};

/// One rank's recording.
struct Trace : TraceFacts {
  Events events;                              ///< its rows
  std::vector<Track> tracks;                  ///< threads and streams
  std::vector<KernelDetail> kernels;          ///< side table of kernels
  std::vector<CopyDetail> copies;             ///< side table of copies and sets
  std::vector<SyncDetail> syncs;              ///< side table of cuda_sync rows
  std::vector<OpDetail> ops;                  ///< side table of cpu_op rows
  std::vector<CollectiveDetail> collectives;  ///< side table of collectives
  std::vector<FlowPoint> flows;               ///< forward to backward
  std::optional<Time> window_end;             ///< "Record Window End"
};

/// All ranks of one run, ordered by rank.
struct TraceSet {
  std::string label;          ///< directory or file name
  StringTable strings;        ///< of all ranks: what string ids mean
  std::vector<Trace> traces;  ///< ordered by rank
  Anomalies anomalies;        ///< across files: duplicate ranks, ranks missing from the world, ...
  std::vector<Diagnostic> unreadable;  ///< files that were named or found but could not be read
};

/// Steps that follow one another, by name: "ProfilerStep#12" or "12".
struct StepRange {
  std::string first;  ///< the earliest
  std::string last;   ///< the latest, the same where it is one
};
/// "12:14", "12": as people write it.
StepRange step_range(std::string_view text);

/// What is read, and how.
struct ReadOptions {
  unsigned threads = 0;  ///< 0: all cores
  /// keep python_function rows (stacks; often most of the file), not those of modules alone
  /// ("nn.Module: BertLayer_3")
  bool keep_python = false;
  bool keep_arguments = true;  ///< keep cpu_op shapes and types
  /// what lies between the start of the first step and the end of the last on the host, with the GPU rows that
  /// were launched there; of packs only the blocks that may hold it are read. Empty: all
  std::optional<StepRange> steps;
  /// bytes of files, now and then, from one thread at a time
  std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)> progress;
};

/// Reads one file (plain or gzip, told by content), several files, or every trace in a directory.
/// A directory holding several runs (name.runN.rankR) must be named file by file or by `prefix`.
/// Fails only if nothing could be read; files that failed are in `unreadable`.
/// @param paths files and directories; @param prefix only files whose names start with it ("" =
/// all).
Result<TraceSet> read_traces(const std::vector<std::filesystem::path>& paths,
                             const ReadOptions& options = {}, const std::string& prefix = "");

/// The runs found in a directory: label → files. Files that share a name up to their rank are one
/// run.
Result<std::map<std::string, std::vector<std::filesystem::path>>> list_runs(
    const std::filesystem::path& directory);

/// A file that ends before its trace does, and what was read of it: "rank3.json: the text ends
/// inside the event array (byte ...); kept the 812 rows before it".
std::vector<std::string> truncated_files(const TraceSet& set);

/// Reads a trace held in memory (plain JSON text). Used by tests, fuzzing and Python.
Result<TraceSet> read_trace_text(std::string_view text, std::string_view label = "memory",
                                 const ReadOptions& options = {});

/// Whether a kernel is communication, by name: NCCL, RCCL, HCCL, DeepEP, multimem and custom
/// all-reduce.
bool is_communication_kernel(std::string_view name);
/// What a kernel computes.
enum class KernelKind : std::uint8_t {
  kCommunication,  ///< is_communication_kernel
  kAttention,      ///< fused attention, forward and backward
  kGemm,           ///< matrix products and convolutions
  kOther,          ///< everything else
};
/// By name: those of cuBLAS, cuDNN, CUTLASS, Triton, Tensile and the attention libraries.
KernelKind kernel_kind(std::string_view name);

/// What a host call makes wait for the GPU, or for another stream on it.
enum class CallKind : std::uint8_t {
  kOther,       ///< no effect on order (malloc, attribute queries, polling)
  kRecord,      ///< cudaEventRecord*
  kWaitEvent,   ///< cudaStreamWaitEvent
  kDeviceSync,  ///< cudaDeviceSynchronize, cudaFree
  kStreamSync,  ///< cudaStreamSynchronize
  kEventSync,   ///< cudaEventSynchronize
  kCopy,        ///< cudaMemcpy*: may block until the copy is done
};
/// By name, of CUDA and HIP.
CallKind call_kind(std::string_view name);
/// Calls that return when the GPU has done what they ask about.
constexpr bool is_sync(CallKind kind) {
  return kind == CallKind::kDeviceSync || kind == CallKind::kStreamSync ||
         kind == CallKind::kEventSync;
}
/// Calls that give the GPU work: launches, copies, sets.
bool is_submitting_call(std::string_view name);
/// Calls that only ask (cudaEventQuery, ...): they order nothing, and how many there are is chance.
bool is_polling_call(std::string_view name);

/// One recorded training step: ProfilerStep#N, or the whole window where a trace has none.
struct Step {
  std::string name;                 ///< "ProfilerStep#12"
  std::uint32_t event = kNoDetail;  ///< row of the annotation; kNoDetail for the whole window
  Time start, end;                  ///< of the annotation
};
/// Steps of a trace, in time order.
std::vector<Step> find_steps(const TraceSet& set, const Trace& trace);

}  // namespace flopcast
