#include "flopcast/replay/collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "flopcast/replay/network_times.h"

namespace flopcast::replaying {
namespace {

/// Two ranks' clocks agree to about this much (notes: collective ends spread up to 0.2 ms at
/// worst).
constexpr Time kClockSlack = Time::from_us(200);

/// A rank's communication tasks of one group, in launch order.
struct Queue {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> tasks;
};

const CollectiveDetail* detail_of(const RankModel& rank, std::uint32_t task) {
  const std::uint32_t i = rank.trace->events.collective[rank.gpu[task].row];
  return i == kNoDetail ? nullptr : &rank.trace->collectives[i];
}

/// The name of the operation, without the algorithm and protocol a rank may choose by itself.
std::string operation_name(const TraceSet& set, const RankModel& rank, std::uint32_t task) {
  if (const CollectiveDetail* detail = detail_of(rank, task); detail && detail->name != 0) {
    return std::string(set.strings[detail->name]);
  }
  const std::string_view name = set.strings[rank.trace->events.name[rank.gpu[task].row]];
  return std::string(name.substr(0, name.find('(')));
}

std::string group_key(const TraceSet& set, const RankModel& rank, std::uint32_t task) {
  const CollectiveDetail* detail = detail_of(rank, task);
  if (!detail) return "";
  return fmt::format("{}|{}", set.strings[detail->group_name], set.strings[detail->group_ranks]);
}

class Matcher {
 public:
  Matcher(const TraceSet& set, std::vector<RankModel>& ranks, Anomalies& anomalies)
      : set_(set), ranks_(ranks), anomalies_(anomalies) {}

  std::vector<Collective> run() {
    for (auto& [key, queues] : queues_by_group()) match_group(key, queues);
    std::sort(found_.begin(), found_.end(), [&](const Collective& a, const Collective& b) {
      return first_start(a) < first_start(b);
    });
    for (std::uint32_t c = 0; c < found_.size(); ++c) {
      for (const CollectiveMember& m : found_[c].members) ranks_[m.rank].gpu[m.task].collective = c;
    }
    return std::move(found_);
  }

 private:
  const GpuTask& task(std::uint32_t rank, std::uint32_t t) const { return ranks_[rank].gpu[t]; }

  std::pair<Time, std::uint32_t> first_start(const Collective& c) const {
    std::pair<Time, std::uint32_t> best{Time::max(), 0};
    for (const CollectiveMember& m : c.members) {
      best = std::min(best, {task(m.rank, m.task).start, m.rank});
    }
    return best;
  }

  std::map<std::string, std::vector<Queue>> queues_by_group() {
    std::map<std::string, std::vector<Queue>> groups;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      std::vector<std::uint32_t> tasks;
      for (std::uint32_t t = 0; t < ranks_[r].gpu.size(); ++t) {
        if (ranks_[r].gpu[t].communication && ranks_[r].gpu[t].call != kNoIndex) tasks.push_back(t);
      }
      std::stable_sort(tasks.begin(), tasks.end(), [&](std::uint32_t a, std::uint32_t b) {
        return ranks_[r].calls[ranks_[r].gpu[a].call].start <
               ranks_[r].calls[ranks_[r].gpu[b].call].start;
      });
      for (const std::uint32_t t : tasks) {
        std::vector<Queue>& queues = groups[group_key(set_, ranks_[r], t)];
        if (queues.empty() || queues.back().rank != r) queues.push_back({r, {}});
        queues.back().tasks.push_back(t);
      }
    }
    return groups;
  }

  void match_group(const std::string& key, std::vector<Queue>& queues) {
    if (queues.size() < 2) {
      if (ranks_.size() > 1) unmatched(key, queues[0].rank, queues[0].tasks);
      return;
    }
    if (same_sequence(queues)) {
      for (std::size_t i = 0; i < queues[0].tasks.size(); ++i) {
        std::vector<CollectiveMember> members;
        for (const Queue& q : queues) members.push_back({q.rank, q.tasks[i], 0, {}});
        add(std::move(members));
      }
    } else if (has_sequence_numbers(queues)) {
      match_by_number(key, queues);
    } else {
      match_by_time(key, queues);
    }
  }

