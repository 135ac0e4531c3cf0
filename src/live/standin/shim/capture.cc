// Capture: calls about a stream become nodes of a graph.
#include <algorithm>
#include <utility>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/shim/captured.h"
#include "live/standin/shim/graph.h"
#include "live/standin/values/inside.h"

namespace flopcast::live {
namespace {

/// cudaStreamCaptureStatus, cudaStreamCaptureMode
enum CaptureStatus : int { kCapturesNothing = 0, kCaptures = 1, kCaptureBroken = 2 };
constexpr int kModeRelaxed = 2;

/// cudaStreamUpdateCaptureDependencies: in place of those so far
constexpr unsigned kSetDependencies = 1;

thread_local int mode_of_thread = 0;
/// Those under way, by number: an event may be of one that is over.
struct UnderWay {
  std::mutex lock;
  std::uint64_t made = 0;
  std::unordered_map<std::uint64_t, Capture*> by_number;
};
UnderWay& under_way() {
  static UnderWay* const all = new UnderWay;  // events are asked about while the process ends
  return *all;
}
/// Captures of mode "global" that other threads heed.
std::atomic<int> global_captures{0};

NodeKind kind_of_act(Act act) {
  switch (act) {
    case Act::kCopy:
      return NodeKind::kCopy;
    case Act::kFill:
      return NodeKind::kFill;
    case Act::kHostWork:
      return NodeKind::kHost;
    case Act::kRecordEvent:
      return NodeKind::kRecordEvent;
    case Act::kStreamWaitsEvent:
      return NodeKind::kWaitEvent;
    default:
      return NodeKind::kKernel;
  }
}

int begin_capture(void* stream, Graph* graph, std::vector<Node*> after, int mode) {
  StreamObject* const own = stream_object(stream);
  if (!own) return kCaptureUnsupported;  // the default stream cannot
  if (own->capture || mode < 0 || mode > kModeRelaxed) return kInvalidValue;
  auto* const made = new Capture;
  made->owns_graph = graph == nullptr;
  made->graph = graph ? graph : new Graph;
  made->origin = own;
  made->mode = mode;
  made->streams.push_back(own);
  own->capture = made;
  own->tail = std::move(after);
  if (mode == 0) ++global_captures;
  capture_begins();
  UnderWay& all = under_way();
  const std::lock_guard guard(all.lock);
  made->number = ++all.made;
  all.by_number[made->number] = made;
  return kSuccess;
}

/// Whether everything that was captured on other streams comes before what the first one ends with.
bool is_joined(const Capture& capture) {
  std::vector<const Node*> reached(capture.origin->tail.begin(), capture.origin->tail.end());
  std::unordered_map<const Node*, bool> seen;
  for (const Node* const node : reached) seen[node] = true;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Node* const before : reached[i]->after) {
      if (!std::exchange(seen[before], true)) reached.push_back(before);
    }
  }
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const StreamObject* one) {
    return std::all_of(one->tail.begin(), one->tail.end(),
                       [&](const Node* node) { return seen.contains(node); });
  });
}

int end_capture(void* stream, void** graph) {
  if (graph) *graph = nullptr;
  StreamObject* const own = stream_object(stream);
  if (!own || !own->capture) return kInvalidValue;
  Capture* const capture = own->capture;
  if (capture->origin != own) return kCaptureUnmatched;
  int status = capture->valid ? kSuccess : kCaptureInvalidated;
  if (status == kSuccess && !is_joined(*capture)) status = kCaptureUnjoined;
  for (StreamObject* const one : capture->streams) {
    one->capture = nullptr;
    one->tail.clear();
  }
  if (capture->mode == 0) --global_captures;
  capture_ends();
  if (status == kSuccess && graph) {
    *graph = capture->graph;
  } else if (capture->owns_graph) {
    delete capture->graph;
  }
  UnderWay& all = under_way();
  const std::lock_guard guard(all.lock);
  all.by_number.erase(capture->number);
  delete capture;
  return status;
}

struct CaptureInfo {
  int* status;
  unsigned long long* id;
  void** graph;
  const void* const** tail;
  std::size_t* count;
};

int capture_info(void* stream, const CaptureInfo& out) {
  const StreamObject* const own = stream_object(stream);
  const Capture* const capture = own ? own->capture : nullptr;
  if (!out.status) return kInvalidValue;
  *out.status = !capture ? kCapturesNothing : capture->valid ? kCaptures : kCaptureBroken;
  if (!capture || !capture->valid) return kSuccess;
  if (out.id) *out.id = capture->number;
  if (out.graph) *out.graph = capture->graph;
  if (out.tail) *out.tail = reinterpret_cast<const void* const*>(own->tail.data());
  if (out.count) *out.count = own->tail.size();
  return kSuccess;
}

int update_dependencies(void* stream, void* const* nodes, std::size_t count, unsigned flags) {
  StreamObject* const own = stream_object(stream);
  if (!own || !own->capture) return kInvalidValue;
  if ((flags & kSetDependencies) != 0) own->tail.clear();
  for (std::size_t i = 0; i < count; ++i) own->tail.push_back(static_cast<Node*>(nodes[i]));
  return kSuccess;
}

}  // namespace

