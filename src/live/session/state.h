// What a session keeps: processes with their threads, streams and events, and communicators.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "live/session/session.h"

namespace flopcast::live {

/// What a thread does as far as others have to know.
enum class Doing : std::uint8_t {
  kRuns,   ///< it may say something that starts at its time
  kWaits,  ///< for the end of its last task
  kAsks,   ///< whether something has ended by its time
  kIdles,  ///< it says nothing before another thread wakes it
  kEnded,
};

/// Whether all of these have ended; or the time between the two.
struct Question {
  std::vector<GrowingTask> about;  ///< kept
  bool elapsed = false;
};

struct Thread {
  std::uint32_t track = 0;  ///< processor of the run
  Doing doing = Doing::kRuns;
  Time clock;  ///< end of its last settled task
  GrowingTask last = kNoGrowingTask;
  std::uint32_t records = 0;
  /// Its last tasks, kept, for hand-overs: (records until it, task).
  std::deque<std::pair<std::uint32_t, GrowingTask>> tasks;
  Question question;
  std::vector<Record> group_call;  ///< whose last record has not come
  std::uint64_t value = 0;         ///< of the answer that it waits for
};

struct Stream {
  std::uint32_t track = 0;
  std::uint64_t number = 0;
  bool blocking = true;  ///< waits for the default stream, and that for it
  GrowingTask last = kNoGrowingTask;
  std::vector<Dependency> next;  ///< of its next task; sources kept
};

/// A wake that the woken thread has not taken up yet.
struct Wake {
  std::uint64_t thread = 0, records = 0;  ///< who wakes, at which of its records
  Time at;
};

/// Of one process: which rank it is in a group, and how many calls it has made.
struct Membership {
  std::string group;
  std::uint32_t rank = 0;
  std::map<std::string, std::uint64_t> calls;  ///< per pair for sends and receives, else together
};

/// A record whose turn has not come.
struct Early {
  std::uint32_t thread = 0;
  Record record;
  std::string signature;
};

struct Process {
  std::uint32_t number = 0;  ///< in the session
  std::int32_t rank = 0;
  std::map<std::uint32_t, Thread> threads;
  std::map<std::pair<std::uint16_t, std::uint64_t>, Stream> streams;  ///< by device and number
  std::map<std::uint64_t, GrowingTask> events;                        ///< as last recorded, kept
  std::map<std::uint64_t, Membership> members;                        ///< by communicator
  std::vector<Wake> wakes;
  std::map<std::uint32_t, Early> early;  ///< by number
  std::uint32_t next = 0;                ///< number of the next record
};

/// A communicator as its ranks share it.
struct Group {
  std::vector<std::int32_t> ranks;    ///< of the run; -1: has not come yet
  GrowingTask made = kNoGrowingTask;  ///< hub that all ranks join when they make it; kept
};

/// Ranks of a group that split it, until the last has come.
struct Splitting {
  struct Part {
    std::int64_t colour = 0, key = 0;
    std::uint32_t rank = 0;  ///< in the group that is split
    std::uint32_t process = 0, thread = 0;
    std::uint64_t communicator = 0;  ///< the new one
  };
  GrowingTask hub = kNoGrowingTask;
  std::vector<Part> parts;
};

/// Ranks meet at a hub; then their transfer is under way.
struct Meeting {
  std::string key;
  Transfer what;
  GrowingTask hub = kNoGrowingTask, transfer = kNoGrowingTask;  ///< the latter kept
  std::size_t expected = 0, come = 0;
  std::int32_t first_rank = 0;  ///< whose call the others are compared with
};

struct Session::State {
  State(Work& work_of, const HostTimes& host) : work(work_of), times(host) {
    hubs = run.add_processor(Processor::Kind::kHub, -1, 0);
  }

  Work& work;
  HostTimes times;
  GrowingRun run;
  StringTable names;
  std::uint32_t hubs = 0;
  std::deque<Process> processes;
  std::map<std::string, Group> groups;
  std::map<std::string, Meeting> meetings;
  std::map<std::string, Splitting> splittings;
  std::unordered_map<GrowingTask, Transfer> to_begin;  ///< transfers that have not started
  std::vector<GrowingTask> complete;  ///< transfers that all ranks of the last call have come to

  // session.cc: records in turn, the network, answers
  std::optional<Diagnostic> in_turn(Process& process, const Early& said);
  std::optional<Diagnostic> act(Process& process, std::uint32_t number, const Record& record,
                                std::string_view signature);
  Time threads_until(const Thread* but) const;
  bool move_network();
  bool answer(std::uint32_t process, std::uint32_t number, Thread& thread,
              std::vector<SessionAnswer>& answers);
  std::optional<SessionAnswer> answer_question(const Thread& thread) const;

  // host.cc: threads
  Thread& thread_of(Process& process, std::uint32_t number, const Record& record);
  GrowingTask host_task(Thread& thread, const Record& record, TaskKind kind, std::string_view name,
                        std::span<const Dependency> after = {});
  std::optional<GrowingTask> task_at(const Process& process, std::uint64_t thread,
                                     std::uint64_t records) const;
  void go_on(Process& process, Thread& thread, const Record& record);
  void wait_for(Thread& thread, const Record& record, std::string_view name,
                const std::vector<GrowingTask>& ends);
  void ask(Thread& thread, const Record& record, std::string_view name, Question question);

  // device.cc: streams and events
  Stream& stream_of(Process& process, std::uint16_t device, std::uint64_t number);
  GrowingTask on_stream(Process& process, std::uint16_t device, Stream& stream, GrowingTask call,
                        const NewTask& task, std::vector<Dependency> after = {});
  std::vector<GrowingTask> ends_of_device(const Process& process, std::uint16_t device) const;
  void put(Process& process, Thread& thread, const Record& record, std::string_view signature);
  void record_event(Process& process, Thread& thread, const Record& record);
  void stream_waits(Process& process, Thread& thread, const Record& record);

  // group.cc: communicators
  std::optional<Diagnostic> join_group(Process& process, Thread& thread, const Record& record,
                                       std::string_view id);
  std::optional<Diagnostic> split_group(Process& process, std::uint32_t number, Thread& thread,
                                        const Record& record);
  void make_parts(const std::string& key, Splitting splitting);
  Meeting& meeting_of(Membership& member, const Record& record);
  Result<GrowingTask> arrive(const Process& process, Membership& member, const Record& record,
                             GrowingTask arrival);
  std::optional<Diagnostic> communicate(Process& process, Thread& thread, const Record& record);
};

}  // namespace flopcast::live
