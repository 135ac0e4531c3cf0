#include "analytic/search/run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>

#include "analytic/search/incumbents.h"

namespace flopcast::analytic::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Found {
  Seconds time;
  Bytes memory;
  std::uint64_t number = 0;
  std::size_t placement = 0;  ///< of Run::placements
};

/// A plan that may win.
struct Candidate {
  double bound = 0, memory = 0;
  std::uint64_t number = 0;
};

/// What one part of the space holds.
struct PartScan {
  std::uint64_t plans = 0, placed = 0, too_big = 0;
  std::uint64_t placed_open = 0;  ///< not found too big
  std::vector<Candidate> candidates;
  double least = kInfinity;            ///< memory of plans that do not fit
  std::vector<std::uint64_t> leanest;  ///< plans with just this memory
};

struct Timed {
  double time = kInfinity;
  std::size_t placement = 0, placements_timed = 0;
};

/// What one thread works with.
class Worker {
 public:
  explicit Worker(const Task& task) : task_(task), scores_(task.make_scores()) {}

  Scores& scores() { return *scores_; }

  /// All that the search looks at, remembered by degrees: nothing else counts for them.
  const std::vector<Placement>& placements_of(const Plan& plan) {
    const std::array degrees = {plan.tp, plan.tp2, plan.cp, plan.dp, plan.pp};
    std::vector<Placement>& placed = placements_[degrees];
    if (placed.empty()) {
      placed = task_.options.placements ? placements(plan, task_.tiers)
                                        : std::vector{default_placement(plan, task_.tiers)};
    }
    return placed;
  }

 private:
  const Task& task_;
  std::unique_ptr<Scores> scores_;
  std::map<std::array<unsigned, kPlanDimensions>, std::vector<Placement>> placements_;
};

/// Hands out workers, one to a thread at a time.
class Pool {
 public:
  explicit Pool(const Task& task) : task_(task) {}

  class Lease {
   public:
    explicit Lease(Pool& pool) : pool_(pool), worker_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give(std::move(worker_)); }
    Worker* operator->() { return worker_.get(); }

   private:
    Pool& pool_;
    std::unique_ptr<Worker> worker_;
  };

 private:
  std::unique_ptr<Worker> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Worker>(task_);
    std::unique_ptr<Worker> worker = std::move(free_.back());
    free_.pop_back();
    return worker;
  }
  void give(std::unique_ptr<Worker> worker) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(worker));
  }

  const Task& task_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> free_;
};

/// Numbers below `count` in an order without pattern, so that first ones are like all.
std::vector<std::size_t> shuffled(std::size_t count) {
  const auto mixed = [](std::uint64_t x) {  // splitmix64
    x = (x + 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  };
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(mixed(a), a) < std::pair(mixed(b), b);
  });
  return order;
}

class Run {
 public:
  explicit Run(const Task& task) : task_(task), pool_(task), incumbents_(task.options.best) {
    const std::vector<std::size_t> all = shuffled(task.space.parts());
    for (std::size_t i = task.options.shard; i < all.size(); i += task.options.shards) {
      parts_.push_back(all[i]);
    }
  }

  PlanSearch search() {
    // Rounds over more and more of the space. What one round finds is all that the next one prunes
    // by, so that what is timed does not depend on threads; a small sample first makes a good guess.
    constexpr std::size_t kSample = 64;
    const std::size_t first = (parts_.size() + kSample - 1) / kSample;
    for (std::size_t begin = 0; begin < parts_.size() && !stopped_;) {
      const std::size_t end = std::min(parts_.size(), begin == 0 ? first : 2 * begin);
      round(begin, end);
      begin = end;
    }
    finish();
    return std::move(result_);
  }

 private:
  void round(std::size_t begin, std::size_t end) {
    std::vector<PartScan> scans(end - begin);
    std::atomic<std::size_t> done = 2 * begin;
    parallel_for(scans.size(), task_.options.threads, [&](std::size_t i) {
      if (stopped_) return;
      scans[i] = scan(parts_[begin + i]);
      report(++done);
    });
    std::vector<Candidate> candidates;
    for (PartScan& one : scans) {
      candidates.insert(candidates.end(), one.candidates.begin(), one.candidates.end());
      count(one);
    }
    time_best(std::move(candidates), incumbents_, [&](double share) {
      report(begin + end + static_cast<std::size_t>(share * static_cast<double>(end - begin)));
    });
  }

  void count(const PartScan& one) {
    result_.plans += one.plans;
    result_.placed += one.placed;
    result_.too_big += one.too_big;
    result_.bounded += one.placed_open;  // less what is timed
    if (one.least < least_) leanest_.clear();
    least_ = std::min(least_, one.least);
    if (one.least == least_) {
      leanest_.insert(leanest_.end(), one.leanest.begin(), one.leanest.end());
    }
  }

  /// Bounds every plan of a part. Reads what earlier rounds found.
  PartScan scan(std::size_t part) {
    Pool::Lease worker(pool_);
    Scores& scores = worker->scores();
    PartScan out;
    std::span<const Placement> placed;
    unsigned placed_pp = 0;
    task_.space.visit(part, [&](const Plan& plan, std::uint64_t number) {
      // Within a part, tp and cp are the same, and dp follows from pp.
      if (plan.pp != placed_pp) placed = worker->placements_of(plan), placed_pp = plan.pp;
      ++out.plans;
      out.placed += placed.size();
      const double at_least = scores.memory_at_least(plan).value;
      const bool possible = at_least <= task_.capacity.value;
      double bound = 0;
      if (possible) {
        out.placed_open += placed.size();
        bound = scores.time_at_least(plan, placed).value;
        if (bound > incumbents_.limit(at_least)) return;
      } else {
        ++out.too_big;
        // The leanest is looked for where nothing fits.
        if (!incumbents_.front().empty() || at_least > out.least) return;
      }
      const double memory = scores.memory(plan).value;
      if (memory > task_.capacity.value) {
        if (possible) out.placed_open -= placed.size();
        keep_leanest(out, memory, number);
        return;
      }
      if (bound <= incumbents_.limit(memory)) out.candidates.push_back({bound, memory, number});
    });
    return out;
  }

