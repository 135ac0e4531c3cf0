// Floor 2, private to the fit of collectives: what is found out of a fit's curves when it is first asked for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "network/fit/bands.h"
#include "network/fit/kriging.h"

namespace flopcast::network {

/// What was measured on one system.
struct MeasuredSystem {
  std::vector<MeasuredCurve> curves;  ///< sorted by case
  PooledForms forms;
};
bool is_across(const MeasuredSystem& system);  ///< some of it between nodes
using MeasuredSystems = std::map<std::string, MeasuredSystem, std::less<>>;

/// Thread-safe; @pre the systems live as long and do not change.
class Relations {
 public:
  explicit Relations(const MeasuredSystems& systems);

  const Platform& platform(std::string_view system) const;
  const MeanTime& mean(std::string_view system) const;
  /// Of a case of the system with whatever may say something about it: the system's own curves that are
  /// launched alike, all-reduces however they are launched, and the same operation on other systems.
  const Kriging& kriging(const Kin& kin) const;
  /// Of a case on nodes that nobody measured: what the same operation leaves over on any system.
  const Kriging& abroad(const Kin& kin) const;
  SystemBands find_bands(std::string_view system) const;

 private:
  struct System {
    System(std::string_view name, const MeasuredSystem& measured);
    const std::vector<Residuals>& residuals() const;

    const MeasuredSystem& measured;
    Platform platform;
    MeanTime mean;

   private:
    mutable std::once_flag once_;
    mutable std::vector<Residuals> residuals_;
  };
  const System& system(std::string_view name) const { return *systems_.find(name)->second; }
  std::unique_ptr<Kriging> make_kriging(const Kin& kin) const;
  void add_abroad(const Kin& kin, const System* home,
                  std::vector<const Residuals*>& relatives) const;

  std::map<std::string, std::unique_ptr<System>, std::less<>> systems_;
  // System or, abroad, network; mode; operation; across nodes.
  using Key = std::tuple<std::string, std::string, CollectiveOp, bool>;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::unique_ptr<Kriging>> krigings_, abroad_;
};

}  // namespace flopcast::network