Node* put(void* stream, Work work) {
  StreamObject* const own = stream_object(stream);
  if (!own || !own->capture) {
    tell(work, work.record);
    if (work.effect) work.effect();
    gave_work(nullptr);
    return nullptr;
  }
  Node& node = own->capture->graph->add(kind_of_act(work.record.act), own->tail);
  node.work = std::move(work);
  // A plug-in makes the values itself, also when the graph is launched.
  if (!values_move() && node.kind != NodeKind::kHost) node.work.effect = {};
  own->tail.assign(1, &node);
  gave_work(&node.work.effect);
  operator_captured(node.work);
  return &node;
}

bool captures(void* stream) {
  const StreamObject* const own = stream_object(stream);
  return own && own->capture;
}

int refuse_in_capture(void* stream) {
  stream_object(stream)->capture->valid = false;
  return kCaptureUnsupported;
}

bool forbidden_by_capture() { return global_captures > 0 && mode_of_thread != kModeRelaxed; }

void record_in_capture(EventObject& event, StreamObject& stream) {
  event.capture = stream.capture->number;
  event.tail = stream.tail;
}

bool is_captured(const EventObject& event) {
  if (event.capture == 0) return false;
  UnderWay& all = under_way();
  const std::lock_guard guard(all.lock);
  return all.by_number.contains(event.capture);
}

int wait_in_capture(StreamObject* stream, const EventObject& event) {
  UnderWay& all = under_way();
  const std::lock_guard guard(all.lock);
  const auto found = all.by_number.find(event.capture);
  if (found == all.by_number.end()) return kInvalidValue;
  Capture* const of_event = found->second;
  if (!stream || (stream->capture && stream->capture != of_event)) return kCaptureIsolation;
  if (!stream->capture) {
    stream->capture = of_event;
    of_event->streams.push_back(stream);
    stream->tail.clear();
  }
  for (Node* const node : event.tail) {
    if (std::find(stream->tail.begin(), stream->tail.end(), node) == stream->tail.end())
      stream->tail.push_back(node);
  }
  return kSuccess;
}

}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaStreamBeginCapture(void* stream, int mode) {
  return remembered(begin_capture(stream, nullptr, {}, mode));
}
FLOPCAST_API int cudaStreamBeginCaptureToGraph(void* stream, void* graph, void* const* after,
                                               const void*, std::size_t count, int mode) {
  if (!graph) return remembered(kInvalidValue);
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(static_cast<Node*>(after[i]));
  return remembered(begin_capture(stream, static_cast<Graph*>(graph), std::move(nodes), mode));
}
FLOPCAST_API int cudaStreamEndCapture(void* stream, void** graph) {
  return remembered(end_capture(stream, graph));
}
FLOPCAST_API int cudaStreamIsCapturing(void* stream, int* status) {
  return remembered(capture_info(stream, {status, nullptr, nullptr, nullptr, nullptr}));
}
#if FLOPCAST_CUDA_MAJOR == 12
FLOPCAST_API int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id) {
  return remembered(capture_info(stream, {status, id, nullptr, nullptr, nullptr}));
}
FLOPCAST_API int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id,
                                             void** graph, const void* const** tail,
                                             std::size_t* count) {
  return remembered(capture_info(stream, {status, id, graph, tail, count}));
}
FLOPCAST_API int cudaStreamGetCaptureInfo_v3(void* stream, int* status, unsigned long long* id,
                                             void** graph, const void* const** tail,
                                             const void** edges, std::size_t* count) {
  if (edges) *edges = nullptr;  // all wait for the whole of what they come after
  return remembered(capture_info(stream, {status, id, graph, tail, count}));
}
FLOPCAST_API int cudaStreamUpdateCaptureDependencies(void* stream, void* const* nodes,
                                                     std::size_t count, unsigned flags) {
  return remembered(update_dependencies(stream, nodes, count, flags));
}
FLOPCAST_API int cudaStreamUpdateCaptureDependencies_v2(void* stream, void* const* nodes,
                                                        const void*, std::size_t count,
                                                        unsigned flags) {
  return remembered(update_dependencies(stream, nodes, count, flags));
}
#else
FLOPCAST_API int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id,
                                          void** graph, const void* const** tail,
                                          const void** edges, std::size_t* count) {
  if (edges) *edges = nullptr;  // all wait for the whole of what they come after
  return remembered(capture_info(stream, {status, id, graph, tail, count}));
}
FLOPCAST_API int cudaStreamUpdateCaptureDependencies(void* stream, void* const* nodes, const void*,
                                                     std::size_t count, unsigned flags) {
  return remembered(update_dependencies(stream, nodes, count, flags));
}
#endif
FLOPCAST_API int cudaThreadExchangeStreamCaptureMode(int* mode) {
  if (!mode || *mode < 0 || *mode > kModeRelaxed) return remembered(kInvalidValue);
  std::swap(*mode, mode_of_thread);
  return kSuccess;
}
