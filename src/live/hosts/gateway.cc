#include "live/hosts/gateway.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include "live/hosts/far_line.h"
#include "live/wire/ring.h"

namespace flopcast::live {
namespace {

constexpr auto kOthersComeWithin = std::chrono::seconds(300);
constexpr int kAcceptMs = 100, kFirstFrameMs = 3000;
/// Processes end within two seconds of being told to, or are made to.
constexpr auto kEndsTake = std::chrono::seconds(6);
/// Questions are answered within a few milliseconds, but the run is to hear an interrupt meanwhile.
constexpr auto kAnswersTake = std::chrono::milliseconds(500);
/// So often it is told what was read of letters.
constexpr auto kTellsOfReaders = std::chrono::milliseconds(2);

bool same_token(const std::string& own, const char (&other)[128]) {
  char padded[sizeof other] = {};
  std::memcpy(padded, own.data(), std::min(own.size(), sizeof padded - 1));
  unsigned difference = 0;  // takes as long whatever is wrong
  for (std::size_t i = 0; i < sizeof padded; ++i)
    difference |= static_cast<unsigned char>(padded[i] ^ other[i]);
  return difference == 0;
}

}  // namespace

// --- one of them --------------------------------------------------------------------------------

class Gateway::Host final : public FarHost {
 public:
  Host(Gateway& gateway, std::uint32_t machine, std::string name,
       std::unique_ptr<Connection> connection)
      : gateway_(gateway),
        machine_(machine),
        name_(std::move(name)),
        connection_(std::move(connection)) {}
  ~Host() override {
    connection_->shut();
    if (thread_.joinable()) thread_.join();
  }

  std::uint32_t machine() const { return machine_; }
  Connection& connection() { return *connection_; }
  std::string title() const {
    return fmt::format("machine {} ({}, {})", machine_, name_, connection_->peer());
  }
  void begin() {
    thread_ = std::thread([this] { hear_all(); });
  }

  // Under the gateway's lock.
  bool is_over = false;  ///< it has said bye, or is lost

  void answer(std::uint32_t line, const SessionAnswer& one) override {
    FrameWriter frame(FrameKind::kAnswer);
    send(frame.put(line).put(one.thread).put(one.status).put(one.at.ps).put(one.value));
  }
  void took(std::uint32_t line, std::uint32_t thread, std::uint32_t records) override {
    FrameWriter frame(FrameKind::kTook);
    send(frame.put(line).put(thread).put(records));
  }
  void show(std::uint32_t line, std::int64_t ns) override {
    FrameWriter frame(FrameKind::kShow);
    send(frame.put(line).put(ns));
  }
  void look(std::uint32_t line, std::uint32_t wanted) override {
    FrameWriter frame(FrameKind::kLook);
    send(frame.put(line).put(wanted));
  }
  void cut(std::uint32_t line) override {
    FrameWriter frame(FrameKind::kCut);
    send(frame.put(line));
  }
  void leave_behind(std::uint32_t line, std::uint32_t thread) override {
    FrameWriter frame(FrameKind::kLeaveBehind);
    send(frame.put(line).put(thread));
  }
  void ask_where(std::uint32_t line, const Stacks& stacks) override {
    FrameWriter frame(FrameKind::kAskWhere);
    frame.put(line).put(stacks.wanted.load()).put(stacks.count);
    for (std::uint32_t i = 0; i < stacks.count; ++i)
      frame.put(stacks.threads[i]).put(stacks.handles[i]);
    send(frame);
  }
  std::optional<ThreadTimes> times(std::uint32_t line, std::int32_t thread) override {
    const std::uint32_t number = new_question();
    FrameWriter question(FrameKind::kAskTimes);
    send(question.put(number).put(line).put(thread));
    const auto reply = reply_to(number);
    if (!reply) return std::nullopt;
    FrameReader frame(*reply);
    static_cast<void>(frame.take<std::uint32_t>());
    const bool is_there = frame.take<std::uint8_t>() != 0;
    const auto told = frame.take<ThreadTimes>();
    return is_there && frame.is_sound() ? std::optional(told) : std::nullopt;
  }
  std::string name_of(std::uint32_t line, std::int32_t thread) override {
    const std::uint32_t number = new_question();
    FrameWriter question(FrameKind::kAskName);
    send(question.put(number).put(line).put(thread));
    const auto reply = reply_to(number);
    if (!reply) return {};
    FrameReader frame(*reply);
    static_cast<void>(frame.take<std::uint32_t>());
    return frame.text();
  }

