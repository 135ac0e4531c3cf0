#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numeric/clock.h"
#include "flopcast/serving/requests.h"
#include "serving/requests/clock.h"
#include "serving/requests/random.h"

namespace flopcast {

using namespace serving;

namespace {

/// 8 GB of outcomes.
constexpr std::int64_t kMostRequests = 100'000'000;
constexpr std::int64_t kMostSessions = 1'000'000;
constexpr double kMostSeconds = 50.0 * 86400;
constexpr std::int64_t kMostWorkloadTokens = 1'000'000'000;
/// A shared prefix has at most so many blocks of at least 16 tokens.
constexpr std::int64_t kPrefixBlocks = 64, kLeastPrefixBlock = 16;

enum Stream : std::uint64_t { kInputs = 1, kOutputs, kGaps, kSessions };

Diagnostic no_workload(std::string what, std::string hint) {
  return usage_error("workload", std::move(what), std::move(hint));
}

std::optional<Diagnostic> wrong_counts(const ServingWorkload& asked) {
  if (asked.count < 0 || asked.warm_up < 0 || asked.sessions < 0) {
    return no_workload("counts of requests and sessions are 0 or more", "0 is the usual count");
  }
  if (asked.sessions > kMostSessions) {
    return no_workload(fmt::format("{} sessions", asked.sessions),
                       fmt::format("at most {}", kMostSessions));
  }
  if (asked.kind == ServingWorkload::Kind::kClosed && asked.users < 1) {
    return no_workload("a closed loop has at least one user", "say how many users there are");
  }
  if (std::max(counted_requests(asked), asked.warm_up) > kMostRequests) {
    return Diagnostic{ErrorCode::kTooLarge, "workload",
                      fmt::format("more than {} requests", kMostRequests), "ask for fewer"};
  }
  return std::nullopt;
}

std::optional<Diagnostic> wrong_lengths(const ServingWorkload& asked) {
  if (std::min(asked.input, asked.output) < 1 ||
      std::max(asked.input, asked.output) > kMostWorkloadTokens) {
    return no_workload(
        fmt::format("prompts of {} tokens and answers of {}", asked.input, asked.output),
        "both are 1 to 10^9 tokens");
  }
  if (!(asked.spread >= 0 && asked.spread < 1)) {
    return no_workload(fmt::format("a spread of {}", asked.spread),
                       "lengths are uniform in [(1 - spread) L, L]: 0 up to below 1");
  }
  if (!(asked.shared_prefix >= 0 && asked.shared_prefix <= 1)) {
    return no_workload(fmt::format("a shared prefix of {}", asked.shared_prefix),
                       "it is a share of the prompt: 0 to 1");
  }
  return std::nullopt;
}

std::optional<Diagnostic> wrong_times(const ServingWorkload& asked) {
  if (asked.kind == ServingWorkload::Kind::kTrace) {
    if (asked.trace.requests.empty())
      return no_workload("a trace without requests", "name a trace");
    const bool good = asked.time_scale > 0 && std::isfinite(asked.time_scale);
    if (good) return std::nullopt;
    return no_workload(fmt::format("times scaled by {}", asked.time_scale), "it is above 0");
  }
  if (asked.kind == ServingWorkload::Kind::kClosed) return std::nullopt;
  if (!(asked.rate > 0 && std::isfinite(asked.rate))) {
    return no_workload(fmt::format("a rate of {} requests a second", asked.rate), "it is above 0");
  }
  if (!(asked.burstiness >= 0 && asked.burstiness <= 1000)) {
    return no_workload(fmt::format("a burstiness of {}", asked.burstiness),
                       "0: even, 1: Poisson, up to 1000: the squared coefficient of variation");
  }
  return std::nullopt;
}

Diagnostic too_long() {
  return no_workload("requests come for more than 50 days", "raise the rate or ask for fewer");
}

std::int64_t drawn_length(std::int64_t length, double spread, RandomDraws draws) {
  const auto least = static_cast<std::int64_t>(static_cast<double>(length) * (1 - spread));
  return draws.whole(std::clamp<std::int64_t>(least, 1, length), length);
}

/// What sessions have in common, as blocks' hashes.
struct SharedPrefixes {
  std::int64_t tokens = 0;  // of whole blocks
  std::uint32_t blocks = 0;

