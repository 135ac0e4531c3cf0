// CUPTI's activities: records of calls and of work on devices, in buffers that the program gives.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/observe/profiler.h"

namespace flopcast::live {
namespace {

/// CUptiResult
enum CuptiStatus : int {
  kCuptiSuccess = 0,
  kCuptiInvalidParameter = 1,
  kCuptiNoMore = 12,
  kCuptiQueueEmpty = 19
};

/// CUpti_ActivityKind
enum ActivityKind : unsigned {
  kCopyActivity = 1,
  kFillActivity = 2,
  kKernelActivity = 3,
  kDriverActivity = 4,
  kRuntimeActivity = 5,
  kConcurrentKernelActivity = 10,
  kSynchronizationActivity = 38,
  kExternalActivity = 39,
};

/// CUpti_ActivityKernel9 of CUDA 12 begins, and ends at graph_id, as CUpti_ActivityKernel11 of CUDA 13.
struct KernelRow {
  std::uint32_t kind;
  std::uint8_t cache, shared_configuration;
  std::uint16_t registers;
  std::int32_t partitioned[2];
  std::uint64_t start, end, completed;
  std::uint32_t device, context, stream;
  std::int32_t grid[3], block[3];
  std::int32_t static_shared, dynamic_shared;
  std::uint32_t local_per_thread, local, correlation;
  std::int64_t grid_id;
  const char* name;
  void* reserved;
  std::uint64_t queued, submitted;
  std::uint8_t launch[4];
  std::uint32_t shared_executed;
  std::uint64_t graph_node;
  std::int32_t shared_limit;
  std::uint32_t graph;
  std::uint8_t rest[64];
};
static_assert(sizeof(KernelRow) == 224 && offsetof(KernelRow, correlation) == 92);
static_assert(offsetof(KernelRow, graph_node) == 144 && offsetof(KernelRow, graph) == 156);

/// CUpti_ActivityMemcpy5
struct CopyRow {
  std::uint32_t kind;
  std::uint8_t copy, from, to, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation, runtime_correlation, padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t graph, channel;
  std::int32_t channel_type;
  std::uint32_t rest;
};
static_assert(sizeof(CopyRow) == 88 && offsetof(CopyRow, graph_node) == 64);

/// CUpti_ActivityMemset4
struct FillRow {
  std::uint32_t kind, value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
  std::uint16_t flags, memory;
  std::uint32_t padding;
  void* reserved;
  std::uint64_t graph_node;
  std::uint32_t rest[4];
};
static_assert(sizeof(FillRow) == 88 && offsetof(FillRow, graph_node) == 64);

/// CUpti_ActivityAPI
struct CallRow {
  std::uint32_t kind, callback;
  std::uint64_t start, end;
  std::uint32_t process, thread, correlation, status;
};
static_assert(sizeof(CallRow) == 40);

/// CUpti_ActivityExternalCorrelation
struct ExternalRow {
  std::uint32_t kind, external_kind;
  std::uint64_t id;
  std::uint32_t correlation, reserved;
};
static_assert(sizeof(ExternalRow) == 24);

std::size_t bytes_of_row(unsigned kind) {
  switch (kind) {
    case kConcurrentKernelActivity:
      return sizeof(KernelRow);
    case kCopyActivity:
      return sizeof(CopyRow);
    case kFillActivity:
      return sizeof(FillRow);
    case kRuntimeActivity:
      return sizeof(CallRow);
    default:
      return sizeof(ExternalRow);
  }
}

/// CUpti_runtime_api_trace_cbid and the names that CUPTI gives them.
struct Callback {
  Act act;
  std::uint32_t number;
  const char* name;
};
constexpr Callback kCallbacks[] = {
    {Act::kKernel, 211, "cudaLaunchKernel_v7000"},
    {Act::kCollective, 430, "cudaLaunchKernelExC_v11060"},
    {Act::kCopy, 41, "cudaMemcpyAsync_v3020"},
    {Act::kFill, 51, "cudaMemsetAsync_v3020"},
    {Act::kRecordEvent, 135, "cudaEventRecord_v3020"},
    {Act::kStreamWaitsEvent, 147, "cudaStreamWaitEvent_v3020"},
    {Act::kGraphLaunch, 311, "cudaGraphLaunch_v10000"},
    {Act::kHostWork, 284, "cudaLaunchHostFunc_v10000"},
    {Act::kWaitDevice, 165, "cudaDeviceSynchronize_v3020"},
    {Act::kWaitStream, 131, "cudaStreamSynchronize_v3020"},
    {Act::kWaitEvent, 137, "cudaEventSynchronize_v3020"},
};
const Callback* callback_of(Act act) {
  const auto* const found = std::find_if(std::begin(kCallbacks), std::end(kCallbacks),
                                         [act](const Callback& one) { return one.act == act; });
  return found == std::end(kCallbacks) ? nullptr : found;
}

/// What people call a kernel: the name at the end of its signature.
std::string_view name_of(std::string_view signature) {
  const std::string_view kind = signature.substr(0, signature.find(' '));
  const int words = kind == "kernel"      ? 1
                    : kind == "gemm"      ? 6
                    : kind == "attention" ? 10
                    : kind == "memory"    ? 3
                    : kind == "arguments" ? 4
                    : kind == "counted"   ? 8
                                          : 0;
  std::string_view rest = signature;
  for (int i = 0; i < words; ++i) {
    const std::size_t end = rest.find(' ');
    if (end == rest.npos) return signature;
    rest.remove_prefix(end + 1);
  }
  return rest;
}

const char* name_of(Collective op) {
  static constexpr const char* kNames[] = {"ncclDevKernel_AllReduce",
                                           "ncclDevKernel_Broadcast",
                                           "ncclDevKernel_Reduce",
                                           "ncclDevKernel_AllGather",
                                           "ncclDevKernel_ReduceScatter",
                                           "ncclDevKernel_SendRecv",
                                           "ncclDevKernel_SendRecv",
                                           "ncclDevKernel_SendRecv",
                                           "ncclDevKernel_SendRecv",
                                           "ncclDevKernel_SendRecv",
                                           "barrier_kernel"};
  const auto index = static_cast<std::size_t>(op);
  return index < std::size(kNames) ? kNames[index] : "ncclDevKernel";
}

/// Names are read as long as the program lives.
const char* kept(std::string_view name) {
  static auto& lock = *new std::mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  const std::lock_guard guard(lock);
  const auto found = names.find(name);
  return (found == names.end() ? names.emplace(name).first : found)->c_str();
}

using Request = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using Complete = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

/// Buffers of the program's. The first is asked for with the first record: Kineto flushes only when it has given one.
class Buffers {
 public:
  static Buffers& get() {
    static Buffers* const buffers = new Buffers;
    return *buffers;
  }
  void use(Request request, Complete complete) {
    request_ = request;
    complete_ = complete;
  }
  void want() {
    if (buffer_ || !request_) return;
    std::size_t most = 0;
    request_(&buffer_, &size_, &most);
    filled_ = 0;
  }
  template <typename Row>
  void add(const Row& row) {
    want();
    if (buffer_ && size_ - filled_ < sizeof row) {
      give();
      want();
    }
    if (!buffer_ || size_ - filled_ < sizeof row) return;
    std::memcpy(buffer_ + filled_, &row, sizeof row);
    filled_ += sizeof row;
  }
  void give() {
    if (!buffer_ || !complete_) return;
    std::uint8_t* const full = std::exchange(buffer_, nullptr);
    complete_(nullptr, 0, full, size_, filled_);
  }

