// The engine's side of a live run: processes that come and go, the records they write, the answers they get.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "live/engine/daemon/door.h"
#include "live/engine/daemon/far.h"
#include "live/engine/daemon/quiet.h"
#include "live/engine/session/session.h"
#include "live/wire/region.h"
#include "live/wire/socket.h"

namespace flopcast::live {

/// What the processes of a run see of the cluster.
struct MachineFacts {
  DeviceFacts device = {};
  std::uint32_t devices = 1;  ///< of a node
  std::uint32_t chips = 1;    ///< of the cluster: no more ranks than these
  std::int64_t start_ns = 0;  ///< virtual time begins here, since 1970
  double host_factor = 0;     ///< of measured host time; 0: it is modelled
};

/// What a program computed for long on the host, where that takes no virtual time.
struct HostStretch {
  std::int32_t rank = 0;
  Time at;             ///< of virtual time
  double taken_s = 0;  ///< of this machine's processor
};

/// Reads of bytes that nobody had computed.
struct TaintSummary {
  std::uint64_t reads = 0;    ///< by programs
  std::uint64_t assumed = 0;  ///< tensors that got values assumed for tainted ones
  std::vector<std::string>
      first;  ///< of each rank that has any: "rank 0: 4 bytes, in ...", and the stack
  std::vector<std::string> origins;  ///< of each rank: where values end, and why
};

/// Where a thread of a process of the run is.
struct ThreadStack {
  std::string name;  ///< as Python has it, else the kernel; empty: neither knows
  std::vector<std::string>
      calls;  ///< innermost first: "train.py:41 in forward", else functions; empty: unknown
  std::size_t own =
      0;  ///< the first of these that is the program's own, of no package; calls.size(): none
};

/// A thread that does not run, though it has not said that it stands still.
struct StoppedThread {
  std::uint64_t runs = 0;  ///< as ThreadTimes has it
  std::chrono::steady_clock::time_point since;
};

class Daemon {
 public:
  /// Listens under a name that no other process of the machine has. Errors: no socket, no shared memory.
  static Result<std::unique_ptr<Daemon>> listen(Session& session, const MachineFacts& machine);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Value of FLOPCAST_LIVE_SOCKET for the processes of the run.
  const std::string& name() const { return door_->name(); }

  /// What calls take the host, for the processes that come.
  void set_host(const HostCosts& costs) { common().host = costs; }

  /// The run is on several machines. @param hosts the others, as long as the daemon lives
  void set_hosts(FarHosts& hosts, const Machines& machines);
  /// A process of another machine has opened its line. By any thread.
  void welcome_far(const Hello& hello, FarHost& host, std::shared_ptr<FarLine> line);
  /// Something was written that was not written by a process of this machine. By any thread.
  void wake() { common().bell.ring_if_asleep(); }
  /// What the processes of this machine share.
  Common& common() { return door_->common(); }
  int shared_file() const { return door_->file(); }

  /// A process with this rank will come. All are to be expected before the first step, but those of
  /// launchers of others: the first of these says how many there are.
  /// @param pid 0: whichever says first that it is this rank
  void expect(std::int32_t rank, std::int32_t pid = 0);
  /// The process of a rank has ended, whether or not it ever came.
  void gone(std::int32_t rank);
  /// Hears what has been written and answers what can be answered; sleeps, a tenth of a second at most,
  /// if there was nothing. @return what a process did wrong
  std::optional<Diagnostic> step();
  /// Processes that are expected, or have come and are not gone.
  std::size_t alive() const;
  /// Whether every rank that will come has been expected.
  bool all_are_known() const { return all_known_; }
  /// The most bytes that the processes of a rank had of a device.
  std::uint64_t most_memory(std::int32_t rank) const;
  /// What processes read that nobody had computed.
  TaintSummary taint() const;
  std::vector<HostStretch> host_work() const;

