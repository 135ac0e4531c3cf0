// vLLM's rules written a second time as plainly as they can be: blocks with numbers, a queue of free ones, a table of
// hashes, every request touched in every iteration. The engine must agree with it to the byte.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>
#include <list>
#include <map>
#include <optional>

#include "serving/replica/testing.h"

namespace flopcast::serving {
namespace {

using testing::LinearPricing;
using testing::plain_settings;
using testing::terms_of;

struct Asked {
  std::int64_t at = 0, input = 1, output = 1;
  std::vector<std::uint64_t> prefix;
  std::int64_t prefix_block = 0;
};

struct Seen {
  std::vector<ReplicaEvent> events;
  std::vector<std::int64_t> used;  // blocks, at the begin of every iteration
  std::vector<std::int64_t> begins;
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    std::size_t next = 0;
    for (std::size_t i = 0; i < begins.size(); ++i) {
      for (; next < events.size() && events[next].at.ps < begins[i]; ++next)
        lines.push_back(testing::shown(events[next]));
      lines.push_back(fmt::format("iteration {} with {} blocks", begins[i], used[i]));
    }
    for (; next < events.size(); ++next) lines.push_back(testing::shown(events[next]));
    return lines;
  }
};

// vllm/v1/core/block_pool.py and single_type_kv_cache_manager.py.
class PlainBlocks {
 public:
  PlainBlocks(std::int64_t count, bool caching) : caching_(caching), blocks_(count) {
    for (std::int64_t i = 0; i < count; ++i) free_.push_back(i);
  }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t used() const { return static_cast<std::int64_t>(blocks_.size()) - free(); }
  bool holders(std::int64_t block) const { return blocks_[block].holders > 0; }
  std::optional<std::int64_t> find(const std::string& hash) const {
    const auto at = cached_.find(hash);
    if (!caching_ || at == cached_.end()) return std::nullopt;
    return at->second;
  }
  void touch(std::int64_t block) {
    if (blocks_[block].holders++ == 0) free_.remove(block);
  }
  std::int64_t take() {
    const std::int64_t block = free_.front();
    free_.pop_front();
    auto& state = blocks_[block];
    if (auto at = cached_.find(state.hash); at != cached_.end() && at->second == block)
      cached_.erase(at);
    state = {.holders = 1, .hash = {}};
    return block;
  }
  void cache(std::int64_t block, const std::string& hash) {
    if (!caching_ || !blocks_[block].hash.empty()) return;
    blocks_[block].hash = hash;
    cached_.emplace(hash, block);
  }
  void release(const std::vector<std::int64_t>& blocks) {
    for (auto at = blocks.rbegin(); at != blocks.rend(); ++at)
      if (--blocks_[*at].holders == 0) free_.push_back(*at);
  }

