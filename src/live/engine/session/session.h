// A live run as its records tell it: processes, threads, streams, events and communicators become the tasks of
// one growing graph, and threads that wait get their answers. docs/theory/live.md has the rules of
// time and order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/engine/growing.h"
#include "live/engine/session/folding.h"
#include "live/engine/session/work.h"

namespace flopcast::live {

/// Goes to a thread that waits.
struct SessionAnswer {
  std::uint32_t process = 0, thread = 0;
  std::uint32_t status = 0;  ///< 0: as asked; else an errno
  Time at;                   ///< the thread goes on
  std::uint64_t value = 0;   ///< by act
};

/// What a task is beyond its times: all that its record said.
struct TaskNote {
  Act act = Act::kNothing;
  std::uint8_t detail = 0;    ///< a CopyKind or a Collective
  std::uint16_t device = 0;   ///< of its process
  std::uint32_t group = 0;    ///< name of the ranks that communicate: "0,1,2,3"
  std::uint32_t threads = 0;  ///< of a block of a kernel
  std::uint64_t blocks = 0;   ///< of its grid
  std::uint64_t bytes = 0;    ///< of copies, fills, and of all that a group call transfers
  GrowingTask launcher = kNoGrowingTask;  ///< the call that put it on its stream
  std::uint64_t stream = 0;               ///< that the call is about
  std::uint64_t event = 0;                ///< that it records or waits for
  GrowingTask recorder = kNoGrowingTask;  ///< the call that recorded this event last
  std::uint64_t recorded_on = 0;          ///< the stream that it recorded
  std::uint64_t communicator = 0;         ///< the same on all its ranks
  std::uint64_t sequence = 0;             ///< tells its calls apart, on all its ranks alike
  Element element = Element::kUint8;      ///< of what is transferred
};

/// A task whose times are final, with all that is known of it.
struct ToldTask {
  SettledTask task;
  TaskNote note;
};

/// The run's time is about to go on because somebody's time is up.
struct Leap {
  Time over;                ///< how far it goes
  bool gives_up = false;    ///< a wait for others ends without them; else a sleep ends
  std::uint64_t heard = 0;  ///< records of threads, but helpers, taken so far
};

/// Hears what a session hears and says, in the order in which it acts on it.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void came(std::int32_t rank) = 0;  ///< a process; they are numbered from 0
  virtual void took(std::uint32_t process, std::uint32_t thread, const Record& record,
                    std::string_view signature) = 0;
  virtual void lost(std::uint32_t process) = 0;
  virtual void stopped(std::uint32_t process, std::uint32_t thread) = 0;  ///< without being heard
  virtual void answered(const SessionAnswer& answer) = 0;  ///< that says more than a time
};

/// A thread that others wait for.
struct Holder {
  std::uint32_t process = 0, thread = 0;  ///< in the session; the thread's ring
  std::int32_t rank = 0;
  Time at;
  std::string call;         ///< the last that was heard of; empty: none
  bool at_channel = false;  ///< it waits where other processes of the run would wake it
};

/// Ranks that failed and were started again.
struct Restart {
  std::int32_t rank = 0;  ///< the first that failed
  Time at;                ///< when it did: its ranks begin again then
};

class Session {
 public:
  /// @param work must live as long as the session
  explicit Session(Work& work, const HostTimes& times = {});
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// A process of the application, whose first thread runs from now on. All of them are to be there
  /// before any is answered. @return its number, from 0
  std::uint32_t add_process(std::int32_t rank);
  /// A process that another one is about to start: it begins where that one says so (Act::kFork, whose word is then
  /// this number), and holds nobody up before.
  std::uint32_t add_child(std::int32_t rank);
  /// What one of its threads wrote, in the order in which it wrote. @param signature text of the record's
  /// signature. @return what is wrong with it: such a process cannot go on
  std::optional<Diagnostic> take(std::uint32_t process, std::uint32_t thread, const Record& record,
                                 std::string_view signature);
  /// The same where the order of the process's calls is already known to be that of these records.
  std::optional<Diagnostic> retake(std::uint32_t process, std::uint32_t thread,
                                   const Record& record, std::string_view signature);
  /// The thread has stopped without a word: it stands still until it says something.
  /// @param unheard nobody says when it goes on, either: it is in a call that nobody watches. Then it goes on where the run is
  void stand_still(std::uint32_t process, std::uint32_t thread, bool unheard = false);
  /// The process is gone, whatever it was about to say.
  /// @param failed it did not end well: its launcher may start ranks again
  void lose(std::uint32_t process, bool failed = false);
  /// Failures after which a launcher started ranks again.
  const std::vector<Restart>& restarts() const;

  /// @param is_quiet whether nothing goes on that takes real time and may wake a thread that stands still. It is asked before
  /// anybody's time is up, with the leap that the run's time would take; as long as it says no, nobody's is
  /// @param look lets those look that watch over a process's collective calls, at a time at which some call's time-out may
  /// come; whether they have. Until it says so, nothing happens later
  void set_outside(std::function<bool(const Leap& leap)> is_quiet,
                   std::function<bool(std::uint32_t process, Time at)> look = {});

  /// Nothing has been heard for long: whoever waits for a turn may wait for one who waits for it in ways that nobody sees.
  void let_out_of_turn();
  /// @param listener lives as long as the session, or until another takes its place; null: nobody
  void set_listener(SessionListener* listener);
  /// Hears beside it, as long as that one does.
  void add_listener(SessionListener* listener);

  /// By process: the run's time as its watchdogs are to see it. What ends by then they are told of, and no call's time-out has
  /// been passed over.
  std::vector<Time> present() const;
  /// Nothing happens before any more.
  Time passed() const;

  /// Before the first process comes: which ranks are there.
  void set_folding(Folding folding);
  /// So many devices has a node, which ranks fill one after the other.
  void set_node(std::uint32_t devices);
  /// So many chips has a node whose links their transfers share, where programs saw another number of devices.
  void set_chips_of_node(std::uint32_t chips);
  /// Its number in the system.
  void set_pid(std::uint32_t process, std::uint32_t pid);
  /// What a device of that rank's node does as far as the run has come: for a process that is no part of it. None as long as that
  /// rank may be ahead of the run.
  std::optional<SessionAnswer> use_of(std::int32_t rank, std::uint16_t device, DeviceUse what,
                                      std::uint64_t which) const;

  /// Answers that can be given now. To be called when every record that was written has been taken.
  std::vector<SessionAnswer> advance();
  /// Nothing that happens from now on starts before this.
  Time horizon() const;
  /// All wait and nobody can go on: who for whom, line by line. Empty if somebody runs.
  /// @param idle_too even if some process only idles, for something outside the run as far as is known
  std::string deadlock(bool idle_too = false) const;

  /// As GrowingRun::take_settled.
  std::vector<ToldTask> take_settled(Time before);
  /// Ranks of which every thread waits, idles or has ended, but those that are gone.
  std::size_t waiting() const;
  /// Threads that run, as far as is known: nothing happens that is later than the first of them, and so no other can be
  /// answered. Earliest first.
  std::vector<Holder> holders() const;
  /// Processes whose threads stand still though none of the run does anything first: they wait for something else.
  std::vector<Holder> outsiders() const;
  /// So many records have been taken that are work (neither sleep, nor standing still, nor a question), and transfers have ended.
  std::uint64_t progress() const;

  GrowingRun& run();                                   ///< its graph
  std::string_view name_of(std::uint32_t name) const;  ///< text of a task's name

  struct State;  ///< the session's own

 private:
  std::unique_ptr<State> state_;
};

}  // namespace flopcast::live
