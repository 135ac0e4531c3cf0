// What a session keeps: processes with their threads, streams and events, and communicators.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "live/engine/session/chip_turns.h"
#include "live/engine/session/device_use.h"
#include "live/engine/session/folding.h"
#include "live/engine/session/session.h"

namespace flopcast::live {

/// What a thread does as far as others have to know.
enum class Doing : std::uint8_t {
  kRuns,     ///< it may say something that starts at its time
  kWaits,    ///< for the end of its last task
  kAsks,     ///< whether something has ended by its time
  kSettles,  ///< for bytes of a call: until all its ranks have called
  kSleeps,   ///< until nobody can do anything before its time
  kIdles,    ///< it says nothing before it is woken, or its own time comes
  kTurns,    ///< until none of those that act in turn may do anything before its time
  kEnded,
};

/// Names a call of a communicator: every rank's n-th collective, or the n-th from one rank to another.
struct CallKey {
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};
  std::uint32_t group = 0, from = kAll, to = kAll;
  std::uint64_t number = 0;
  bool operator==(const CallKey&) const = default;
};
/// Spreads what is not equal.
inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t hash = (a ^ b * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 31;
}
struct CallKeyHash {
  std::size_t operator()(const CallKey& key) const {
    return mixed(mixed(key.number, key.group), std::uint64_t{key.from} << 32 | key.to);
  }
};

/// Whether all of these have ended; or the time between the two, or when the one began or ended.
struct Question {
  enum class Kind : std::uint8_t { kEnded, kElapsed, kStart, kEnd, kUse };
  std::vector<GrowingTask> about;  ///< kept
  Kind kind = Kind::kEnded;
  std::uint32_t chip = 0;  ///< of kUse, as what follows
  DeviceUse what = DeviceUse::kComputes;
  std::uint64_t which = 0;
};

/// Where a thread was after so many of its records, for those that take its time over.
struct Point {
  std::uint32_t records = 0;
  GrowingTask task = kNoGrowingTask;  ///< its last one, kept; none if it has made none
  Time at;
};

struct Thread {
  std::uint32_t process = 0;
  std::uint32_t track = 0;  ///< processor of the run
  Doing doing = Doing::kRuns;
  std::uint64_t name =
      0;                ///< who made it and in which order: the order of what happens at one time
  bool helper = false;  ///< holds nobody up
  bool unheard =
      false;  ///< idles, though it has not said so: what it says next comes when the run has come this far
  Time clock;                ///< end of its last settled task, and what has passed since
  Time until = Time::max();  ///< if it idles: goes on then by itself
  GrowingTask last = kNoGrowingTask;
  std::uint32_t records = 0;
  std::deque<Point> points;  ///< the last ones
  /// Of its next task. Standing still and being woken are no tasks: whether the engine heard of them is up
  /// to the real scheduler.
  Time gap;                       ///< since its last task
  Time not_before = Time::min();  ///< at the earliest
  std::vector<Dependency> next;   ///< after these; sources kept
  /// If it idles: channels where others wake it, each with the wakes that it knows of.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> waits_for;
  Time woken_at =
      Time::min();  ///< by another process, and has said nothing since: it goes on no earlier
  Question question;
  std::vector<Record> group_call;  ///< whose last record has not come
  std::uint64_t value = 0;         ///< of the answer that it waits for
  CallKey settles;                 ///< what it needs the bytes of
  bool late = false;               ///< time has passed meanwhile that it cannot go back to
};

struct Stream {
  std::uint32_t track = 0;
  std::uint64_t number = 0;
  bool blocking = true;  ///< waits for the default stream, and that for it
  bool heeds = false;    ///< is in Process::heeding
  GrowingTask last = kNoGrowingTask;
  std::vector<Dependency> next;  ///< of its next task; sources kept
};

/// Of one process: which rank it is in a group, and how many calls it has made.
struct Membership {
  std::uint32_t group = 0;
  std::uint32_t rank = 0;
  std::uint64_t calls = 0, splits = 0;                          ///< of all ranks together
  std::unordered_map<std::uint64_t, std::uint64_t> pair_calls;  ///< by from << 32 | to
};

