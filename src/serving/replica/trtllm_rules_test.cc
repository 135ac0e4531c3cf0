// Timelines of TensorRT-LLM's rules made by hand; every iteration takes 10. See schedule/trtllm.cc for the engine's
// files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving/replica/testing.h"

namespace flopcast::serving {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::plain_settings;
using testing::terms_of;
using testing::timeline;

EngineSettings trtllm_settings() {
  EngineSettings settings = plain_settings(ServingEngine::kTensorRtLlm);
  settings.chunked_prefill = false;
  return settings;
}

// py_executor.py: contexts run beside all generations.
TEST(TrtllmRules, ContextsRunBesideGenerations) {
  EXPECT_THAT(timeline(terms_of(trtllm_settings(), 100),
                       {{.input = 4, .output = 4}, {.at = 5, .input = 4, .output = 2}})
                  .events,
              ElementsAre("0 scheduled 0", "10 first 0", "10 scheduled 1", "20 first 1",
                          "30 done 1", "40 done 0"));
}

// capacityScheduler.cpp, GuaranteedNoEvictScheduler: 7 blocks, 5 for each of the first two, 2 for the third.
TEST(TrtllmRules, NoEvictKeepsRoomForWholeAnswers) {
  EngineSettings settings = trtllm_settings();
  const std::vector<testing::Sent> sent = {
      {.input = 8, .output = 9}, {.input = 8, .output = 9}, {.input = 4, .output = 4}};
  EXPECT_THAT(
      timeline(terms_of(settings, 7), sent).events,
      ElementsAre("0 scheduled 0", "10 first 0", "90 done 0", "90 scheduled 1", "90 scheduled 2",
                  "100 first 1", "100 first 2", "130 done 2", "180 done 1"));
  settings.capacity = CapacityPolicy::kMaxUtilisation;
  const auto run = timeline(terms_of(settings, 7), sent);
  EXPECT_THAT(run.events, Contains("0 scheduled 1"));
  EXPECT_GT(run.counts.preemptions, 0);
}

// microBatchScheduler.cpp: whole prompts within max_num_tokens; cut ones end with a block.
TEST(TrtllmRules, PromptsShareTheTokens) {
  EngineSettings settings = trtllm_settings();
  settings.batch_tokens = 10;
  const std::vector<testing::Sent> sent = {{.input = 6, .output = 1}, {.input = 10, .output = 1}};
  EXPECT_THAT(timeline(terms_of(settings, 100), sent).events,
              ElementsAre("0 scheduled 0", "10 first 0", "10 done 0", "10 scheduled 1",
                          "20 first 1", "20 done 1"));
  settings.chunked_prefill = true;
  const auto run =
      timeline(terms_of(settings, 100), {{.input = 6, .output = 1}, {.input = 15, .output = 1}});
  // 6 and 4, 8 (10 would end within a block), 3.
  EXPECT_THAT(run.events, ElementsAre("0 scheduled 0", "0 scheduled 1", "10 first 0", "10 done 0",
                                      "30 first 1", "30 done 1"));
}

// py_executor.py, _waiting_requests: three iterations without the prompt, or 0.5 x 64 tokens.
TEST(TrtllmRules, ContextsWaitForCompany) {
  EngineSettings settings = trtllm_settings();
  settings.batch_wait_iterations = 3;
  settings.batch_wait_ratio = 0.5;
  EXPECT_THAT(timeline(terms_of(settings, 100),
                       {{.input = 4, .output = 9}, {.at = 5, .input = 4, .output = 1}})
                  .events,
              ElementsAre("0 scheduled 0", "10 first 0", "40 scheduled 1", "50 first 1",
                          "50 done 1", "90 done 0"));
  EXPECT_THAT(timeline(terms_of(settings, 100), {{.input = 4, .output = 9},
                                                 {.at = 5, .input = 4, .output = 1},
                                                 {.at = 15, .input = 40, .output = 1}})
                  .events,
              ElementsAre("0 scheduled 0", "10 first 0", "20 scheduled 1", "20 scheduled 2",
                          "30 first 1", "30 done 1", "30 first 2", "30 done 2", "90 done 0"));
}

// py_executor.py, _balance_adp_requests: one rank alone has a context, so all wait, three iterations at most.
TEST(TrtllmRules, RanksWaitForEachOthersContexts) {
  EngineSettings settings = trtllm_settings();
  settings.balance_ranks = true;
  settings.balance_timeout_iterations = 3;
  std::vector<testing::Sent> sent = {{.input = 4, .output = 9, .rank = 0},
                                     {.input = 4, .output = 9, .rank = 1},
                                     {.at = 5, .input = 4, .output = 1, .rank = 0}};
  EXPECT_THAT(timeline(terms_of(settings, 100, 2), sent).events, Contains("30 scheduled 2"));
  sent.push_back({.at = 15, .input = 4, .output = 1, .rank = 1});
  EXPECT_THAT(timeline(terms_of(settings, 100, 2), sent).events, Contains("20 scheduled 2"));
}

// attention_dp_config.batching_wait_iters: once every rank has one, so many iterations more.
TEST(TrtllmRules, RanksGatherContexts) {
  EngineSettings settings = trtllm_settings();
  settings.balance_ranks = true;
  settings.balance_timeout_iterations = 9;
  settings.balance_wait_iterations = 2;
  EXPECT_THAT(timeline(terms_of(settings, 100, 2), {{.input = 4, .output = 9, .rank = 0},
                                                    {.input = 4, .output = 9, .rank = 1},
                                                    {.at = 5, .input = 4, .output = 1, .rank = 0},
                                                    {.at = 5, .input = 4, .output = 1, .rank = 1}})
                  .events,
              Contains("30 scheduled 2"));
}

}  // namespace
}  // namespace flopcast::serving
