// Replicas made for tests: what they do can be worked out by hand.
#pragma once

#include <algorithm>
#include <deque>
#include <set>

#include "serving/fleet/plan.h"

namespace flopcast::serving {

/// Serves one request at a time: `per_prompt_token` for each token of the prompt that it has not seen, which makes the
/// first token, then `per_token` for every other.
class PlainEngine final : public FleetEngine {
 public:
  struct Speed {
    Time per_prompt_token, per_token;
    std::int64_t longest = 1'000'000'000;  ///< tokens of a request
  };
  PlainEngine(Speed speed, TokenGaps* gaps) : speed_(speed), gaps_(gaps) {}

  std::optional<Diagnostic> submit(const ReplicaRequest& request, Time at) override {
    if (request.input + request.output > speed_.longest) {
      return Diagnostic{ErrorCode::kTooLarge, "replica", "too long", "shorten it"};
    }
    Job job{request.id, at, request.output, 0, {}};
    const std::int64_t seen =
        request.ready > 0 ? request.ready : cached_tokens(request.prefix, request.prefix_block);
    const std::int64_t computed = std::max<std::int64_t>(request.input - seen, 0);
    job.prompt = speed_.per_prompt_token.ps * computed;
    job.ready = request.ready > 0;
    counts_.prefill_tokens += computed;
    jobs_.push_back(job);
    hashes_.insert(request.prefix.begin(), request.prefix.end());
    plan();
    return std::nullopt;
  }
  Time next() const override { return coming_.empty() ? Time::max() : coming_.front().at; }
  void advance(Time until, std::vector<ReplicaEvent>& events) override {
    while (!coming_.empty() && coming_.front().at <= until) {
      const ReplicaEvent event = coming_.front();
      coming_.pop_front();
      events.push_back(event);
      if (event.kind != ReplicaEventKind::kDone) continue;
      ++counts_.iterations;
      plan();
    }
  }
  void cancel(std::uint32_t) override {}  // what it serves is told in advance
  std::int64_t cached_tokens(std::span<const std::uint64_t> prefix,
                             std::int64_t prefix_block) const override {
    std::int64_t blocks = 0;
    for (const std::uint64_t hash : prefix) {
      if (!hashes_.contains(hash)) break;
      ++blocks;
    }
    return blocks * prefix_block;
  }
  const ReplicaCounts& counts() const override { return counts_; }
  std::span<const IterationSample> samples() const override { return {}; }

 private:
  struct Job {
    std::uint32_t id;
    Time at;
    std::int64_t output, prompt;
    bool ready;
  };
  void plan() {
    if (!coming_.empty() || jobs_.empty()) return;
    const Job job = jobs_.front();
    jobs_.pop_front();
    const Time begin = std::max(job.at, free_);
    const Time first = begin + Time{job.prompt} + (job.ready ? speed_.per_token : Time{});
    const std::int64_t more = job.output - (job.ready ? 2 : 1);
    coming_.push_back({begin, job.id, ReplicaEventKind::kScheduled});
    coming_.push_back({first, job.id, ReplicaEventKind::kFirstToken});
    free_ = first + Time{speed_.per_token.ps * more};
    coming_.push_back({free_, job.id, ReplicaEventKind::kDone});
    if (gaps_ != nullptr) gaps_->add(speed_.per_token, more);
  }

  Speed speed_;
  TokenGaps* gaps_;
  Time free_;
  std::deque<Job> jobs_;
  std::deque<ReplicaEvent> coming_;
  std::set<std::uint64_t> hashes_;
  ReplicaCounts counts_;
};

inline PoolPlan plain_pool(unsigned replicas, PlainEngine::Speed speed, Time front = {},
                           Time back = {}) {
  return {replicas, front, back,
          [speed](TokenGaps* gaps) { return std::make_unique<PlainEngine>(speed, gaps); }};
}

}  // namespace flopcast::serving
