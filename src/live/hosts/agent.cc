#include "live/hosts/agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace flopcast::live {
namespace {

constexpr std::int64_t kLookAgainNs = 1'000'000;
constexpr auto kLookWhoLeavesAfter = std::chrono::milliseconds(5);
/// A machine waits for others that have not come: as long as those are waited for, and a little longer.
constexpr int kWelcomeMs = 330'000;
constexpr std::size_t kMostBusy = 64;

template <std::size_t Size>
void copy_text(char (&to)[Size], const std::string& from) {
  std::memcpy(to, from.data(), std::min(from.size(), Size - 1));
}

JoinFrame join_of(const MachineGroup& group) {
  JoinFrame join;
  join.machine = group.own;
  join.machines = group.count;
  join.words = group.words;
  copy_text(join.token, group.token);
  char name[sizeof join.name] = {};
  ::gethostname(name, sizeof name - 1);
  copy_text(join.name, name);
  return join;
}

/// What a region keeps of a text that its process writes once.
std::string_view written(const std::atomic<std::uint32_t>& state, const char* text,
                         std::size_t most) {
  if (state.load(std::memory_order_acquire) != TaintedReads::kWritten) return {};
  return {text, strnlen(text, most)};
}

}  // namespace

// --- the start ----------------------------------------------------------------------------------

Result<std::unique_ptr<Agent>> Agent::join(const MachineGroup& group,
                                           const std::function<bool()>& stop) {
  Result<std::unique_ptr<Connection>> connection = Connection::open(group.place, stop);
  if (!connection) return connection.error();
  std::unique_ptr<Agent> agent(new Agent(std::move(*connection)));
  if (auto problem = agent->prepare(group)) return *problem;
  return agent;
}

std::optional<Diagnostic> Agent::prepare(const MachineGroup& group) {
  FrameWriter join(FrameKind::kJoin);
  connection_->send(join.put(join_of(group)));
  const auto bytes = connection_->receive(2 * sizeof(WelcomeFrame), kWelcomeMs);
  const auto refused = [&](std::string why) {
    return Diagnostic{
        ErrorCode::kNoAnswer, fmt::format("{}:{}", group.place.host, group.place.port),
        std::move(why),
        "start the same command, of the same version, on all machines, with one token"};
  };
  if (!bytes) return refused("the first machine has said nothing");
  FrameReader frame(*bytes);
  if (frame.kind() == FrameKind::kRefused)
    return refused("the first machine does not take this one: " + frame.text());
  welcome_ = frame.take<WelcomeFrame>();
  if (frame.kind() != FrameKind::kWelcome || !frame.is_sound())
    return refused("the first machine has said what makes no sense");
  Result<std::unique_ptr<Door>> door = Door::open();
  if (!door) return door.error();
  door_ = std::move(*door);
  Common& common = door_->common();
  common.device = welcome_.device;
  common.devices = welcome_.devices;
  common.start_ns = welcome_.start_ns;
  common.host_factor = welcome_.host_factor;
  common.host = welcome_.host;
  common.machines = welcome_.machines;
  office_.emplace(door_->file(), common, group.own);
  door_->welcome([this](Caller caller) {
    auto line = std::make_unique<Line>(std::move(caller));
    const std::lock_guard guard(lock_);
    line->number = static_cast<std::uint32_t>(lines_.size());
    lines_.push_back(std::move(line));
  });
  hears_ = std::thread([this] { hear_all(); });
  return std::nullopt;
}

Agent::~Agent() {
  connection_->shut();
  if (hears_.joinable()) hears_.join();
  door_.reset();  // before the lines are closed
}

std::string Agent::interface() const {
  Machines::Address own{}, peer{};
  connection_->copy_addresses(own, peer);
  return interface_with(own);
}

// --- what the engine says -----------------------------------------------------------------------

void Agent::hear_all() {
  while (auto frame = connection_->receive()) {
    if (!hear(std::move(*frame))) {
      lose("the first machine has sent what makes no sense");
      return;
    }
  }
  lose("the first machine is lost: its process has ended, or nothing comes from it any more");
}

void Agent::lose(std::string why) {
  {
    const std::lock_guard guard(lock_);
    if (!end_) end_ = EndOfRun{false, std::move(why)};
  }
  door_->common().bell.ring();
}

