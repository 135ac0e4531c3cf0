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
  double bound = 0;
  double memory = 0;  ///< as it is counted: at least
  std::uint64_t number = 0;
};

/// Of plans that do not fit, those with the least memory.
struct Leanest {
  double memory = kInfinity;
  std::vector<std::uint64_t> plans;

  void offer(double of_plan, std::uint64_t number) {
    if (of_plan > memory) return;
    if (of_plan < memory) plans.clear();
    memory = of_plan;
    plans.push_back(number);
  }
  void offer(const Leanest& other) {
    for (const std::uint64_t number : other.plans) offer(other.memory, number);
  }
};

/// What one part of the space holds.
struct PartScan {
  std::uint64_t plans = 0, placed = 0, too_big = 0;
  std::uint64_t placed_open = 0;  ///< not found too big
  std::vector<Candidate> candidates;
  Leanest leanest;
};

struct Timed {
  double time = kInfinity, memory = 0;
  std::size_t placement = 0, placements_timed = 0;
  std::size_t too_big = 0;  ///< its placements, where it does not fit after all
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
    time_best(std::move(candidates), task_.capacity.value, incumbents_, [&](double share) {
      report(begin + end + static_cast<std::size_t>(share * static_cast<double>(end - begin)));
    });
  }

  void count(const PartScan& one) {
    result_.plans += one.plans;
    result_.placed += one.placed;
    result_.too_big += one.too_big;
    result_.bounded += one.placed_open;  // less what is timed
    leanest_.offer(one.leanest);
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
      if (at_least > task_.capacity.value) {
        ++out.too_big;
        // The leanest is looked for where nothing fits.
        if (incumbents_.empty()) offer_leanest(scores, plan, number, out.leanest);
        return;
      }
      out.placed_open += placed.size();
      const double bound = scores.time_at_least(plan, placed).value;
      if (bound > incumbents_.limit(at_least)) return;
      // Memory is played when the plan's turn to be timed comes: few are left then.
      const double counted = scores.memory_counted(plan).value;
      if (bound <= incumbents_.limit(counted)) out.candidates.push_back({bound, counted, number});
    });
    return out;
  }

  void offer_leanest(Scores& scores, const Plan& plan, std::uint64_t number, Leanest& leanest) {
    const double least = std::min(leanest.memory, leanest_.memory);
    if (scores.memory_at_least(plan).value > least || scores.memory_counted(plan).value > least) {
      return;
    }
    leanest.offer(scores.memory(plan).value, number);
  }

  /// Times candidates from the lowest bound up, in batches that prune by what earlier ones found.
  template <typename Report>
  void time_best(std::vector<Candidate> candidates, double capacity, Incumbents<Found>& incumbents,
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
      time_batch(batch, capacity, incumbents);
      size = std::min(2 * size, kMost);
      report_share(static_cast<double>(next) / static_cast<double>(candidates.size()));
    }
  }

  void time_batch(const std::vector<Candidate>& batch, double capacity,
                  Incumbents<Found>& incumbents) {
    std::vector<Timed> timed(batch.size());
    parallel_for(batch.size(), task_.options.threads,
                 [&](std::size_t i) { timed[i] = time(batch[i], capacity, incumbents); });
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (timed[i].too_big > 0) {
        result_.bounded -= timed[i].too_big;
        if (incumbents_.empty()) leanest_.offer(timed[i].memory, batch[i].number);
      }
      if (timed[i].placements_timed == 0) continue;
      timed_ += timed[i].placements_timed;
      incumbents.offer(
          {Seconds{timed[i].time}, Bytes{timed[i].memory}, batch[i].number, timed[i].placement});
    }
  }

  /// The plan's fastest placement. Where that is neither among the best nor on the front, some time above
  /// it or none.
  Timed time(const Candidate& one, double capacity, const Incumbents<Found>& incumbents) {
    Pool::Lease worker(pool_);
    Scores& scores = worker->scores();
    const Plan plan = task_.space.plan(one.number);
    const std::vector<Placement>& placed = worker->placements_of(plan);
    Timed best;
    best.memory = one.memory;
    const auto is_too_big = [&] {
      if (best.memory > capacity) best.too_big = placed.size();
      return best.too_big > 0;
    };
    const bool fits_any = !incumbents.empty();
    if (!fits_any) best.memory = scores.memory(plan).value;
    if (is_too_big()) return best;
    std::vector<std::pair<double, std::size_t>> bounds;
    for (std::size_t i = 0; i < placed.size(); ++i) {
      bounds.emplace_back(scores.time_at_least(plan, placed[i]).value, i);
    }
    std::sort(bounds.begin(), bounds.end());
    if (bounds.front().first > incumbents.limit(best.memory)) return best;
    if (fits_any) best.memory = scores.memory(plan).value;
    if (is_too_big()) return best;
    const double limit = incumbents.limit(best.memory);
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
    } else if (!leanest_.plans.empty() && !stopped_) {
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
    for (const std::uint64_t number : leanest_.plans) {
      candidates.push_back({0, leanest_.memory, number});
    }
    time_best(std::move(candidates), kInfinity, fastest, [](double) {});
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
  Leanest leanest_;
  std::mutex progress_;
  std::atomic<bool> stopped_ = false;
  PlanSearch result_;
};

}  // namespace

PlanSearch run(const Task& task) { return Run(task).search(); }

}  // namespace flopcast::analytic::search