  void begin_walk() {
    walk_ = new_question();
    FrameWriter frame(FrameKind::kWalk);
    send(frame.put(walk_));
  }
  /// Busy, as far as is known, where it is lost or does not say so soon: it may be loading what its ranks import.
  Sight walked(std::vector<BusyThread>& busy) {
    const auto reply = reply_to(walk_);
    Sight sight;
    sight.busy = true;
    if (!reply) return sight;
    FrameReader frame(*reply);
    static_cast<void>(frame.take<std::uint32_t>());
    const auto told = frame.take<Sight>();
    const std::uint32_t count = frame.count(sizeof(BusyThread));
    for (std::uint32_t i = 0; i < count; ++i) busy.push_back(frame.take<BusyThread>());
    return frame.is_sound() ? told : sight;
  }

 private:
  using Bytes = std::vector<std::byte>;

  bool send(FrameWriter& frame) { return connection_->send(frame); }
  std::uint32_t new_question() {
    const std::lock_guard guard(gateway_.lock_);
    replies_.clear();  // that came too late
    return ++question_;
  }
  /// None if it is lost, or has not answered soon.
  std::optional<Bytes> reply_to(std::uint32_t question) {
    std::unique_lock guard(gateway_.lock_);
    gateway_.changed_.wait_for(guard, kAnswersTake,
                               [&] { return is_over || replies_.contains(question); });
    const auto found = replies_.find(question);
    if (found == replies_.end()) return std::nullopt;
    return std::exchange(found->second, {});
  }

  void hear_all();
  void hear(Bytes frame);
  void hear_line(FrameReader& frame);
  void hear_ending(FrameReader& frame);

