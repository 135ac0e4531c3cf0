#include "live/engine/session/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <tuple>
#include <utility>

#include "live/engine/session/record_check.h"
#include "live/engine/session/state.h"

namespace flopcast::live {

namespace {

/// What watchdogs do all the time.
bool is_look(const Thread& thread, const Record& record) {
  return thread.helper && (record.act == Act::kAskEvent || record.act == Act::kAskStream);
}
/// Whoever waits for what happens outside of the run is asked after so many questions.
constexpr int kMostInARow = 256;

/// Loops that only wait for something say these, for ever if it never comes.
bool is_work(Act act) {
  switch (act) {
    case Act::kIdle:
    case Act::kWoken:
    case Act::kSleep:
    case Act::kTurn:
    case Act::kAskEvent:
    case Act::kAskStream:
      return false;
    default:
      return true;
  }
}

}  // namespace

// --- records ------------------------------------------------------------------------------------

/// Records are acted on in the order of the process's calls.
std::optional<Diagnostic> Session::take(std::uint32_t process, std::uint32_t thread,
                                        const Record& record, std::string_view signature) {
  Process& p = state_->processes[process];
  if (auto problem = check_record(p.rank, record)) return problem;
  if (record.number != p.next) {
    p.early.emplace(record.number, Early{thread, record, std::string(signature)});
    return std::nullopt;
  }
  ++p.next;
  if (auto problem = state_->in_turn(p, thread, record, signature)) return problem;
  while (!p.early.empty() && p.early.begin()->first == p.next) {
    const Early said = std::move(p.early.begin()->second);
    p.early.erase(p.early.begin());
    ++p.next;
    if (auto problem = state_->in_turn(p, said.thread, said.record, said.signature)) return problem;
  }
  return std::nullopt;
}

std::optional<Diagnostic> Session::retake(std::uint32_t process, std::uint32_t thread,
                                          const Record& record, std::string_view signature) {
  Process& p = state_->processes[process];
  if (auto problem = check_record(p.rank, record)) return problem;
  return state_->in_turn(p, thread, record, signature);
}

std::optional<Diagnostic> Session::State::in_turn(Process& process, std::uint32_t number,
                                                  const Record& record,
                                                  std::string_view signature) {
  for (SessionListener* const one : listeners) one->took(process.number, number, record, signature);
  Thread& thread = thread_of(process, number, record);
  ++thread.records;
  thread.woken_at = Time::min();
  if (record.act != Act::kWaitsFor && record.act != Act::kIdle) thread.waits_for.clear();
  heard += thread.helper ? 0 : 1;
  progress += thread.helper || !is_work(record.act) ? 0 : 1;
  if (std::exchange(thread.unheard, false)) {
    thread.doing = Doing::kRuns;
    wait_until(thread, passed);
  }
  if (thread.clock > kLastTime) return time_is_over(process.rank);
  if (is_look(thread, record)) {
    asking.emplace_back(process.number, number);
    return act(process, number, thread, record, signature);
  }
  changed();
  auto problem = act(process, number, thread, record, signature);
  changed();
  return problem;
}

std::optional<Diagnostic> Session::State::act(Process& process, std::uint32_t number,
                                              Thread& thread, const Record& record,
                                              std::string_view signature) {
  const auto event = [&](std::size_t word) {
    const auto found = process.events.find(record.word[word]);
    return found == process.events.end() ? std::vector<GrowingTask>()
                                         : std::vector<GrowingTask>{found->second.task};
  };
  const auto recorded = [&] {
    const auto found = process.events.find(record.word[0]);
    return found == process.events.end() ? RecordedEvent() : found->second;
  };
  const auto end_of_stream = [&] {
    const GrowingTask last = stream_of(process, record.device, record.stream).last;
    return last == kNoGrowingTask ? std::vector<GrowingTask>() : std::vector<GrowingTask>{last};
  };
  switch (record.act) {
    case Act::kThreadStart:
      begin(process, number, thread, record);
      break;
    case Act::kWoken:
      go_on(process, number, thread, record);
      break;
    case Act::kIdle:
      idle(thread, record);
      break;
    case Act::kSleep:
      sleep(thread, record);
      break;
    case Act::kWaitsFor:
      pass(thread, record);
      thread.waits_for.emplace_back(record.word[0], static_cast<std::uint32_t>(record.word[1]));
      process.in_turn = process.in_turn || record.word[2] == 1;
      break;
    case Act::kTurn:
      pass(thread, record);
      thread.doing = Doing::kTurns;
      break;
    case Act::kWakes:
      wake(thread, record);
      break;
    case Act::kFork:
      return fork(process, number, thread, record);
    case Act::kThreadEnd:
      pass(thread, record);
      thread.doing = Doing::kEnded;
      run.close(thread.track);
      break;
    case Act::kKernel:
    case Act::kCopy:
    case Act::kFill:
    case Act::kHostWork:
      put(process, thread, record, signature);
      break;
    case Act::kRecordEvent:
      record_event(process, thread, record);
      break;
    case Act::kStreamWaitsEvent:
      stream_waits(process, thread, record);
      break;
    case Act::kWaitEvent:
      wait_for(thread, record, "wait for event", event(0), recorded());
      break;
    case Act::kWaitStream:
      wait_for(thread, record, "wait for stream", end_of_stream());
      break;
    case Act::kWaitDevice:
      process.beside = {};
      wait_for(thread, record, "wait for device", ends_of_device(process, record.device));
      break;
    case Act::kAskEvent:
      ask(thread, record, "ask event", {event(0)});
      break;
    case Act::kAskStream:
      ask(thread, record, "ask stream", {end_of_stream()});
      break;
    case Act::kHolds:
      pass(thread, record);
      holds(process, record.device, thread.clock, record.word[0]);
      break;
    case Act::kAskUse: {
      Question question{{}, Question::Kind::kUse};
      question.chip = chip_of_node(process.rank, record.device);
      question.what = static_cast<DeviceUse>(record.word[0]);
      question.which = record.word[1];
      ask(thread, record, "ask device", std::move(question));
      break;
    }
    case Act::kElapsed: {
      std::vector<GrowingTask> both = event(0);
      const std::vector<GrowingTask> second = event(1);
      both.insert(both.end(), second.begin(), second.end());
      ask(thread, record, "elapsed time", {std::move(both), Question::Kind::kElapsed});
      break;
    }
    case Act::kAskSpan: {
      ask(thread, record, "times of work", span_of(process, record));
      if (record.word[1] == 0) break;
      const auto watched = process.watched.find(static_cast<std::uint32_t>(record.word[0]));
      if (watched == process.watched.end()) break;
      run.let_go(watched->second);
      process.watched.erase(watched);
      break;
    }
    case Act::kGraphLaunch:
      host_task(thread, record, TaskKind::kLaunch, names.intern("graph launch"));
      break;
    case Act::kMakeStream:
      host_task(thread, record, TaskKind::kHostCall, names.intern("make stream"));
      stream_of(process, record.device, record.stream).blocking = record.word[1] == 0;
      break;
    case Act::kDropEvent: {
      pass(thread,
           record);  // who lets go of it last, a thread or a helper, is up to the real scheduler
      for (const GrowingTask last : event(0)) run.let_go(last);
      process.events.erase(record.word[0]);
      break;
    }
    case Act::kMembers:
      pass(thread, record);
      return tell_members(process, record, signature);
    case Act::kPeer:
      pass(thread, record);
      break;
    case Act::kMakeGroup:
      return join_group(process, thread, record, signature);
    case Act::kWaitGroup:
      return wait_group(process, thread, record);
    case Act::kNameMember:
      return name_member(process, thread, record, signature);
    case Act::kSplitGroup:
      return split_group(process, number, thread, record);
    case Act::kDropGroup:
      host_task(thread, record, TaskKind::kHostCall, names.intern("drop communicator"));
      process.members.erase(record.word[0]);
      break;
    case Act::kCollective:
      return communicate(process, thread, record, signature);
    case Act::kSettle:
      return settle(process, thread, record);
    default:
      host_call(thread, record, signature);
      break;
  }
  return std::nullopt;
}

// --- time ---------------------------------------------------------------------------------------

/// The earliest time at which the thread may do something; none if others must do something first.
/// @param settlers_too whether those count that need the bytes of a call
std::optional<Time> Session::State::acts_at(const Thread& thread, bool settlers_too) const {
  if (thread.helper) return std::nullopt;
  switch (thread.doing) {
    case Doing::kRuns:
      return std::max(thread.clock, thread.woken_at);
    case Doing::kAsks:
    case Doing::kSleeps:
    case Doing::kTurns:
      return thread.clock;
    case Doing::kSettles:
      return settlers_too ? std::optional(thread.clock) : std::nullopt;
    case Doing::kWaits:
      return run.settled(thread.last) ? std::optional(run.end(thread.last)) : std::nullopt;
    case Doing::kIdles:
      return thread.until >= kNotInThisRun ? std::nullopt : std::optional(thread.until);
    case Doing::kEnded:
      break;
  }
  return std::nullopt;
}

void Session::State::Front::add(Time at, const Thread* thread) {
  if (at >= second) return;
  second = at;
  if (at >= first) return;
  std::swap(first, second);
  who = thread;
}

Session::State::Acting Session::State::who_acts() const {
  Acting found;
  found.at.reserve(actors.size());
  for (const Thread* const thread : actors) {
    const Time at = acts_at(*thread).value_or(Time::max());
    found.at.push_back(at);
    found.all.add(at, thread);
    if (thread->doing != Doing::kSettles) found.but_settlers.add(at, thread);
  }
  return found;
}

const Session::State::Acting& Session::State::known_acting() const {
  if (!acting) acting = who_acts();
  assert(*acting == who_acts());
  return *acting;
}

/// No thread but this one says anything that starts earlier.
Time Session::State::threads_until(const Thread* but, bool settlers_too) const {
  const Acting& known = known_acting();
  const Front& front = settlers_too ? known.all : known.but_settlers;
  return but && but == front.who ? front.second : front.first;
}

/// Somebody may act at another time than before.
void Session::State::changed() {
  unchanged = false;
  known_come.reset();
  acting.reset();
}

/// Whether some thread but this one may say something that starts earlier.
bool Session::State::anybody_before(Time at, const Thread* but) const {
  return threads_until(but) < at;
}

/// Whether some thread at the time of this one, which asks, may still do what ends in no time. Who runs is heard before; the
/// others go in the order of ranks and of threads.
bool Session::State::anybody_besides(const Thread& thread) const {
  if (threads_until(&thread, false) > thread.clock) return false;
  const auto key = std::pair(thread.process, thread.name);
  const std::vector<Time>& at = known_acting().at;
  for (std::size_t i = 0; i < actors.size(); ++i) {
    const Thread* const other = actors[i];
    if (at[i] != thread.clock || other == &thread || other->doing == Doing::kSettles) continue;
    const bool goes_on = other->doing == Doing::kRuns || other->doing == Doing::kWaits;
    if (goes_on || std::pair(other->process, other->name) < key) return true;
  }
  return false;
}

/// How far the run is known; where nobody goes on, how far anybody has come.
Time Session::State::come_to() const {
  const Time until = std::min(threads_until(nullptr), work.next_end().value_or(Time::max()));
  if (until < kLastTime) return until;
  Time latest = passed;
  for (const Thread* const thread : threads) latest = std::max(latest, thread->clock);
  return latest;
}

/// Nobody can do anything before this thread does at that time. What happens at one time is in the order of
/// ranks and of threads.
bool Session::State::is_next(const Thread& thread, Time at) {
  if (const std::optional<Time> end = work.next_end(); end && *end <= at) return false;
  if (const Time others = threads_until(&thread); others != at) return others > at;
  const auto key = std::pair(thread.process, thread.name);
  const std::vector<Time>& acts = known_acting().at;
  for (std::size_t i = 0; i < actors.size(); ++i) {
    const Thread* const other = actors[i];
    // Who is late would go on if it could.
    if (acts[i] != at || other == &thread || other->late) continue;
    if (std::pair(other->process, other->name) < key) return false;
  }
  return true;
}

/// Processes that serve each other hand much over in memory that their threads share, and look without waiting whether there is
/// something new. So one of their threads that has waited goes on when the others have come as far, or stand still. Who needs the
/// bytes of a call is waited for by nobody: it may need those who would wait.
bool Session::State::has_turn(const Thread& thread, Time at) const {
  if (out_of_turn || !processes[thread.process].in_turn) return true;
  const auto key = std::tuple(at, thread.process, thread.name);
  return std::none_of(actors.begin(), actors.end(), [&](const Thread* other) {
    if (other == &thread || !processes[other->process].in_turn) return false;
    const auto when = acts_at(*other, false);
    if (!when || *when > at) return false;
    return other->doing == Doing::kRuns || std::tuple(*when, other->process, other->name) < key;
  });
}

/// Ends the transfers that end before anything else can begin. @return whether that made something known
bool Session::State::move_network() {
  begin_transfers();
  if (looking) return false;
  const std::optional<Time> end = work.next_end();
  // Several may end together: all ends up to the first are told at once.
  if (!end || anybody_before(*end, nullptr) || !watched_until(*end)) return false;
  for (const auto& [task, at] : work.advance(*end)) {
    run.finish(task, at);
    ++progress;
  }
  changed();
  passed = std::max(passed, *end);
  // What that lets start is under way before anybody is told what is.
  begin_transfers();
  return true;
}

// --- answers ------------------------------------------------------------------------------------

std::optional<SessionAnswer> Session::State::answer_question(const Thread& thread) {
  SessionAnswer answer{.at = thread.clock};
  const std::vector<GrowingTask>& about = thread.question.about;
  const Question::Kind kind = thread.question.kind;
  const bool settled = std::all_of(about.begin(), about.end(),
                                   [this](GrowingTask task) { return run.settled(task); });
  const bool known = kind != Question::Kind::kUse && settled;
  const auto is_over = [&](GrowingTask task) {
    const Time end = run.end(task);
    return thread.helper ? is_seen(processes[thread.process], end) : end <= thread.clock;
  };
  const bool ended = settled && std::all_of(about.begin(), about.end(), is_over);
  // What is not settled hangs on something that has not happened by then.
  if (!known && !thread.helper) {
    if (anybody_before(thread.clock, &thread) || anybody_besides(thread)) return std::nullopt;
    // A transfer under way may still end by then.
    const std::optional<Time> end = work.next_end();
    if (end && *end <= thread.clock) return std::nullopt;
  }
  if (kind == Question::Kind::kUse) {
    const Question& asked = thread.question;
    answer.value =
        use_of(asked.chip, asked.what, asked.which, thread.helper ? come_to() : thread.clock);
    return answer;
  }
  if (kind == Question::Kind::kEnded) {
    answer.value = ended ? 1 : 0;
    return answer;
  }
  if (about.size() != (kind == Question::Kind::kElapsed ? 2u : 1u)) {
    answer.status = EINVAL;
  } else if (!ended) {
    answer.status = EAGAIN;
  } else if (kind == Question::Kind::kElapsed) {
    answer.value = static_cast<std::uint64_t>((run.end(about[1]) - run.end(about[0])).ps);
  } else {
    const Time at = kind == Question::Kind::kStart ? run.start(about[0]) : run.end(about[0]);
    answer.value = static_cast<std::uint64_t>(at.ps);
  }
  return answer;
}

/// Whether some thread stands still: what takes real time may wake it before anybody's time is up.
bool Session::State::may_be_woken() const {
  return std::any_of(actors.begin(), actors.end(),
                     [](const Thread* thread) { return thread->doing == Doing::kIdles; });
}

/// Ends the sleep of a thread, or its standing still until a time.
bool Session::State::let_go_on(Thread& thread, SessionAnswer& answer) {
  const bool sleeps = thread.doing == Doing::kSleeps;
  const Time at = sleeps ? thread.clock : thread.until;
  if (!is_next(thread, at)) return false;
  const Leap leap{std::max(at, passed) - passed, !sleeps, heard};
  if (is_quiet && may_be_woken() && !is_quiet(leap)) return false;
  if (!watched_until(at) || !watchdogs_see(processes[thread.process], at)) return false;
  passed = std::max(passed, at);
  answer.at = at;
  if (sleeps) return true;
  answer.status = ETIMEDOUT;
  wait_until(thread, at);
  thread.until = Time::max();
  return true;
}

bool Session::State::answer(std::uint32_t process, std::uint32_t number, Thread& thread,
                            std::vector<SessionAnswer>& answers) {
  if (looking && !thread.helper) return false;
  SessionAnswer answer;
  if (thread.doing == Doing::kTurns) {
    if (!has_turn(thread, thread.clock)) return false;
    answer.at = thread.clock;
  } else if (thread.doing == Doing::kWaits && run.settled(thread.last)) {
    const Time end = run.end(thread.last);
    if (!has_turn(thread, end) || !watchdogs_see(processes[process], end)) return false;
    thread.clock = end;
    answer.at = thread.clock;
    answer.value = std::exchange(thread.value, 0);
  } else if (thread.doing == Doing::kSettles) {
    if (meetings.contains(thread.settles)) return false;
    if (std::exchange(thread.late, false)) wait_for_values(thread, thread.clock);
    answer.at = thread.clock;
  } else if (thread.doing == Doing::kAsks) {
    const std::optional<SessionAnswer> known = answer_question(thread);
    if (!known) return false;
    answer = *known;
    for (const GrowingTask task : std::exchange(thread.question.about, {})) run.let_go(task);
  } else if (thread.doing == Doing::kSleeps ||
             (thread.doing == Doing::kIdles && thread.until < kNotInThisRun)) {
    if (!let_go_on(thread, answer)) return false;
  } else {
    return false;
  }
  thread.doing = Doing::kRuns;
  if (!thread.helper) changed();
  answer.process = process;
  answer.thread = number;
  answers.push_back(answer);
  return true;
}

bool Session::State::answer_what_can_be(std::vector<SessionAnswer>& answers) {
  bool any = false;
  for (std::uint32_t p = 0; p < processes.size(); ++p) {
    for (auto& [number, thread] : processes[p].threads) {
      // What an answered thread says next may come before what others would be told.
      any = answer(p, number, thread, answers) || any;
    }
  }
  return any;
}

bool Session::State::anybody_runs() const {
  return std::any_of(actors.begin(), actors.end(),
                     [](const Thread* thread) { return thread->doing == Doing::kRuns; });
}

/// Some process only idles: for something outside the run, after which it may go on. A child, or one with children, that
/// waits where other processes of the run wake it does not.
bool Session::State::anybody_outside() const {
  return std::any_of(processes.begin(), processes.end(), [this](const Process& process) {
    bool idles = false;
    for (const auto& [number, thread] : process.threads) {
      if (thread.helper) continue;
      if (!thread.waits_for.empty() && (process.child || has_child(process.rank))) return false;
      if (thread.doing == Doing::kIdles) idles = true;
      const bool stands = thread.doing == Doing::kIdles || thread.doing == Doing::kEnded;
      if (!stands) return false;
    }
    return idles;
  });
}

/// Nobody runs, and some wait only for bytes of a call that others make after something that has not
/// happened yet. On a GPU their host would have gone on; here its time goes by, up to what happens next. That
/// nobody runs does not depend on who came first, so neither does this.
/// @return whether something can happen now that could not before
bool Session::State::let_settlers_be_late() {
  if (looking || anybody_runs() || anybody_outside()) return false;
  Time next = work.next_end().value_or(Time::max());
  std::vector<Thread*> settlers;
  for (Process& process : processes) {
    for (auto& [number, thread] : process.threads) {
      if (thread.doing == Doing::kSettles) {
        settlers.push_back(&thread);
      } else if (const auto at = acts_at(thread)) {
        next = std::min(next, *at);
      }
    }
  }
  bool moved = false;
  for (Thread* const settler : settlers) {
    if (next == Time::max() || settler->clock > next) continue;
    moved = moved || settler->clock < next || !settler->late;
    settler->clock = next;
    settler->late = true;
  }
  if (moved) changed();
  return moved;
}

/// Those of helpers, which need nobody else, if they are all there is.
bool Session::State::answer_helpers(std::vector<SessionAnswer>& answers) {
  const auto asked = std::exchange(asking, {});
  if (!unchanged || asked.empty() || ++asked_in_a_row > kMostInARow) return false;
  for (const auto& [process, number] : asked)
    answer(process, number, processes[process].threads.at(number), answers);
  return true;
}

void Session::State::tell_answered(const std::vector<SessionAnswer>& answers) const {
  for (const SessionAnswer& answer : answers) {
    if (answer.status == 0 && answer.value == 0) continue;
    for (SessionListener* const one : listeners) one->answered(answer);
  }
}

std::vector<SessionAnswer> Session::advance() {
  std::vector<SessionAnswer> answers = std::exchange(state_->ready, {});
  if (state_->answer_helpers(answers)) {
    state_->tell_answered(answers);
    return answers;
  }
  state_->changed();
  state_->asked_in_a_row = 0;
  state_->looking = false;  // whoever still does says so
  do {
    for (bool moved = true; moved;) {
      moved = state_->move_network();
      moved = state_->answer_what_can_be(answers) || moved;
    }
  } while (answers.empty() && state_->let_settlers_be_late());
  if (answers.empty()) state_->show_who_stands();
  state_->tell_answered(answers);
  state_->out_of_turn = false;
  state_->unchanged = true;
  return answers;
}

/// A process whose threads all idle waits for something that is not of the run, if for no other process of it: it
/// goes on where the last of them stopped.
Time Session::horizon() const {
  Time until = state_->work.next_end().value_or(Time::max());
  for (const GrowingTask task : state_->started) until = std::min(until, state_->run.start(task));
  for (const Process& process : state_->processes) {
    Time idle = Time::min();
    bool acts = false, lives = false;
    for (const auto& [number, thread] : process.threads) {
      if (thread.helper || thread.doing == Doing::kEnded) continue;
      lives = true;
      acts = acts || thread.doing != Doing::kIdles || !thread.waits_for.empty();
      idle = std::max(idle, thread.clock);
      until = std::min(until, state_->acts_at(thread).value_or(Time::max()));
    }
    if (lives && !acts) until = std::min(until, idle);
  }
  return until;
}

// --- the session --------------------------------------------------------------------------------

Session::Session(Work& work, const HostTimes& times)
    : state_(std::make_unique<State>(work, times)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

void Session::set_outside(std::function<bool(const Leap&)> is_quiet,
                          std::function<bool(std::uint32_t, Time)> look) {
  state_->is_quiet = std::move(is_quiet);
  state_->look = std::move(look);
}

Process& Session::State::add_process(std::int32_t rank) {
  Process& process = processes.emplace_back();
  process.number = static_cast<std::uint32_t>(processes.size() - 1);
  process.rank = rank;
  process.instance = static_cast<std::uint32_t>(
      std::count_if(processes.begin(), std::prev(processes.end()),
                    [rank](const Process& other) { return other.rank == rank; }));
  return process;
}

std::uint32_t Session::add_child(std::int32_t rank) {
  Process& process = state_->add_process(rank);
  process.home = static_cast<std::uint16_t>(static_cast<std::uint32_t>(std::max(rank, 0)) %
                                            state_->devices_of_node);
  process.child = true;
  for (SessionListener* const one : state_->listeners) one->came(rank);
  return process.number;
}

std::uint32_t Session::add_process(std::int32_t rank) {
  Process& process = state_->add_process(rank);
  for (SessionListener* const one : state_->listeners) one->came(rank);
  const bool again = process.instance > 0 && !state_->lives(rank);
  // Its first thread runs from the beginning, though it has said nothing yet.
  Thread& first = state_->thread_of(process, 0, Record());
  if (again) state_->begin_again(first, rank);
  state_->changed();
  return process.number;
}

void Session::let_out_of_turn() {
  state_->out_of_turn = true;
  state_->changed();
}

void Session::set_listener(SessionListener* listener) {
  state_->listeners.clear();
  add_listener(listener);
}

void Session::add_listener(SessionListener* listener) {
  if (listener) state_->listeners.push_back(listener);
}

void Session::set_folding(Folding folding) { state_->folding = std::move(folding); }

void Session::set_node(std::uint32_t devices) {
  state_->devices_of_node = std::max(devices, 1U);
  set_chips_of_node(devices);
}

void Session::set_chips_of_node(std::uint32_t chips) {
  state_->chips_of_node = std::max(chips, 1U);
}

void Session::set_pid(std::uint32_t process, std::uint32_t pid) {
  state_->processes[process].pid = pid;
}

std::optional<SessionAnswer> Session::use_of(std::int32_t rank, std::uint16_t device,
                                             DeviceUse what, std::uint64_t which) const {
  Time own = Time::max();
  for (const Thread* const thread : state_->actors) {
    if (state_->processes[thread->process].rank != rank) continue;
    own = std::min(own, state_->acts_at(*thread).value_or(Time::max()));
  }
  const Time come = state_->come_to();
  if (own != Time::max() && come < own) return std::nullopt;
  const std::uint32_t chip = state_->chip_of_node(rank, device);
  SessionAnswer answer;
  answer.at = come;
  answer.value = state_->use_of(chip, what, which, come);
  return answer;
}

/// Whether a process of this rank has not ended.
bool Session::State::lives(std::int32_t rank) const {
  const auto has_ended = [](const auto& one) { return one.second.doing == Doing::kEnded; };
  return std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
    return process.rank == rank && !process.threads.empty() &&
           !std::all_of(process.threads.begin(), process.threads.end(), has_ended);
  });
}

