// Timelines of SGLang's rules made by hand; every iteration takes 10. See schedule/sglang.cc for the engine's files.
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

EngineSettings sglang_settings() {
  EngineSettings settings = plain_settings(ServingEngine::kSglang);
  settings.block = 1;
  return settings;
}

// scheduler.py, get_next_batch_to_run: a batch of prompts goes first, decodes stand still.
TEST(SglangRules, PromptsStopTheDecodes) {
  const std::vector<testing::Sent> sent = {{.input = 4, .output = 4},
                                           {.at = 5, .input = 4, .output = 2}};
  EngineSettings settings = sglang_settings();
  EXPECT_THAT(timeline(terms_of(settings, 400), sent).events,
              ElementsAre("0 scheduled 0", "10 first 0", "10 scheduled 1", "20 first 1",
                          "30 done 1", "50 done 0"));
  // Request 0 has gaps of 20, 10 and 10, request 1 one of 10.
  const auto stalled = timeline(terms_of(settings, 400), sent);
  EXPECT_EQ(stalled.gaps.count(), 4);
  EXPECT_EQ(stalled.gaps.max(), Time{20});
  EXPECT_DOUBLE_EQ(stalled.gaps.mean().value, 12.5e-12);
  settings.mixed_chunks = true;
  EXPECT_THAT(timeline(terms_of(settings, 400), sent).events,
              ElementsAre("0 scheduled 0", "10 first 0", "10 scheduled 1", "20 first 1",
                          "30 done 1", "40 done 0"));
}

// schedule_policy.py, PrefillAdder: one prompt is cut at a time, to chunked_prefill_size.
TEST(SglangRules, OnePromptIsCutAtATime) {
  EngineSettings settings = sglang_settings();
  settings.batch_tokens = 4;
  EXPECT_THAT(
      timeline(terms_of(settings, 400), {{.input = 10, .output = 1}, {.input = 3, .output = 1}})
          .events,
      ElementsAre("0 scheduled 0", "20 scheduled 1", "30 first 0", "30 done 0", "40 first 1",
                  "40 done 1"));
}

// max_prefill_tokens limits prompts begun in one batch.
TEST(SglangRules, PromptsOfABatchAreLimited) {
  EngineSettings settings = sglang_settings();
  settings.prefill_tokens = 6;
  EXPECT_THAT(
      timeline(terms_of(settings, 400), {{.input = 5, .output = 1}, {.input = 5, .output = 1}})
          .events,
      ElementsAre("0 scheduled 0", "10 first 0", "10 done 0", "10 scheduled 1", "20 first 1",
                  "20 done 1"));
}

// add_one_req: room for the whole answers of this batch's prompts, else nobody is asked before the batch shrinks.
TEST(SglangRules, AnswersToComeNeedRoom) {
  EngineSettings settings = sglang_settings();
  settings.prefix_cache = true;
  EXPECT_THAT(
      timeline(terms_of(settings, 40), {{.input = 10, .output = 10}, {.input = 10, .output = 9}})
          .events,
      Contains("0 scheduled 1"));
  EXPECT_THAT(
      timeline(terms_of(settings, 40), {{.input = 10, .output = 10}, {.input = 10, .output = 10}})
          .events,
      ElementsAre("0 scheduled 0", "10 first 0", "100 done 0", "100 scheduled 1", "110 first 1",
                  "200 done 1"));
}

// schedule_batch.py, retract_decode: of equally long answers the last begun goes, to the end of the queue.
TEST(SglangRules, DecodesWithoutRoomAreRetracted) {
  EngineSettings settings = sglang_settings();
  settings.conservativeness = 0.3;
  settings.prefix_cache = true;
  const std::vector<testing::Sent> sent = {{.input = 10, .output = 20},
                                           {.at = 5, .input = 10, .output = 20}};
  const auto run = timeline(terms_of(settings, 45), sent);
  EXPECT_THAT(run.events, ElementsAre("0 scheduled 0", "10 first 0", "10 scheduled 1", "20 first 1",
                                      "140 preempted 1", "210 done 0", "280 done 1"));
  // Its prompt is found again, its answer is not (release_req).
  EXPECT_EQ(run.counts.prefix_tokens, 10);
  // add_one_req_ignore_eos: without a cache the ends of answers are known, and nobody is begun too early.
  settings.prefix_cache = false;
  EXPECT_THAT(timeline(terms_of(settings, 45), sent).events,
              ElementsAre("0 scheduled 0", "10 first 0", "200 done 0", "200 scheduled 1",
                          "210 first 1", "400 done 1"));
}

// scheduler-recv-interval: beside decodes, requests are received every so many iterations.
TEST(SglangRules, RequestsAreReceivedNowAndThen) {
  EngineSettings settings = sglang_settings();
  settings.receive_interval = 4;
  EXPECT_THAT(timeline(terms_of(settings, 400),
                       {{.input = 4, .output = 9}, {.at = 15, .input = 4, .output = 1}})
                  .events,
              ElementsAre("0 scheduled 0", "10 first 0", "50 scheduled 1", "60 first 1",
                          "60 done 1", "100 done 0"));
}

// mem_cache/radix_cache.py: a prefix is found to the token, but for the last.
TEST(SglangRules, PrefixesAreFoundToTheToken) {
  EngineSettings settings = sglang_settings();
  settings.prefix_cache = true;
  const auto run =
      timeline(terms_of(settings, 100), {{.input = 8, .output = 1, .prefix = {1, 2}},
                                         {.at = 100, .input = 8, .output = 1, .prefix = {1, 2}}});
  EXPECT_EQ(run.counts.prefix_tokens, 7);
  EXPECT_EQ(run.counts.prefill_tokens, 8 + 1);
}

// managers/data_parallel_controller.py: round robin.
TEST(SglangRules, RanksTakeTurns) {
  EngineSettings settings = sglang_settings();
  settings.max_requests = 1;
  EXPECT_THAT(
      timeline(terms_of(settings, 100, 2),
               {{.input = 4, .output = 2}, {.input = 4, .output = 1}, {.input = 4, .output = 1}})
          .events,
      ElementsAre("0 scheduled 0", "0 scheduled 1", "10 first 0", "10 first 1", "10 done 1",
                  "20 done 0", "20 scheduled 2", "30 first 2", "30 done 2"));
}

}  // namespace
}  // namespace flopcast::serving
