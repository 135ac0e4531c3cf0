// Reads reports of searches for fleets back: the mirror of json.cc.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "question/serve_plan/fields.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

using ServeJson = nlohmann::json;

/// Takes members of an object; the first that is missing or of another type is kept.
class ServeFieldReader {
 public:
  ServeFieldReader(const ServeJson& object, std::string& problem)
      : object_(object), problem_(problem) {}

  const ServeJson& member(std::string_view key) {
    static const ServeJson kNothing;
    if (object_.is_object()) {
      const auto found = object_.find(key);
      if (found != object_.end()) return *found;
    }
    refuse(key, "is missing");
    return kNothing;
  }
  const std::vector<ServeJson>& list(std::string_view key) {
    static const std::vector<ServeJson> kEmpty;
    const ServeJson& value = member(key);
    if (value.is_array()) return value.get_ref<const ServeJson::array_t&>();
    refuse(key, "is no list");
    return kEmpty;
  }
  ServeFieldReader inside(std::string_view key) { return {member(key), problem_}; }

  void operator()(std::string_view key, std::string& out) {
    const ServeJson& value = member(key);
    if (!value.is_string()) return refuse(key, "is no text");
    out = value.get<std::string>();
  }
  void operator()(std::string_view key, bool& out) {
    const ServeJson& value = member(key);
    if (!value.is_boolean()) return refuse(key, "is neither true nor false");
    out = value.get<bool>();
  }
  /// null: what is not finite
  void operator()(std::string_view key, double& out) {
    const ServeJson& value = member(key);
    if (!value.is_number() && !value.is_null()) return refuse(key, "is no number");
    out = value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
  }
  void operator()(std::string_view key, Seconds& out) { (*this)(key, out.value); }
  template <typename Whole>
  void operator()(std::string_view key, Whole& out) requires std::is_integral_v<Whole> {
    const ServeJson& value = member(key);
    if (!value.is_number_unsigned()) return refuse(key, "is no whole number");
    const auto read = value.get<std::uint64_t>();
    if (read > static_cast<std::uint64_t>(std::numeric_limits<Whole>::max())) {
      return refuse(key, "is too large");
    }
    out = static_cast<Whole>(read);
  }
  void operator()(std::string_view key, ServingEngine& out) {
    std::string text;
    (*this)(key, text);
    const auto known = parse_serving_engine(text);
    if (!known) return refuse(key, "names no engine");
    out = *known;
  }
  void operator()(std::string_view key, ServingRole& out) {
    std::string text;
    (*this)(key, text);
    for (const ServingRole role :
         {ServingRole::kWhole, ServingRole::kPrefill, ServingRole::kDecode}) {
      if (name(role) == text) return void(out = role);
    }
    refuse(key, "names no role");
  }
  void texts(std::string_view key, std::vector<std::string>& out) {
    for (const ServeJson& item : list(key)) {
      if (!item.is_string()) return refuse(key, "holds what is no text");
      out.push_back(item.get<std::string>());
    }
  }
  void refuse(std::string_view key, std::string_view why) {
    if (problem_.empty()) problem_ = fmt::format("'{}' {}", key, why);
  }
  bool null(std::string_view key) { return member(key).is_null(); }
  bool has(std::string_view key) const { return object_.is_object() && object_.contains(key); }

 private:
  const ServeJson& object_;
  std::string& problem_;
};

void read_pool(ServeFieldReader r, PoolChoice& pool) {
  visit_pool(pool, r);
  if (pool.layout.tp == 0 || pool.layout.dp == 0 || pool.layout.ep == 0 || pool.layout.pp == 0) {
    r.refuse("tp", "and other degrees are 1 or more");
  }
}

void read_choice(ServeFieldReader r, FleetChoice& choice) {
  visit_choice(choice, r);
  read_pool(r.inside("pool"), choice.pool);
  if (r.has("decode")) read_pool(r.inside("decode"), choice.decode.emplace());
}