/// Whether a child of this rank has not ended.
bool Session::State::has_child(std::int32_t rank) const {
  return std::any_of(processes.begin(), processes.end(), [rank](const Process& process) {
    return process.child && process.rank == rank &&
           std::any_of(process.threads.begin(), process.threads.end(), [](const auto& one) {
             return one.second.doing != Doing::kEnded && !one.second.helper;
           });
  });
}

/// A launcher starts a rank again, as all that it has started, because one has failed. How long it takes to see that and
/// until the program is there again is nobody's work on this cluster: no time passes. Nor does it where a program starts
/// another process when one has ended well, as a script that spawns its ranks twice.
void Session::State::begin_again(Thread& thread, std::int32_t rank) {
  if (failure) restarts.push_back(*failure);
  failure.reset();
  Time at = passed;
  for (const Process& process : processes) {
    if (process.rank != rank) continue;
    for (const auto& [number, before] : process.threads) {
      if (!before.helper) at = std::max(at, before.clock);
    }
  }
  wait_until(thread, restarts.empty() ? at : restarts.back().at);
}

void Session::lose(std::uint32_t process, bool failed) {
  for (SessionListener* const one : state_->listeners) one->lost(process);
  Process& gone = state_->processes[process];
  Time at = state_->passed;
  for (auto& [number, thread] : gone.threads) {
    if (thread.doing != Doing::kEnded && !thread.helper) at = std::max(at, thread.clock);
    thread.doing = Doing::kEnded;
  }
  for (auto& [number, chip] : state_->chips) {
    const auto held = chip.holdings.find(process);
    if (held != chip.holdings.end()) held->second.emplace_back(at, 0);
  }
  if (failed && !state_->failure) state_->failure = Restart{gone.rank, at};
  state_->changed();
}

const std::vector<Restart>& Session::restarts() const { return state_->restarts; }

std::string Session::deadlock(bool idle_too) const {
  if (state_->threads_until(nullptr, false) != Time::max() || state_->work.next_end() ||
      !state_->started.empty())
    return {};
  if (!idle_too && state_->anybody_outside()) return {};
  return state_->deadlock();
}

std::vector<Time> Session::present() const {
  const State::Come come = state_->come();
  std::vector<Time> all;
  for (const Process& process : state_->processes)
    all.push_back(state_->seen_by_watchdogs(process, come));
  return all;
}

Time Session::passed() const { return state_->passed; }

GrowingRun& Session::run() { return state_->run; }
std::string_view Session::name_of(std::uint32_t name) const { return state_->names[name]; }

}  // namespace flopcast::live