/// @return whether it makes sense
bool Agent::hear(std::vector<std::byte> bytes) {
  FrameReader frame(bytes);
  switch (frame.kind()) {
    case FrameKind::kLetter:
    case FrameKind::kRead:
    case FrameKind::kDone:
      return !office_->take(frame);
    case FrameKind::kEnd: {
      EndOfRun end;
      end.well = frame.take<std::uint8_t>() != 0;
      end.why = frame.text();
      const std::lock_guard guard(lock_);
      end_ = std::move(end);
      break;
    }
    case FrameKind::kWalk:
    case FrameKind::kAskTimes:
    case FrameKind::kAskName: {
      const std::lock_guard guard(lock_);
      questions_.push_back(std::move(bytes));
      door_->common().bell.ring();
      return true;
    }
    default:
      return hear_of_line(frame) && frame.is_sound();
  }
  door_->common().bell.ring();
  return frame.is_sound();
}

bool Agent::hear_of_line(FrameReader& frame) {
  const auto number = frame.take<std::uint32_t>();
  const std::lock_guard guard(lock_);
  if (number >= lines_.size()) return false;
  Line& line = *lines_[number];
  const auto ring = [&]() -> std::uint32_t {
    const auto index = frame.take<std::uint32_t>();
    if (index >= Region::kThreads) frame.spoil();
    return index % Region::kThreads;
  };
  switch (frame.kind()) {
    case FrameKind::kAnswer: {
      const std::uint32_t thread = ring();
      const auto status = frame.take<std::uint32_t>();
      const auto time_ps = frame.take<std::int64_t>();
      const auto value = frame.take<std::uint64_t>();
      if (frame.is_sound()) line.region->rings[thread].give(status, time_ps, value);
      return true;
    }
    case FrameKind::kTook: {
      const std::uint32_t thread = ring();
      line.taken[thread].fetch_add(frame.take<std::uint32_t>());
      door_->common().bell.ring_if_asleep();
      return true;
    }
    case FrameKind::kShow:
      line.region->watch.now_ns.store(frame.take<std::int64_t>());
      return true;
    case FrameKind::kLook:
      line.region->watch.wanted.store(frame.take<std::uint32_t>());
      futex_wake(line.region->watch.wanted);
      return true;
    case FrameKind::kCut:
      ::shutdown(line.who.socket.get(), SHUT_RDWR);
      return true;
    case FrameKind::kLeaveBehind:
      line.region->rings[ring()].left_behind.store(1, std::memory_order_relaxed);
      return true;
    case FrameKind::kAskWhere:
      return hear_question(line, frame);
    default:
      return false;
  }
}

bool Agent::hear_question(Line& line, FrameReader& frame) {
  const auto question = frame.take<std::uint32_t>();
  const std::uint32_t count = frame.count(sizeof(std::int32_t) + sizeof(std::uint64_t));
  Stacks& stacks = line.region->stacks;
  if (count > Stacks::kThreads) return false;
  stacks.count = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    stacks.threads[i] = frame.take<std::int32_t>();
    stacks.handles[i] = frame.take<std::uint64_t>();
  }
  line.asked.store(question);
  stacks.wanted.store(question);
  futex_wake(stacks.wanted);
  return true;
}

// --- what the processes say ---------------------------------------------------------------------

std::vector<Agent::Line*> Agent::lines() {
  const std::lock_guard guard(lock_);
  std::vector<Line*> all;
  for (const auto& line : lines_) {
    if (!line->left) all.push_back(line.get());
  }
  return all;
}

/// As much as the engine has room for. @return whether there was any
bool Agent::take_records(Line& line, std::vector<FrameWriter>& frames) {
  Region& region = *line.region;
  const std::uint32_t threads =
      std::min(region.threads.load(std::memory_order_acquire), Region::kThreads);
  bool any = false;
  for (std::uint32_t t = 0; t < threads; ++t) {
    Ring& ring = region.rings[t];
    if (!ring.makes_sense() && !std::exchange(line.overwritten, true))
      frames.push_back(FrameWriter(FrameKind::kOverwritten).put(line.number));
    const std::uint32_t room = Ring::kRecords - (line.sent[t] - line.taken[t].load());
    std::vector<Record> records;
    while (const Record* const record = records.size() < room ? ring.front() : nullptr) {
      records.push_back(*record);
      ring.pop();
    }
    if (records.empty()) continue;
    any = true;
    const auto count = static_cast<std::uint32_t>(records.size());
    line.sent[t] += count;
    FrameWriter frame(FrameKind::kRecords);
    frame.put(line.number).put(t).put(ring.thread.load()).put(ring.handle.load()).put(count);
    frame.put_bytes(records.data(), records.size() * sizeof(Record));
    frames.push_back(std::move(frame));
  }
  return any;
}