FleetCandidate read_fleet(ServeFieldReader r, std::string& problem) {
  FleetCandidate candidate;
  read_choice(r, candidate.choice);
  for (const ServeJson& item : r.list("same")) {
    ServeFieldReader twin(item, problem);
    FleetTwin& one = candidate.same.emplace_back();
    read_choice(twin, one.choice);
    twin("number", one.number);
  }
  visit_result(candidate, r);
  visit_percentiles(candidate.ttft, r.inside("ttft"));
  visit_percentiles(candidate.tpot, r.inside("tpot"));
  visit_percentiles(candidate.inter_token, r.inside("inter_token"));
  visit_percentiles(candidate.latency, r.inside("latency"));
  return candidate;
}

void read_asked(ServeFieldReader r, ServePlanReport& report, std::string& problem) {
  visit_asked(report, r);
  std::vector<std::string> limits;
  r.texts("limits", limits);
  for (const std::string& text : limits) {
    const auto limit = parse_service_limits(text);
    if (!limit || limit->size() != 1) return r.refuse("limits", "hold what is no limit");
    report.limits.push_back(limit->front());
  }
  for (const ServeJson& item : r.list("settings")) {
    ServeFieldReader setting(item, problem);
    auto& [key, value] = report.settings.emplace_back();
    setting("name", key);
    setting("value", value);
  }
}

void read_problem(ServeFieldReader r, FleetAnswer& answer) {
  Diagnostic& error = answer.problem.emplace();
  unsigned code = 0;
  r("number", answer.problem_number);
  r("code", code);
  r("where", error.where);
  r("what", error.what);
  r("hint", error.hint);
  if (code < 2 || code > 5) return r.refuse("code", "is none");
  error.code = static_cast<ErrorCode>(code);
}

void read_answer(ServeFieldReader r, ServePlanReport& report, std::string& problem) {
  FleetAnswer& answer = report.answer;
  ServeFieldReader search = r.inside("search");
  visit_counts(answer.counts, search);
  search("least_ratio", answer.least_ratio);
  search("least_chips", answer.least_chips);
  if (!r.null("problem")) read_problem(r.inside("problem"), answer);
  for (const ServeJson& item : r.list("best"))
    answer.best.push_back(read_fleet({item, problem}, problem));
  for (const ServeJson& item : r.list("pareto")) {
    answer.pareto.push_back(read_fleet({item, problem}, problem));
  }
  if (!r.null("nearest")) answer.nearest = read_fleet(r.inside("nearest"), problem);
  for (const ServeJson& item : r.list("launch")) {
    ServeFieldReader one(item, problem);
    ServingLaunch& launch = report.launches.emplace_back();
    visit_launch(launch, one);
    one.texts("lacks", launch.lacks);
  }
  r.texts("assumed", report.assumed);
}

Result<ServePlanReport> read_serve_plan(std::string_view text, const std::string& where) {
  const ServeJson root = ServeJson::parse(text, nullptr, false);
  const auto bad = [&](std::string what) {
    return Diagnostic{ErrorCode::kBadInput, where, std::move(what),
                      "a result of flopcast serve-plan --json or --out is expected"};
  };
  if (root.is_discarded()) return bad("this is no JSON");
  std::string problem;
  ServePlanReport report;
  ServeFieldReader reader(root, problem);
  read_asked(reader.inside("asked"), report, problem);
  if (reader.has("shard")) {
    ServeFieldReader shard = reader.inside("shard");
    shard("index", report.shard);
    shard("of", report.shards);
    if (report.shard >= report.shards) shard.refuse("shard", "has no such index");
  }
  read_answer(reader, report, problem);
  if (!problem.empty()) return bad(problem);
  return report;
}

}  // namespace

Result<std::vector<ServePlanReport>> read_serve_plan_reports(std::string_view text,
                                                             const std::string& where) {
  std::vector<ServePlanReport> reports;
  // One document over several lines begins with a brace that nothing follows.
  const bool document = text.starts_with("{\n");
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = document ? text.size() : std::min(text.find('\n', at), text.size());
    Result<ServePlanReport> report = read_serve_plan(
        text.substr(at, end - at), document ? where : fmt::format("{}:{}", where, line));
    if (!report) return report.error();
    reports.push_back(std::move(*report));
    at = end + 1;
  }
  return reports;
}

}  // namespace flopcast