 private:
  struct Block {
    int holders = 0;
    std::string hash;
  };
  bool caching_;
  std::vector<Block> blocks_;
  std::list<std::int64_t> free_;
  std::map<std::string, std::int64_t> cached_;
};

// vllm/v1/core/sched/scheduler.py.
class PlainVllm {
 public:
  PlainVllm(const EngineSettings& settings, std::int64_t blocks, const std::vector<Asked>& asked)
      : settings_(settings), blocks_(blocks, settings.prefix_cache) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      requests_.emplace_back();
      requests_.back().id = static_cast<std::uint32_t>(i);
      requests_.back().asked = asked[i];
    }
  }
  Seen run(const LinearPricing& pricing) {
    std::int64_t now = 0;
    std::size_t arrived = 0;
    for (;;) {
      while (arrived < requests_.size() && requests_[arrived].asked.at <= now)
        waiting_.push_back(&requests_[arrived++]);
      if (waiting_.empty() && running_.empty()) {
        if (arrived == requests_.size()) return seen_;
        now = requests_[arrived].asked.at;
        continue;
      }
      now = iterate(now, pricing);
    }
  }

 private:
  struct Request {
    std::uint32_t id = 0;
    Asked asked;
    std::int64_t made = 0, computed = 0, planned = 0;
    std::vector<std::int64_t> blocks;
    bool begun = false;
    bool prompt = true;  // until it is computed, again after a preemption
    std::int64_t tokens() const { return asked.input + made; }
  };
  std::string hash(const Request& request, std::int64_t block) const {
    const std::int64_t end = (block + 1) * settings_.block;
    const auto& prefix = request.asked.prefix;
    const std::int64_t known = std::min(
        static_cast<std::int64_t>(prefix.size()) * request.asked.prefix_block, request.asked.input);
    if (end <= known)
      return fmt::format("p{}.{}", prefix[(end - 1) / request.asked.prefix_block], block);
    return fmt::format("r{}.{}", request.id, block);
  }
  // kv_cache_manager.py, allocate_slots.
  bool allocate(Request& request, std::int64_t tokens,
                const std::vector<std::int64_t>& found = {}) {
    const std::int64_t have = static_cast<std::int64_t>(request.blocks.size() + found.size());
    const std::int64_t need = (tokens + settings_.block - 1) / settings_.block - have;
    std::int64_t idle = 0;
    for (const std::int64_t block : found) idle += blocks_.holders(block) ? 0 : 1;
    if (need > blocks_.free() - idle) return false;
    for (const std::int64_t block : found) blocks_.touch(block), request.blocks.push_back(block);
    for (std::int64_t i = 0; i < need; ++i) request.blocks.push_back(blocks_.take());
    for (std::int64_t i = 0; i < tokens / settings_.block; ++i)
      blocks_.cache(request.blocks[i], hash(request, i));
    return true;
  }
  void preempt(std::int64_t now) {
    Request& last = *running_.back();
    running_.pop_back();
    blocks_.release(last.blocks);
    last.blocks.clear();
    last.computed = 0;
    last.planned = 0;
    waiting_.push_front(&last);
    seen_.events.push_back({{now}, last.id, ReplicaEventKind::kPreempted});
  }
  std::int64_t iterate(std::int64_t now, const LinearPricing& pricing) {
    std::int64_t budget = settings_.batch_tokens;
    bool preempted = false;
    for (Request* request : running_) request->planned = 0;
    for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
      Request& request = *running_[i];
      std::int64_t tokens = request.tokens() - request.computed;
      if (settings_.chunk_threshold > 0) tokens = std::min(tokens, settings_.chunk_threshold);
      tokens = std::min(tokens, budget);
      bool placed = false;
      while (!(placed = allocate(request, request.computed + tokens))) {
        const bool itself = running_.back() == &request;
        preempt(now);
        preempted = true;
        if (itself) break;
      }
      if (!placed) break;
      request.planned = tokens;
      budget -= tokens;
    }
    while (!preempted && !waiting_.empty() && budget > 0 &&
           static_cast<std::int64_t>(running_.size()) < settings_.max_requests)
      if (!admit(now, budget)) break;
    return finish(now, pricing);
  }
  bool admit(std::int64_t now, std::int64_t& budget) {
    Request& request = *waiting_.front();
    std::vector<std::int64_t> found;
    for (std::int64_t i = 0; i < (request.tokens() - 1) / settings_.block; ++i) {
      const auto block = blocks_.find(hash(request, i));
      if (!block) break;
      found.push_back(*block);
    }
    const std::int64_t known = static_cast<std::int64_t>(found.size()) * settings_.block;
    std::int64_t tokens = request.tokens() - known;
    if (settings_.chunk_threshold > 0) tokens = std::min(tokens, settings_.chunk_threshold);
    if (!settings_.chunked_prefill && tokens > budget) return false;
    tokens = std::min(tokens, budget);
    // scheduler_reserve_full_isl.
    std::int64_t idle = 0;
    for (const std::int64_t block : found) idle += blocks_.holders(block) ? 0 : 1;
    const std::int64_t all = (request.tokens() + settings_.block - 1) / settings_.block;
    if (all - static_cast<std::int64_t>(found.size()) > blocks_.free() - idle) return false;
    if (!allocate(request, known + tokens, found)) return false;
    waiting_.pop_front();
    running_.push_back(&request);
    if (!request.begun) seen_.events.push_back({{now}, request.id, ReplicaEventKind::kScheduled});
    request.begun = true;
    request.prompt = true;
    request.computed = known;
    request.planned = tokens;
    budget -= tokens;
    return true;
  }
  std::int64_t finish(std::int64_t now, const LinearPricing& pricing) {
    RankLoad load;
    for (const Request* request : running_) {
      if (request->planned == 0) continue;
      if (is_decode(*request)) {
        ++load.decodes;
        load.context += request->tokens();
        continue;
      }
      ++load.prefills;
      load.prefill_tokens += request->planned;
      load.prefill_pairs += request->planned * (2 * request->computed + request->planned + 1);
      load.prefill_context += request->computed;
      load.sampled += request->computed + request->planned == request->tokens();
    }
    seen_.begins.push_back(now);
    seen_.used.push_back(blocks_.used());
    now += pricing.time(std::span(&load, 1)).ps;
    std::vector<Request*> left, prompts;
    for (Request* request : running_) {
      const bool prompt = request->planned > 0 && !is_decode(*request);
      request->computed += request->planned;
      if (request->planned == 0 || request->computed < request->tokens()) {
        left.push_back(request);
        continue;
      }
      if (prompt) {
        prompts.push_back(request);
        request->prompt = false;
        left.push_back(request);
        continue;
      }
      ++request->made;
      if (request->made < request->asked.output) {
        left.push_back(request);
        continue;
      }
      seen_.events.push_back({{now}, request->id, ReplicaEventKind::kDone});
      blocks_.release(request->blocks);
    }
    for (Request* request : prompts) {
      if (++request->made == 1)
        seen_.events.push_back({{now}, request->id, ReplicaEventKind::kFirstToken});
      if (request->made < request->asked.output) continue;
      seen_.events.push_back({{now}, request->id, ReplicaEventKind::kDone});
      blocks_.release(request->blocks);
      std::erase(left, request);
    }
    running_ = left;
    return now;
  }
  static bool is_decode(const Request& request) { return !request.prompt && request.planned > 0; }

  EngineSettings settings_;
  PlainBlocks blocks_;
  std::deque<Request> requests_;
  std::deque<Request*> waiting_;
  std::vector<Request*> running_;
  Seen seen_;
};