/// A record whose turn has not come.
struct Early {
  std::uint32_t thread = 0;
  Record record;
  std::string signature;
};

/// Streams that have had products that take the whole device.
struct ProductStreams {
  std::uint64_t first = 0;
  bool several = false;
};
/// A product that could start, and then has its turn on the chip.
struct Product {
  std::uint64_t order = 0;  ///< of its process and in it
  std::uint32_t chip = 0;
  Time duration;
};

/// What an event stands for.
struct RecordedEvent {
  GrowingTask task = kNoGrowingTask;  ///< on its stream, kept
  GrowingTask call = kNoGrowingTask;  ///< that recorded it; none if a graph did
  std::uint64_t stream = 0;
};

struct Process {
  std::uint32_t number = 0;  ///< in the session
  std::int32_t rank = 0;
  std::uint32_t pid = 0;       ///< 0: not known yet
  std::uint32_t instance = 0;  ///< of the processes of its rank
  bool child = false;          ///< another process of the run started it
  bool in_turn = false;        ///< its threads act in the order of their times
  std::optional<Time> begins;  ///< a child's first thread
  Time seen;   ///< its watchdogs were let see how far the run was then, and a look there is over
  Time shown;  ///< the same, the look under way too
  std::map<std::uint32_t, Thread> threads;
  std::map<std::pair<std::uint16_t, std::uint64_t>, Stream> streams;  ///< by device and number
  /// By device: those that have had work and heed the default stream, or are it. Programs make hundreds that
  /// do neither.
  std::map<std::uint16_t, std::vector<const Stream*>> heeding;
  std::map<std::uint16_t, ProductStreams> products;       ///< by device
  std::map<std::uint64_t, RecordedEvent> events;          ///< as last recorded
  std::unordered_map<std::uint64_t, Membership> members;  ///< by communicator
  std::unordered_map<std::uint64_t, std::vector<std::int32_t>>
      told_members;                   ///< by communicator: ranks of the run, before it is made
  std::optional<std::uint16_t> home;  ///< device of its first communicator: that of its rank
  std::unordered_map<std::uint32_t, GrowingTask> watched;  ///< by number of the record, kept
  Time beside;              ///< time of its transfers that kernels have not run beside yet
  std::uint32_t nodes = 1;  ///< most nodes whose chips it has met in one call
  std::map<std::uint32_t, Early> early;  ///< by number
  std::uint32_t next = 0;                ///< number of the next record
};

/// A communicator as its ranks share it.
struct Group {
  std::string name;
  std::vector<std::int32_t> ranks;                ///< of the run; -1: has not come yet
  std::vector<bool> come;                         ///< by rank in it: has made it
  std::size_t there = 0;                          ///< of its ranks: those that come at all
  std::uint32_t nodes = 0;                        ///< that its ranks are on; 0: not counted yet
  std::vector<std::vector<std::int32_t>> images;  ///< of absent ranks, which do what it does
  std::uint64_t order = 0;                        ///< tells it from others, in every run alike
  GrowingTask made = kNoGrowingTask;  ///< hub that all ranks join when they make it; kept
  std::uint32_t words = 0;            ///< name that its ranks make together, once they call: "0,1"
};

/// Ranks of a group that split it, until the last has come.
struct Splitting {
  struct Part {
    std::int64_t colour = 0, key = 0;
    std::uint32_t rank = 0;  ///< in the group that is split
    std::uint32_t process = 0, thread = 0;
    std::uint64_t communicator = 0;  ///< the new one
    std::int32_t chip = 0;           ///< rank of the run
  };
  GrowingTask hub = kNoGrowingTask;
  std::vector<Part> parts;
};

/// One rank's part of a call.
struct Comer {
  std::int32_t rank = 0;   ///< of the run
  std::uint64_t op = 0;    ///< Record::word[1]
  std::uint64_t kind = 0;  ///< reduction and type, as in Record::word[3]
  std::int64_t bytes = 0;
  GrowingTask arrival = kNoGrowingTask;  ///< kept
  std::uint32_t process = 0;
  Time called;
  std::uint32_t line = 0;  ///< name of the program's line that called it; empty: not known
};

