// What no answer may hold, and that the error names the number.
#include "base/numeric/answer_check.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

namespace flopcast {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

std::string problem_of(const std::function<void(AnswerCheck&)>& look) {
  AnswerCheck check("the step");
  look(check);
  const auto problem = check.problem();
  EXPECT_EQ(problem.has_value(), !check.holds());
  return problem ? problem->what : "";
}

TEST(AnswerCheck, TakesWhatCanBe) {
  EXPECT_EQ(problem_of([](AnswerCheck& check) {
              check.amount("memory", Bytes{0});
              check.amount("memory", 1e300);
              check.time("time", Seconds{9e6});
              check.time("time", Time::from_us(3));
              check.share("MFU", 0);
              check.share("MFU", 1);
              check.band("time", Seconds{1}, Seconds{1}, Seconds{1});
              check.band("time", Seconds{1}, Seconds{9e6}, Seconds{1e8});
              check.at_least("time", 1, "its roofline", 1 + 1e-9);
              check.sum("time", std::array{0.1, 0.2, 0.7}, 1);
              check.sum("time", std::array<double, 0>{}, 0);
            }),
            "");
}

TEST(AnswerCheck, NamesWhatCannotBe) {
  struct Case {
    const char* words;
    std::function<void(AnswerCheck&)> look;
  };
  const Case cases[] = {
      {"bubble of the step is -2.14, below 0", [](auto& c) { c.time("bubble", Seconds{-2.14}); }},
      {"no number", [](auto& c) { c.amount("memory", kNan); }},
      {"no number", [](auto& c) { c.time("time", Seconds{kInfinite}); }},
      {"clock holds", [](auto& c) { c.time("time", Seconds{9'223'372.036}); }},
      {"clock holds", [](auto& c) { c.time("time", Time::max()); }},
      {"below 0", [](auto& c) { c.time("time", Time::min()); }},
      {"more than all", [](auto& c) { c.share("MFU", 1.13); }},
      {"below 0", [](auto& c) { c.share("MFU", -0.01); }},
      {"below its own band", [](auto& c) { c.band("time", Seconds{2}, Seconds{1}, Seconds{3}); }},
      {"above its own band",
       [](auto& c) { c.band("time", Time::from_us(1), Time::from_us(3), Time::from_us(2)); }},
      {"above its own band",
       [](auto& c) { c.band("time", Seconds{1}, Seconds{3}, Seconds{kInfinite}); }},
      {"no number", [](auto& c) { c.band("time", Seconds{1}, Seconds{kNan}, Seconds{2}); }},
      {"below its roofline, 1", [](auto& c) { c.at_least("time", 0.9, "its roofline", 1); }},
      {"its parts sum to 0.9",
       [](auto& c) {
         c.sum("time", std::array{0.4, 0.5}, 1);
       }},
      {"its parts sum to nan",
       [](auto& c) {
         c.sum("time", std::array{0.4, kNan}, 1);
       }},
  };
  for (const Case& each : cases) {
    EXPECT_NE(problem_of(each.look).find(each.words), std::string::npos)
        << each.words << ": " << problem_of(each.look);
  }
}

TEST(AnswerCheck, TellsTheFirst) {
  AnswerCheck check("the step");
  check.amount("memory", -1.0);
  check.amount("cost", -2.0);
  ASSERT_TRUE(check.problem());
  EXPECT_EQ(check.problem()->code, ErrorCode::kNoAnswer);
  EXPECT_NE(check.problem()->what.find("memory"), std::string::npos);
}

}  // namespace
}  // namespace flopcast
