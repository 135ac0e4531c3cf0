// Timelines of vLLM's rules made by hand; every iteration takes 10. See schedule/vllm.cc for the engine's files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving/replica/testing.h"

namespace flopcast::serving {
namespace {

using ::testing::ElementsAre;
using testing::plain_settings;
using testing::terms_of;
using testing::timeline;

EngineSettings vllm_settings() { return plain_settings(ServingEngine::kVllm); }

// scheduler.py, schedule: the budget is shared, the last prompt is cut to fill it, what runs goes first.
TEST(VllmRules, TheLastPromptFillsTheBudget) {
  EngineSettings settings = vllm_settings();
  settings.batch_tokens = 10;
  EXPECT_THAT(
      timeline(terms_of(settings, 100), {{.input = 6, .output = 2}, {.input = 8, .output = 2}})
          .events,
      ElementsAre("0 scheduled 0", "0 scheduled 1", "10 first 0", "20 done 0", "20 first 1",
                  "30 done 1"));
}

// The same without chunked prefill: what does not fit whole waits.
TEST(VllmRules, WholePromptsWaitForRoom) {
  EngineSettings settings = vllm_settings();
  settings.batch_tokens = 10;
  settings.chunked_prefill = false;
  EXPECT_THAT(
      timeline(terms_of(settings, 100), {{.input = 6, .output = 2}, {.input = 8, .output = 2}})
          .events,
      ElementsAre("0 scheduled 0", "10 first 0", "10 scheduled 1", "20 done 0", "20 first 1",
                  "30 done 1"));
}

// long_prefill_token_threshold cuts a prompt although there is budget.
TEST(VllmRules, LongPromptsAreCutAtTheThreshold) {
  EngineSettings settings = vllm_settings();
  settings.chunk_threshold = 4;
  EXPECT_THAT(
      timeline(terms_of(settings, 100), {{.input = 10, .output = 1}, {.input = 3, .output = 1}})
          .events,
      ElementsAre("0 scheduled 0", "0 scheduled 1", "10 first 1", "10 done 1", "30 first 0",
                  "30 done 0"));
}

// schedule: out of blocks, the last of the running goes to the head of the queue and is computed again; nobody is
// begun in that iteration, and nobody overtakes it (request 2).
TEST(VllmRules, TheLastBegunIsPreempted) {
  const auto run = timeline(
      terms_of(vllm_settings(), 4),
      {{.input = 7, .output = 6}, {.input = 7, .output = 4}, {.at = 15, .input = 1, .output = 1}});
  EXPECT_THAT(run.events, ElementsAre("0 scheduled 0", "0 scheduled 1", "10 first 0", "10 first 1",
                                      "20 preempted 1", "60 done 0", "60 scheduled 2", "70 first 2",
                                      "70 done 2", "80 done 1"));
  EXPECT_EQ(run.counts.preemptions, 1);
  EXPECT_EQ(run.counts.prefill_tokens, 7 + 7 + 9 + 1);
}

// scheduler_reserve_full_isl: the first piece of request 1 would fit, its whole prompt does not.
TEST(VllmRules, WholePromptsNeedFreeBlocks) {
  EngineSettings settings = vllm_settings();
  settings.batch_tokens = 10;
  EXPECT_THAT(
      timeline(terms_of(settings, 4), {{.input = 6, .output = 2}, {.input = 12, .output = 1}})
          .events,
      ElementsAre("0 scheduled 0", "10 first 0", "20 done 0", "20 scheduled 1", "40 first 1",
                  "40 done 1"));
}

// Gaps between tokens: request 0 has five of 10; request 1 one of 10, one of 50 over its preemption, one of 10.
TEST(VllmRules, PreemptionIsALongGap) {
  const auto run = timeline(terms_of(vllm_settings(), 4),
                            {{.input = 7, .output = 6}, {.input = 7, .output = 4}});
  EXPECT_EQ(run.gaps.count(), 8);
  EXPECT_EQ(run.gaps.max(), Time{50});
  EXPECT_DOUBLE_EQ(run.gaps.mean().value, 15e-12);
}

// kv_cache_manager.py, get_computed_blocks: whole blocks, and the last token is always computed.
TEST(VllmRules, PrefixesAreFoundInWholeBlocks) {
  EngineSettings settings = vllm_settings();
  settings.prefix_cache = true;
  const auto run =
      timeline(terms_of(settings, 100), {{.input = 8, .output = 1, .prefix = {1, 2}},
                                         {.at = 100, .input = 8, .output = 1, .prefix = {1, 2}}});
  EXPECT_EQ(run.counts.prefix_tokens, 4);
  EXPECT_EQ(run.counts.prefill_tokens, 8 + 4);
}

// block_pool.py: blocks that nobody holds are written over from the least recently freed, a prompt's last ones first.
TEST(VllmRules, TheTailOfAPrefixIsForgottenFirst) {
  EngineSettings settings = vllm_settings();
  settings.prefix_cache = true;
  const auto run =
      timeline(terms_of(settings, 4), {{.input = 13, .output = 1, .prefix = {1, 2, 3}},
                                       {.at = 100, .input = 5, .output = 1},
                                       {.at = 200, .input = 13, .output = 1, .prefix = {1, 2, 3}}});
  // The 5 tokens took the free block and the prompt's third.
  EXPECT_EQ(run.counts.prefix_tokens, 8);
}

// vllm/v1/engine/core.py, step_with_batch_queue: an iteration is planned when the one before begins.
TEST(VllmRules, AsyncSchedulingSeesRequestsAnIterationLater) {
  EngineSettings settings = vllm_settings();
  const std::vector<testing::Sent> sent = {{.input = 4, .output = 5},
                                           {.at = 12, .input = 4, .output = 1}};
  EXPECT_THAT(timeline(terms_of(settings, 100), sent).events,
              ElementsAre("0 scheduled 0", "10 first 0", "20 scheduled 1", "30 first 1",
                          "30 done 1", "50 done 0"));
  settings.overlap = true;
  EXPECT_THAT(timeline(terms_of(settings, 100), sent).events,
              ElementsAre("0 scheduled 0", "10 first 0", "30 scheduled 1", "40 first 1",
                          "40 done 1", "50 done 0"));
}

// max_num_seqs, and with async scheduling a place that is known to be free an iteration later.
TEST(VllmRules, PlacesAreLimited) {
  EngineSettings settings = vllm_settings();
  settings.max_requests = 1;
  const std::vector<testing::Sent> sent = {{.input = 4, .output = 2}, {.input = 4, .output = 1}};
  EXPECT_THAT(timeline(terms_of(settings, 100), sent).events,
              ElementsAre("0 scheduled 0", "10 first 0", "20 done 0", "20 scheduled 1",
                          "30 first 1", "30 done 1"));
}

// A request whose keys and values come from another pool decodes at once; its first token was made there.
TEST(VllmRules, ComputedPromptsDecodeAtOnce) {
  EXPECT_THAT(
      timeline(terms_of(vllm_settings(), 100), {{.input = 5, .output = 3, .ready = 5}}).events,
      ElementsAre("0 scheduled 0", "10 first 0", "20 done 0"));
}

// With 1.5 tokens a step: 1, 3, 4, 6 after 1 to 4 steps.
TEST(VllmRules, DraftsBringTokensInAStep) {
  EngineSettings settings = vllm_settings();
  settings.speculation = {Speculation::Kind::kMtp, 1, 1.5};
  EXPECT_THAT(timeline(terms_of(settings, 100), {{.input = 4, .output = 7}}).events,
              ElementsAre("0 scheduled 0", "10 first 0", "50 done 0"));
}

// Two stages of 10 each: a batch is back after 20, another follows it after 10.
TEST(VllmRules, BatchesFollowEachOtherThroughAPipeline) {
  EngineSettings settings = vllm_settings();
  settings.batch_tokens = 4;
  EXPECT_THAT(timeline(terms_of(settings, 100, 1, 0, 2),
                       {{.input = 4, .output = 3}, {.input = 4, .output = 3}})
                  .events,
              ElementsAre("0 scheduled 0", "10 scheduled 1", "20 first 0", "30 first 1",
                          "60 done 0", "70 done 1"));
}

// vllm/v1/engine/core_client.py: the rank with least 4 x waiting + running.
TEST(VllmRules, RequestsGoToTheLeastLoadedRank) {
  EngineSettings settings = vllm_settings();
  settings.max_requests = 1;
  EXPECT_THAT(
      timeline(terms_of(settings, 100, 2), {{.input = 4, .output = 1}, {.input = 4, .output = 1}})
          .events,
      ElementsAre("0 scheduled 0", "0 scheduled 1", "10 first 0", "10 done 0", "10 first 1",
                  "10 done 1"));
}

TEST(VllmRules, WhatNeverFitsIsRefused) {
  const testing::LinearPricing pricing;
  Engine<testing::LinearPricing> engine(pricing, terms_of(vllm_settings(), 4), {});
  const auto refused = engine.submit({.id = 7, .input = 10, .output = 7}, {});
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, ErrorCode::kTooLarge);
  EXPECT_EQ(refused->what, "needs keys and values of 17 tokens, where a rank has room for 16");
  EXPECT_FALSE(engine.submit({.id = 7, .input = 10, .output = 6}, {}));
  EXPECT_EQ(engine.waiting(), 1);
  EXPECT_EQ(engine.outstanding_tokens(), 16);
  engine.cancel(7);
  EXPECT_EQ(engine.waiting(), 0);
  EXPECT_EQ(engine.next(), Time::max());
}

}  // namespace
}  // namespace flopcast::serving