/// Ranks meet at a hub; then their transfer is under way.
struct Meeting {
  CallKey key;
  Transfer what;
  GrowingTask hub = kNoGrowingTask, transfer = kNoGrowingTask;  ///< the latter kept
  std::size_t expected = 0;
  std::vector<Comer> come;
};

/// Who waited at a channel may go on.
struct Wake {
  std::uint32_t number = 0;  ///< of the channel's wakes
  Time at;
};

struct Session::State {
  State(Work& work_of, const HostTimes& host) : work(work_of), times(host) {
    hubs = run.add_processor(Processor::Kind::kHub, -1, 0);
  }

  /// At calls whose time may be up then, by group and process.
  struct Look {
    Time at = Time::max();
    std::pair<std::uint32_t, std::uint32_t> whose;
  };
  struct Come {
    Time to;
    bool leaps = false;  ///< somebody sleeps or waits until a time
  };

  mutable ChipTurns work;  ///< asked also by what changes nothing
  HostTimes times;
  Folding folding;
  std::vector<SessionListener*> listeners;
  GrowingRun run;
  StringTable names;
  std::deque<TaskNote> notes{TaskNote()};  ///< of tasks not given yet, by NewTask::note; 0: none
  std::vector<std::uint32_t> free_notes;
  std::uint32_t hubs = 0;
  std::function<bool(const Leap&)> is_quiet;      ///< null: nothing ever goes on outside
  std::uint64_t heard = 0;                        ///< records of threads, but helpers
  std::uint64_t progress = 0;                     ///< those of them that are work
  std::function<bool(std::uint32_t, Time)> look;  ///< null: nobody watches over calls
  Time look_at = Time::max();                     ///< no call's time-out may come before
  bool looking = false;                           ///< that time has come, and watchdogs are looking
  std::optional<Look> awaited;                    ///< theirs
  /// By group and process: when each call was made that is under way.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::multiset<Time>> under_way;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Time> looked;  ///< by group and process
  std::unordered_map<std::uint64_t, std::deque<Wake>> wakes;       ///< by channel, the last ones
  std::vector<GrowingTask> started;  ///< transfers that start, not begun yet
  std::optional<Restart> failure;    ///< of ranks that have not been started again
  std::vector<Restart> restarts;
  /// Since all was answered that could be, only helpers have asked, who hold nobody up: these, by process and thread.
  bool unchanged = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> asking;
  int asked_in_a_row = 0;    ///< so often nothing but such questions was looked at
  bool out_of_turn = false;  ///< somebody may act before his turn: nobody whose turn it is does
  Time passed;               ///< nothing happens before: somebody was told so
  std::vector<SessionAnswer> ready;  ///< answers that nothing holds back
  std::deque<Process> processes;
  std::vector<const Thread*> threads;  ///< of all processes
  std::vector<const Thread*> actors;   ///< those of them that are no helpers
  std::vector<Dependency> scratch;     ///< of the task that is being made
  std::vector<Group> groups;
  std::unordered_map<std::string, std::uint32_t> group_names;
  std::unordered_map<CallKey, Meeting, CallKeyHash> meetings;  ///< some rank has not called
  std::unordered_map<CallKey, Splitting, CallKeyHash>
      splittings;                                     ///< number: of the group's splits
  std::unordered_map<GrowingTask, Meeting> to_begin;  ///< all have called: transfers not started
  std::unordered_map<GrowingTask, Product>
      products;                       ///< not started, on devices where they take turns
  std::vector<GrowingTask> complete;  ///< transfers that all ranks of the last call have come to
  std::uint32_t devices_of_node = 1, chips_of_node = 1;
  std::map<std::uint32_t, ChipUse> chips;

