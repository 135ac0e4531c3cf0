#include "live/find_folding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "live/fold/places.h"
#include "live/fold/plan.h"
#include "live/fold/scout.h"

namespace flopcast::live {
namespace {

/// These ranks, each alone.
class Scouting {
 public:
  Scouting(const LiveRequest& request, const Catalog& catalog, const LiveObserver& observer,
           const Cluster& cluster, Layout layout, OperatorTable table)
      : request_(request),
        catalog_(catalog),
        observer_(observer),
        cluster_(cluster),
        layout_(layout),
        trails_(std::move(table)) {
    request_.capture.clear();
    request_.timeline = false;
  }

  const Trails& trails() const { return trails_; }
  /// What a rank of the last of them ended with; empty: none failed.
  std::string why_one_ended() const {
    if (!failure_) return "";
    return fmt::format(" (it ended with status {}{}{})", failure_->status,
                       failure_->last_line.empty() ? "" : ": ", failure_->last_line);
  }
  /// In their order; a rank that never came is not among them.
  Result<std::vector<Scouted>> run(const std::vector<std::int32_t>& ranks) {
    Result<ClusterWork> work = ClusterWork::make(cluster_, catalog_, request_.operators);
    if (!work) return work.error();
    Scout scout(trails_);
    Folding alone;
    alone.alone = true;
    LiveRun run(request_, observer_, cluster_, std::move(*work), layout_, alone, ranks);
    run.watch({&scout, {}, [&] { return scout.enough(ranks.size()); }, {}, {}});
    if (auto problem = run.start(cluster_, catalog_)) return *problem;
    if (auto problem = run.drive()) return *problem;
    failure_ = run.failure();
    std::vector<Scouted> all = scout.take();
    std::sort(all.begin(), all.end(),
              [](const Scouted& a, const Scouted& b) { return a.rank < b.rank; });
    return all;
  }

 private:
  LiveRequest request_;
  const Catalog& catalog_;
  const LiveObserver& observer_;
  const Cluster& cluster_;
  Layout layout_;
  Trails trails_;
  std::optional<LiveFailure> failure_;
};

/// What a rank and those that are held against it have shown.
struct Shown {
  Folding folding;
  std::string unlike;  ///< where one of them differs; empty: none does
  std::string ended;   ///< with what the first one ended that came to no step
};

Result<Shown> hold_others_against(Scouting& scouting, const Scouted& leader, Layout layout,
                                  Fold fold) {
  Result<FoldPlan> plan = FoldPlan::make(layout.ranks, leader, fold);
  if (!plan) return plan.error();
  Shown shown;
  const std::vector<std::int32_t> witnesses = plan->witnesses();
  if (!witnesses.empty()) {
    Result<std::vector<Scouted>> others = scouting.run(witnesses);
    if (!others) return others.error();
    const std::vector<std::int32_t> more = plan->more_witnesses(*others);
    if (!more.empty()) {
      Result<std::vector<Scouted>> found = scouting.run(more);
      if (!found) return found.error();
      std::move(found->begin(), found->end(), std::back_inserter(*others));
    }
    plan->judge(leader, *others);
    for (const Scouted& other : *others) {
      if (plan->unlike() == other.rank) shown.unlike = difference(leader, other, scouting.trails());
    }
  }
  shown.folding = plan->folding();
  return shown;
}

}  // namespace

Result<Folding> find_folding(const LiveRequest& request, const Catalog& catalog,
                             const LiveObserver& observer, const Cluster& cluster, Layout layout) {
  if (request.fold == Fold::kOff || layout.ranks < 2) return Folding();
  const auto tell = [&observer](const std::string& text) {
    if (observer.notice) observer.notice(text);
  };
  Result<OperatorTable> table = OperatorTable::make(request.operators);
  if (!table) return table.error();
  Scouting scouting(request, catalog, observer, cluster, layout, std::move(*table));
  Shown shown;
  // Who compiles runs each candidate of a kernel to choose one; who comes later finds what was chosen, and calls none of them. So who
  // differs is looked at once more, when all of it is kept.
  for (bool again = false;; again = true) {
    const Result<std::vector<Scouted>> first = scouting.run({0});
    if (!first) return first.error();
    if (first->empty()) return Folding();  // it never came: what it has to say it says again
    const Scouted& leader = first->front();
    // One that has ended over what others should have sent it has shown who they are. Any other may have something left to show.
    if (!leader.stepped && leader.peers.empty()) {
      tell("--fold: rank 0 came to no optimizer's step when it ran alone" +
           scouting.why_one_ended() + ", so all ranks run");
      return Folding();
    }
    const std::string ended =
        leader.stepped
            ? ""
            : ": rank 0 came to no optimizer's step when it ran alone" + scouting.why_one_ended();
    Result<Shown> found = hold_others_against(scouting, leader, layout, request.fold);
    if (!found) return found.error();
    shown = std::move(*found);
    shown.ended = ended;
    if (shown.unlike.empty() || again) break;
  }
  Folding& folding = shown.folding;
  if (!folding.folds())
    tell("--fold: no rank of this program stands for another, so all ranks run" +
         (shown.unlike.empty() ? shown.ended : ": " + shown.unlike));
  if (const std::string unlike =
          unlike_places(folding, cluster, devices_of_node(request, cluster, layout));
      !unlike.empty()) {
    tell("--fold: " + unlike + ", so all ranks run");
    return Folding();
  }
  folding.shares_tiers = shares_tiers(cluster);
  return folding;
}

}  // namespace flopcast::live
