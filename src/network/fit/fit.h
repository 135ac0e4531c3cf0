// Floor 2, private to the fit of collectives: what a CollectiveFit holds.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flopcast/network/fit.h"
#include "network/fit/kriging.h"

namespace flopcast {
namespace network {

/// Sizes are judged in four classes: below 64 KB, 4 MB, 64 MB, and above.
inline constexpr std::size_t kSizeClasses = 4;
std::size_t size_class(double bytes);
std::string_view size_class_name(std::size_t size_class);

/// 10 and 90 % quantiles of log(measured/forecast) in units of the estimate's sd.
struct Band {
  double low = -1.28, high = 1.28;
};
struct SystemBands {
  std::array<Band, kSizeClasses> table, fitted;  ///< a measured case; one that was not
};

}  // namespace network

struct CollectiveFit::State {
  struct System {
    std::vector<network::MeasuredCurve> curves;  ///< sorted by case
    network::PooledForms forms;
    network::SystemBands bands;
    /// Made when first asked for.
    const network::Kriging& kriging() const;
    const network::MeanTime& mean() const;
    /// What lies between knots: quantiles of log(measured / interpolated) of knots left out.
    const std::array<network::Band, network::kSizeClasses>& between() const;

   private:
    void prepare() const;
    mutable std::once_flag once_;
    mutable std::unique_ptr<network::MeanTime> mean_;
    mutable std::unique_ptr<network::Kriging> kriging_;
    mutable std::array<network::Band, network::kSizeClasses> between_;
  };
  std::map<std::string, System, std::less<>> systems;
};

/// One case's times: knots in log-log and the form that goes on beyond the last, or a form alone.
struct CollectiveFit::Curve::State {
  CollectiveCase what;
  network::LogCurve knots;                   ///< empty: the form alone
  std::vector<double> sd;                    ///< of log time; one per knot, or one for all
  const network::MeanTime* mean = nullptr;   ///< the fit's, which outlives its curves
  std::optional<network::ThreeTerms> terms;  ///< instead of the mean
  std::array<network::Band, network::kSizeClasses> bands;
  std::array<network::Band, network::kSizeClasses> between = {
      network::Band{0, 0}, network::Band{0, 0}, network::Band{0, 0}, network::Band{0, 0}};
  Basis basis = Basis::kFitted;
  std::string source;

  double form_seconds(double bytes) const {
    return terms ? terms->at(bytes) : mean->at(what, bytes);
  }
};

namespace network {

/// "2.9" < "2.27.3" < "2.27.3rc1" < ...: numbers as numbers.
bool older_version(std::string_view a, std::string_view b);

/// Quantiles of what each curve misses the others' estimate by.
SystemBands fit_bands(const Kriging& kriging);

/// NCCL's constants over the catalogue's node of a system; empty where that is not known.
Reference reference_of(std::string_view system);

/// Reading and writing, network/fit/fit_toml.cc.
std::string write_fit(const CollectiveFit::State& state);
std::optional<Diagnostic> read_fit(std::string_view text, const std::string& where,
                                   CollectiveFit::State& state);

}  // namespace network
}  // namespace flopcast
