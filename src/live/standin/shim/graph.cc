// Graphs and their copies.
#include "live/standin/shim/graph.h"

#include <algorithm>

namespace flopcast::live {
namespace {

std::atomic<std::uint64_t> graphs_made{0};

}  // namespace

Graph::Graph() : number(++graphs_made) {}

Graph::~Graph() {
  // Who destroys a communicator before its graphs waits for ever, and never comes here: what the graphs hold may be gone with it.
  const bool late = std::any_of(nodes.begin(), nodes.end(), [](const auto& node) {
    return node && node->work.dropped && *node->work.dropped;  // flattening takes nodes away
  });
  for (UserObject* const object : objects) {
    if (--object->held > 0) continue;
    if (!late) object->destroy(object->of);
    delete object;
  }
}

Node& Graph::add(NodeKind kind, std::vector<Node*> after) {
  // A node may be told to come after another several times: once is enough.
  std::vector<Node*> once;
  for (Node* const node : after) {
    if (std::find(once.begin(), once.end(), node) == once.end()) once.push_back(node);
  }
  Node& node = *nodes.emplace_back(std::make_unique<Node>());
  node.kind = kind;
  node.graph = this;
  node.after = std::move(once);
  return node;
}

std::unique_ptr<Graph> Graph::copy() const {
  auto made = std::make_unique<Graph>();
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : nodes) {
    Node& own = made->add(node->kind, {});
    own.work = node->work;
    own.parameters = node->parameters;
    own.event = node->event;
    own.enabled = node->enabled;
    own.origin = node.get();
    if (node->child) own.child = node->child->copy();
    copies[node.get()] = &own;
  }
  for (const auto& node : nodes) {
    for (const Node* const before : node->after) {
      copies[node.get()]->after.push_back(copies[before]);
    }
  }
  for (UserObject* const object : objects) {
    ++object->held;
    made->objects.push_back(object);
  }
  return made;
}

std::vector<Node*> Graph::in_order() const {
  std::unordered_map<const Node*, std::size_t> waits_for;
  std::unordered_map<const Node*, std::vector<Node*>> dependents;
  for (const auto& node : nodes) {
    waits_for[node.get()] = node->after.size();
    for (const Node* const before : node->after) dependents[before].push_back(node.get());
  }
  std::vector<Node*> order;
  for (const auto& node : nodes) {
    if (node->after.empty()) order.push_back(node.get());
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (Node* const next : dependents[order[i]]) {
      if (--waits_for[next] == 0) order.push_back(next);
    }
  }
  return order;
}

}  // namespace flopcast::live