/// What a record says may rest on what was written before it: a letter, a text, a child's line, a watchdog's place. So records are taken
/// first and told last.
bool Agent::tell_all() {
  std::vector<FrameWriter> records;
  const std::vector<Line*> known = lines();
  for (Line* const line : known) {
    if (line->number < told_lines_) take_records(*line, records);
  }
  tell_new_lines();
  const auto now = std::chrono::steady_clock::now();
  const bool readers_too = now - told_readers_ > kLookWhoLeavesAfter;
  if (readers_too) told_readers_ = now;
  for (FrameWriter& frame : office_->collect(readers_too)) send(frame);
  for (Line* const line : known) {
    tell_texts(*line);
    tell_places(*line);
    tell_stacks(*line);
  }
  for (FrameWriter& frame : records) send(frame);
  return !records.empty();
}

void Agent::tell_new_lines() {
  std::vector<FrameWriter> frames;
  {
    const std::lock_guard guard(lock_);
    for (; told_lines_ < lines_.size(); ++told_lines_) {
      FrameWriter frame(FrameKind::kLine);
      frames.push_back(frame.put(lines_[told_lines_]->number).put(lines_[told_lines_]->who.hello));
    }
  }
  for (FrameWriter& frame : frames) send(frame);
}

void Agent::tell_texts(Line& line) {
  std::vector<std::string_view> texts;
  constexpr std::size_t kAtOnce = 10'000;
  while (texts.size() < kAtOnce) {
    const auto text = line.region->arena.text(line.texts + 1);
    if (!text) break;
    texts.push_back(*text);
    ++line.texts;
  }
  if (texts.empty()) return;
  FrameWriter frame(FrameKind::kTexts);
  frame.put(line.number).put(static_cast<std::uint32_t>(texts.size()));
  for (const std::string_view text : texts) frame.text(text);
  send(frame);
  if (texts.size() == kAtOnce) tell_texts(line);
}

void Agent::tell_places(Line& line) {
  FrameWriter told(FrameKind::kNone);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < Watch::kPlaces; ++i) {
    const Watch::Place& place = line.region->watch.places[i];
    const std::uint32_t looked = place.looked.load(std::memory_order_acquire);
    if (looked == line.looked[i]) continue;
    line.looked[i] = looked;
    told.put(i).put(looked).put(place.thread.load());
    ++count;
  }
  if (count == 0) return;
  constexpr std::size_t kHead = sizeof(std::uint32_t) + sizeof(FrameKind);
  FrameWriter frame(FrameKind::kPlaces);
  const auto places = told.frame().subspan(kHead);
  send(frame.put(line.number).put(count).put_bytes(places.data(), places.size()));
}

void Agent::tell_stacks(Line& line) {
  const std::uint32_t asked = line.asked.load();
  const Stacks& stacks = line.region->stacks;
  if (asked == line.told || stacks.told.load(std::memory_order_acquire) != asked) return;
  line.told = asked;
  FrameWriter frame(FrameKind::kStacks);
  const std::uint32_t count = std::min(stacks.count, Stacks::kThreads);
  frame.put(line.number).put(asked).put(count);
  for (std::uint32_t i = 0; i < count; ++i)
    frame.put(stacks.python[i])
        .text({stacks.text[i], strnlen(stacks.text[i], sizeof stacks.text[i])});
  send(frame);
}

void Agent::tell_state(const Line& line) {
  const Region& region = *line.region;
  LineState state;
  state.ended = region.ended.load();
  for (std::uint32_t i = 0; i < Region::kDevices; ++i)
    state.most_memory[i] = region.most_memory[i].load();
  state.reads = region.tainted.reads.load();
  state.bytes = region.tainted.bytes.load();
  state.assumed = region.tainted.assumed.load();
  state.stretches = region.host_work.count.load();
  const TaintedReads& tainted = region.tainted;
  const std::uint32_t kept = std::min(state.stretches, HostWork::kMost);
  FrameWriter frame(FrameKind::kState);
  frame.put(line.number).put(state);
  frame.text(written(tainted.state, tainted.first, sizeof tainted.first));
  frame.text(written(tainted.origin_state, tainted.origin, sizeof tainted.origin));
  frame.put(kept);
  frame.put_bytes(region.host_work.stretches, kept * sizeof(HostWork::Stretch));
  send(frame);
}

