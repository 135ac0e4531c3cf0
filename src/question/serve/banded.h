// A fleet by its forecast, and as fast and as slow as a tenth of measured deployments are beside theirs.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "flopcast/measured/serving.h"
#include "flopcast/question/serve.h"

namespace flopcast::question {

enum class BandEnd : std::uint8_t { kForecast, kFast, kSlow };

/// Clients that wait for answers ask less often when those take longer, so their times are those of the forecast's run,
/// scaled. Requests that come by themselves come all the same: what a slower fleet makes of them, queues and all, a run of
/// that fleet tells.
class BandedFleet {
 public:
  /// The forecast's fleet is prepared; the others when they are first run. Errors: PreparedFleet's.
  static Result<BandedFleet> make(const Fleet& fleet, const Catalog& catalog);

  const PreparedFleet& forecast() const { return forecast_; }
  Result<FleetRun> run(BandEnd end, const ServingWorkload& workload, const FleetOptions& options);
  /// What a run of that end is held against in place of the limits.
  std::vector<ServiceLimit> limits(BandEnd end, ServingWorkload::Kind kind,
                                   std::vector<ServiceLimit> limits) const;
  /// Of a run of that end.
  ServeSummary summary(BandEnd end, ServingWorkload::Kind kind, const FleetRun& run,
                       const std::vector<ServiceLimit>& limits, double usd_per_chip_hour) const;
  /// Whether the limits hold at a load, and no queue grows as long as requests come.
  Result<TriedLoad> try_load(BandEnd end, const ServingWorkload& workload, double load,
                             const std::vector<ServiceLimit>& limits);

 private:
  BandedFleet(const Catalog& catalog, PreparedFleet forecast);
  double factor(BandEnd end, ServingWorkload::Kind kind, ServiceLimit::Quantity quantity,
                bool mean) const;
  Result<const PreparedFleet*> at(BandEnd end);

  const Catalog* catalog_;
  PreparedFleet forecast_;
  std::array<std::optional<PreparedFleet>, 2> ends_;  ///< fast, slow
  ServingBands bands_;
};

/// Where there are limits: how surely they hold.
ServeVerdict verdict_of(bool forecast, bool fast, bool slow);

}  // namespace flopcast::question
