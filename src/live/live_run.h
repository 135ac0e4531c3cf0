// A program on a cluster that is not there: its processes are started, heard and ended.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/live.h"
#include "live/engine/account/run_report.h"
#include "live/engine/capture/capture.h"
#include "live/engine/daemon/daemon.h"
#include "live/engine/pricing/cluster_work.h"
#include "live/host_processes.h"
#include "live/hosts/gateway.h"

namespace flopcast::live {

/// Hears a run, and may end it.
struct LiveWatch {
  SessionListener* listener = nullptr;
  std::function<std::optional<Diagnostic>()>
      problem;                   ///< what is wrong with it; empty: nothing ever is
  std::function<bool()> enough;  ///< its end need not be waited for; empty: it is
  std::function<std::optional<Diagnostic>()>
      problem_at_end;  ///< of a run that has ended well; empty: nothing ever is
  std::function<std::uint64_t()> other_lengths;  ///< what LiveReport says of them; empty: none
};

/// A process has ended, on whichever machine.
struct RunEnding {
  std::int32_t rank = -1;   ///< -1: it is a launcher
  std::size_t process = 0;  ///< of all machines, in order
  int status = 0;
  std::string last_line;
};

class LiveRun {
 public:
  /// @param ranks those that are there
  LiveRun(const LiveRequest& request, const LiveObserver& observer, const Cluster& cluster,
          ClusterWork work, Layout layout, Folding folding, std::vector<std::int32_t> ranks);

  std::optional<Diagnostic> start(const Cluster& cluster, const Catalog& catalog);
  /// Until its processes have ended, or are told to.
  std::optional<Diagnostic> drive();
  Result<LiveReport> report();
  /// The first process that failed.
  const std::optional<LiveFailure>& failure() const { return failure_; }
  /// Before it starts.
  void watch(LiveWatch watch);

 private:
  std::optional<Diagnostic> start_capture(const Cluster& cluster, const MachineFacts& machine);
  std::optional<Diagnostic> gather_machines(const MachineFacts& machine, Neighbourhood& neighbours);
  std::optional<Diagnostic> go_on();
  std::vector<RunEnding> ended();
  void look_at_endings();
  void hear_how_they_ended();
  void tell_how_it_goes();
  bool nobody_may_come() const;
  std::optional<Diagnostic> deadlock();
  std::size_t processes() const { return request_.launches ? layout_.nodes : ranks_.size(); }
  /// Of all machines.
  std::size_t running() const { return processes_->running() + far_running_; }
  double real_s() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  using Clock = std::chrono::steady_clock;

  const LiveRequest& request_;
  const LiveObserver& observer_;
  Layout layout_;
  Folding folding_;
  std::vector<std::int32_t> ranks_;  // that are there, by process; of a launcher's, all
  Clock::time_point begin_ = Clock::now();
  ClusterWork work_;
  Session session_;
  RunReporter teller_;
  std::unique_ptr<CaptureWriter> capture_;  // null: nobody wants one
  LiveWatch watch_;
  std::unique_ptr<Daemon> daemon_;
  std::optional<HostProcesses> processes_;
  std::unique_ptr<Gateway> gateway_;  // null: all are on this machine
  std::size_t far_running_ = 0;       // processes of other machines
  std::optional<LiveFailure> failure_;
  bool stopped_ = false;
  Clock::time_point told_at_, heard_at_ = Clock::now(), moved_at_ = Clock::now();
  Clock::duration silence_ = observer_.silence;
  std::uint64_t progress_ = 0;
};

}  // namespace flopcast::live
