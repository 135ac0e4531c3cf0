// Graphs as programs build, look at and change them.
#include <algorithm>
#include <cstring>

#include "live/standin/api/api.h"
#include "live/standin/link/link.h"
#include "live/standin/shim/copy.h"
#include "live/standin/shim/graph.h"
#include "live/standin/shim/kernels.h"

namespace flopcast::live {
namespace {

Graph& graph_of(void* graph) { return *static_cast<Graph*>(graph); }
Node& node_of(void* node) { return *static_cast<Node*>(node); }

std::vector<Node*> nodes_of(void* const* nodes, std::size_t count) {
  std::vector<Node*> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<Node*>(nodes[i]));
  return all;
}

/// Gives a list as the runtime does: as many as there is room for, nulls behind; or only their number.
int give(const std::vector<Node*>& nodes, void** out, std::size_t* count) {
  if (!count) return kInvalidValue;
  if (out) {
    for (std::size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i] : nullptr;
  }
  if (!out || nodes.size() < *count) *count = nodes.size();
  return kSuccess;
}

int give_edges(void* graph, void** from, void** to, std::size_t* count) {
  std::vector<Node*> begins, ends;
  for (const auto& node : graph_of(graph).nodes) {
    for (Node* const before : node->after) {
      begins.push_back(before);
      ends.push_back(node.get());
    }
  }
  std::size_t room = count ? *count : 0;
  const int status = give(begins, from, count);
  return status == kSuccess && to ? give(ends, to, &room) : status;
}

int give_dependencies(void* node, void** nodes, std::size_t* count) {
  return give(node_of(node).after, nodes, count);
}

int give_dependents(void* node, void** nodes, std::size_t* count) {
  std::vector<Node*> all;
  for (const auto& other : node_of(node).graph->nodes) {
    const auto& after = other->after;
    if (std::find(after.begin(), after.end(), node) != after.end()) all.push_back(other.get());
  }
  return give(all, nodes, count);
}

#if FLOPCAST_CUDA_MAJOR != 12
/// cudaGraphEdgeData: all wait for the whole of what they come after.
void clear_edges(void* edges, const std::size_t* count) {
  if (edges && count) std::memset(edges, 0, 8 * *count);
}
#endif

/// cudaKernelNodeParams, cudaMemsetParams, cudaHostNodeParams
struct KernelParameters {
  void* kernel;
  Dim3 grid, block;
  unsigned shared;
  void** arguments;
  void** extra;
};
struct FillParameters {
  void* to;
  std::size_t pitch;
  unsigned value, element_bytes;
  std::size_t width, height;
};
struct HostParameters {
  void (*function)(void*);
  void* data;
};

void set_kernel(Node& node, const KernelParameters& how) {
  node.work = work_of(Kernels::get().find(how.kernel), {how.grid, how.block, how.shared});
  keep_parameters(node, how);
}

void set_copy(Node& node, void* to, const void* from, std::size_t bytes, int direction) {
  node.work = work_of_copy(to, from, bytes, direction);
}

void set_fill(Node& node, const FillParameters& how) {
  node.work = work_of_fill(how.to, how.pitch, how.value, how.element_bytes, how.width, how.height);
  keep_parameters(node, how);
}

void set_host(Node& node, const HostParameters& how) {
  node.work = {};
  node.work.record.act = Act::kHostWork;
  node.work.effect = [how] { how.function(how.data); };
  keep_parameters(node, how);
}

template <typename T>
int get_parameters(void* node, NodeKind kind, T* out) {
  const Node& own = node_of(node);
  if (own.kind != kind) return kInvalidValue;
  if (kind == NodeKind::kKernel && own.parameters.empty()) {  // captured
    const KernelParameters how{own.work.kernel, own.work.grid,
                               own.work.block,  static_cast<unsigned>(own.work.shared),
                               nullptr,         nullptr};
    std::memcpy(out, &how, sizeof how);
    return kSuccess;
  }
  if (own.parameters.size() != sizeof *out) return kInvalidValue;
  std::memcpy(out, own.parameters.data(), sizeof *out);
  return kSuccess;
}

Node* add_node(void* graph, NodeKind kind, void* const* after, std::size_t count) {
  return &graph_of(graph).add(kind, nodes_of(after, count));
}

int instantiate(void** executable, void* graph, unsigned long long flags) {
  *executable = nullptr;
  const Graph& own = graph_of(graph);
  if (own.in_order().size() < own.nodes.size()) return kInvalidValue;  // nodes wait for each other
  auto* const made = new Executable(own);
  made->flags = flags;
  *executable = made;
  return kSuccess;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_API int cudaGraphCreate(void** graph, unsigned) {
  *graph = new Graph;
  return kSuccess;
}
FLOPCAST_API int cudaGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}
FLOPCAST_API int cudaGraphClone(void** graph, void* original) {
  *graph = graph_of(original).copy().release();
  return kSuccess;
}
FLOPCAST_API int cudaGraphNodeFindInClone(void** node, void* original, void* clone) {
  for (const auto& own : graph_of(clone).nodes) {
    if (own->origin != original) continue;
    *node = own.get();
    return kSuccess;
  }
  return remembered(kInvalidValue);
}

FLOPCAST_API int cudaGraphAddKernelNode(void** node, void* graph, void* const* after,
                                        std::size_t count, const KernelParameters* how) {
  Node* const made = add_node(graph, NodeKind::kKernel, after, count);
  set_kernel(*made, *how);
  *node = made;
  return kSuccess;
}
FLOPCAST_API int cudaGraphAddMemcpyNode1D(void** node, void* graph, void* const* after,
                                          std::size_t count, void* to, const void* from,
                                          std::size_t bytes, int direction) {
  Node* const made = add_node(graph, NodeKind::kCopy, after, count);
  set_copy(*made, to, from, bytes, direction);
  *node = made;
  return kSuccess;
}
FLOPCAST_API int cudaGraphAddMemsetNode(void** node, void* graph, void* const* after,
                                        std::size_t count, const FillParameters* how) {
  Node* const made = add_node(graph, NodeKind::kFill, after, count);
  set_fill(*made, *how);
  *node = made;
  return kSuccess;
}
FLOPCAST_API int cudaGraphAddHostNode(void** node, void* graph, void* const* after,
                                      std::size_t count, const HostParameters* how) {
  Node* const made = add_node(graph, NodeKind::kHost, after, count);
  set_host(*made, *how);
  *node = made;
  return kSuccess;
}
FLOPCAST_API int cudaGraphAddEmptyNode(void** node, void* graph, void* const* after,
                                       std::size_t count) {
  *node = add_node(graph, NodeKind::kEmpty, after, count);
  return kSuccess;
}
FLOPCAST_API int cudaGraphAddChildGraphNode(void** node, void* graph, void* const* after,
                                            std::size_t count, void* child) {
  Node* const made = add_node(graph, NodeKind::kChild, after, count);
  made->child = graph_of(child).copy();
  *node = made;
  return kSuccess;
}
FLOPCAST_API int cudaGraphAddEventRecordNode(void** node, void* graph, void* const* after,
                                             std::size_t count, void* event) {
  Node* const made = add_node(graph, NodeKind::kRecordEvent, after, count);
  made->event = static_cast<EventObject*>(event);
  made->event->recorded = true;
  made->work.record.act = Act::kRecordEvent;
  made->work.record.word[0] = made->event->number;
  made->work.record.word[1] = made->event->keeps_times ? 1 : 0;
  *node = made;
  return kSuccess;
}
FLOPCAST_API int cudaGraphAddEventWaitNode(void** node, void* graph, void* const* after,
                                           std::size_t count, void* event) {
  Node* const made = add_node(graph, NodeKind::kWaitEvent, after, count);
  made->event = static_cast<EventObject*>(event);
  made->work.record.act = Act::kStreamWaitsEvent;
  made->work.record.word[0] = made->event->number;
  *node = made;
  return kSuccess;
}
FLOPCAST_API int cudaGraphDestroyNode(void* node) {
  Graph& graph = *node_of(node).graph;
  for (const auto& other : graph.nodes) std::erase(other->after, &node_of(node));
  std::erase_if(graph.nodes, [node](const auto& other) { return other.get() == node; });
  return kSuccess;
}

#if FLOPCAST_CUDA_MAJOR == 12
FLOPCAST_API int cudaGraphAddDependencies(void*, void* const* from, void* const* to,
                                          std::size_t count) {
#else
FLOPCAST_API int cudaGraphAddDependencies(void*, void* const* from, void* const* to, const void*,
                                          std::size_t count) {
#endif
  for (std::size_t i = 0; i < count; ++i) node_of(to[i]).after.push_back(&node_of(from[i]));
  return kSuccess;
}
#if FLOPCAST_CUDA_MAJOR == 12
FLOPCAST_API int cudaGraphRemoveDependencies(void*, void* const* from, void* const* to,
                                             std::size_t count) {
#else
FLOPCAST_API int cudaGraphRemoveDependencies(void*, void* const* from, void* const* to, const void*,
                                             std::size_t count) {
#endif
  for (std::size_t i = 0; i < count; ++i) std::erase(node_of(to[i]).after, &node_of(from[i]));
  return kSuccess;
}

FLOPCAST_API int cudaGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  std::vector<Node*> all;
  for (const auto& node : graph_of(graph).nodes) all.push_back(node.get());
  return remembered(give(all, nodes, count));
}
FLOPCAST_API int cudaGraphGetRootNodes(void* graph, void** nodes, std::size_t* count) {
  std::vector<Node*> all;
  for (const auto& node : graph_of(graph).nodes) {
    if (node->after.empty()) all.push_back(node.get());
  }
  return remembered(give(all, nodes, count));
}

#if FLOPCAST_CUDA_MAJOR == 12
FLOPCAST_API int cudaGraphGetEdges(void* graph, void** from, void** to, std::size_t* count) {
  return remembered(give_edges(graph, from, to, count));
}
FLOPCAST_API int cudaGraphNodeGetDependencies(void* node, void** nodes, std::size_t* count) {
  return remembered(give_dependencies(node, nodes, count));
}
FLOPCAST_API int cudaGraphNodeGetDependentNodes(void* node, void** nodes, std::size_t* count) {
  return remembered(give_dependents(node, nodes, count));
}
#else
FLOPCAST_API int cudaGraphGetEdges(void* graph, void** from, void** to, void* edges,
                                   std::size_t* count) {
  const int status = give_edges(graph, from, to, count);
  clear_edges(edges, count);
  return remembered(status);
}
FLOPCAST_API int cudaGraphNodeGetDependencies(void* node, void** nodes, void* edges,
                                              std::size_t* count) {
  const int status = give_dependencies(node, nodes, count);
  clear_edges(edges, count);
  return remembered(status);
}
FLOPCAST_API int cudaGraphNodeGetDependentNodes(void* node, void** nodes, void* edges,
                                                std::size_t* count) {
  const int status = give_dependents(node, nodes, count);
  clear_edges(edges, count);
  return remembered(status);
}
#endif

FLOPCAST_API int cudaGraphNodeGetType(void* node, int* kind) {
  *kind = static_cast<int>(node_of(node).kind);
  return kSuccess;
}
FLOPCAST_API int cudaGraphKernelNodeGetParams(void* node, KernelParameters* out) {
  return remembered(get_parameters(node, NodeKind::kKernel, out));
}
FLOPCAST_API int cudaGraphKernelNodeSetParams(void* node, const KernelParameters* how) {
  set_kernel(node_of(node), *how);
  return kSuccess;
}
FLOPCAST_API int cudaGraphMemsetNodeGetParams(void* node, FillParameters* out) {
  return remembered(get_parameters(node, NodeKind::kFill, out));
}
FLOPCAST_API int cudaGraphMemsetNodeSetParams(void* node, const FillParameters* how) {
  set_fill(node_of(node), *how);
  return kSuccess;
}
FLOPCAST_API int cudaGraphMemcpyNodeSetParams1D(void* node, void* to, const void* from,
                                                std::size_t bytes, int direction) {
  set_copy(node_of(node), to, from, bytes, direction);
  return kSuccess;
}
FLOPCAST_API int cudaGraphHostNodeGetParams(void* node, HostParameters* out) {
  return remembered(get_parameters(node, NodeKind::kHost, out));
}
FLOPCAST_API int cudaGraphHostNodeSetParams(void* node, const HostParameters* how) {
  set_host(node_of(node), *how);
  return kSuccess;
}
FLOPCAST_API int cudaGraphChildGraphNodeGetGraph(void* node, void** graph) {
  *graph = node_of(node).child.get();
  return remembered(*graph ? kSuccess : kInvalidValue);
}

FLOPCAST_API int cudaGraphInstantiate(void** executable, void* graph, unsigned long long flags) {
  return remembered(instantiate(executable, graph, flags));
}
FLOPCAST_API int cudaGraphInstantiateWithFlags(void** executable, void* graph,
                                               unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}
FLOPCAST_API int cudaGraphExecDestroy(void* executable) {
  delete static_cast<Executable*>(executable);
  return kSuccess;
}
FLOPCAST_API int cudaGraphExecGetFlags(void* executable, unsigned long long* flags) {
  *flags = static_cast<Executable*>(executable)->flags;
  return kSuccess;
}
FLOPCAST_API int cudaGraphUpload(void*, void*) { return kSuccess; }
FLOPCAST_API int cudaGraphLaunch(void* executable, void* stream) {
  if (!captures(stream)) {
    static_cast<Executable*>(executable)->launch(stream);
    return kSuccess;
  }
  StreamObject& own = *stream_object(stream);
  Node& node = own.capture->graph->add(NodeKind::kChild, own.tail);
  node.child = static_cast<Executable*>(executable)->graph().copy();
  own.tail.assign(1, &node);
  return kSuccess;
}
/// cudaGraphExecUpdateResultInfo: a result, two nodes. 1: not possible
FLOPCAST_API int cudaGraphExecUpdate(void* executable, void* graph, void* result) {
  const bool same = static_cast<Executable*>(executable)->update(graph_of(graph));
  if (result) {
    std::memset(result, 0, 3 * sizeof(void*));
    *static_cast<int*>(result) = same ? 0 : 1;
  }
  return remembered(same ? kSuccess : kGraphUpdateFailure);
}
FLOPCAST_API int cudaGraphExecKernelNodeSetParams(void* executable, void* node,
                                                  const KernelParameters* how) {
  Node* const own = static_cast<Executable*>(executable)->copy_of(&node_of(node));
  if (!own) return remembered(kInvalidValue);
  set_kernel(*own, *how);
  return kSuccess;
}
FLOPCAST_API int cudaGraphExecMemcpyNodeSetParams1D(void* executable, void* node, void* to,
                                                    const void* from, std::size_t bytes,
                                                    int direction) {
  Node* const own = static_cast<Executable*>(executable)->copy_of(&node_of(node));
  if (!own) return remembered(kInvalidValue);
  set_copy(*own, to, from, bytes, direction);
  return kSuccess;
}
FLOPCAST_API int cudaGraphExecMemsetNodeSetParams(void* executable, void* node,
                                                  const FillParameters* how) {
  Node* const own = static_cast<Executable*>(executable)->copy_of(&node_of(node));
  if (!own) return remembered(kInvalidValue);
  set_fill(*own, *how);
  return kSuccess;
}
FLOPCAST_API int cudaGraphExecHostNodeSetParams(void* executable, void* node,
                                                const HostParameters* how) {
  Node* const own = static_cast<Executable*>(executable)->copy_of(&node_of(node));
  if (!own) return remembered(kInvalidValue);
  set_host(*own, *how);
  return kSuccess;
}
FLOPCAST_API int cudaGraphNodeSetEnabled(void* executable, void* node, unsigned enabled) {
  Node* const own = static_cast<Executable*>(executable)->copy_of(&node_of(node));
  if (!own) return remembered(kInvalidValue);
  own->enabled = enabled != 0;
  return kSuccess;
}
FLOPCAST_API int cudaGraphNodeGetEnabled(void* executable, void* node, unsigned* enabled) {
  const Node* const own = static_cast<Executable*>(executable)->copy_of(&node_of(node));
  if (!own) return remembered(kInvalidValue);
  *enabled = own->enabled ? 1 : 0;
  return kSuccess;
}

FLOPCAST_API int cudaUserObjectCreate(void** object, void* of, void (*destroy)(void*),
                                      unsigned count, unsigned) {
  *object = new UserObject{destroy, of, {static_cast<int>(count)}};
  return kSuccess;
}
FLOPCAST_API int cudaUserObjectRetain(void* object, unsigned count) {
  static_cast<UserObject*>(object)->held += static_cast<int>(count);
  return kSuccess;
}
FLOPCAST_API int cudaUserObjectRelease(void* object, unsigned count) {
  auto* const own = static_cast<UserObject*>(object);
  if ((own->held -= static_cast<int>(count)) > 0) return kSuccess;
  own->destroy(own->of);
  delete own;
  return kSuccess;
}
/// 1: the caller's references become the graph's
FLOPCAST_API int cudaGraphRetainUserObject(void* graph, void* object, unsigned count,
                                           unsigned flags) {
  auto* const own = static_cast<UserObject*>(object);
  if ((flags & 1) == 0) own->held += static_cast<int>(count);
  graph_of(graph).objects.insert(graph_of(graph).objects.end(), count, own);
  return kSuccess;
}
