// The table of settings, and how their texts are read.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/counts.h"
#include "base/numeric/clock.h"
#include "base/text/names.h"
#include "base/text/numbers.h"
#include "question/serve/values.h"

namespace flopcast {

using namespace question;  // the room's own names

namespace {

using enum ServeTopic;

constexpr auto kServeSettings = std::to_array<ServeSetting>({
    {"engine", "vllm|sglang|trtllm", "Whose rules of scheduling; vllm if not given", kDeployment},
    {"tp", "N", "Tensor-parallel chips of a replica; 1 if not given", kDeployment},
    {"dp", "N", "Data-parallel ranks of attention inside a replica; 1 if not given", kDeployment},
    {"ep", "N", "Chips that share the experts out; 1 if not given", kDeployment},
    {"pp", "N", "Pipeline stages of a replica; 1 if not given", kDeployment},
    {"precision", "bf16|fp8|fp4|int4|stored",
     "Of the weights; stored, the checkpoint's own, if not given", kDeployment},
    {"kv_cache", "TYPE", "Of keys and values, such as fp8; that of the checkpoint if not given",
     kDeployment},
    {"replicas", "N", "Replicas; as many as the cluster holds if not given", kDeployment},
    {"disaggregated", "N:M", "N replicas compute prompts, M others make the answers", kPools},
    {"prefill_tp", "N", "Of a replica that computes prompts; as --tp if not given", kPools},
    {"prefill_dp", "N", "", kPools},
    {"prefill_ep", "N", "", kPools},
    {"prefill_pp", "N", "", kPools},
    {"decode_tp", "N", "Of a replica that makes answers; as --tp if not given", kPools},
    {"decode_dp", "N", "", kPools},
    {"decode_ep", "N", "", kPools},
    {"decode_pp", "N", "", kPools},
    {"users", "N", "Clients that each wait for an answer before they ask again", kLoad},
    {"rate", "N", "Requests a second, as they come", kLoad},
    {"trace", "FILE", "Requests as recorded: Azure or Mooncake traces, CSV of one's own", kLoad},
    {"rate_scale", "N", "Times the trace's rate; 1 if not given", kLoad},
    {"max_rate", "",
     "The largest rate that holds --slo is asked for; with --trace the largest scale", kLoad},
    {"max_users", "", "The same of users that wait for their answers", kLoad},
    {"input", "TOKENS", "Of a prompt", kLoad},
    {"output", "TOKENS", "Of an answer", kLoad},
    {"spread", "SHARE", "Lengths are uniform down to this share less; 0.2 if not given", kLoad},
    {"requests", "N", "How many; 10 a user, 10 minutes of a rate, a whole trace if not given",
     kLoad},
    {"warm_up", "N", "Requests before those that count; none if not given", kLoad},
    {"burstiness", "N", "Of a rate: squared variation of the gaps; 1, Poisson, if not given",
     kLoad},
    {"shared_prefix", "SHARE", "Of a prompt, what all of a session have in common", kLoad},
    {"sessions", "N", "How many such sessions; 1 if not given", kLoad},
    {"seed", "N", "Of lengths and gaps; 1 if not given", kLoad},
    {"batch_tokens", "TOKENS", "Tokens of an iteration; the engine's own if not given", kEngine},
    {"max_requests", "N", "Requests that run at once; the engine's own if not given", kEngine},
    {"chunked_prefill", "", "Prompts may be cut to fill an iteration", kEngine},
    {"prefix_cache", "", "Keys and values of known prompts are taken again", kEngine},
    {"max_length", "TOKENS",
     "The most that a request may have, prompt and answer; what the model takes if not given",
     kEngine},
    {"drafts", "N", "Tokens that are drafted and checked in a step; none if not given", kEngine},
    {"accepted", "N|D:N,...",
     "Tokens that a step with drafts brings, its own included; or at several numbers of drafts",
     kEngine},
    {"draft_kind", "mtp|eagle", "Who drafts: layers of the model, a small head; mtp if not given",
     kEngine},
    {"set", "KEY=VALUE", "Another setting of the engine, such as memory_share=0.85; repeats",
     kEngine, true},
    {"router", "least-loaded|round-robin|prefix-aware",
     "Who gets the next request; least-loaded if not given", kFleet},
    {"autoscale", "KEY=VALUE,...",
     "Replicas come and go: least, most, aim (requests a replica), interval, start-up, idle",
     kFleet},
    {"fault", "R@TIME[..TIME][:lost]",
     "Replica R dies, is back, its requests are sent anew or lost; repeats", kFleet, true},
    {"slo", "LIMITS", "What goodput is judged by: \"ttft.p99<1s,tpot.p99<50ms\"", kJudgement},
    {"price", "USD", "What an hour of one chip costs", kJudgement},
    {"point", "FILE|KEY=N,...",
     "Factors that measurements put on decode, prefill and front: of `flopcast calibrate serving`",
     kJudgement},
});

const ServeSetting* find_serve_setting(std::string_view name) {
  const auto all = serve_settings();
  const auto found =
      std::ranges::find_if(all, [&](const ServeSetting& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string unknown_setting_hint(std::string_view name) {
  std::vector<std::string> known;
  for (const ServeSetting& one : serve_settings()) known.emplace_back(one.name);
  return did_you_mean(name, known, "docs/reference/serve-files.md has every setting");
}

}  // namespace

std::span<const ServeSetting> serve_settings() { return kServeSettings; }

namespace question {

ServeValues::ServeValues(const ServeSettings& given) {
  for (const auto& [key, value] : given) {
    std::string name = key;
    std::ranges::replace(name, '-', '_');
    if (find_serve_setting(name) == nullptr) {
      wrong(key, "is no setting of a question", unknown_setting_hint(name));
    }
    given_.emplace_back(std::move(name), value);
  }
}

void ServeValues::wrong(std::string_view name, std::string what, std::string hint) {
  if (!problem_) problem_ = usage_error(name, std::move(what), std::move(hint));
}

void ServeValues::wrong(Diagnostic error) {
  if (!problem_) problem_ = std::move(error);
}

const std::string* ServeValues::last(std::string_view name) const {
  const auto found = std::find_if(given_.rbegin(), given_.rend(),
                                  [&](const auto& one) { return one.first == name; });
  return found == given_.rend() ? nullptr : &found->second;
}

std::vector<std::string> ServeValues::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : given_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

void ServeValues::whole(std::string_view name, std::int64_t& out, std::int64_t least) {
  const std::string* text = last(name);
  if (text == nullptr) return;
  const ServeSetting* setting = find_serve_setting(name);
  const bool tokens = setting != nullptr && setting->takes == "TOKENS";
  const auto counted = tokens ? parse_tokens(*text) : parse_whole(*text);
  if (const auto value = counted ? whole_from(std::to_string(*counted), least) : std::nullopt) {
    out = *value;
  } else {
    wrong(name, fmt::format("expected a whole number from {} on, found '{}'", least, *text), "");
  }
}

void ServeValues::whole(std::string_view name, unsigned& out, unsigned least) {
  std::int64_t value = out;
  whole(name, value, least);
  if (value > 1'000'000) {
    wrong(name, fmt::format("expected at most 1,000,000, found {}", value), "");
  } else {
    out = static_cast<unsigned>(value);
  }
}

void ServeValues::number(std::string_view name, double& out, double least, double most) {
  const std::string* text = last(name);
  if (text == nullptr) return;
  const std::optional<double> value = parse_number(*text);
  if (value && *value >= least && (most <= 0 || *value <= most)) {
    out = *value;
    return;
  }
  const std::string range =
      most > 0 ? fmt::format("from {} to {}", least, most) : fmt::format("from {} on", least);
  wrong(name, fmt::format("expected a number {}, found '{}'", range, *text), "");
}

void ServeValues::flag(std::string_view name, bool& out) {
  const std::string* text = last(name);
  if (text == nullptr) return;
  if (const auto value = flag_from(*text)) {
    out = *value;
  } else {
    wrong(name, fmt::format("expected true or false, found '{}'", *text), "");
  }
}

std::optional<std::int64_t> whole_from(std::string_view text, std::int64_t least) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  const std::optional<std::int64_t> value = parse_whole(text);
  return value && *value >= least && *value <= kMost ? value : std::nullopt;
}

std::optional<bool> flag_from(std::string_view text) {
  const std::string key = name_key(text);
  if (key == "true" || key == "yes" || key == "on" || key == "1") return true;
  if (key == "false" || key == "no" || key == "off" || key == "0") return false;
  return std::nullopt;
}

std::optional<std::vector<std::pair<std::string, std::string>>> pairs_from(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = trim(text.substr(0, comma));
    const std::size_t sign = piece.find('=');
    if (sign == std::string_view::npos || sign == 0) return std::nullopt;
    pairs.emplace_back(trim(piece.substr(0, sign)), trim(piece.substr(sign + 1)));
    if (comma == std::string_view::npos) return pairs;
    text.remove_prefix(comma + 1);
  }
}

Result<Time> time_from(std::string_view text) {
  constexpr double kMostSeconds = 5e6;  // of the 106 days that Time has
  const Result<Seconds> seconds = parse_seconds(text);
  if (!seconds) return seconds.error();
  if (seconds->value > kMostSeconds) {
    return usage_error(text, "is longer than 50 days", "give a shorter time");
  }
  return on_clock(*seconds);
}

}  // namespace question
}  // namespace flopcast
