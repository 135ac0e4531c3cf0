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
#include "live/start/launch/launcher.h"
#include "live/start/launch/outputs.h"
#include "live/start/launch/remarks.h"

namespace flopcast::live {

/// How ranks lie on the nodes that the machine poses as.
struct Layout {
  std::uint32_t ranks = 0, nodes = 0;
  std::uint32_t of_node() const { return ranks / nodes; }
};
/// Errors: more ranks than chips, ranks that do not fill the nodes.
Result<Layout> layout_of(const LiveRequest& request, const Cluster& cluster);
/// Devices of a node, as programs see it: those of the cluster's where nothing else is asked for.
std::uint32_t devices_of_node(const LiveRequest& request, const Cluster& cluster,
                              const Layout& layout);

/// Hears a run, and may end it.
struct LiveWatch {
  SessionListener* listener = nullptr;
  std::function<std::optional<Diagnostic>()>
      problem;                   ///< what is wrong with it; empty: nothing ever is
  std::function<bool()> enough;  ///< its end need not be waited for; empty: it is
  std::function<std::optional<Diagnostic>()>
      problem_at_end;  ///< of a run that has ended well; empty: nothing ever is
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
  /// Before it starts.
  void watch(LiveWatch watch);

 private:
  std::optional<Diagnostic> start_capture(const Cluster& cluster, const MachineFacts& machine);
  Result<std::map<std::string, std::string>> environment() const;
  std::optional<Diagnostic> start_ranks(std::map<std::string, std::string> common,
                                        std::uint16_t port);
  std::optional<Diagnostic> start_launchers(const std::map<std::string, std::string>& common,
                                            std::uint16_t port);
  Command command_of(std::size_t process, std::map<std::string, std::string> environment) const;
  void look_at_endings();
  void tell_how_it_goes();
  bool nobody_may_come() const;
  std::optional<Diagnostic> deadlock();
  std::size_t processes() const { return request_.launches ? layout_.nodes : ranks_.size(); }
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
  Remarks remarks_;
  RunReporter teller_;
  std::unique_ptr<CaptureWriter> capture_;  // null: nobody wants one
  LiveWatch watch_;
  std::unique_ptr<Daemon> daemon_;
  Descriptor nowhere_;  // where a rank writes that is alone
  std::unique_ptr<Outputs> outputs_;
  std::optional<Launcher> launcher_;  // ends its processes before the others go
  std::optional<LiveFailure> failure_;
  bool stopped_ = false;
  Clock::time_point told_at_, heard_at_ = Clock::now(), moved_at_ = Clock::now();
  Clock::duration silence_ = observer_.silence;
  std::uint64_t progress_ = 0;
};

}  // namespace flopcast::live