  // session.cc: records in turn, the network, answers
  Process& add_process(std::int32_t rank);
  std::optional<Diagnostic> in_turn(Process& process, std::uint32_t number, const Record& record,
                                    std::string_view signature);
  std::optional<Diagnostic> act(Process& process, std::uint32_t number, Thread& thread,
                                const Record& record, std::string_view signature);
  std::optional<Time> acts_at(const Thread& thread, bool settlers_too = true) const;
  /// Who of the actors acts first, and when: the earliest time, and the next.
  struct Front {
    Time first = Time::max(), second = Time::max();
    const Thread* who = nullptr;
    void add(Time at, const Thread* thread);
    bool operator==(const Front&) const = default;
  };
  struct Acting {
    std::vector<Time> at;     ///< of each actor; the end of time: others must do something first
    Front all, but_settlers;  ///< with and without those that need the bytes of a call
    bool operator==(const Acting&) const = default;
  };
  mutable std::optional<Acting> acting;  ///< as long as nothing changes
  Acting who_acts() const;
  const Acting& known_acting() const;
  Time threads_until(const Thread* but, bool settlers_too = true) const;
  bool anybody_before(Time at, const Thread* but) const;
  void changed();
  Time come_to() const;
  bool anybody_besides(const Thread& thread) const;
  bool is_next(const Thread& thread, Time at);
  bool has_turn(const Thread& thread, Time at) const;
  bool may_be_woken() const;
  bool let_go_on(Thread& thread, SessionAnswer& answer);
  bool move_network();
  bool answer_what_can_be(std::vector<SessionAnswer>& answers);
  bool answer_helpers(std::vector<SessionAnswer>& answers);
  void tell_answered(const std::vector<SessionAnswer>& answers) const;
  bool anybody_runs() const;
  bool anybody_outside() const;
  bool has_child(std::int32_t rank) const;
  bool lives(std::int32_t rank) const;
  void begin_again(Thread& thread, std::int32_t rank);
  bool let_settlers_be_late();
  bool answer(std::uint32_t process, std::uint32_t number, Thread& thread,
              std::vector<SessionAnswer>& answers);
  std::optional<SessionAnswer> answer_question(const Thread& thread);

  // notes.cc: what is kept of records
  std::uint32_t keep_note(const TaskNote& note);
  std::uint32_t note_of(const Record& record, GrowingTask launcher = kNoGrowingTask,
                        const RecordedEvent& event = {});

  // host.cc: threads
  Thread& thread_of(Process& process, std::uint32_t number, const Record& record);
  void start_thread(Process& process, std::uint32_t number, Thread& thread, const Record& record);
  void begin(Process& process, std::uint32_t number, Thread& thread, const Record& record);
  void idle(Thread& thread, const Record& record);
  void sleep(Thread& thread, const Record& record);
  GrowingTask host_task(Thread& thread, const Record& record, TaskKind kind, std::uint32_t name,
                        std::span<const Dependency> after = {}, const RecordedEvent& event = {});
  void host_call(Thread& thread, const Record& record, std::string_view name);
  static const Point* point_at(const Process& process, std::uint64_t thread, std::uint64_t records);
  void remember(Thread& thread);
  void pass(Thread& thread, const Record& record);
  static void wait_until(Thread& thread, Time at);
  void follow(const Process& process, Thread& thread, const Record& record);
  void go_on(Process& process, std::uint32_t number, Thread& thread, const Record& record);
  void wait_for(Thread& thread, const Record& record, std::string_view name,
                const std::vector<GrowingTask>& ends, const RecordedEvent& event = {});
  void wait_for_values(Thread& thread, Time at);
  void ask(Thread& thread, const Record& record, std::string_view name, Question question);

  // children.cc: processes that others start, and that wake each other
  std::optional<Diagnostic> fork(Process& process, std::uint32_t number, Thread& thread,
                                 const Record& record);
  void wake(Thread& waker, const Record& record);
  bool was_woken(Thread& thread);

