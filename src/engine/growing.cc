#include "flopcast/engine/growing.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/numeric/clock.h"

namespace flopcast {
namespace engine {

constexpr std::uint32_t kNoLink = ~std::uint32_t{0};

/// A time with whose constraint made it so.
struct Bound {
  Time at = Time::min();
  GrowingTask cause = kNoGrowingTask;
};

struct Node {
  Bound start;      ///< so far; final when nothing is pending
  Bound least_end;  ///< what the tasks it waits for ask for, so far
  Time end;         ///< when settled
  Time duration;
  std::uint64_t order = 0;  ///< of a hub's
  std::uint64_t place = 0;  ///< on its processor
  std::uint32_t processor = 0, name = 0;
  std::uint32_t pending = 0;    ///< dependencies of its start that are not settled
  std::uint32_t open_ends = 0;  ///< those of its end
  std::uint32_t first_link = kNoLink;
  std::uint32_t references = 0;  ///< what may still ask for it
  std::uint32_t note = 0;        ///< the owner's
  TaskKind kind = TaskKind::kOperator;
  bool ends_later = false, settled = false;
};

/// A dependency, in the list of its source.
struct Link {
  GrowingTask target = 0;
  Time lag;
  std::uint32_t next = kNoLink;
  bool from_start = false, holds_end = false;
};

/// Tasks in the order of their numbers; freed as a whole when nothing in it can be asked for.
struct Chunk {
  static constexpr std::size_t kTasks = 4096;
  std::array<Node, kTasks> nodes;
  std::size_t referenced = 0;
};

struct Track {
  Processor processor;
  Time from;                          ///< nothing starts before
  GrowingTask last = kNoGrowingTask;  ///< none on hubs
  std::uint64_t tasks = 0;
  bool closed = false;
  bool ordered() const { return processor.kind != Processor::Kind::kHub; }
};

}  // namespace engine

using namespace engine;  // the room's own names

struct GrowingRun::State {
  std::vector<Track> tracks;
  std::vector<std::unique_ptr<Chunk>> chunks;
  std::size_t held_chunks = 0, unsettled = 0;
  GrowingTask next = 0;
  std::vector<Link> links;
  std::uint32_t free_link = kNoLink;
  std::vector<GrowingTask> worklist;
  std::vector<GrowingTask> started;  ///< of those that end later, not told yet
  /// With its start and its rank: to compare two hardly ever reads them, though ranks do the same at the same time.
  struct Given {
    Time at;
    GrowingTask task = 0;
    std::int32_t rank = 0;
  };
  std::vector<Given> to_give;  ///< settled, not given yet: a heap, the earliest first
  std::set<std::pair<Time, GrowingTask>> open;  ///< by start: those whose end is not known

  Node& node(GrowingTask task) { return chunks[task / Chunk::kTasks]->nodes[task % Chunk::kTasks]; }
  const Node& node(GrowingTask task) const {
    return chunks[task / Chunk::kTasks]->nodes[task % Chunk::kTasks];
  }
  /// The order of tasks of equal times: it does not show which was added first.
  auto key(GrowingTask task) const {
    const Node& n = node(task);
    const Processor& p = tracks[n.processor].processor;
    return std::tuple(p.rank, p.kind, p.id, n.order, n.place);
  }
  bool before(GrowingTask a, GrowingTask b) const {
    const Time at = node(a).start.at, bt = node(b).start.at;
    return at != bt ? at < bt : key(a) < key(b);
  }
  auto in_order() const {
    return [this](const Given& a, const Given& b) {
      if (a.at != b.at) return a.at < b.at;
      return a.rank != b.rank ? a.rank < b.rank : before(a.task, b.task);
    };
  }
  /// For heaps, whose front is the greatest.
  auto heap_order() const {
    return [order = in_order()](const Given& a, const Given& b) { return order(b, a); };
  }
  std::vector<Given> take_before(Time before);