  bool same_sequence(const std::vector<Queue>& queues) const {
    const Queue& first = queues[0];
    for (const Queue& q : queues) {
      if (q.tasks.size() != first.tasks.size()) return false;
    }
    for (std::size_t i = 0; i < first.tasks.size(); ++i) {
      const std::string name = operation_name(set_, ranks_[first.rank], first.tasks[i]);
      const CollectiveDetail* detail = detail_of(ranks_[first.rank], first.tasks[i]);
      for (const Queue& q : queues) {
        const std::string other = operation_name(set_, ranks_[q.rank], q.tasks[i]);
        if (other != name && !peer_names(name, other)) return false;
        const CollectiveDetail* other_detail = detail_of(ranks_[q.rank], q.tasks[i]);
        if (detail && other_detail && detail->sequence != other_detail->sequence) return false;
      }
    }
    return true;
  }

  /// A send on one rank is the receive of another.
  static bool peer_names(std::string_view a, std::string_view b) {
    const auto is = [](std::string_view s, std::string_view part) {
      return s.find(part) != std::string_view::npos;
    };
    return (is(a, "send") && is(b, "recv")) || (is(a, "recv") && is(b, "send"));
  }

  bool has_sequence_numbers(const std::vector<Queue>& queues) const {
    for (const Queue& q : queues) {
      for (const std::uint32_t t : q.tasks) {
        const CollectiveDetail* detail = detail_of(ranks_[q.rank], t);
        if (!detail || detail->sequence == kNoId) return false;
      }
    }
    return true;
  }

  void match_by_number(const std::string& key, const std::vector<Queue>& queues) {
    std::map<std::pair<std::int64_t, std::uint32_t>, std::vector<CollectiveMember>> by_number;
    for (const Queue& q : queues) {
      std::map<std::int64_t, std::uint32_t> repeat;  // a coalesced operation has several kernels
      for (const std::uint32_t t : q.tasks) {
        const std::int64_t number = detail_of(ranks_[q.rank], t)->sequence;
        by_number[{number, repeat[number]++}].push_back({q.rank, t, 0, {}});
      }
    }
    for (auto& [number, members] : by_number) {
      if (members.size() > 1) {
        add(std::move(members));
      } else {
        unmatched(key, members[0].rank, {members[0].task});
      }
    }
  }

  /// Merges the queues by time: heads that all overlap are one collective; otherwise the head that
  /// ended first has no partner.
  void match_by_time(const std::string& key, const std::vector<Queue>& queues) {
    std::vector<std::size_t> head(queues.size(), 0);
    const auto live = [&] {
      for (std::size_t q = 0; q < queues.size(); ++q) {
        if (head[q] == queues[q].tasks.size()) return false;
      }
      return true;
    };
    while (live()) {
      Time latest_start = Time::min();
      Time earliest_end = Time::max();
      std::size_t earliest = 0;
      for (std::size_t q = 0; q < queues.size(); ++q) {
        const GpuTask& t = task(queues[q].rank, queues[q].tasks[head[q]]);
        latest_start = std::max(latest_start, t.start);
        if (t.end < earliest_end) {
          earliest_end = t.end;
          earliest = q;
        }
      }
      if (latest_start <= earliest_end + kClockSlack) {
        std::vector<CollectiveMember> members;
        for (std::size_t q = 0; q < queues.size(); ++q) {
          members.push_back({queues[q].rank, queues[q].tasks[head[q]++], 0, {}});
        }
        add(std::move(members));
      } else {
        unmatched(key, queues[earliest].rank, {queues[earliest].tasks[head[earliest]++]});
      }
    }
    for (std::size_t q = 0; q < queues.size(); ++q) {
      unmatched(
          key, queues[q].rank,
          {queues[q].tasks.begin() + static_cast<std::ptrdiff_t>(head[q]), queues[q].tasks.end()});
    }
  }

  void add(std::vector<CollectiveMember> members) {
    Collective c;
    const CollectiveMember& m = members[0];
    const RankModel& rank = ranks_[m.rank];
    c.name = rank.trace->events.name[rank.gpu[m.task].row];
    if (const CollectiveDetail* detail = detail_of(rank, m.task)) {
      if (detail->name != 0) c.name = detail->name;
      c.group = detail->group_desc != 0 ? detail->group_desc : detail->group_name;
      c.bytes = std::max(detail->in_elements, detail->out_elements) *
                element_bytes(set_.strings[detail->dtype]);
    }
    c.members = std::move(members);
    found_.push_back(std::move(c));
  }

