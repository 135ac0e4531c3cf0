// What a session tells of a run, as the run's report.
#pragma once

#include <memory>
#include <string>

#include "live/engine/account/account.h"
#include "live/engine/account/timeline.h"
#include "live/engine/pricing/cluster_work.h"

namespace flopcast::live {

class RunReporter {
 public:
  /// @param label of the run: its cluster, as asked for
  /// @param timeline whether every task is kept
  /// @param world as TimelineWriter's
  RunReporter(const Cluster& cluster, std::string label, bool timeline, std::uint32_t world);

  /// Takes what is settled before that time.
  void take(Session& session, Time before);
  Time end() const { return account_.end(); }  ///< of the tasks so far
  /// All that tasks and their prices say. @param work that the session asked
  LiveReport report(const ClusterWork& work, const Session& session) const;

 private:
  std::string label_;
  Account account_;
  Time passed_;                               ///< nothing happens before
  std::shared_ptr<TimelineWriter> timeline_;  // also the report's; null: nobody wants it
};

}  // namespace flopcast::live