  GrowingTask make(const NewTask& task);
  void put_at_end(const NewTask& task, GrowingTask id);
  void depend(GrowingTask target, const Dependency& on, bool counted);
  void raise(Bound& bound, Time at, GrowingTask source) const;
  void satisfy(GrowingTask target, GrowingTask source, const Link& link);
  void arrive(GrowingTask task);
  void settle(GrowingTask task, Time end);
  void drain();
  void let_go(GrowingTask task);
};

// --- tasks --------------------------------------------------------------------------------------

GrowingTask GrowingRun::State::make(const NewTask& task) {
  const GrowingTask id = next++;
  if (id % Chunk::kTasks == 0) {
    chunks.push_back(std::make_unique<Chunk>());
    ++held_chunks;
  }
  ++chunks.back()->referenced;
  ++unsettled;
  Node& n = node(id);
  n.start.at = task.release;
  n.duration = task.duration;
  n.place = tracks[task.processor].tasks++;
  n.order = task.order;
  n.processor = task.processor;
  n.name = task.name;
  n.note = task.note;
  n.kind = task.kind;
  n.ends_later = task.ends_later;
  n.references = 1;            // it will be given
  n.pending = task.joins + 1;  // one more until all that is known has been said
  return id;
}

void GrowingRun::State::put_at_end(const NewTask& task, GrowingTask id) {
  Track& track = tracks[task.processor];
  raise(node(id).start, track.from, kNoGrowingTask);
  if (!track.ordered()) return;
  if (track.last != kNoGrowingTask) {
    depend(id, {track.last, task.gap, EdgeKind::kStream, false, false}, true);
    let_go(track.last);
  }
  track.last = id;
  ++node(id).references;
}

void GrowingRun::State::let_go(GrowingTask task) {
  if (--node(task).references > 0) return;
  std::unique_ptr<Chunk>& chunk = chunks[task / Chunk::kTasks];
  const bool full = task / Chunk::kTasks < next / Chunk::kTasks;
  if (--chunk->referenced > 0 || !full) return;
  chunk.reset();
  --held_chunks;
}

// --- dependencies -------------------------------------------------------------------------------

void GrowingRun::State::depend(GrowingTask target, const Dependency& on, bool counted) {
  Link link{target, on.lag, kNoLink, on.from_start, on.holds_end};
  Node& source = node(on.source);
  if (counted) ++(on.holds_end ? node(target).open_ends : node(target).pending);
  if (source.settled) return satisfy(target, on.source, link);
  link.next = source.first_link;
  if (free_link == kNoLink) {
    source.first_link = static_cast<std::uint32_t>(links.size());
    links.push_back(link);
  } else {
    source.first_link = free_link;
    free_link = links[free_link].next;
    links[source.first_link] = link;
  }
}

void GrowingRun::State::raise(Bound& bound, Time at, GrowingTask source) const {
  if (at < bound.at) return;
  if (at == bound.at && bound.cause != kNoGrowingTask &&
      (source == kNoGrowingTask || key(bound.cause) < key(source)))
    return;
  bound = {at, source};
}

void GrowingRun::State::satisfy(GrowingTask target, GrowingTask source, const Link& link) {
  const Node& from = node(source);
  const Time at = sum_on_clock(link.from_start ? from.start.at : from.end, link.lag);
  Node& n = node(target);
  raise(link.holds_end ? n.least_end : n.start, at, source);
  --(link.holds_end ? n.open_ends : n.pending);
  if (n.pending == 0) arrive(target);
}

// --- settling -----------------------------------------------------------------------------------

/// Its start is known; its end may be, now or when the last of what holds it is settled.
void GrowingRun::State::arrive(GrowingTask task) {
  Node& n = node(task);
  if (n.ends_later) started.push_back(task);
  if (n.ends_later || n.open_ends > 0) {
    open.emplace(n.start.at, task);
    return;
  }
  const Time end = sum_on_clock(n.start.at, n.duration);
  if (n.least_end.at > end) n.start.cause = n.least_end.cause;
  settle(task, std::max(end, n.least_end.at));
}

void GrowingRun::State::settle(GrowingTask task, Time end) {
  Node& n = node(task);
  if (!open.empty()) open.erase({n.start.at, task});
  n.end = end;
  n.settled = true;
  --unsettled;
  worklist.push_back(task);
  to_give.push_back({n.start.at, task, tracks[n.processor].processor.rank});
  std::push_heap(to_give.begin(), to_give.end(), heap_order());
}

/// Tells everything that depends on what was settled.
void GrowingRun::State::drain() {
  while (!worklist.empty()) {
    const GrowingTask task = worklist.back();
    worklist.pop_back();
    std::uint32_t at = std::exchange(node(task).first_link, kNoLink);
    while (at != kNoLink) {
      const Link link = links[at];
      links[at].next = free_link;
      free_link = at;
      satisfy(link.target, task, link);
      at = link.next;
    }
  }
}

// --- the run ------------------------------------------------------------------------------------

GrowingRun::GrowingRun() : state_(std::make_unique<State>()) {}
GrowingRun::GrowingRun(GrowingRun&&) noexcept = default;
GrowingRun& GrowingRun::operator=(GrowingRun&&) noexcept = default;
GrowingRun::~GrowingRun() = default;

std::uint32_t GrowingRun::add_processor(Processor::Kind kind, std::int32_t rank, std::int64_t id,
                                        Time from) {
  state_->tracks.push_back({{kind, rank, id, 0, 0}, from, kNoGrowingTask, 0, false});
  return static_cast<std::uint32_t>(state_->tracks.size() - 1);
}

void GrowingRun::close(std::uint32_t processor) { state_->tracks[processor].closed = true; }

GrowingTask GrowingRun::add(const NewTask& task, std::span<const Dependency> after) {
  const GrowingTask id = state_->make(task);
  // Before the task it follows is let go: that may be the source of another dependency.
  for (const Dependency& dependency : after) state_->depend(id, dependency, true);
  state_->put_at_end(task, id);
  if (--state_->node(id).pending == 0) state_->arrive(id);
  state_->drain();
  return id;
}

void GrowingRun::join(GrowingTask target, const Dependency& dependency) {
  state_->depend(target, dependency, false);
  state_->drain();
}

std::vector<GrowingTask> GrowingRun::take_started() {
  std::vector<GrowingTask> started = std::exchange(state_->started, {});
  std::sort(started.begin(), started.end(),
            [this](GrowingTask a, GrowingTask b) { return state_->before(a, b); });
  return started;
}

void GrowingRun::finish(GrowingTask task, Time end) {
  state_->settle(task, end);
  state_->drain();
}

bool GrowingRun::settled(GrowingTask task) const { return state_->node(task).settled; }
Time GrowingRun::start(GrowingTask task) const { return state_->node(task).start.at; }
Time GrowingRun::end(GrowingTask task) const { return state_->node(task).end; }
GrowingTask GrowingRun::cause(GrowingTask task) const { return state_->node(task).start.cause; }

void GrowingRun::keep(GrowingTask task) { ++state_->node(task).references; }
void GrowingRun::let_go(GrowingTask task) { state_->let_go(task); }

/// In order. A few are taken off the heap; where that is a good part of all, the others are sorted.
std::vector<GrowingRun::State::Given> GrowingRun::State::take_before(Time before) {
  constexpr std::size_t kGoodPart = 16;
  const std::size_t few = to_give.size() / kGoodPart;
  std::vector<Given> taken;
  while (!to_give.empty() && to_give.front().at < before && taken.size() <= few) {
    std::pop_heap(to_give.begin(), to_give.end(), heap_order());
    taken.push_back(to_give.back());
    to_give.pop_back();
  }
  if (to_give.empty() || !(to_give.front().at < before)) return taken;
  const auto others = std::partition(to_give.begin(), to_give.end(),
                                     [before](const Given& one) { return !(one.at < before); });
  std::sort(others, to_give.end(), in_order());
  taken.insert(taken.end(), others, to_give.end());
  to_give.erase(others, to_give.end());
  std::make_heap(to_give.begin(), to_give.end(), heap_order());
  return taken;
}

std::vector<SettledTask> GrowingRun::take_settled(Time before) {
  State& s = *state_;
  if (!s.open.empty() && before != Time::max()) before = std::min(before, s.open.begin()->first);
  std::vector<SettledTask> given;
  for (const State::Given& one : s.take_before(before)) {
    const Node& n = s.node(one.task);
    given.push_back(
        {one.task, n.processor, n.kind, n.name, n.note, n.start.at, n.end, n.start.cause});
  }
  // Only now: those that are left were compared with them.
  for (const SettledTask& one : given) s.let_go(one.task);
  return given;
}

std::size_t GrowingRun::unsettled() const { return state_->unsettled; }

std::vector<GrowingTask> GrowingRun::stuck() const {
  const State& s = *state_;
  std::vector<GrowingTask> chain;
  if (s.unsettled == 0) return chain;
  // What holds back what, and any task to begin with.
  std::vector<std::pair<GrowingTask, GrowingTask>> held_by;
  GrowingTask at = kNoGrowingTask;
  for (GrowingTask task = s.next; task-- > 0;) {
    if (!s.chunks[task / Chunk::kTasks] || s.node(task).settled) continue;
    at = task;
    for (std::uint32_t l = s.node(task).first_link; l != kNoLink; l = s.links[l].next)
      held_by.emplace_back(s.links[l].target, task);
  }
  std::sort(held_by.begin(), held_by.end());
  while (std::find(chain.begin(), chain.end(), at) == chain.end()) {
    chain.push_back(at);
    const auto found =
        std::lower_bound(held_by.begin(), held_by.end(), std::pair(at, GrowingTask{0}));
    if (found == held_by.end() || found->first != at) return chain;
    at = found->second;
  }
  chain.erase(chain.begin(), std::find(chain.begin(), chain.end(), at));
  return chain;
}

const Processor& GrowingRun::processor(std::uint32_t index) const {
  return state_->tracks[index].processor;
}

std::uint32_t GrowingRun::name(GrowingTask task) const { return state_->node(task).name; }

std::size_t GrowingRun::bytes_held() const {
  return state_->held_chunks * sizeof(Chunk) + state_->links.capacity() * sizeof(Link) +
         state_->to_give.capacity() * sizeof(State::Given);
}

}  // namespace flopcast