  static std::int64_t element_bytes(std::string_view dtype) {
    const auto is = [&](std::string_view part) {
      return dtype.find(part) != std::string_view::npos;
    };
    if (is("Double") || is("Long") || is("64")) return 8;
    if (is("BFloat16") || is("Half") || is("Short") || is("16")) return 2;
    if (is("Float8") || is("Byte") || is("Char") || is("Bool") || is("8")) return 1;
    return is("Float") || is("Int") || is("32") ? 4 : 0;
  }

  void unmatched(const std::string& key, std::uint32_t rank,
                 const std::vector<std::uint32_t>& tasks) {
    if (tasks.empty()) return;
    anomalies_.add(
        "collective_without_partners",
        [&] {
          return fmt::format("rank {}: {} at {:.6f} s, group {}", ranks_[rank].rank,
                             operation_name(set_, ranks_[rank], tasks[0]),
                             task(rank, tasks[0]).start.seconds(), key.empty() ? "?" : key);
        },
        tasks.size());
  }

  const TraceSet& set_;
  std::vector<RankModel>& ranks_;
  Anomalies& anomalies_;
  std::vector<Collective> found_;
};

}  // namespace

bool Collective::rendezvous() const {
  return std::all_of(members.begin(), members.end(),
                     [&](const CollectiveMember& m) { return m.contributors == members.size(); });
}

std::vector<Collective> match_collectives(const TraceSet& set, std::vector<RankModel>& ranks,
                                          Anomalies& anomalies) {
  return Matcher(set, ranks, anomalies).run();
}

void update_arrivals(const std::vector<RankModel>& ranks, std::vector<Collective>& collectives) {
  const auto start = [&](const CollectiveMember& m) { return ranks[m.rank].gpu[m.task].start; };
  for (Collective& c : collectives) {
    std::sort(c.members.begin(), c.members.end(),
              [&](const CollectiveMember& a, const CollectiveMember& b) {
                return std::pair(start(a), a.rank) < std::pair(start(b), b.rank);
              });
    for (std::uint32_t i = 0; i < c.members.size(); ++i) {
      CollectiveMember& m = c.members[i];
      const Time end = ranks[m.rank].gpu[m.task].end;
      m.contributors = i + 1;
      while (m.contributors < c.members.size() && start(c.members[m.contributors]) <= end)
        ++m.contributors;
      m.latest_arrival = start(c.members[m.contributors - 1]);
    }
  }
}

namespace {

/// Whether every member's result needs every member's input.
bool needs_all(std::optional<CollectiveOp> op) {
  if (!op) return false;
  switch (*op) {
    case CollectiveOp::kAllReduce:
    case CollectiveOp::kAllGather:
    case CollectiveOp::kReduceScatter:
    case CollectiveOp::kAllToAll:
    case CollectiveOp::kBarrier:
      return true;
    default:
      return false;
  }
}

}  // namespace

void settle_contributors(const TraceSet& set, const std::vector<RankModel>& ranks, Time tolerance,
                         std::vector<Collective>& collectives) {
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::int64_t, std::uint32_t>;
  std::set<Key> early;  // members that left alone
  const auto key = [](const Collective& c, const CollectiveMember& m) {
    return Key{c.name, c.group, c.bytes, m.rank};
  };
  const auto start = [&](const CollectiveMember& m) { return ranks[m.rank].gpu[m.task].start; };
  for (Collective& c : collectives) {
    if (c.rendezvous()) continue;
    const bool all = needs_all(operation_of(set.strings[c.name]));
    const Time last = start(c.members.back());
    for (CollectiveMember& m : c.members) {
      if (m.contributors == c.members.size()) continue;
      if (all || last - ranks[m.rank].gpu[m.task].end <= tolerance) {
        m.contributors = static_cast<std::uint32_t>(c.members.size());
        m.latest_arrival = last;
      } else if (c.members.size() == 2) {
        early.insert(key(c, m));
      }
    }
  }
  if (early.empty()) return;
  for (Collective& c : collectives) {
    for (CollectiveMember& m : c.members) {
      if (c.members.size() != 2 || !early.contains(key(c, m))) continue;
      m.contributors = 1;
      m.latest_arrival = start(m);
    }
  }
}

}  // namespace flopcast::replaying
