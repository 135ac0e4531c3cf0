// Leaping over quiet stretches gives what stepping gives, bit for bit.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "serving/replica/testing.h"

namespace flopcast::serving {
namespace {

using testing::LinearPricing;
using testing::plain_settings;
using testing::terms_of;

// What a client does and sees: requests come one by one, it looks now and then, gives one up.
struct LeapScript {
  struct Act {
    enum class Kind : std::uint8_t { kSubmit, kLook, kCancel } kind = Kind::kSubmit;
    Time at;
    ReplicaRequest request;
  };
  EngineTerms terms;
  LinearPricing pricing;
  std::vector<Act> acts;
};

struct LeapRecord {
  std::vector<std::string> lines;
  std::vector<ReplicaEvent> events;
  void tell() {
    for (const ReplicaEvent& event : events) lines.push_back(testing::shown(event));
    events.clear();
  }
};

template <class Pricing>
void leap_look(const Engine<Pricing>& engine, LeapRecord& record) {
  record.tell();
  const ReplicaCounts& counts = engine.counts();
  record.lines.push_back(fmt::format("{} wait, {} run, {} blocks, {} tokens to go",
                                     engine.waiting(), engine.running(), engine.blocks_used(),
                                     engine.outstanding_tokens()));
  record.lines.push_back(fmt::format("{} prompt tokens, {} found, {} preempted",
                                     counts.prefill_tokens, counts.prefix_tokens,
                                     counts.preemptions));
}

std::vector<std::string> play(const LeapScript& script, bool leap) {
  TokenGaps gaps;
  Engine<LinearPricing> engine(script.pricing, script.terms, {.leap = leap, .gaps = &gaps});
  LeapRecord record;
  for (const LeapScript::Act& act : script.acts) {
    engine.advance(act.at, record.events);
    leap_look(engine, record);
    if (act.kind == LeapScript::Act::Kind::kCancel) engine.cancel(act.request.id);
    if (act.kind == LeapScript::Act::Kind::kSubmit && engine.submit(act.request, act.at))
      record.lines.push_back("refused");
    leap_look(engine, record);
  }
  engine.advance(Time::max(), record.events);
  leap_look(engine, record);
  const ReplicaCounts& counts = engine.counts();
  record.lines.push_back(fmt::format("{} iterations, {} decoded, {} ps", counts.iterations,
                                     counts.decode_tokens, counts.busy.ps));
  record.lines.push_back(fmt::format("{} gaps, the longest {}, of {:.12g} s", gaps.count(),
                                     gaps.max().ps, gaps.mean().value));
  return record.lines;
}

EngineSettings leap_settings(ServingEngine engine) {
  EngineSettings settings = plain_settings(engine);
  settings.batch_tokens = *rc::gen::element(16, 64, 400);
  settings.max_requests = *rc::gen::element(1, 4, 16);
  settings.block = *rc::gen::element(1, 4, 16);
  settings.overlap = *rc::gen::arbitrary<bool>();
  settings.prefix_cache = *rc::gen::arbitrary<bool>();
  settings.chunked_prefill = *rc::gen::element(true, true, false);
  settings.chunk_threshold = *rc::gen::element(0, 0, 10);
  settings.mixed_chunks = *rc::gen::arbitrary<bool>();
  settings.receive_interval = *rc::gen::element(1, 1, 5);
  settings.capacity = *rc::gen::element(CapacityPolicy::kNoEvict, CapacityPolicy::kMaxUtilisation);
  settings.batch_wait_iterations = *rc::gen::element(0, 0, 7);
  settings.batch_wait_ratio = settings.batch_wait_iterations > 0 ? 0.7 : 0.0;
  settings.balance_ranks = *rc::gen::arbitrary<bool>();
  settings.balance_timeout_iterations = *rc::gen::element(0, 3, 20);
  settings.balance_wait_iterations = *rc::gen::element(0, 2);
  if (*rc::gen::inRange(0, 3) == 0) {
    settings.speculation.kind = Speculation::Kind::kMtp;
    settings.speculation.drafts = *rc::gen::inRange(1U, 4U);
    settings.speculation.accepted = 1 + *rc::gen::element(0.0, 0.3, 0.79, 0.5);
  }
  return settings;
}

LeapScript leap_script(ServingEngine engine) {
  LeapScript script;
  const EngineSettings settings = leap_settings(engine);
  const std::int64_t blocks = *rc::gen::element(80, 300, 3000) / settings.block;
  const unsigned ranks = *rc::gen::element(1U, 1U, 3U);
  script.terms = terms_of(settings, blocks, ranks, *rc::gen::element(0, 0, 24),
                          *rc::gen::element(1U, 1U, 1U, 2U));
  script.pricing.longest_run = *rc::gen::element<std::int64_t>(1, 3, 17, 1'000'000);
  script.pricing.context = *rc::gen::element(0, 10, 3000);
  const int count = *rc::gen::inRange(1, 40);
  Time at;
  for (int i = 0; i < count; ++i) {
    at += {*rc::gen::element<std::int64_t>(0, 0, 1'000'000, 1'040'000, 7'000'000, 90'000'000)};
    LeapScript::Act act;
    act.kind = *rc::gen::element(LeapScript::Act::Kind::kSubmit, LeapScript::Act::Kind::kSubmit,
                                 LeapScript::Act::Kind::kSubmit, LeapScript::Act::Kind::kLook,
                                 LeapScript::Act::Kind::kCancel);
    act.at = at;
    act.request.id = act.kind == LeapScript::Act::Kind::kSubmit
                         ? static_cast<std::uint32_t>(i)
                         : *rc::gen::inRange<std::uint32_t>(0, 40);
    act.request.input = *rc::gen::inRange(1, 60);
    act.request.output = *rc::gen::element(1, 2, 30, 100);
    if (*rc::gen::inRange(0, 4) == 0) act.request.ready = act.request.input;
    static const std::uint64_t document[] = {11, 12, 13, 14, 15, 16};
    act.request.prefix = std::span(document, *rc::gen::inRange<std::size_t>(0, 6));
    act.request.prefix_block = 8;
    script.acts.push_back(act);
  }
  return script;
}

std::string settings_text(const LeapScript& script) {
  const EngineSettings& s = script.terms.rank.settings;
  return fmt::format(
      "{} ranks, {} lanes, {} blocks of {}, budget {}, most {}, cap {}, overlap {}, cache {}, cut "
      "{} {}, mixed {}, "
      "receive {}, capacity {}, wait {}, balance {} {} {}, drafts {} {}",
      script.terms.rank.ranks, script.terms.rank.lanes, script.terms.rank.blocks, s.block,
      s.batch_tokens, s.max_requests, script.terms.rank.decodes.cap, s.overlap, s.prefix_cache,
      s.chunked_prefill, s.chunk_threshold, s.mixed_chunks, s.receive_interval,
      static_cast<int>(s.capacity), s.batch_wait_iterations, s.balance_ranks,
      s.balance_wait_iterations, s.balance_timeout_iterations, s.speculation.drafts,
      s.speculation.accepted);
}

void leaps_equal_steps(ServingEngine engine) {
  const LeapScript script = leap_script(engine);
  const std::string found = testing::difference(play(script, true), play(script, false));
  if (!found.empty()) RC_FAIL(settings_text(script) + ": " + found);
}

RC_GTEST_PROP(Leaps, EqualStepsOfVllm, ()) { leaps_equal_steps(ServingEngine::kVllm); }

RC_GTEST_PROP(Leaps, EqualStepsOfSglang, ()) { leaps_equal_steps(ServingEngine::kSglang); }

RC_GTEST_PROP(Leaps, EqualStepsOfTensorRtLlm, ()) {
  leaps_equal_steps(ServingEngine::kTensorRtLlm);
}

TEST(Leaps, AreTaken) {
  const EngineSettings settings = plain_settings(ServingEngine::kVllm);
  const LinearPricing pricing;
  Engine<LinearPricing> engine(pricing, terms_of(settings, 1000),
                               {.leap = true, .record_samples = true});
  ASSERT_FALSE(engine.submit({.id = 1, .input = 10, .output = 500}, {}));
  std::vector<ReplicaEvent> events;
  engine.advance(Time::max(), events);
  EXPECT_EQ(engine.counts().iterations, 500);
  EXPECT_EQ(engine.counts().leaps, 1);
  EXPECT_EQ(engine.samples().size(), 2U);
}

TEST(Leaps, SamplesEndWhereArrivalsCutThem) {
  const EngineSettings settings = plain_settings(ServingEngine::kVllm);
  const LinearPricing pricing;
  Engine<LinearPricing> engine(pricing, terms_of(settings, 1000), {true, true});
  ASSERT_FALSE(engine.submit({.id = 1, .input = 10, .output = 500}, {}));
  std::vector<ReplicaEvent> events;
  engine.advance({}, events);
  const Time first = engine.next();
  engine.advance(first, events);  // the prompt is done, a long run is under way
  const Time middle = first + Time{(engine.next() - first).ps / 3};
  ASSERT_FALSE(engine.submit({.id = 2, .input = 10, .output = 20}, middle));
  // Known before the run that it cuts begins.
  ASSERT_FALSE(engine.submit({.id = 3, .input = 10, .output = 20}, middle + Time{middle.ps / 2}));
  engine.advance(Time::max(), events);
  std::int64_t iterations = 0;
  Time before;
  for (const IterationSample& sample : engine.samples()) {
    EXPECT_GE(sample.begin, before);
    before = sample.end;
    iterations += sample.iterations;
  }
  EXPECT_EQ(iterations, engine.counts().iterations);
  EXPECT_EQ(before, events.back().at);
}

}  // namespace
}  // namespace flopcast::serving