  void make(const ServingWorkload& asked, RequestList& list) {
    const auto shared =
        static_cast<std::int64_t>(asked.shared_prefix * static_cast<double>(asked.input));
    if (shared < kLeastPrefixBlock) return;
    const std::int64_t fine = kPrefixBlocks * kLeastPrefixBlock;
    list.prefix_block = (shared + fine - 1) / fine * kLeastPrefixBlock;
    blocks = static_cast<std::uint32_t>(shared / list.prefix_block);
    tokens = blocks * list.prefix_block;
    for (std::int64_t session = 0; session < std::max<std::int64_t>(asked.sessions, 1); ++session) {
      std::uint64_t chain = mix(asked.seed ^ mix(static_cast<std::uint64_t>(session) + 1));
      for (std::uint32_t i = 0; i < blocks; ++i) list.prefixes.push_back(chain = mix(chain));
    }
  }
};

/// Requests of drawn lengths, without arrivals.
RequestList drawn_requests(const ServingWorkload& asked, std::int64_t count) {
  RequestList list;
  SharedPrefixes shared;
  shared.make(asked, list);
  const std::int64_t sessions = std::max<std::int64_t>(asked.sessions, 1);
  list.requests.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < list.requests.size(); ++i) {
    ServingRequest& request = list.requests[i];
    request.input = drawn_length(asked.input, asked.spread, {asked.seed, kInputs, i});
    request.output = drawn_length(asked.output, asked.spread, {asked.seed, kOutputs, i});
    if (asked.sessions == 0 && shared.blocks == 0) continue;
    const std::int64_t session = RandomDraws(asked.seed, kSessions, i).whole(0, sessions - 1);
    request.session = static_cast<std::uint32_t>(session + 1);
    if (shared.blocks == 0) continue;
    const auto whole = std::min<std::int64_t>(shared.blocks, request.input / list.prefix_block);
    request.prefix_begin = static_cast<std::uint32_t>(session) * shared.blocks;
    request.prefix_end = request.prefix_begin + static_cast<std::uint32_t>(whole);
  }
  return list;
}

RequestList closed_requests(const ServingWorkload& asked) {
  RequestList list = drawn_requests(asked, counted_requests(asked));
  // Benchmark clients warm up with the first request, again and again.
  list.requests.insert(list.requests.begin(), static_cast<std::size_t>(asked.warm_up),
                       ServingRequest(list.requests.front()));
  return list;
}

Result<RequestList> rate_requests(const ServingWorkload& asked) {
  RequestList list = drawn_requests(asked, counted_requests(asked));
  double at = 0;  // the first comes at once
  for (std::size_t i = 0; i < list.requests.size(); ++i) {
    if (!(at <= kMostSeconds)) return too_long();
    list.requests[i].arrival = on_clock({at});
    const double gap =
        asked.burstiness == 0 ? 1 : RandomDraws(asked.seed, kGaps, i).gamma(1 / asked.burstiness);
    at += gap / asked.rate;
  }
  return list;
}

/// The trace, cut or said again and again: the next round begins a mean gap after the last request.
Result<RequestList> trace_requests(const ServingWorkload& asked) {
  const std::vector<ServingRequest>& once = asked.trace.requests;
  const auto count = static_cast<std::size_t>(counted_requests(asked));
  const auto size = static_cast<WidePs>(once.size());
  const WidePs span = once.back().arrival.ps - once.front().arrival.ps;
  const WidePs round = once.size() > 1 ? span * size / (size - 1) : 1'000'000'000'000;
  RequestList list;
  list.prefixes = asked.trace.prefixes;
  list.prefix_block = asked.trace.prefix_block;
  list.anomalies = asked.trace.anomalies;
  list.requests.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    ServingRequest request = once[i % once.size()];
    const auto rounds = static_cast<WidePs>(i / once.size());
    const WidePs at = request.arrival.ps - once.front().arrival.ps + rounds * round;
    const double scaled = static_cast<double>(at) / asked.time_scale;
    if (!(scaled <= kMostSeconds * 1e12)) return too_long();
    request.arrival =
        Time{asked.time_scale == 1 ? static_cast<std::int64_t>(at) : std::llround(scaled)};
    list.requests.push_back(request);
  }
  return list;
}

}  // namespace

std::int64_t counted_requests(const ServingWorkload& asked) {
  constexpr double kRateSeconds = 600;
  constexpr double kFewestOfRate = 500, kMostOfRate = 50'000;
  if (asked.count > 0) return asked.count;
  switch (asked.kind) {
    case ServingWorkload::Kind::kClosed:
      return std::min(asked.users, kMostRequests + 1) * 10;
    case ServingWorkload::Kind::kRate:
      return std::llround(std::clamp(asked.rate * kRateSeconds, kFewestOfRate, kMostOfRate));
    case ServingWorkload::Kind::kTrace:
      break;
  }
  return static_cast<std::int64_t>(asked.trace.requests.size());
}

ServingWorkload at_load(ServingWorkload workload, double load) {
  switch (workload.kind) {
    case ServingWorkload::Kind::kClosed:
      workload.users = std::llround(load);
      break;
    case ServingWorkload::Kind::kRate:
      workload.rate = load;
      break;
    case ServingWorkload::Kind::kTrace:
      workload.time_scale = load;
      break;
  }
  return workload;
}

Result<RequestList> make_requests(const ServingWorkload& asked) {
  if (auto wrong = wrong_times(asked)) return *wrong;  // what is no rate has no count
  if (auto wrong = wrong_counts(asked)) return *wrong;
  if (asked.kind == ServingWorkload::Kind::kTrace) return trace_requests(asked);
  if (auto wrong = wrong_lengths(asked)) return *wrong;
  return asked.kind == ServingWorkload::Kind::kClosed ? Result(closed_requests(asked))
                                                      : rate_requests(asked);
}

}  // namespace flopcast
