// The part of a question that says who asks.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "question/serve/values.h"

namespace flopcast::question {
namespace {

constexpr double kUsualSpread = 0.2;  // of benchmark clients: random-range-ratio 0.8
constexpr std::int64_t kUsualInput = 1024, kUsualOutput = 1024;

/// Which of the three it is; nothing, and a problem, where it is none or several. @param largest whether the load is what
/// is asked for
std::optional<ServingWorkload::Kind> load_kind(ServeValues& values, bool& largest) {
  using Kind = ServingWorkload::Kind;
  bool most_users = false, most_rate = false;
  values.flag("max_users", most_users);
  values.flag("max_rate", most_rate);
  const bool users = values.has("users"), rate = values.has("rate"), trace = values.has("trace");
  const int told = int{users} + int{rate} + int{trace};
  if (most_users || most_rate) {
    const char* flag = most_users ? "max_users" : "max_rate";
    if ((most_users && most_rate) || users || rate || (most_users && trace)) {
      values.wrong(flag, "asks for the load, and another flag tells one", "leave one of them out");
      return std::nullopt;
    }
    if (values.has("rate_scale"))
      values.wrong("rate_scale", "is what --max-rate looks for", "leave it out");
  }
  if (told == 1) {
    largest = most_rate;
    return users ? Kind::kClosed : rate ? Kind::kRate : Kind::kTrace;
  }
  if (told == 0 && (most_users || most_rate || largest)) {
    largest = true;
    return most_users ? Kind::kClosed : Kind::kRate;
  }
  if (told == 0) {
    values.wrong(
        "users", "is missing: who asks is not told",
        "give --users, --rate (requests a second) or --trace; or --max-rate to ask for the "
        "largest");
  } else {
    values.wrong("users", "is one of --users, --rate and --trace: only one of them can be",
                 "leave the others out");
  }
  return std::nullopt;
}

void read_trace(ServeValues& values, ServingWorkload& load, std::string& trace_name) {
  for (const char* other :
       {"input", "output", "spread", "burstiness", "warm_up", "shared_prefix"}) {
    if (values.has(other)) values.wrong(other, "is what the trace tells", "leave it out");
  }
  trace_name = *values.last("trace");
  values.number("rate_scale", load.time_scale, 1e-6, 1e6);
  if (values.problem()) return;
  Result<RequestList> list = read_requests(trace_name);
  if (!list) return values.wrong(list.error());
  load.trace = std::move(*list);
}

void read_lengths(ServeValues& values, bool largest, ServingWorkload& load,
                  std::vector<std::string>& assumed) {
  for (const auto& [name, usual, out] :
       {std::tuple{"input", kUsualInput, &load.input}, {"output", kUsualOutput, &load.output}}) {
    if (values.has(name)) continue;
    if (!largest) values.wrong(name, "is missing", "tokens of a prompt, and of an answer");
    *out = usual;
    assumed.push_back(fmt::format("no --{} given: {} tokens", name, usual));
  }
  values.whole("input", load.input, 1);
  values.whole("output", load.output, 1);
  load.spread = kUsualSpread;
  values.number("spread", load.spread, 0, 1);
  if (!values.has("spread")) {
    assumed.emplace_back(
        "no spread given: lengths are uniform from 80 % of those asked to all of them, as "
        "benchmark "
        "clients draw them");
  }
  values.number("shared_prefix", load.shared_prefix, 0, 1);
  values.whole("sessions", load.sessions, 1);
  values.whole("warm_up", load.warm_up, 0);
}

}  // namespace

ServingWorkload read_load(ServeValues& values, std::string& trace_name, bool& largest,
                          std::vector<std::string>& assumed) {
  using Kind = ServingWorkload::Kind;
  ServingWorkload load;
  const auto kind = load_kind(values, largest);
  if (!kind) return load;
  load.kind = *kind;
  std::int64_t seed = 1;
  values.whole("seed", seed, 0);
  load.seed = static_cast<std::uint64_t>(seed);
  values.whole("requests", load.count, 1);
  if (load.kind == Kind::kTrace) {
    read_trace(values, load, trace_name);
    return load;
  }
  if (values.has("rate_scale")) values.wrong("rate_scale", "is of a trace", "give --trace");
  read_lengths(values, largest, load, assumed);
  values.whole("users", load.users, 1);
  values.number("rate", load.rate, 1e-6, 1e6);
  values.number("burstiness", load.burstiness, 0, 1e3);
  if (load.kind == Kind::kRate && load.count == 0) {
    assumed.push_back(largest
                          ? std::string("no number of requests given: ten minutes of each rate, "
                                        "500 to 50,000")
                          : fmt::format("no number of requests given: {}", counted_requests(load)));
  }
  if (largest && load.kind == Kind::kRate && !values.has("burstiness")) {
    assumed.emplace_back("requests come at random (Poisson)");
  }
  if (load.kind == Kind::kClosed && values.has("burstiness")) {
    values.wrong("burstiness", "is of a rate", "give --rate");
  }
  return load;
}

void fit_lengths(ServeValues& values, const Model& model, ServingWorkload& load,
                 std::vector<std::string>& assumed) {
  std::int64_t longest = model.max_sequence;
  values.whole("max_length", longest, 1);
  if (longest == 0 || values.problem()) return;
  const std::string who = values.has("max_length") ? "a server of this length" : model.name;
  if (load.kind != ServingWorkload::Kind::kTrace) {
    if (load.input + load.output <= longest) return;
    return values.wrong(
        "input",
        fmt::format("{} tokens and {} of the answer are longer than the {} that {} takes",
                    load.input, load.output, longest, who),
        "ask for shorter ones, or name a model that takes more");
  }
  auto& requests = load.trace.requests;
  const auto dropped = std::erase_if(requests, [&](const ServingRequest& request) {
    return request.input + request.output > longest;
  });
  if (dropped == 0) return;
  assumed.push_back(fmt::format(
      "{} of the trace's requests {} longer than the {} tokens that the model takes: left out",
      dropped, dropped == 1 ? "is" : "are", longest));
  if (!requests.empty()) return;
  values.wrong(Diagnostic{
      ErrorCode::kBadInput, *values.last("trace"),
      fmt::format("every request is longer than the {} tokens that {} takes", longest, who),
      "name a model that takes more"});
}

}  // namespace flopcast::question
