// docs/reference/json.md names every field that is written.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "flopcast/report/sets.h"
#include "flopcast/report/trace.h"
#include "report/replay/testing.h"
#include "support/temporary_folder.h"

namespace flopcast::report {
namespace {

/// Keys of all objects, but for those that are data: kinds of edges, classes and ranks of the path,
/// categories.
void collect_keys(const nlohmann::json& json, std::set<std::string>& keys) {
  if (json.is_array()) {
    for (const auto& item : json) collect_keys(item, keys);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    keys.insert(key);
    if ((key == "edges" && value.is_object()) || key == "classes" || key == "transfer" ||
        (key == "ranks" && value.is_object())) {
      for (const auto& [name, item] : value.items()) collect_keys(item, keys);
    } else if (key != "rows") {
      collect_keys(value, keys);
    }
  }
}

std::set<std::string> written_keys() {
  TraceSet set = test::made_set();
  set.anomalies.add("oddity", [] { return "here"; });
  set.unreadable.push_back({ErrorCode::kBadInput, "a", "b", "c"});
  Replay replay = test::made_replay(set);
  replay.edges[0].example = "this one";
  replay.network = NetworkUse{"2 x node", {{"all_reduce", 2, 1, "size unknown", {}, {}, "table"}}};
  ReplayOptions options;
  options.structure_from = "1";
  options.durations_from = "2";
  std::set<std::string> keys;
  collect_keys(nlohmann::json::parse(sets_json(
                   {make_set_result(set, replay, options), make_failed_result("bad", {})})),
               keys);
  const StepMatch match{"1", "2", 1, 1, {{EdgeKind::kEvent, 3, 3}}};
  collect_keys(nlohmann::json::parse(trace_info_json(summary_of(set))), keys);
  collect_keys(nlohmann::json::parse(trace_check_json(set, {{{"1", "2"}}, {match}})), keys);
  return keys;
}

TEST(JsonReference, EveryFieldIsDescribed) {
  const std::string reference = test::read_text("docs/reference/json.md");
  if (reference.empty()) GTEST_SKIP() << "not run in the repository's root";
  for (const std::string& key : written_keys()) {
    const bool named = reference.find("`" + key + "`") != std::string::npos ||
                       reference.find("\"" + key + "\"") != std::string::npos;
    EXPECT_TRUE(named) << key;
  }
}

TEST(JsonReference, EveryKindOfEdgeIsDescribed) {
  const std::string reference = test::read_text("docs/reference/json.md");
  if (reference.empty()) GTEST_SKIP() << "not run in the repository's root";
  for (int kind = 0; kind < kEdgeKindCount; ++kind) {
    const std::string name = edge_kind_name(static_cast<EdgeKind>(kind));
    EXPECT_NE(reference.find("`" + name + "`"), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace flopcast::report
