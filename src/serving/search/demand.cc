#include "serving/search/demand.h"

#include <algorithm>
#include <numeric>

#include "base/numeric/rank.h"

namespace flopcast::serving {
namespace {

using Quantity = ServiceLimit::Quantity;

/// Windows are the whole span, its halves, ... down to so many parts.
constexpr std::size_t kMostParts = 64;
/// Of answers, those up to this percentile count towards a window: longer ones would stretch it.
constexpr double kWindowAnswers = 90;

double ranked(const std::vector<double>& sorted, double percentile) {
  if (sorted.empty()) return 0;
  const auto count = static_cast<std::int64_t>(sorted.size());
  if (percentile > 0) return sorted[static_cast<std::size_t>(nearest_rank(count, percentile))];
  return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count);
}

/// The tightest limit of a quantity on a percentile (means say nothing of single requests).
const ServiceLimit* limit_on(std::span<const ServiceLimit> limits, Quantity quantity) {
  const ServiceLimit* found = nullptr;
  for (const ServiceLimit& limit : limits) {
    if (limit.quantity != quantity || limit.percentile == 0) continue;
    if (!found || limit.percentile > found->percentile) found = &limit;
  }
  return found;
}

}  // namespace

Result<Demand> Demand::make(const ServingWorkload& workload) {
  Result<RequestList> list = make_requests(workload);
  if (!list) return list.error();
  const bool closed = workload.kind == ServingWorkload::Kind::kClosed;
  std::vector<ServingRequest> counted(list->requests.begin() + (closed ? workload.warm_up : 0),
                                      list->requests.end());
  if (counted.empty()) {
    return usage_error("requests", "there are none that count", "ask for more than the warm-up");
  }
  Demand demand;
  double context = 0, after_first = 0, pairs = 0, prompts = 0;
  for (ServingRequest& request : counted) {
    demand.longest_ = std::max(demand.longest_, request.input + request.output);
    demand.longest_input_ = std::max(demand.longest_input_, request.input);
    const auto input = static_cast<double>(request.input);
    const auto output = static_cast<double>(request.output);
    context += (output - 1) * (input + output / 2);
    after_first += output - 1;
    pairs += input * (input + 1);
    prompts += input;
    demand.mean_output_ += output / static_cast<double>(counted.size());
    // What is in a cache costs nothing: of prompts that may be there one token is sure.
    if (list->prefix_block > 0) request.input = 1;
    demand.inputs_.push_back(static_cast<double>(request.input));
    demand.outputs_.push_back(output);
    demand.answered_inputs_.push_back(request.output > 1 ? input : 0);
  }
  demand.mean_input_ = prompts / static_cast<double>(counted.size());
  demand.tokens_.context = after_first > 0 ? context / after_first : 1;
  demand.tokens_.pairs = prompts > 0 ? pairs / prompts : 2;
  for (auto* values : {&demand.inputs_, &demand.outputs_, &demand.answered_inputs_}) {
    std::sort(values->begin(), values->end());
  }
  demand.longest_answer_ = ranked(demand.outputs_, kWindowAnswers) - 1;
  // Of a closed loop the first request of each user is known, when it begins without a warm-up.
  if (closed) {
    const std::int64_t first = workload.warm_up > 0 ? 0 : workload.users;
    counted.resize(
        std::min(counted.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, first))));
    for (ServingRequest& request : counted) request.arrival = {};
  }
  demand.add_windows(counted);
  demand.list_ = std::move(*list);
  return demand;
}

void Demand::add_windows(std::vector<ServingRequest>& known) {
  if (known.empty()) return;
  std::stable_sort(known.begin(), known.end(),
                   [](const auto& a, const auto& b) { return a.arrival < b.arrival; });
  const double begin = known.front().arrival.seconds();
  const double span = known.back().arrival.seconds() - begin;
  for (std::size_t parts = 1; parts <= kMostParts; parts *= 2) {
    std::vector<DemandWindow> level(parts);
    for (const ServingRequest& request : known) {
      const double at = span > 0 ? (request.arrival.seconds() - begin) / span : 0;
      const auto part =
          std::min(parts - 1, static_cast<std::size_t>(at * static_cast<double>(parts)));
      DemandWindow& window = level[part];
      window.sent += 1;
      window.prompts += static_cast<double>(request.input);
      const auto after_first = static_cast<double>(request.output - 1);
      if (after_first <= longest_answer_) window.answers += after_first;
      window.seconds = span / static_cast<double>(parts);
    }
    windows_.insert(windows_.end(), level.begin(), level.end());
    if (span == 0) return;
  }
}

double Demand::input(double percentile) const { return ranked(inputs_, percentile); }
double Demand::answered_input(double percentile) const {
  return ranked(answered_inputs_, percentile);
}
double Demand::output(double percentile) const { return ranked(outputs_, percentile); }

double Demand::replicas_for(const DemandWindow& window, const TokenWorks& works,
                            std::span<const ServiceLimit> limits, bool prompts,
                            bool answers) const {
  const ServiceLimit* first = limit_on(limits, Quantity::kTtft);
  const ServiceLimit* each = limit_on(limits, Quantity::kTpot);
  if (!first) return 0;
  // The longest of all may be those that are allowed to be late.
  const auto late = [&](const ServiceLimit& limit) {
    return std::floor((100 - limit.percentile) / 100 * static_cast<double>(inputs_.size())) + 1;
  };
  const auto less_longest = [](double sum, double count, double longest) {
    return std::max(0.0, sum - count * longest);
  };
  const double waiting = window.seconds + first->below.value;
  const double sure = less_longest(window.prompts, late(*first), inputs_.back());
  double least = prompts ? work_of(works, 0, sure) / waiting : 0;
  if (!each) return least;
  // Done in time are those that break neither limit.
  const double both = late(*first) + late(*each);
  const double done = less_longest(window.answers, both, longest_answer_);
  const double begun = less_longest(window.prompts, both, inputs_.back());
  const double answering = waiting + each->below.value * longest_answer_;
  const double work = work_of(works, answers ? done : 0, prompts ? begun : 0);
  return std::max(least, work / answering);
}

unsigned Demand::least_replicas(const TokenWorks& works, std::span<const ServiceLimit> limits,
                                bool prompts, bool answers) const {
  double most = 0;
  for (const DemandWindow& window : windows_) {
    most = std::max(most, replicas_for(window, works, limits, prompts, answers));
  }
  constexpr double kNoMore = 1e6;
  return static_cast<unsigned>(std::max(1.0, std::ceil(std::min(most, kNoMore))));
}

}  // namespace flopcast::serving