  static void keep_leanest(PartScan& out, double memory, std::uint64_t number) {
    if (memory > out.least) return;
    if (memory < out.least) out.leanest.clear();
    out.least = memory;
    out.leanest.push_back(number);
  }

  /// Times candidates from the lowest bound up, in batches that prune by what earlier ones found.
  template <typename Report>
  void time_best(std::vector<Candidate> candidates, Incumbents<Found>& incumbents,
                 const Report& report_share) {
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return std::pair(a.bound, a.number) < std::pair(b.bound, b.number);
    });
    constexpr std::size_t kLeast = 16, kMost = 256;
    std::size_t size = kLeast;
    std::vector<Candidate> batch;
    for (std::size_t next = 0; next < candidates.size() && !stopped_;) {
      batch.clear();
      while (next < candidates.size() && batch.size() < size) {
        const Candidate& one = candidates[next++];
        if (one.bound <= incumbents.limit(one.memory)) batch.push_back(one);
      }
      time_batch(batch, incumbents);
      size = std::min(2 * size, kMost);
      report_share(static_cast<double>(next) / static_cast<double>(candidates.size()));
    }
  }

  void time_batch(const std::vector<Candidate>& batch, Incumbents<Found>& incumbents) {
    std::vector<Timed> timed(batch.size());
    parallel_for(batch.size(), task_.options.threads, [&](std::size_t i) {
      timed[i] = time(batch[i].number, incumbents.limit(batch[i].memory));
    });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (timed[i].placements_timed == 0) continue;
      timed_ += timed[i].placements_timed;
      incumbents.offer(
          {Seconds{timed[i].time}, Bytes{batch[i].memory}, batch[i].number, timed[i].placement});
    }
  }

  /// The plan's fastest placement. Where that takes longer than `limit`, some time above it or none.
  Timed time(std::uint64_t number, double limit) {
    Pool::Lease worker(pool_);
    Scores& scores = worker->scores();
    const Plan plan = task_.space.plan(number);
    const std::vector<Placement>& placed = worker->placements_of(plan);
    std::vector<std::pair<double, std::size_t>> bounds;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      bounds.emplace_back(scores.time_at_least(plan, placed[i]).value, i);
    }
    std::sort(bounds.begin(), bounds.end());
    Timed best;
    for (const auto& [bound, i] : bounds) {
      if (bound > std::min(limit, best.time)) break;
      const double time = scores.time(plan, placed[i]).value;
      ++best.placements_timed;
      if (std::pair(time, i) >= std::pair(best.time, best.placement)) continue;
      best.time = time;
      best.placement = i;
    }
    return best;
  }

  void finish() {
    result_.complete = !stopped_;
    result_.bounded -= timed_;
    result_.timed = timed_;
    for (const Found& found : incumbents_.best()) result_.best.push_back(found_plan(found));
    for (const Found& found : incumbents_.front()) result_.pareto.push_back(found_plan(found));
    if (!result_.pareto.empty()) {
      result_.leanest = result_.pareto.back();
    } else if (!leanest_.empty() && !stopped_) {
      result_.leanest = fastest_of_leanest();
    }
    if (result_.plans == 0) refuse();
  }

  PlanFound found_plan(const Found& found) {
    Plan plan = task_.space.plan(found.number);
    Placement placement = Pool::Lease(pool_)->placements_of(plan)[found.placement];
    return {std::move(plan), std::move(placement), found.time, found.memory, found.number};
  }

  PlanFound fastest_of_leanest() {
    Incumbents<Found> fastest(1);
    std::vector<Candidate> candidates;
    for (const std::uint64_t number : leanest_) candidates.push_back({0, least_, number});
    time_best(std::move(candidates), fastest, [](double) {});
    return found_plan(fastest.best().front());
  }

  void refuse() {
    Refusals refusals;
    const std::optional<std::string> no_parts = task_.space.no_parts();
    if (no_parts && task_.options.shard == 0) refusals.add(*no_parts);
    for (const std::size_t part : parts_) {
      if (!stopped_) task_.space.refusals(part, refusals);
    }
    result_.refused = refusals.list();
  }

  void report(std::size_t done) {
    if (!task_.options.progress) return;
    const std::unique_lock lock(progress_, std::try_to_lock);
    if (lock && !task_.options.progress(done, 2 * parts_.size())) stopped_ = true;
  }

  const Task& task_;
  Pool pool_;
  std::vector<std::size_t> parts_;  ///< of this shard, shuffled
  Incumbents<Found> incumbents_;
  std::uint64_t timed_ = 0;
  double least_ = kInfinity;
  std::vector<std::uint64_t> leanest_;
  std::mutex progress_;
  std::atomic<bool> stopped_ = false;
  PlanSearch result_;
};

}  // namespace

PlanSearch run(const Task& task) { return Run(task).search(); }

}  // namespace flopcast::analytic::search