  /// Where threads are, each by its process and its ring. Waits for what the processes say of themselves, three seconds at
  /// most, so it is for when nothing goes on.
  std::vector<ThreadStack> stacks(
      const std::vector<std::pair<std::uint32_t, std::uint32_t>>& threads) const;
  /// Who is waited for and where it is, line by line: threads that hold the run's time, what takes real time beside it,
  /// watchdogs that have to look. Takes as long as stacks().
  /// @param since_s how long nothing has gone on
  std::string who_is_waited_for(double since_s) const;

 private:
  struct Peer;
  Daemon(Session& session, std::unique_ptr<Door> door);
  void take_newcomers(std::optional<Diagnostic>& problem);
  bool is_known(std::int32_t rank) const;
  bool is_there(std::int32_t rank) const;
  std::optional<Diagnostic> too_many(std::int64_t ranks) const;
  bool hear_guests(std::optional<Diagnostic>& problem);
  bool tell_guests();
  static void give(Peer& peer, const SessionAnswer& one);
  void admit(std::unique_ptr<Peer> peer);
  bool all_stand_still(Quiet& walker);
  std::optional<Diagnostic> become_process(std::unique_ptr<Peer>& guest, std::uint16_t device);
  std::optional<Diagnostic> tell(std::uint32_t process, std::uint32_t thread, const Record& record);
  std::optional<Diagnostic> adopt(std::uint32_t parent, Record& record);
  void lose(std::uint32_t process);
  bool hear(std::uint32_t process, std::optional<Diagnostic>& problem);
  bool anything_written() const;
  bool is_quiet(const Leap& leap);
  void show_present();
  static void show(Peer& peer, Time present);
  bool look(std::uint32_t process, Time at);
  static bool is_leaving(const Peer& peer);
  void look_who_is_gone();
  void look_who_has_stopped();
  std::vector<pid_t> processes_alive() const;
  std::unordered_set<pid_t> clocked_threads() const;
  std::uint32_t ask_where(std::uint32_t process, const std::vector<pid_t>& threads) const;
  std::vector<ThreadStack> told_where(std::uint32_t process, std::uint32_t question,
                                      std::chrono::steady_clock::time_point until) const;
  std::string line_of(const Holder& holder, const ThreadStack& stack, double since_s,
                      const std::vector<BusyThread>& busy) const;
  void name_watchdogs(double since_s, std::vector<std::string>& lines) const;
  void name_busy(double since_s, const std::vector<BusyThread>& busy,
                 std::vector<std::string>& lines) const;

  Session& session_;
  FarHosts* hosts_ = nullptr;  ///< null: all is on this machine
  std::uint32_t chips_ = 1;
  bool all_known_ = false;
  std::vector<std::unique_ptr<Peer>> peers_;   ///< by process of the session
  std::vector<std::unique_ptr<Peer>> guests_;  ///< of whom no rank is known to hang
  std::mutex lock_;
  std::vector<std::unique_ptr<Peer>> newcomers_;  ///< under the lock
  std::vector<std::unique_ptr<Peer>> children_;   ///< under the lock: about to be started by others
  std::chrono::steady_clock::time_point looked_;  ///< who is gone, and how far watchdogs see
  std::chrono::steady_clock::time_point went_on_ =
      std::chrono::steady_clock::now();  ///< something was heard or answered
  Quiet quiet_;
  /// Since when nothing was heard, and what had been until then.
  std::optional<std::pair<std::chrono::steady_clock::time_point, std::uint64_t>> quiet_at_;
  std::chrono::steady_clock::time_point frozen_until_;  ///< a process has failed: nothing goes on
  std::optional<std::uint32_t> looking_;                ///< process whose watchdogs are waited for
  /// Threads that run as far as they have said, and have not run since: by process and ring.
  std::map<std::pair<std::uint32_t, std::uint32_t>, StoppedThread> stopped_;
  std::chrono::steady_clock::time_point stopped_at_;  ///< when they were looked for last
  std::unique_ptr<Door> door_;                        ///< goes first: who comes is told to the rest
};

}  // namespace flopcast::live