  Gateway& gateway_;
  std::uint32_t machine_;
  std::string name_;
  std::unique_ptr<Connection> connection_;
  std::uint32_t walk_ = 0;      ///< its question
  std::uint32_t question_ = 0;  ///< the last one; under the gateway's lock, as is what follows
  std::map<std::uint32_t, Bytes> replies_;  ///< by question
  std::map<std::uint32_t, std::shared_ptr<FarLine>> lines_;
  std::thread thread_;
};

void Gateway::Host::hear_all() {
  std::string what = "is lost: its process has ended, or nothing comes from it any more";
  while (auto frame = connection_->receive()) {
    if (FrameReader(*frame).kind() == FrameKind::kBye) {
      what.clear();
      break;
    }
    hear(std::move(*frame));
    const std::lock_guard guard(gateway_.lock_);
    if (gateway_.problem_) break;
  }
  {
    const std::lock_guard guard(gateway_.lock_);
    is_over = true;
    if (!what.empty() && !gateway_.problem_) {
      gateway_.problem_ =
          Diagnostic{ErrorCode::kNoAnswer, title(), what,
                     "what it printed last may say why; without it the run cannot go on"};
    }
  }
  gateway_.changed_.notify_all();
  gateway_.daemon_->wake();
}

void Gateway::Host::hear(Bytes bytes) {
  FrameReader frame(bytes);
  bool known = true;
  switch (frame.kind()) {
    case FrameKind::kLine:
      hear_line(frame);
      break;
    case FrameKind::kTexts:
    case FrameKind::kPlaces:
    case FrameKind::kRecords:
    case FrameKind::kState:
    case FrameKind::kStacks:
    case FrameKind::kLeft:
    case FrameKind::kOverwritten: {
      const auto line = lines_.find(frame.take<std::uint32_t>());
      known = line != lines_.end();
      if (!known) break;
      hear_of_line(*line->second, frame, gateway_.daemon_->common().bell);
      if (frame.kind() == FrameKind::kLeft) lines_.erase(line);  // it was the last of it
      break;
    }
    case FrameKind::kWalked:
    case FrameKind::kTimes:
    case FrameKind::kName: {
      const auto question = frame.take<std::uint32_t>();
      const std::lock_guard guard(gateway_.lock_);
      if (question == question_) replies_[question] = std::move(bytes);
      gateway_.changed_.notify_all();
      return;
    }
    case FrameKind::kEnded:
      hear_ending(frame);
      break;
    case FrameKind::kRemarks: {
      const std::uint32_t count = frame.count(sizeof(std::uint32_t));
      const std::lock_guard guard(gateway_.lock_);
      for (std::uint32_t i = 0; i < count; ++i) gateway_.remarks_.push_back(frame.text());
      break;
    }
    case FrameKind::kStopped: {
      const std::lock_guard guard(gateway_.lock_);
      gateway_.problem_ = Diagnostic{ErrorCode::kNoAnswer, title(), "was told to end the run",
                                     "an interrupt there ends all machines"};
      break;
    }
    case FrameKind::kLetter:
    case FrameKind::kRead:
    case FrameKind::kDone:
      return gateway_.pass_on(machine_, bytes, frame);
    default:
      known = false;
  }
  if (!known || !frame.is_sound()) {
    const std::lock_guard guard(gateway_.lock_);
    gateway_.problem_ = Diagnostic{
        ErrorCode::kBadInput, title(),
        fmt::format("has sent what makes no sense (frame {})", static_cast<int>(frame.kind())),
        "start the same version of flopcast on all machines"};
  }
  gateway_.daemon_->wake();
}

void Gateway::Host::hear_line(FrameReader& frame) {
  const auto number = frame.take<std::uint32_t>();
  const auto hello = frame.take<Hello>();
  if (!frame.is_sound() || lines_.contains(number)) return frame.spoil();
  auto line = std::make_shared<FarLine>(number);
  if (!line->region) return frame.spoil();
  line->region->version = hello.version;
  line->region->rank = hello.rank;
  line->region->pid.store(hello.pid);
  lines_[number] = line;
  gateway_.daemon_->welcome_far(hello, *this, std::move(line));
}

void Gateway::Host::hear_ending(FrameReader& frame) {
  FarEnding ending;
  ending.machine = machine_;
  ending.process = frame.take<std::uint32_t>();
  ending.status = frame.take<int>();
  ending.last_line = frame.text();
  const std::lock_guard guard(gateway_.lock_);
  gateway_.endings_.push_back(std::move(ending));
}

// --- all of them --------------------------------------------------------------------------------

Gateway::Gateway(const MachineGroup& group) : group_(group) {}

Gateway::~Gateway() {
  for (const auto& host : hosts_) host->connection().shut();
}

Result<std::unique_ptr<Gateway>> Gateway::open(const MachineGroup& group) {
  Result<std::unique_ptr<MeetingPoint>> point = MeetingPoint::open(group.place);
  if (!point) return point.error();
  std::unique_ptr<Gateway> gateway(new Gateway(group));
  gateway->point_ = std::move(*point);
  return gateway;
}

std::optional<Diagnostic> Gateway::gather(const std::function<bool()>& stop,
                                          const std::function<void(const std::string&)>& refused) {
  const auto until = std::chrono::steady_clock::now() + kOthersComeWithin;
  while (hosts_.size() + 1 < group_.count) {
    const auto left = group_.count - 1 - hosts_.size();
    if (stop && stop()) {
      return Diagnostic{
          ErrorCode::kNoAnswer, "--hosts",
          fmt::format("stopped while {} of {} machines had not come", left, group_.count),
          "start the same command on each of them"};
    }
    if (std::chrono::steady_clock::now() > until) {
      return Diagnostic{ErrorCode::kNoAnswer, "--hosts",
                        fmt::format("{} of {} machines have not come", left, group_.count),
                        "start the same command on each of them"};
    }
    std::unique_ptr<Connection> connection = point_->accept(kAcceptMs);
    if (!connection) continue;
    if (auto problem = admit(std::move(connection), refused)) return problem;
  }
  point_.reset();  // nobody else is to come
  std::sort(hosts_.begin(), hosts_.end(),
            [](const auto& a, const auto& b) { return a->machine() < b->machine(); });
  return std::nullopt;
}

std::optional<Diagnostic> Gateway::admit(std::unique_ptr<Connection> connection,
                                         const std::function<void(const std::string&)>& refused) {
  const auto bytes = connection->receive(kMostFirstFrame, kFirstFrameMs);
  const auto refuse = [&](const std::string& why) {
    FrameWriter frame(FrameKind::kRefused);
    connection->send(frame.text(why));
    if (refused) refused(fmt::format("{} was sent away: {}", connection->peer(), why));
    return std::optional<Diagnostic>();
  };
  if (!bytes) return refuse("it has not said who it is");
  FrameReader frame(*bytes);
  const auto join = frame.take<JoinFrame>();
  if (frame.kind() != FrameKind::kJoin || !frame.is_sound() || !join.understands())
    return refuse("it is of another version of flopcast");
  if (!same_token(group_.token, join.token)) return refuse("it has another token");
  if (join.machines != group_.count || join.words != group_.words)
    return refuse("it was started with other words than the first machine");
  const bool is_there = host_of(join.machine) != nullptr;
  if (join.machine == 0 || join.machine >= group_.count || is_there)
    return refuse(fmt::format(
        "it is machine {}, and {}", join.machine,
        is_there || join.machine == 0 ? "that is there already" : "there are not as many"));
  const std::string name(join.name, strnlen(join.name, sizeof join.name));
  hosts_.push_back(std::make_unique<Host>(*this, join.machine, name, std::move(connection)));
  return std::nullopt;
}

Gateway::Host* Gateway::host_of(std::uint32_t machine) {
  const auto found = std::find_if(hosts_.begin(), hosts_.end(), [machine](const auto& host) {
    return host->machine() == machine;
  });
  return found == hosts_.end() ? nullptr : found->get();
}

Machines Gateway::machines() const {
  Machines all;
  all.count = group_.count;
  all.port = group_.place.port;
  for (const auto& host : hosts_)
    host->connection().copy_addresses(all.addresses[0], all.addresses[host->machine()]);
  return all;
}

std::string Gateway::interface() const {
  Machines::Address own{}, peer{};
  hosts_.front()->connection().copy_addresses(own, peer);
  return interface_with(own);
}

void Gateway::begin(Daemon& daemon, WelcomeFrame welcome) {
  daemon_ = &daemon;
  welcome.machines = machines();
  daemon.set_hosts(*this, welcome.machines);
  office_.emplace(daemon.shared_file(), daemon.common(), 0);
  for (const auto& host : hosts_) {
    welcome.machines.own = host->machine();
    FrameWriter frame(FrameKind::kWelcome);
    host->connection().send(frame.put(welcome));
  }
  for (const auto& host : hosts_) host->begin();
}

std::vector<FarEnding> Gateway::ended() {
  const std::lock_guard guard(lock_);
  return std::exchange(endings_, {});
}

std::size_t Gateway::running() {
  const std::lock_guard guard(lock_);
  return static_cast<std::size_t>(
      std::count_if(hosts_.begin(), hosts_.end(), [](const auto& host) { return !host->is_over; }));
}

std::vector<std::string> Gateway::remarks() {
  const std::lock_guard guard(lock_);
  return remarks_;
}

void Gateway::end_all(const std::string& why) {
  for (const auto& host : hosts_) {
    FrameWriter frame(FrameKind::kEnd);
    host->connection().send(frame.put(std::uint8_t{why.empty()}).text(why));
  }
  std::unique_lock guard(lock_);
  changed_.wait_for(guard, kEndsTake, [this] {
    return std::all_of(hosts_.begin(), hosts_.end(),
                       [](const auto& host) { return host->is_over; });
  });
}

void Gateway::begin_walk() {
  for (const auto& host : hosts_) host->begin_walk();
}

Sight Gateway::walked(std::vector<BusyThread>& busy) {
  Sight all;
  for (const auto& host : hosts_) {
    const Sight there = host->walked(busy);
    all.busy = all.busy || there.busy;
    all.runs += there.runs;
  }
  return all;
}

std::optional<Diagnostic> Gateway::problem() {
  const std::lock_guard guard(lock_);
  return problem_;
}

// --- letters ------------------------------------------------------------------------------------

void Gateway::to_others(std::uint32_t but, FrameWriter& frame) {
  for (const auto& host : hosts_) {
    if (host->machine() != but) host->connection().send(frame);
  }
}

void Gateway::carry() {
  const auto now = std::chrono::steady_clock::now();
  const bool readers_too = now - told_readers_ > kTellsOfReaders;
  if (readers_too) told_readers_ = now;
  for (FrameWriter& frame : office_->collect(readers_too)) {
    FrameReader reader(frame.frame().subspan(sizeof(std::uint32_t)));
    const std::uint32_t wrote =
        reader.kind() == FrameKind::kRead ? machine_of(reader.take<std::uint64_t>()) : 0;
    // A letter and its end go to all, what was read of one to where it was written.
    if (Host* const host = wrote > 0 ? host_of(wrote) : nullptr) {
      host->connection().send(frame);
    } else {
      to_others(0, frame);
    }
  }
}

/// What one machine has sent of letters: for the others, or for one, or for this one.
void Gateway::pass_on(std::uint32_t from, std::span<const std::byte> bytes, FrameReader& frame) {
  FrameReader look = frame;
  const std::uint32_t wrote =
      frame.kind() == FrameKind::kRead ? machine_of(look.take<std::uint64_t>()) : from;
  std::optional<std::string> wrong;
  if (frame.kind() != FrameKind::kRead || wrote == 0) wrong = office_->take(frame);
  if (!wrong && wrote != 0) {
    FrameWriter again(frame.kind());
    again.put_bytes(bytes.data() + 1, bytes.size() - 1);
    if (frame.kind() == FrameKind::kRead) {
      Host* const host = host_of(wrote);
      if (host) host->connection().send(again);
    } else {
      to_others(from, again);
    }
  }
  if (!wrong) return;
  {
    const std::lock_guard guard(lock_);
    Host* const host = host_of(from);
    problem_ = Diagnostic{ErrorCode::kBadInput, host ? host->title() : "live run",
                          "has sent " + *wrong, "run fewer ranks on a machine"};
  }
  daemon_->wake();
}

}  // namespace flopcast::live
