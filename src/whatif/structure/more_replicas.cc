#include "whatif/structure/more_replicas.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "flopcast/replay/network_times.h"
#include "whatif/structure/plan/transfers.h"

namespace flopcast::whatif::structure {

using namespace replaying;

namespace {

bool is_over_replicas(GroupUse use) { return use == GroupUse::kData || use == GroupUse::kSharded; }

class MoreReplicas {
 public:
  MoreReplicas(const TraceModel& model, std::uint32_t dp, std::string_view missing, ChangedRun& run)
      : model_(model), dp_(dp), missing_(missing), run_(run), transfers_(*run.set) {}

  std::optional<std::string> apply() {
    if (model_.dp < 2) return "no replicas were found in the recording";
    const Durations was = run_.durations;
    Durations low = was, high = was;
    for (const Collective& c : run_.recording->collectives) {
      const ModelGroup* group = group_of(c);
      if (group == nullptr || !is_over_replicas(group->use) || !grows_as_ring(c)) {
        if (c.members.size() > 1 && is_of_replicas(members(c))) return unknown(c);
        continue;
      }
      const double ratio = ratio_of(c, *group);
      for (const CollectiveMember& m : c.members) {
        const Time recorded = was.ranks[m.rank].transfer[m.task];
        if (recorded <= Time{}) continue;
        run_.durations.ranks[m.rank].transfer[m.task] = times(recorded, ratio);
        low.ranks[m.rank].transfer[m.task] = times(recorded, ratio * (1 - kRingDoubt));
        high.ranks[m.rank].transfer[m.task] = times(recorded, ratio * (1 + kRingDoubt));
        ++changed_;
      }
    }
    if (changed_ == 0) return "no collective of data parallelism was matched across ranks";
    run_.ranks = run_.recording->ranks.size() / model_.dp * dp_;
    run_.doubts.push_back({"transfers of another group", std::move(low), std::move(high)});
    tell();
    return std::nullopt;
  }

 private:
  std::vector<std::int32_t> members(const Collective& c) const {
    std::vector<std::int32_t> ranks;
    for (const CollectiveMember& m : c.members) ranks.push_back(run_.recording->ranks[m.rank].rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }

  /// By name, else by its ranks: a communicator may have another name in some of its records.
  const ModelGroup* group_of(const Collective& c) const {
    for (const ModelGroup& group : model_.groups) {
      if (c.group != 0 && group.name == c.group) return &group;
    }
    for (const ModelGroup& group : model_.groups) {
      if (group.ranks == members(c)) return &group;
    }
    return nullptr;
  }

  /// Gradients and parameters; what is sent all to all is cut differently among more ranks.
  bool grows_as_ring(const Collective& c) const {
    const auto op = operation_of(transfers_.operation(*run_.recording, row_of(c.members.front())));
    return op && *op != CollectiveOp::kAllToAll && *op != CollectiveOp::kSendRecv;
  }
  RowRef row_of(const CollectiveMember& m) const {
    return {m.rank, run_.recording->ranks[m.rank].gpu[m.task].row};
  }

  /// Whether these ranks are replicas of each other, as far as the groups tell.
  bool is_of_replicas(const std::vector<std::int32_t>& ranks) const {
    return std::any_of(model_.groups.begin(), model_.groups.end(), [&](const ModelGroup& group) {
      return is_over_replicas(group.use) && group.ranks == ranks;
    });
  }

  std::string unknown(const Collective& c) const {
    return fmt::format(
        "replicas also do {} with each other, and how that grows with them is not "
        "known",
        run_.set->strings[c.name]);
  }

  /// The same for all of its members: they transfer together.
  double ratio_of(const Collective& c, const ModelGroup& group) const {
    const std::size_t before = std::max<std::size_t>(group.size, c.members.size());
    std::vector<Time> recorded;
    for (const CollectiveMember& member : c.members)
      recorded.push_back(run_.durations.ranks[member.rank].transfer[member.task]);
    std::nth_element(recorded.begin(), recorded.begin() + recorded.size() / 2, recorded.end());
    return transfers_.ratio(transfers_.operation(*run_.recording, row_of(c.members.front())),
                            recorded[recorded.size() / 2], before, 1, before / model_.dp * dp_);
  }

  void tell() {
    run_.notes.push_back({fmt::format("no rank is written out: {}", missing_), "assumed", 0, 0});
    run_.notes.push_back(
        {"transfers of data parallelism, by the bytes on a ring's links, as fast as recorded",
         "modelled", changed_, 0});
    run_.notes.push_back(
        {"the recorded ranks stand for all: of more ranks the last one comes "
         "later, which is not in the answer",
         "assumed", 0, 0});
  }

  const TraceModel& model_;
  std::uint32_t dp_;
  std::string_view missing_;
  ChangedRun& run_;
  Transfers transfers_;
  std::uint64_t changed_ = 0;
};

}  // namespace

std::optional<std::string> scale_replicas(const TraceModel& model, std::uint32_t dp,
                                          std::string_view missing, ChangedRun& run) {
  return MoreReplicas(model, dp, missing, run).apply();
}

}  // namespace flopcast::whatif::structure
