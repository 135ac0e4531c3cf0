// What limits a fleet, in sentences that a planner can act on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/text/format.h"
#include "question/serve/answer.h"

namespace flopcast::question {
namespace {

/// What a bound of a part means, for people.
std::string bound_words(std::string_view bound) {
  if (bound == "bytes") return "reading memory";
  if (bound == "compute") return "arithmetic";
  if (bound == "floor") return "fixed cost of kernels";
  if (bound == "latency") return "latency of links";
  if (bound == "links") return "bandwidth of links";
  if (bound == "host") return "the host";
  return std::string(bound);
}

/// "half of it is reading memory (experts 30 %)": the bound with most of the time, and its largest part.
std::string largest_bound(const std::vector<IterationPart>& parts) {
  std::map<std::string, double, std::less<>> by_bound;
  double total = 0;
  for (const IterationPart& part : parts) {
    by_bound[part.bound] += part.time.value;
    total += part.time.value;
  }
  if (!(total > 0)) return {};
  const auto most = std::ranges::max_element(
      by_bound, [](const auto& a, const auto& b) { return a.second < b.second; });
  const IterationPart* largest = nullptr;
  for (const IterationPart& part : parts) {
    if (part.bound == most->first && (!largest || part.time > largest->time)) largest = &part;
  }
  return fmt::format("{} of it is {}, most of that {} ({})", percent(most->second / total),
                     bound_words(most->first), largest->name, percent(largest->time.value / total));
}

/// The share of the mean TTFT that passes before a prompt begins to be computed.
double waiting_share(const FleetRun& run) {
  double waited = 0, ttft = 0;
  for (const RequestOutcome& request : run.requests) {
    if (!request.counted || request.first_token == Time::max()) continue;
    waited += (request.scheduled - request.sent).seconds();
    ttft += request.ttft().seconds();
  }
  return ttft > 0 ? waited / ttft : 0;
}

void tell_pool(const ServePool& pool, bool apart, std::vector<std::string>& out) {
  const std::string of = apart ? fmt::format(" of the {} pool", pool.role) : std::string();
  if (!pool.parts.empty()) {
    out.push_back(fmt::format("an iteration{} with the mean batch, {} answers: {}", of,
                              fmt::format("{:.1f}", pool.decodes), largest_bound(pool.parts)));
  } else if (!pool.prompt_parts.empty()) {
    out.push_back(
        fmt::format("an iteration{} with prompts: {}", of, largest_bound(pool.prompt_parts)));
  }
  if (pool.kv_peak >= 0.95) {
    out.push_back(fmt::format("room for keys and values{} is full at its peak ({} on average)", of,
                              percent(pool.kv_mean)));
  }
  if (pool.busy > 0 && pool.busy < 0.5) {
    out.push_back(fmt::format("replicas{} are busy for {} of the time: fewer would do", of,
                              percent(pool.busy)));
  }
}

}  // namespace

std::optional<double> overloading_rate(const ServeAnswer& answer) {
  if (answer.question.workload.kind == ServingWorkload::Kind::kClosed) return std::nullopt;
  if (!outpaced(answer.run)) return std::nullopt;
  double sent = 0;
  Time first = Time::max(), last;
  for (const RequestOutcome& request : answer.run.requests) {
    if (!request.counted || request.sent == Time::max()) continue;
    ++sent;
    first = std::min(first, request.sent);
    last = std::max(last, request.sent);
  }
  return (sent - 1) / (last - first).seconds();
}

std::vector<std::string> serve_limits(const ServeAnswer& answer) {
  constexpr double kWorthTelling = 0.2;
  std::vector<std::string> limits;
  const FleetRun& run = answer.run;
  const bool apart = answer.pools.size() > 1;
  if (const auto offered = overloading_rate(answer)) {
    limits.push_back(fmt::format(
        "requests come at {:.4g} a second, {:.4g} are answered: the queue grows as long as they "
        "come",
        *offered, run.requests_per_s));
  }
  const double waits = waiting_share(run);
  if (waits >= kWorthTelling) {
    limits.push_back(
        fmt::format("{} of the mean time to a first token passes before the prompt's turn comes",
                    percent(waits)));
  }
  for (const ServePool& pool : answer.pools) tell_pool(pool, apart, limits);
  if (!apart && answer.pools.front().prefill_share >= kWorthTelling) {
    limits.push_back(fmt::format("prompts are computed in {} of the busy time; answers stall then",
                                 percent(answer.pools.front().prefill_share)));
  }
  if (run.counts.preemptions > 0) {
    limits.push_back(
        fmt::format("{} of requests for lack of blocks: their tokens are computed twice",
                    counted(static_cast<std::uint64_t>(run.counts.preemptions), "preemption")));
  }
  if (run.unanswered + run.lost > 0) {
    limits.push_back(
        fmt::format("{} without an answer", counted(run.unanswered + run.lost, "request")));
  }
  return limits;
}

}  // namespace flopcast::question