Seen engine_run(const EngineSettings& settings, std::int64_t blocks,
                const std::vector<Asked>& asked, const LinearPricing& pricing) {
  Engine<LinearPricing> engine(pricing, terms_of(settings, blocks),
                               {.leap = false, .record_samples = true});
  Seen seen;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Asked& one = asked[i];
    ReplicaRequest request{.id = static_cast<std::uint32_t>(i),
                           .input = one.input,
                           .output = one.output,
                           .prefix = one.prefix,
                           .prefix_block = one.prefix_block};
    EXPECT_FALSE(engine.submit(request, {one.at}));
  }
  engine.advance(Time::max(), seen.events);
  for (const IterationSample& sample : engine.samples()) {
    seen.begins.push_back(sample.begin.ps);
    seen.used.push_back(sample.blocks_used);
  }
  EXPECT_EQ(engine.blocks_used(), 0);
  EXPECT_EQ(engine.outstanding_tokens(), 0);
  return seen;
}

std::vector<Asked> random_requests(const EngineSettings& settings, std::int64_t blocks,
                                   bool prefixes) {
  std::vector<Asked> asked;
  const std::int64_t room = blocks * settings.block;
  const int count = *rc::gen::inRange(1, 25);
  std::int64_t at = 0;
  for (int i = 0; i < count; ++i) {
    Asked one;
    at += *rc::gen::element(0, 0, 1, 500'000, 3'000'000);
    one.at = at;
    one.input = *rc::gen::inRange<std::int64_t>(1, std::max<std::int64_t>(2, room * 2 / 3));
    one.output = *rc::gen::inRange<std::int64_t>(
        1, std::max<std::int64_t>(2, std::min<std::int64_t>(40, room - one.input)));
    if (prefixes && *rc::gen::arbitrary<bool>()) {
      // Two documents, which may be gone on with in two ways.
      one.prefix_block = 8;
      const std::uint64_t document = *rc::gen::inRange<std::uint64_t>(1, 3);
      const std::int64_t shared = *rc::gen::inRange<std::int64_t>(1, 6);
      for (std::int64_t j = 0; j < std::min(shared, one.input / one.prefix_block); ++j)
        one.prefix.push_back(document * 100 + static_cast<std::uint64_t>(j));
      // A last token that nobody else has, so that no prompt is known whole.
      if (one.input % one.prefix_block == 0) ++one.input;
    }
    asked.push_back(one);
  }
  return asked;
}

EngineSettings random_settings() {
  EngineSettings settings = plain_settings(ServingEngine::kVllm);
  settings.batch_tokens = *rc::gen::element(8, 20, 64, 500);
  settings.max_requests = *rc::gen::element(1, 3, 8);
  settings.block = *rc::gen::element(1, 4);
  return settings;
}

std::string asked_text(const EngineSettings& settings, std::int64_t blocks,
                       const std::vector<Asked>& asked) {
  std::string text = fmt::format("{} blocks of {}, budget {}, most {}\n", blocks, settings.block,
                                 settings.batch_tokens, settings.max_requests);
  for (const Asked& one : asked)
    text += fmt::format("at {}: {} + {}, prefix {}\n", one.at, one.input, one.output, one.prefix);
  return text;
}

RC_GTEST_PROP(VllmOracle, EveryIterationIsThatOfTheRulesWrittenPlainly, ()) {
  const EngineSettings settings = random_settings();
  const std::int64_t blocks = *rc::gen::element(12, 30, 200) * 4 / settings.block;
  const auto asked = random_requests(settings, blocks, false);
  const LinearPricing pricing;
  const Seen plain = PlainVllm(settings, blocks, asked).run(pricing);
  const Seen seen = engine_run(settings, blocks, asked, pricing);
  const std::string found = testing::difference(seen.lines(), plain.lines());
  if (!found.empty()) RC_FAIL(asked_text(settings, blocks, asked) + found);
}

RC_GTEST_PROP(VllmOracle, PrefixesAreFoundAndForgottenAsBlocksWithNumbersAre, ()) {
  EngineSettings settings = random_settings();
  settings.prefix_cache = true;
  const std::int64_t blocks = *rc::gen::element(12, 30, 200) * 4 / settings.block;
  const auto asked = random_requests(settings, blocks, true);
  const LinearPricing pricing;
  const Seen plain = PlainVllm(settings, blocks, asked).run(pricing);
  const Seen seen = engine_run(settings, blocks, asked, pricing);
  const std::string found = testing::difference(seen.lines(), plain.lines());
  if (!found.empty()) RC_FAIL(asked_text(settings, blocks, asked) + found);
}

}  // namespace
}  // namespace flopcast::serving
