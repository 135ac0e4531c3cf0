// A table of host costs from recordings: calls by their medians, operators by what fits all recordings best.
#include <algorithm>
#include <cmath>

#include "base/numeric/median.h"
#include "base/numeric/quantile.h"
#include "flopcast/live/host.h"
#include "live/engine/host/observed.h"

namespace flopcast {

using namespace live;  // the room's own names

namespace {

/// How much it weighs, beside the distance of a recording, that operators and launches outside of them are not in the
/// ratio that the built-in table has.
constexpr double kRatioWeighs = 0.02;
/// Calls of a kind: fewer in a recording say nothing.
constexpr std::size_t kFewCalls = 5;

struct Recorded {
  std::string source;
  std::vector<Observed> runs;
  std::array<std::optional<double>, kHostCosts> medians;  ///< ns
};

/// Nanoseconds of an operator, and of a launch outside of them.
struct PerOperator {
  double operator_ns = 0, outside_ns = 0;

  double seconds(const Observed& run) const {
    return 1e-9 * (operator_ns * static_cast<double>(run.count(HostCost::kOperator)) +
                   outside_ns * static_cast<double>(run.count(HostCost::kOutside)));
  }
};

/// Recordings but one.
class Others {
 public:
  Others(const std::vector<Recorded>& all, std::size_t but) : all_(all), but_(but) {}
  template <typename Function>
  void each(const Function& function) const {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (i != but_) function(all_[i]);
    }
  }

 private:
  const std::vector<Recorded>& all_;
  std::size_t but_;
};

double distance(const PerOperator& costs, const PerOperator& builtin, const Others& recordings) {
  double sum = kRatioWeighs * std::abs(std::log(costs.outside_ns / costs.operator_ns *
                                                builtin.operator_ns / builtin.outside_ns));
  recordings.each([&](const Recorded& one) {
    for (const Observed& run : one.runs) {
      const double forecast = costs.seconds(run);
      if (run.host_s > 0 && forecast > 0)
        sum += std::abs(std::log(forecast / run.host_s)) / static_cast<double>(one.runs.size());
    }
  });
  return sum;
}

/// The nearest of a grid around `middle`, `steps` either way of a factor each.
PerOperator nearest(const PerOperator& middle, double factor, int steps, const PerOperator& builtin,
                    const Others& recordings) {
  PerOperator best = middle;
  double least = distance(middle, builtin, recordings);
  for (int i = -steps; i <= steps; ++i) {
    for (int j = -steps; j <= steps; ++j) {
      const PerOperator tried{middle.operator_ns * std::pow(factor, i),
                              middle.outside_ns * std::pow(factor, j)};
      const double far = distance(tried, builtin, recordings);
      if (far >= least) continue;
      least = far;
      best = tried;
    }
  }
  return best;
}

HostTable table_of(const std::vector<Recorded>& all, std::size_t but) {
  HostTable table = HostTable::builtin();
  table.spread = 0;
  const Others recordings(all, but);
  for (std::size_t cost = 0; cost < kHostCosts; ++cost) {
    std::vector<double> seen;
    recordings.each([&](const Recorded& one) {
      if (one.medians[cost]) seen.push_back(*one.medians[cost]);
    });
    std::sort(seen.begin(), seen.end());
    if (!seen.empty()) table.ns[cost] = quantile(seen, 0.5);
  }
  double& operator_ns = table.ns[static_cast<std::size_t>(HostCost::kOperator)];
  double& outside_ns = table.ns[static_cast<std::size_t>(HostCost::kOutside)];
  const PerOperator builtin{operator_ns, outside_ns};
  // A hundredfold either way, and then finer and finer.
  PerOperator fitted = nearest(builtin, 1.2, 25, builtin, recordings);
  for (const double factor : {1.02, 1.002})
    fitted = nearest(fitted, factor, 12, builtin, recordings);
  operator_ns = fitted.operator_ns;
  outside_ns = fitted.outside_ns;
  return table;
}

HostError error_of(const std::string& source, const Observed& run, const HostTable& table) {
  HostError error;
  error.source = source;
  error.operators = run.count(HostCost::kOperator);
  error.measured_s = run.host_s + run.calls_s;
  error.profiler_s = run.profiler_s;
  for (std::size_t cost = 0; cost < kHostCosts; ++cost)
    error.forecast_s += 1e-9 * static_cast<double>(run.made[cost]) * table.ns[cost];
  return error;
}

Recorded recorded(const HostRecording& recording) {
  Recorded made;
  made.source = recording.source;
  for (const TraceSet& run : recording.runs) made.runs.push_back(observe(run));
  for (std::size_t cost = 0; cost < kHostCosts; ++cost) {
    std::vector<std::int64_t> seen;
    for (const Observed& run : made.runs)
      seen.insert(seen.end(), run.calls[cost].begin(), run.calls[cost].end());
    if (seen.size() >= kFewCalls) made.medians[cost] = static_cast<double>(upper_median(seen));
  }
  return made;
}

/// Root mean square of logarithms, each recording with weight one.
double spread_of(const std::vector<Recorded>& all, const std::vector<HostError>& errors) {
  double sum = 0, weight = 0;
  auto error = errors.begin();
  for (const Recorded& one : all) {
    for (std::size_t run = 0; run < one.runs.size(); ++run, ++error) {
      if (error->measured_s <= 0 || error->forecast_s <= 0) continue;
      const double share = 1 / static_cast<double>(one.runs.size());
      const double off = std::log(error->forecast_s / error->measured_s);
      sum += share * off * off;
      weight += share;
    }
  }
  return weight > 0 ? std::exp(std::sqrt(sum / weight)) : 1;
}

}  // namespace

Result<HostFit> fit_host(std::span<const HostRecording> recordings) {
  std::vector<Recorded> all;
  for (const HostRecording& recording : recordings) all.push_back(recorded(recording));
  const bool any = std::any_of(all.begin(), all.end(), [](const Recorded& one) {
    return std::any_of(one.runs.begin(), one.runs.end(), [](const Observed& run) {
      return !run.calls[static_cast<std::size_t>(HostCost::kLaunch)].empty();
    });
  });
  if (!any) {
    const std::string where = recordings.empty() ? "recordings" : recordings[0].source;
    const char* const what = recordings.size() > 1
                                 ? "neither it nor the others have calls that launch kernels"
                                 : "has no calls that launch kernels";
    return Diagnostic{ErrorCode::kBadInput, where, what,
                      "record with ProfilerActivity.CPU and ProfilerActivity.CUDA"};
  }
  HostFit fit;
  fit.table = table_of(all, all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const HostTable others = table_of(all, i);
    for (std::size_t run = 0; run < all[i].runs.size(); ++run) {
      const bool alone = all[i].runs.size() == 1;
      const std::string& source = alone ? all[i].source : recordings[i].runs[run].label;
      fit.errors.push_back(error_of(source, all[i].runs[run], others));
    }
  }
  fit.spread = spread_of(all, fit.errors);
  // One recording was not left out of anything: its error is that of the built-in table.
  if (all.size() > 1) fit.table.spread = std::min(fit.spread, 100.0);
  return fit;
}

}  // namespace flopcast