  // device.cc: streams and events
  Stream& stream_of(Process& process, std::uint16_t device, std::uint64_t number);
  GrowingTask on_stream(Process& process, std::uint16_t device, Stream& stream, GrowingTask call,
                        const NewTask& task);
  std::vector<GrowingTask> ends_of_device(const Process& process, std::uint16_t device) const;
  GrowingTask call_of(Thread& thread, const Record& record, std::uint32_t name,
                      const RecordedEvent& event = {});
  void watch(Process& process, const Record& record, GrowingTask task);
  static Question span_of(const Process& process, const Record& record);
  Time slowed(Process& process, Time alone) const;
  bool takes_turns(Process& process, const Record& record, std::string_view signature);
  void put(Process& process, Thread& thread, const Record& record, std::string_view signature);
  void record_event(Process& process, Thread& thread, const Record& record);
  void stream_waits(Process& process, Thread& thread, const Record& record);

  // group.cc: communicators
  std::uint32_t group_of(std::string_view name);
  std::uint32_t nodes_of(Group& group) const;
  std::int32_t chip_of(Process& process, std::uint16_t device) const;
  std::optional<Diagnostic> tell_members(Process& process, const Record& record,
                                         std::string_view signature);
  void set_members(Group& group, std::size_t size, Process& process, std::uint64_t communicator);
  std::optional<Diagnostic> join_group(Process& process, Thread& thread, const Record& record,
                                       std::string_view name);
  std::optional<Diagnostic> name_member(Process& process, Thread& thread, const Record& record,
                                        std::string_view name);
  std::optional<Diagnostic> wait_group(Process& process, Thread& thread, const Record& record);
  std::optional<Diagnostic> split_group(Process& process, std::uint32_t number, Thread& thread,
                                        const Record& record);
  void make_parts(const CallKey& key, Splitting splitting);

  // collective.cc: their calls
  Meeting& meeting_of(Membership& member, const Record& record);
  std::optional<Diagnostic> stranger_in(const std::vector<std::int32_t>& both) const;
  std::optional<Diagnostic> open_meeting(const Process& process, const Membership& member,
                                         const Record& record, Meeting& meeting);
  std::optional<Diagnostic> disagreement(Meeting& meeting) const;
  Result<GrowingTask> arrive(Process& process, Membership& member, const Record& record,
                             GrowingTask arrival, Time called, std::string_view line, CallKey& key);
  void note_call(const Record& record, const CallKey& key, TaskNote& note);
  std::uint32_t ranks_of(const std::vector<CallKey>& calls);
  std::optional<Diagnostic> communicate(Process& process, Thread& thread, const Record& record,
                                        std::string_view line);
  std::optional<Diagnostic> settle(Process& process, Thread& thread, const Record& record);
  void begin_transfers();
  void begin_transfer(GrowingTask task);

  // device_use.cc: what chips do, for who asks
  std::uint32_t chip_of_node(std::int32_t rank, std::uint16_t device) const;
  void runs_on_chip(const Process& process, std::uint16_t device, GrowingTask task, bool computes,
                    GrowingTask behind = kNoGrowingTask);
  void tidy(ChipUse& chip);
  void holds(const Process& process, std::uint16_t device, Time from, std::uint64_t bytes);
  std::uint64_t use_of(std::uint32_t chip, DeviceUse what, std::uint64_t which, Time at);

  // watch.cc: calls whose time may be up
  void will_be_watched(const Meeting& meeting, const Comer& comer);
  void is_not_watched(const Meeting& meeting, const Comer& comer);
  Look next_look() const;
  bool watched_until(Time at);
  bool let_look(Process& process, Time at);
  bool watchdogs_see(Process& process, Time at);
  Time seen_by_watchdogs(const Process& process, const Come& come) const;
  bool is_seen(const Process& process, Time end) const;
  Time stands_at(const Process& process) const;
  Come come() const;
  mutable std::optional<Come> known_come;  ///< as long as nothing changes
  Time come_for(const Process& process, const Come& come) const;
  void show_who_stands();

  // deadlock.cc: who waits for whom
  std::string text_of_call(const CallKey& key, const Comer& comer) const;
  std::string lines_of(const Meeting& meeting, const std::vector<std::int32_t>& ranks) const;
  std::string deadlock() const;
};

}  // namespace flopcast::live
