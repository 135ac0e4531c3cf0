#include "whatif/model/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <set>

#include "flopcast/trace.h"

namespace flopcast::whatif {
namespace {

using replaying::CollectiveMember;
using replaying::kNoIndex;
using replaying::RankModel;
using replaying::Recording;

/// Fewer bytes than this are no gradients: a norm, a loss, a flag.
constexpr std::int64_t kFewBytes = 1024;

/// "[0, 1, 2]"; "[0, 2, 4, ..., 62]" and "[0, 2, ...]" go on in even steps up to `size` ranks.
std::vector<std::int32_t> parse_ranks(std::string_view text, std::int32_t size) {
  std::vector<std::int32_t> ranks;
  bool cut = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at, 3) == "...") {
      cut = true;
      break;
    }
    std::int32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (error == std::errc()) {
      ranks.push_back(rank);
      at = static_cast<std::size_t>(end - text.data());
    } else {
      ++at;
    }
  }
  if (cut && ranks.size() >= 2) {
    const std::int32_t step = ranks[1] - ranks[0];
    constexpr std::int32_t kMostRanks = 1 << 20;
    while (static_cast<std::int32_t>(ranks.size()) < std::min(size, kMostRanks)) {
      ranks.push_back(ranks.back() + step);
    }
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

/// Sorts of collectives that tell uses apart.
enum Sort : std::uint8_t { kReduce, kGather, kScatter, kAllToAllSort, kPeer, kOtherSort, kSorts };

Sort sort_of(const Work& work) {
  if (!work.operation) return kOtherSort;
  switch (*work.operation) {
    case CollectiveOp::kAllReduce:
      return kReduce;
    case CollectiveOp::kAllGather:
      return kGather;
    case CollectiveOp::kReduceScatter:
      return kScatter;
    case CollectiveOp::kAllToAll:
      return kAllToAllSort;
    case CollectiveOp::kSendRecv:
      return kPeer;
    default:
      return kOtherSort;
  }
}

/// What a group does on one rank.
struct Doings {
  std::uint32_t rank = kNoIndex;  ///< whose: the first that has the group
  std::array<std::array<std::uint32_t, kSorts>, 3> count{};  ///< [forward, backward, rest][sort]
  std::uint32_t by_attention = 0;  ///< collectives next to attention, no product between
  std::int64_t most_bytes = 0, bytes = 0;

  std::uint32_t forward(Sort sort) const { return count[0][sort]; }
  std::uint32_t backward(Sort sort) const { return count[1][sort]; }
  std::uint32_t rest(Sort sort) const { return count[2][sort]; }
  std::uint32_t all(Sort sort) const { return forward(sort) + backward(sort) + rest(sort); }
};

std::size_t place_of(Pass pass) {
  return pass == Pass::kForward ? 0 : pass == Pass::kBackward ? 1 : 2;
}

class GroupFinder {
 public:
  GroupFinder(const TraceSet& set, const Recording& recording, std::vector<Program>& programs)
      : set_(set), recording_(recording), programs_(programs) {}

  std::vector<ModelGroup> run() {
    for (std::uint32_t r = 0; r < programs_.size(); ++r) collect(r);
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      groups_[g].use = use_of(g);
      groups_[g].evidence = evidence_of(doings_[g], std::max(programs_[doings_[g].rank].steps, 1U));
    }
    keep_largest_data_group();
    forget_mixed_ranks();
    return std::move(groups_);
  }

 private:
  const CollectiveDetail* detail_of(const RankModel& rank, std::uint32_t row) const {
    const std::uint32_t about = rank.trace->events.collective[row];
    return about == kNoDetail ? nullptr : &rank.trace->collectives[about];
  }

  std::uint32_t group_of(const RankModel& rank, const Work& work) {
    const replaying::GpuTask& task = rank.gpu[work.task];
    const CollectiveDetail* detail = detail_of(rank, task.row);
    std::vector<std::int32_t> ranks;
    std::uint32_t name = 0;
    if (detail != nullptr) {
      name = detail->group_name;
      ranks = parse_ranks(set_.strings[detail->group_ranks], detail->group_size);
    }
    if (ranks.empty() && task.collective != kNoIndex) {
      for (const CollectiveMember& m : recording_.collectives[task.collective].members) {
        ranks.push_back(recording_.ranks[m.rank].rank);
      }
      std::sort(ranks.begin(), ranks.end());
    }
    // Where groups have no names, what each sort of collective is for is asked apart.
    const int sort = detail != nullptr && name != 0 ? -1
                     : sort_of(work) == kScatter    ? kGather
                                                    : sort_of(work);
    const auto [known, fresh] = numbers_.try_emplace({name, sort, ranks}, groups_.size());
    if (fresh) {
      groups_.push_back({name, GroupUse::kUnknown, ranks, 0, {}});
      doings_.emplace_back();
    }
    const auto g = static_cast<std::uint32_t>(known->second);
    groups_[g].size = static_cast<std::uint32_t>(ranks.size());
    if (detail != nullptr && detail->group_size > 0) {
      groups_[g].size = std::max(groups_[g].size, static_cast<std::uint32_t>(detail->group_size));
    }
    if (sort >= 0) unnamed_[g].insert(rank.streams[task.stream].id);
    return g;
  }

  void collect(std::uint32_t r) {
    const RankModel& rank = recording_.ranks[r];
    std::vector<Work>& works = programs_[r].works;
    for (std::uint32_t w = 0; w < works.size(); ++w) {
      const replaying::GpuTask& task = rank.gpu[works[w].task];
      if (!task.communication) continue;
      works[w].group = group_of(rank, works[w]);
      Doings& doings = doings_[works[w].group];
      if (doings.rank == kNoIndex) doings.rank = r;
      if (doings.rank != r) continue;
      ++doings.count[place_of(works[w].pass)][sort_of(works[w])];
      if (task.collective != kNoIndex) {
        const std::int64_t bytes = recording_.collectives[task.collective].bytes;
        doings.most_bytes = std::max(doings.most_bytes, bytes);
        doings.bytes += bytes;
      }
      if (is_by_attention(works, w)) ++doings.by_attention;
    }
  }

  /// Whether attention is the first product before or after it.
  static bool is_by_attention(const std::vector<Work>& works, std::uint32_t w) {
    for (std::uint32_t i = w + 1; i < works.size() && works[i].thread == works[w].thread; ++i) {
      if (works[i].kind == KernelKind::kAttention) return true;
      if (works[i].kind == KernelKind::kGemm) break;
    }
    for (std::uint32_t i = w; i-- > 0 && works[i].thread == works[w].thread;) {
      if (works[i].kind == KernelKind::kAttention) return true;
      if (works[i].kind == KernelKind::kGemm) break;
    }
    return false;
  }

  /// All recorded ranks of the group run the same program: no stages, then.
  bool are_alike(std::uint32_t g) const {
    const Program* first = nullptr;
    for (std::uint32_t r = 0; r < programs_.size(); ++r) {
      const std::vector<std::int32_t>& ranks = groups_[g].ranks;
      if (!std::binary_search(ranks.begin(), ranks.end(), recording_.ranks[r].rank)) continue;
      if (first == nullptr) {
        first = &programs_[r];
      } else if (!std::equal(first->works.begin(), first->works.end(), programs_[r].works.begin(),
                             programs_[r].works.end(),
                             [](const Work& a, const Work& b) { return a.kernel == b.kernel; })) {
        return false;
      }
    }
    return true;
  }

  GroupUse use_of(std::uint32_t g) const {
    const Doings& d = doings_[g];
    if (groups_[g].size == 1) return GroupUse::kUnknown;
    const bool many_by_attention =
        2 * d.by_attention > d.all(kPeer) + d.all(kGather) + d.all(kScatter) + d.all(kAllToAllSort);
    const bool reduces_alone = d.all(kReduce) > 0 && d.all(kGather) + d.all(kScatter) == 0;
    if (reduces_alone && d.bytes > 0 && d.most_bytes <= kFewBytes) return GroupUse::kModel;
    if (d.all(kPeer) > 0) {
      const bool several = recorded_members(g) > 1;
      return many_by_attention && several && are_alike(g) ? GroupUse::kContext
                                                          : GroupUse::kPipeline;
    }
    if (programs_[d.rank].hidden_passes) return GroupUse::kUnknown;
    if (d.forward(kAllToAllSort) > 0) {
      return many_by_attention ? GroupUse::kContext : GroupUse::kExpert;
    }
    if (d.forward(kReduce) > 1 || d.forward(kScatter) > 0) return GroupUse::kTensor;
    if (d.forward(kGather) > 0) {
      if (many_by_attention) return GroupUse::kContext;
      return GroupUse::kSharded;
    }
    return use_without_forward(d);
  }

  static GroupUse use_without_forward(const Doings& d) {
    const bool gradients = d.backward(kReduce) + d.rest(kReduce) > 0;
    const bool sharded = d.backward(kScatter) + d.rest(kScatter) > 0;
    if (!gradients && !sharded) return GroupUse::kUnknown;
    return sharded ? GroupUse::kSharded : GroupUse::kData;
  }

  std::size_t recorded_members(std::uint32_t g) const {
    const std::vector<std::int32_t>& ranks = groups_[g].ranks;
    return static_cast<std::size_t>(
        std::count_if(recording_.ranks.begin(), recording_.ranks.end(), [&](const RankModel& rank) {
          return std::binary_search(ranks.begin(), ranks.end(), rank.rank);
        }));
  }

  /// Of several groups of a rank that reduce gradients, the one with most bytes shares the data; the
  /// others hold what the model's shards have in common (the embedding of first and last stage).
  void keep_largest_data_group() {
    std::vector<std::vector<std::uint32_t>> of_rank(programs_.size());
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].use != GroupUse::kData) continue;
      for (std::uint32_t r = 0; r < programs_.size(); ++r) {
        const std::vector<std::int32_t>& ranks = groups_[g].ranks;
        if (std::binary_search(ranks.begin(), ranks.end(), recording_.ranks[r].rank)) {
          of_rank[r].push_back(g);
        }
      }
    }
    for (std::vector<std::uint32_t>& groups : of_rank) {
      std::stable_sort(groups.begin(), groups.end(), [&](std::uint32_t a, std::uint32_t b) {
        return doings_[a].bytes > doings_[b].bytes;
      });
      for (std::size_t i = 1; i < groups.size(); ++i) {
        if (groups_[groups[i]].ranks == groups_[groups[0]].ranks) continue;
        if (4 * doings_[groups[i]].bytes > doings_[groups[0]].bytes) continue;
        if (std::includes(groups_[groups[0]].ranks.begin(), groups_[groups[0]].ranks.end(),
                          groups_[groups[i]].ranks.begin(), groups_[groups[i]].ranks.end())) {
          continue;  // experts have fewer replicas
        }
        groups_[groups[i]].use = GroupUse::kModel;
      }
    }
  }

  /// Collectives of groups without names were matched as if they were of one group. If a model was
  /// sharded or cut into stages as well, they were of several.
  void forget_mixed_ranks() {
    std::set<std::int32_t> streams;
    bool several = false;
    for (const auto& [g, of] : unnamed_) {
      streams.insert(of.begin(), of.end());
      several =
          several || groups_[g].use == GroupUse::kPipeline || groups_[g].use == GroupUse::kTensor;
    }
    if (!several || streams.size() < 2) return;
    for (const auto& [g, of] : unnamed_) {
      groups_[g].ranks.clear();
      groups_[g].size = 0;
      groups_[g].evidence += "; its ranks are unknown, because the recording names no groups";
    }
  }

  /// "2 x all-reduce forward": so many a step; of all steps where they differ.
  static std::string evidence_of(const Doings& d, std::uint32_t steps) {
    static constexpr const char* kSortNames[kSorts] = {"all-reduce", "all-gather", "reduce-scatter",
                                                       "all-to-all", "send/recv",  "other"};
    static constexpr const char* kPlaces[3] = {"forward", "backward", "outside passes"};
    std::string text;
    const auto divides = [&](const auto& counts) {
      return std::all_of(counts.begin(), counts.end(), [&](auto n) { return n % steps == 0; });
    };
    const bool even = std::all_of(d.count.begin(), d.count.end(), divides);
    const std::uint32_t by = even ? steps : 1;
    for (std::size_t sort = 0; sort < kSorts; ++sort) {
      for (std::size_t place = 0; place < 3; ++place) {
        if (d.count[place][sort] == 0) continue;
        text += fmt::format("{}{} x {} {}", text.empty() ? "" : ", ", d.count[place][sort] / by,
                            kSortNames[sort], kPlaces[place]);
      }
    }
    return text + (even ? " a step" : " in all steps");
  }

  const TraceSet& set_;
  const Recording& recording_;
  std::vector<Program>& programs_;
  std::map<std::tuple<std::uint32_t, int, std::vector<std::int32_t>>, std::size_t> numbers_;
  std::map<std::uint32_t, std::set<std::int32_t>> unnamed_;  ///< streams of groups without names
  std::vector<ModelGroup> groups_;
  std::vector<Doings> doings_;
};

}  // namespace

std::vector<ModelGroup> find_groups(const TraceSet& set, const Recording& recording,
                                    std::vector<Program>& programs) {
  return GroupFinder(set, recording, programs).run();
}

}  // namespace flopcast::whatif
