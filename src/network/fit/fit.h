// Floor 2, private to the fit of collectives: what a CollectiveFit holds.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flopcast/network/fit.h"
#include "network/fit/relations.h"

namespace flopcast {

struct CollectiveFit::State {
  network::MeasuredSystems systems;
  std::map<std::string, network::SystemBands, std::less<>> bands;  ///< of systems read from a file
  /// Made when first asked for.
  const network::Relations& relations() const;
  network::SystemBands bands_of(std::string_view system) const;

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<network::Relations> relations_;
};

/// One case's times: knots in log-log and the form that goes on beyond the last, or a form alone.
struct CollectiveFit::Curve::State {
  CollectiveCase what;
  network::LogCurve knots;  ///< empty: the form alone
  std::vector<double> sd;   ///< of log time; one per knot, or one for all
  std::shared_ptr<const network::MeanTime>
      mean;                                  ///< the fit's, which outlives its curves, or its own
  std::optional<network::ThreeTerms> terms;  ///< instead of the mean
  network::Bands bands;
  network::Bands between = {network::Band{0, 0}, network::Band{0, 0}, network::Band{0, 0},
                            network::Band{0, 0}};
  Basis basis = Basis::kFitted;
  std::string source;

  /// Bounds of the 10-90 % band over the time.
  struct Spread {
    double low = 1, high = 1;
  };
  std::vector<std::array<Spread, network::kSizeClasses>> spreads;  ///< by `sd` and size class
  void find_spreads();  ///< once all of the above is known
  const Spread& spread(double bytes, double log2) const;
  Seconds time(double bytes, double log2) const;

  double form_seconds(double bytes) const {
    return terms ? terms->at(bytes) : mean->at(what, bytes);
  }
};

namespace network {

/// A fit of curves, sorted by case.
std::unique_ptr<CollectiveFit::State> fit_of_curves(std::vector<MeasuredCurve> curves);

/// Reading and writing, network/fit/fit_toml.cc.
std::string write_fit(const CollectiveFit::State& state);
std::optional<Diagnostic> read_fit(std::string_view text, const std::string& where,
                                   CollectiveFit::State& state);

}  // namespace network
}  // namespace flopcast
