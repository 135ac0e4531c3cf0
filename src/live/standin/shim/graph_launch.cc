// A graph that is launched: one call of the host, and its nodes as work of several streams.
#include <algorithm>

#include "live/standin/link/link.h"
#include "live/standin/shim/graph.h"

namespace flopcast::live {
namespace {

/// Host time of cudaGraphLaunch: 2.5 us, and about 1 ns a node of a chain ("Constant time launch for straight-line CUDA
/// graphs", NVIDIA developer blog, 2024).
constexpr std::uint32_t kGraphLaunchNs = 2500;

/// A copy whose graphs in nodes are nodes among the others: theirs begin when the node would, and it ends when
/// they have.
std::unique_ptr<Graph> flat(const Graph& graph) {
  std::unique_ptr<Graph> made = graph.copy();
  std::vector<std::unique_ptr<Node>> inner;
  for (const auto& node : made->nodes) {
    if (!node->child) continue;
    const std::unique_ptr<Graph> child = flat(*node->child);
    std::vector<Node*> ends;
    for (const auto& own : child->nodes) ends.push_back(own.get());
    for (const auto& own : child->nodes) {
      for (const Node* const before : own->after) std::erase(ends, before);
    }
    for (auto& own : child->nodes) {
      if (own->after.empty()) own->after = node->after;
      own->graph = made.get();
      inner.push_back(std::move(own));
    }
    if (!ends.empty()) node->after = std::move(ends);
  }
  for (auto& node : inner) made->nodes.push_back(std::move(node));
  return made;
}

}  // namespace

Executable::Executable(const Graph& graph) : graph_(flat(graph)) { plan(); }

/// A node goes on where one that it comes after was the last; else it begins a lane of its own.
void Executable::plan() {
  steps_.clear();
  lanes_.assign(1, 0);
  ends_.clear();
  std::unordered_map<const Node*, std::size_t> step_of;
  std::vector<const Node*> last(1, nullptr);
  for (Node* const node : graph_->in_order()) {
    std::size_t lane = lanes_.size();
    for (const Node* const before : node->after) {
      const std::size_t at = steps_[step_of[before]].lane;
      if (last[at] == before) lane = std::min(lane, at);
    }
    if (node->after.empty() && !last[0]) lane = 0;
    if (lane == lanes_.size()) {
      lanes_.push_back(next_stream());
      last.push_back(nullptr);
    }
    Step step{node, lane, {}, 0};
    if (node->after.empty() && lane > 0) {
      if (begin_ == 0) begin_ = next_event();
      step.waits.push_back(begin_);
    }
    for (const Node* const before : node->after) {
      Step& other = steps_[step_of[before]];
      if (other.lane == lane) continue;
      if (other.event == 0) other.event = next_event();
      step.waits.push_back(other.event);
    }
    last[lane] = node;
    step_of[node] = steps_.size();
    steps_.push_back(std::move(step));
  }
  for (std::size_t lane = 1; lane < last.size(); ++lane) {
    Step& end = steps_[step_of[last[lane]]];
    if (end.event == 0) end.event = next_event();
    ends_.push_back(end.event);
  }
}

/// Says a record on a lane, behind events of others.
void Executable::take(std::size_t lane, const std::vector<std::uint64_t>& waits, Record record,
                      const Work* work) const {
  Record wait = record;
  wait.act = Act::kStreamWaitsEvent;
  wait.flags = kOfGraph;
  wait.duration_ns = 0;
  wait.stream = lane == 0 ? record.stream : lanes_[lane];
  for (const std::uint64_t event : waits) {
    wait.word[0] = event;
    Link::get().say(wait);
  }
  if (record.act == Act::kNothing) return;
  record.flags |= kOfGraph;
  record.duration_ns = 0;
  record.stream = wait.stream;
  if (work) {
    tell(*work, record);
  } else {
    Link::get().say(record);
  }
}

void Executable::launch(void* stream) {
  Link& link = Link::get();
  const Record home = record_on(stream, Act::kNothing);
  Record call = record_on(stream, Act::kGraphLaunch);
  call.duration_ns = kGraphLaunchNs;
  call.signature = link.number("graph launch");
  call.word[0] = graph_->nodes.size();
  tell({}, call);
  Record event = home;
  event.act = Act::kRecordEvent;
  if (begin_ != 0) {
    event.word[0] = begin_;
    take(0, {}, event);
  }
  for (const Step& step : steps_) {
    const Node& node = *step.node;
    Record record = node.enabled ? node.work.record : Record();
    record.stream = home.stream;
    record.device = home.device;
    if (node.enabled && node.work.signature) record.signature = node.work.signature();
    // Bytes of a collective go out before others are told of it.
    if (node.enabled && node.work.effect) node.work.effect();
    take(step.lane, step.waits, record, &node.work);
    if (step.event == 0) continue;
    event.word[0] = step.event;
    take(step.lane, {}, event);
  }
  take(0, ends_, home);
}

bool Executable::update(const Graph& graph) {
  std::unique_ptr<Graph> fresh = flat(graph);
  const std::size_t size = fresh->nodes.size();
  if (size != graph_->nodes.size()) return false;
  std::unordered_map<const Node*, std::size_t> own, others;
  for (std::size_t i = 0; i < size; ++i) {
    own[graph_->nodes[i].get()] = i;
    others[fresh->nodes[i].get()] = i;
  }
  for (std::size_t i = 0; i < size; ++i) {
    const Node &mine = *graph_->nodes[i], &other = *fresh->nodes[i];
    const bool alike =
        mine.kind == other.kind &&
        std::equal(mine.after.begin(), mine.after.end(), other.after.begin(), other.after.end(),
                   [&](const Node* a, const Node* b) { return own[a] == others[b]; });
    if (!alike) return false;
  }
  for (Step& step : steps_) step.node = fresh->nodes[own[step.node]].get();
  graph_ = std::move(fresh);
  return true;
}

Node* Executable::copy_of(const Node* original) {
  for (const auto& node : graph_->nodes) {
    if (node->origin == original) return node.get();
  }
  return nullptr;
}

}  // namespace flopcast::live