/// Those of whom nothing is left to be told. @return whether of all who leave nothing is
bool Agent::tell_who_leaves() {
  bool all = true;
  for (Line* const line : lines()) {
    pollfd state{line->who.socket.get(), POLLIN, 0};
    const bool leaves =
        ::poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLIN | POLLERR)) != 0;
    if (!leaves) continue;
    tell_all();  // what it wrote before
    const auto is_empty = [&] {
      const std::uint32_t threads = std::min(line->region->threads.load(), Region::kThreads);
      for (std::uint32_t t = 0; t < threads; ++t) {
        if (line->region->rings[t].front()) return false;
      }
      return true;
    };
    if (!is_empty()) {
      all = false;  // the engine has no room for it yet
      continue;
    }
    tell_state(*line);
    FrameWriter frame(FrameKind::kLeft);
    const bool ended = has_ended(line->who.hello.pid);
    send(frame.put(line->number).put(static_cast<std::uint8_t>(ended)));
    const std::lock_guard guard(lock_);
    line->left = true;
  }
  return all;
}

bool Agent::anything_to_do() {
  for (Line* const line : lines()) {
    const std::uint32_t threads = std::min(line->region->threads.load(), Region::kThreads);
    for (std::uint32_t t = 0; t < threads; ++t) {
      const bool has_room = line->sent[t] - line->taken[t].load() < Ring::kRecords;
      if (has_room && line->region->rings[t].front()) return true;
    }
  }
  const std::lock_guard guard(lock_);
  return !questions_.empty() || end_ || told_lines_ < lines_.size();
}

void Agent::step() {
  const bool told = tell_all();
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ > kLookWhoLeavesAfter) {
    looked_ = now;
    if (tell_who_leaves()) {
      for (FrameWriter& ending : std::exchange(endings_, {})) send(ending);
    }
  }
  std::deque<std::vector<std::byte>> questions;
  {
    const std::lock_guard guard(lock_);
    questions = std::exchange(questions_, {});
  }
  for (const std::vector<std::byte>& question : questions) answer(question);
  if (told || !questions.empty()) return;
  door_->common().bell.sleep([this] { return !anything_to_do(); }, kLookAgainNs);
}

// --- questions ----------------------------------------------------------------------------------

void Agent::answer(const std::vector<std::byte>& question) {
  FrameReader frame(question);
  const auto asked = frame.take<std::uint32_t>();
  if (frame.kind() == FrameKind::kWalk) return answer_walk(asked);
  const auto number = frame.take<std::uint32_t>();
  const auto thread = frame.take<std::int32_t>();
  pid_t process = 0;
  {
    const std::lock_guard guard(lock_);
    if (number < lines_.size()) process = lines_[number]->pid();
  }
  if (frame.kind() == FrameKind::kAskName) {
    FrameWriter told(FrameKind::kName);
    send(told.put(asked).text(name_of(process, thread)));
    return;
  }
  const auto times = times_of(process, thread);
  FrameWriter told(FrameKind::kTimes);
  send(told.put(asked)
           .put(static_cast<std::uint8_t>(times.has_value()))
           .put(times.value_or(ThreadTimes())));
}

/// All that was written before the walk was over is told before what it saw.
void Agent::answer_walk(std::uint32_t question) {
  std::vector<pid_t> processes;
  std::unordered_set<pid_t> clocked;
  for (Line* const line : lines()) {
    processes.push_back(line->pid());
    add_clocked(*line->region, clocked);
  }
  Sight sight = quiet_.see(processes, clocked);
  sight.busy = sight.busy || is_sending(door_->common().machines);
  tell_all();
  tell_who_leaves();
  const std::vector<BusyThread>& busy = quiet_.busy();
  const auto count = static_cast<std::uint32_t>(std::min(busy.size(), kMostBusy));
  FrameWriter frame(FrameKind::kWalked);
  frame.put(question).put(sight).put(count);
  send(frame.put_bytes(busy.data(), count * sizeof(BusyThread)));
}

// --- the end ------------------------------------------------------------------------------------

std::optional<EndOfRun> Agent::end() {
  const std::lock_guard guard(lock_);
  return end_;
}

void Agent::tell_ending(std::size_t process, int status, const std::string& last_line) {
  FrameWriter frame(FrameKind::kEnded);
  endings_.push_back(frame.put(static_cast<std::uint32_t>(process)).put(status).text(last_line));
  looked_ = {};  // what it has written goes first
}

void Agent::tell_stopped() {
  FrameWriter frame(FrameKind::kStopped);
  send(frame);
}

void Agent::leave(const std::vector<std::string>& remarks) {
  tell_who_leaves();
  // The engine may have ended before it had heard all.
  for (Line* const line : lines()) tell_state(*line);
  FrameWriter told(FrameKind::kRemarks);
  told.put(static_cast<std::uint32_t>(remarks.size()));
  for (const std::string& one : remarks) told.text(one);
  send(told);
  FrameWriter bye(FrameKind::kBye);
  send(bye);
}

}  // namespace flopcast::live
