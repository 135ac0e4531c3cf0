// Graphs: work that is kept to be launched together, as programs build it or streams capture it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "live/standin/shim/stream.h"

namespace flopcast::live {

/// cudaGraphNodeType
enum class NodeKind : int {
  kKernel = 0,
  kCopy = 1,
  kFill = 2,
  kHost = 3,
  kChild = 4,
  kEmpty = 5,
  kWaitEvent = 6,
  kRecordEvent = 7,
};

struct Graph;

struct Node {
  NodeKind kind = NodeKind::kEmpty;
  Graph* graph = nullptr;
  std::vector<Node*> after;  ///< without repetitions
  Work work;
  /// What the maker said of it, as the getters give it back: a struct of the runtime's.
  std::vector<unsigned char> parameters;
  EventObject* event = nullptr;
  std::unique_ptr<Graph> child;
  const Node* origin = nullptr;  ///< of which it is a copy
  bool enabled = true;
};

/// What a graph keeps alive for the application (cudaUserObject_t).
struct UserObject {
  void (*destroy)(void*) = nullptr;
  void* of = nullptr;
  std::atomic<int> held{1};
};

struct Graph {
  std::uint64_t number = 0;
  std::vector<std::unique_ptr<Node>> nodes;  ///< in the order of their making
  std::vector<UserObject*> objects;
  Graph();
  Graph(const Graph&) = delete;
  ~Graph();
  Node& add(NodeKind kind, std::vector<Node*> after);
  /// With the same nodes, each of which knows its original.
  std::unique_ptr<Graph> copy() const;
  /// Nodes so that each comes after those that it depends on; fewer than all if some wait for each other.
  std::vector<Node*> in_order() const;
};

/// A capture under way, of one stream and those that joined it by events.
struct Capture {
  std::uint64_t number = 0;
  Graph* graph = nullptr;
  bool owns_graph = true;
  StreamObject* origin = nullptr;
  int mode = 0;  ///< cudaStreamCaptureMode
  bool valid = true;
  std::vector<StreamObject*> streams;
};

/// A graph ready to be launched: its nodes on as many streams as run side by side.
class Executable {
 public:
  explicit Executable(const Graph& graph);
  void launch(void* stream);
  /// Takes over what another graph of the same shape says of its nodes. @return false if the shape differs
  bool update(const Graph& graph);
  Node* copy_of(const Node* original);
  std::uint64_t flags = 0;
  const Graph& graph() const { return *graph_; }

 private:
  struct Step {
    Node* node = nullptr;
    std::size_t lane = 0;
    std::vector<std::uint64_t> waits;  ///< events of other lanes
    std::uint64_t event = 0;           ///< that other lanes wait for, 0: none
  };
  void plan();
  void take(std::size_t lane, const std::vector<std::uint64_t>& waits, Record record,
            const Work* work = nullptr) const;
  std::unique_ptr<Graph> graph_;
  std::vector<Step> steps_;
  std::vector<std::uint64_t> lanes_;  ///< stream numbers; the first is that of the launch
  std::vector<std::uint64_t> ends_;   ///< events at the end of what nothing comes after
  std::uint64_t begin_ = 0;           ///< event at which lanes but the first begin
};

/// Parameters as a struct of the runtime's and back.
template <typename T>
void keep_parameters(Node& node, const T& parameters) {
  const auto* begin = reinterpret_cast<const unsigned char*>(&parameters);
  node.parameters.assign(begin, begin + sizeof parameters);
}

}  // namespace flopcast::live
