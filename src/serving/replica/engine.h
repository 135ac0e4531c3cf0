// An engine in time: plans of its ranks, priced and run one after the other on one clock of integers. Quiet stretches,
// in which nothing but decodes happens and the same plan would be made again and again, are run in one leap that ends
// with the exact iteration in which something may change; leaping and stepping give the same bytes.
//
// Pricing is IterationModel, or what a test puts in its place:
//   Time time(std::span<const RankLoad>) const;  LinearRun run(std::span<const RankLoad>) const;
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "flopcast/serving/replica.h"
#include "serving/replica/flight.h"
#include "serving/schedule/rules.h"

namespace flopcast::serving {

/// What an engine is and has, whatever its prices.
struct EngineTerms {
  RankTerms rank;
  std::int64_t longest = 0;  ///< tokens of a prompt and its answer; 0: no limit but blocks
};

/// See flopcast/serving/replica.h, which is this with IterationModel's prices.
template <class Pricing>
class Engine {
 public:
  Engine(const Pricing& pricing, EngineTerms terms, const Replica::Options& options)
      : pricing_(&pricing), terms_(std::move(terms)), options_(options) {
    for (unsigned r = 0; r < terms_.rank.ranks; ++r)
      ranks_.emplace_back(terms_.rank, table_, static_cast<std::uint16_t>(r));
    for (Rank& rank : ranks_) rank.tokens_timed = options_.gaps != nullptr;
    loads_.resize(ranks_.size());
    flights_.resize(terms_.rank.lanes);
    ready_.resize(terms_.rank.lanes);
    stage_free_.resize(terms_.rank.lanes);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::optional<Diagnostic> submit(const ReplicaRequest& request, Time at);
  Time next() const;
  void advance(Time until, std::vector<ReplicaEvent>& events);
  void cancel(std::uint32_t id);

  std::int64_t waiting() const;
  std::int64_t running() const;
  std::int64_t blocks_used() const;
  std::int64_t blocks() const { return terms_.rank.blocks * terms_.rank.ranks; }
  std::int64_t outstanding_tokens() const;
  std::int64_t cached_tokens(std::span<const std::uint64_t> prefix,
                             std::int64_t prefix_block) const;
  const ReplicaCounts& counts() const { return counts_; }
  std::span<const IterationSample> samples() const { return samples_; }

 private:
  const Progress& progress() const { return terms_.rank.decodes.progress; }
  bool overlap() const { return terms_.rank.settings.overlap; }
  std::optional<Diagnostic> refusal(const ReplicaRequest& request) const;
  unsigned rank_of(const ReplicaRequest& request);
  Time begin_of(std::size_t lane) const;
  bool start(std::size_t lane, Time begin, std::vector<ReplicaEvent>& events);
  void make_plans(std::size_t lane, Time horizon);
  bool empty_plans(std::size_t lane) const;
  std::int64_t alike(std::size_t lane);
  void price(std::size_t lane, Time begin);
  void cut(const Rank& rank, Time at, std::int64_t least);
  void release_late();
  void skip_receipts(const Flight& flight, std::int64_t begun);
  std::int64_t receive_interval() const {
    return std::max<std::int64_t>(terms_.rank.settings.receive_interval, 1);
  }
  void split();
  void complete(std::size_t lane, std::vector<ReplicaEvent>& events);
  void count(Lane& lane, const Flight& flight, std::int64_t steps);
  void count_gaps(Lane& lane, const Flight& flight, std::int64_t steps);
  void end_chunks(Rank& rank, Lane& lane, Time at, std::vector<ReplicaEvent>& events);
  void sample(std::size_t lane);

  const Pricing* pricing_;
  EngineTerms terms_;
  Replica::Options options_;
  RequestTable table_;
  std::vector<Rank> ranks_;
  std::vector<RankLoad> loads_;
  std::vector<Flight> flights_;   // by lane
  std::vector<Time> ready_;       // by lane: when its last results came; max: it waits for others
  std::vector<Time> stage_free_;  // by stage
  Time now_ = Time::min();        // the last advance
  Time last_begin_;               // of the last iteration that was begun
  Time last_end_ = Time::min();   // of the last that ended
  Time seen_ = Time::min();       // requests up to then were received
  std::int64_t since_seen_ = 0;   // iterations since
  bool decoded_ = false;          // the last iteration had no prompts
  unsigned next_rank_ = 0;
  ReplicaCounts counts_;
  std::vector<IterationSample> samples_;
};

}  // namespace flopcast::serving

#include "serving/replica/engine_requests.h"
#include "serving/replica/engine_steps.h"
