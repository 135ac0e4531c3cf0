// Questions that lie in files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flopcast/question/serve.h"

namespace flopcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(ServeFiles, TomlHoldsSettingsByName) {
  const auto file = parse_serve_file(
      "model = \"llama-3-70b\"\non = \"2 x dgx-h100\"\ntp = 4\nusers = 64\nspread = 0.1\n"
      "prefix_cache = false\nfault = [\"0@60s\", \"1@90s\"]\n[set]\nmemory_share = 0.85\n"
      "graphs = [1, 2, 4]\n",
      "q.toml");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->model, "llama-3-70b");
  EXPECT_EQ(file->cluster, "2 x dgx-h100");
  EXPECT_THAT(
      file->settings,
      ElementsAre(Pair("tp", "4"), Pair("users", "64"), Pair("spread", "0.1"),
                  Pair("prefix_cache", "false"), Pair("fault", "0@60s"), Pair("fault", "1@90s"),
                  Pair("set", "memory_share=0.85"), Pair("set", "graphs=1,2,4")));
}

TEST(ServeFiles, JsonIsThatOfAnAnswer) {
  const auto file = parse_serve_file(
      R"({"flopcast": "0.1", "question": {"model": "m", "on": "c", "users": 8, "slo": "ttft.p99<1s",
          "set": ["block=32", "version=1"], "prefix_cache": true}, "ttft_s": {}})",
      "a.json");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->model, "m");
  EXPECT_THAT(file->settings,
              ElementsAre(Pair("users", "8"), Pair("slo", "ttft.p99<1s"), Pair("set", "block=32"),
                          Pair("set", "version=1"), Pair("prefix_cache", "true")));
}

TEST(ServeFiles, PathsAreRelativeToTheFile) {
  const auto file = parse_serve_file("trace = \"t.csv\"\npoint = \"p.json\"\n", "q", "folder");
  ASSERT_TRUE(file.ok());
  EXPECT_THAT(file->settings,
              ElementsAre(Pair("trace", "folder/t.csv"), Pair("point", "folder/p.json")));
  const auto factors = parse_serve_file("point = \"decode=1.1\"\n", "q", "folder");
  EXPECT_THAT(factors->settings, ElementsAre(Pair("point", "decode=1.1")));
}

TEST(ServeFiles, MistakesNameTheirPlace) {
  EXPECT_THAT(parse_serve_file("tp = 4\nusers = \n", "q.toml").error().text(),
              HasSubstr("q.toml:2:"));
  EXPECT_THAT(parse_serve_file("{\"users\": }", "q.json").error().text(), HasSubstr("q.json:byte"));
  EXPECT_THAT(parse_serve_file("{\"question\": 3}", "q.json").error().text(),
              HasSubstr("expected a question"));
  EXPECT_THAT(parse_serve_file("{\"users\": {}}", "q.json").error().text(), HasSubstr("\"users\""));
  EXPECT_FALSE(read_serve_file("no/such/file.toml").ok());
}

}  // namespace
}  // namespace flopcast