 private:
  Request request_ = nullptr;
  Complete complete_ = nullptr;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0, filled_ = 0;
};

bool is_of(std::uint64_t kinds, unsigned kind) { return (kinds >> kind & 1) != 0; }

constexpr std::uint64_t kAboutDevice =
    std::uint64_t{1} << kKernelActivity | std::uint64_t{1} << kConcurrentKernelActivity |
    std::uint64_t{1} << kCopyActivity | std::uint64_t{1} << kFillActivity |
    std::uint64_t{1} << kRuntimeActivity;

int enable(unsigned kind, bool on) {
  if (kind >= 64) return kCuptiInvalidParameter;
  static std::atomic<std::uint64_t> enabled{0};
  const std::uint64_t bit = std::uint64_t{1} << kind;
  const std::uint64_t now = on ? enabled |= bit : enabled &= ~bit;
  if ((now & kAboutDevice) != 0) {
    Buffers::get().want();
    Profiler::get().start(now);
  } else {
    Profiler::get().stop();
  }
  return kCuptiSuccess;
}

/// Nanoseconds of the run at which the work began and ended; none if it has not ended yet.
struct TimeSpan {
  std::uint64_t start = 0, end = 0;
};
std::optional<TimeSpan> span_of(const ProfiledWork& work, bool& known) {
  Record question;
  question.act = Act::kAskSpan;
  question.word[0] = work.number;
  const Told start = Link::get().ask(question);
  known = start.status != EINVAL;
  if (start.status != 0) return std::nullopt;
  question.word[1] = 1;
  const Told end = Link::get().ask(question);
  const Profiler& profiler = Profiler::get();
  return TimeSpan{profiler.program_time(static_cast<std::int64_t>(start.value / 1000)),
                  profiler.program_time(static_cast<std::int64_t>(end.value / 1000))};
}

/// The default stream is the seventh of a context, as with CUPTI.
std::uint32_t stream_in_rows(const Record& record) {
  return record.stream == 0 ? 7 : static_cast<std::uint32_t>(12 + record.stream);
}

template <typename Row>
void place(Row& row, const ProfiledWork& work, const TimeSpan& span) {
  row.start = span.start;
  row.end = span.end;
  row.device = work.record.device;
  row.context = 1u + work.record.device;
  row.stream = stream_in_rows(work.record);
  row.correlation = work.correlation;
}

void add_kernel(const ProfiledWork& work, const TimeSpan& span) {
  KernelRow row{};
  row.kind = kConcurrentKernelActivity;
  place(row, work, span);
  row.completed = span.end;
  const auto number = [](unsigned value) { return static_cast<std::int32_t>(value); };
  row.grid[0] = number(work.grid.x), row.grid[1] = number(work.grid.y);
  row.grid[2] = number(work.grid.z), row.block[0] = number(work.block.x);
  row.block[1] = number(work.block.y), row.block[2] = number(work.block.z);
  row.dynamic_shared = static_cast<std::int32_t>(work.shared);
  row.name = work.record.act == Act::kCollective
                 ? name_of(static_cast<Collective>(work.record.word[1] >> 32))
                 : kept(name_of(Link::get().text(work.record.signature)));
  Buffers::get().add(row);
}

void add_copy(const ProfiledWork& work, const TimeSpan& span) {
  /// CUpti_ActivityMemcpyKind, and CUpti_ActivityMemoryKind of both sides, by CopyKind
  static constexpr std::uint8_t kKinds[][3] = {
      {1, 1, 3}, {2, 3, 1}, {8, 3, 3}, {10, 3, 3}, {9, 1, 1}};
  CopyRow row{};
  row.kind = kCopyActivity;
  place(row, work, span);
  const std::uint8_t* const kind = kKinds[std::min<std::uint64_t>(work.record.word[1], 4)];
  row.copy = kind[0], row.from = kind[1], row.to = kind[2];
  row.bytes = work.record.word[0];
  Buffers::get().add(row);
}

void add_fill(const ProfiledWork& work, const TimeSpan& span) {
  FillRow row{};
  row.kind = kFillActivity;
  place(row, work, span);
  row.memory = 3;  // of the device
  row.bytes = work.record.word[0];
  Buffers::get().add(row);
}

void add_work(const ProfiledWork& work, const TimeSpan& span) {
  switch (work.record.act) {
    case Act::kCopy:
      if (is_of(work.kinds, kCopyActivity)) add_copy(work, span);
      break;
    case Act::kFill:
      if (is_of(work.kinds, kFillActivity)) add_fill(work, span);
      break;
    default:
      if (is_of(work.kinds, kConcurrentKernelActivity) || is_of(work.kinds, kKernelActivity))
        add_kernel(work, span);
      break;
  }
}

void add_call(const ProfiledCall& call) {
  const Callback* const callback = callback_of(call.act);
  if (!callback || !is_of(call.kinds, kRuntimeActivity)) return;
  const Profiler& profiler = Profiler::get();
  Buffers::get().add(CallRow{kRuntimeActivity, callback->number, profiler.program_time(call.begin),
                             profiler.program_time(call.end),
                             static_cast<std::uint32_t>(::getpid()), call.thread, call.correlation,
                             0});
}

void flush() {
  const Profile profile = Profiler::get().take();
  for (const ExternalId& one : profile.external) {
    if (!is_of(one.kinds, kExternalActivity)) continue;
    Buffers::get().add(ExternalRow{kExternalActivity, static_cast<std::uint32_t>(one.kind), one.id,
                                   one.correlation, 0});
  }
  for (const ProfiledCall& call : profile.calls) add_call(call);
  for (const ProfiledWork& work : profile.work) {
    bool known = true;
    if (const std::optional<TimeSpan> span = span_of(work, known)) {
      add_work(work, *span);
    } else if (known) {
      Profiler::get().keep(work);
    }
  }
  Buffers::get().give();
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cuptiGetVersion(std::uint32_t* version) {
  *version = FLOPCAST_CUDA_MAJOR == 12 ? 26 : 130202;
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiGetResultString(int status, const char** text) {
  *text = status == kCuptiSuccess ? "CUPTI_SUCCESS" : "CUPTI_ERROR_INVALID_PARAMETER";
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiGetTimestamp(std::uint64_t* time) {
  *time = static_cast<std::uint64_t>(Link::get().common().start_ns + Link::get().now_ns());
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityRegisterCallbacks(Request request, Complete complete) {
  Buffers::get().use(request, complete);
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityRegisterTimestampCallback(std::uint64_t (*clock)()) {
  if (!clock) return kCuptiInvalidParameter;
  Profiler::get().use_clock(clock);
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityEnable(unsigned kind) { return enable(kind, true); }
FLOPCAST_API int cuptiActivityDisable(unsigned kind) { return enable(kind, false); }
FLOPCAST_API int cuptiActivityEnableDriverApi(std::uint32_t, std::uint8_t) { return kCuptiSuccess; }
FLOPCAST_API int cuptiActivityEnableRuntimeApi(std::uint32_t, std::uint8_t) {
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityEnableCudaEventDeviceTimestamps(std::uint8_t) {
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivitySetAttribute(int, std::size_t*, void*) { return kCuptiSuccess; }
FLOPCAST_API int cuptiActivityFlushAll(std::uint32_t) {
  flush();
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t filled,
                                            std::uint8_t** record) {
  if (!buffer || !record) return kCuptiInvalidParameter;
  std::uint8_t* next = buffer;
  if (*record) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    next = *record + bytes_of_row(kind);
  }
  if (next >= buffer + filled) return kCuptiNoMore;
  *record = next;
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityGetNumDroppedRecords(void*, std::uint32_t, std::size_t* count) {
  *count = 0;
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityPushExternalCorrelationId(int kind, std::uint64_t id) {
  Profiler::get().push_external(kind, id);
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiActivityPopExternalCorrelationId(int kind, std::uint64_t* last) {
  const std::optional<std::uint64_t> id = Profiler::get().pop_external(kind);
  if (!id) return kCuptiQueueEmpty;
  if (last) *last = *id;
  return kCuptiSuccess;
}
/// CUPTI_CB_DOMAIN_RUNTIME_API is 2.
FLOPCAST_API int cuptiGetCallbackName(int domain, std::uint32_t number, const char** name) {
  for (const Callback& callback : kCallbacks) {
    if (domain != 2 || callback.number != number) continue;
    *name = callback.name;
    return kCuptiSuccess;
  }
  return kCuptiInvalidParameter;
}
FLOPCAST_API int cuptiSubscribe(void** subscriber, void (*)(void*, int, std::uint32_t, const void*),
                                void*) {
  // Callbacks at calls are not made: whoever subscribes gets the records.
  static int only = 0;
  *subscriber = &only;
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiUnsubscribe(void*) { return kCuptiSuccess; }
FLOPCAST_API int cuptiEnableCallback(std::uint32_t, void*, int, std::uint32_t) {
  return kCuptiSuccess;
}
FLOPCAST_API int cuptiEnableDomain(std::uint32_t, void*, int) { return kCuptiSuccess; }
FLOPCAST_API int cuptiFinalize() {
  Profiler::get().stop();
  return kCuptiSuccess;
}
