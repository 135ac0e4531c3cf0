#include "network/fit/relations.h"

#include <algorithm>
#include <set>
#include <utility>

namespace flopcast::network {
namespace {

/// What a box's bridges and a network do shows in everything that passes them.
bool tells_of_all(const Kin& asked) {
  return asked.platform->joints.back().over_pcie || asked.what.nodes > 1;
}

bool tells_at_home(const Kin& asked, const Kin& other) {
  const CollectiveOp reduce = CollectiveOp::kAllReduce;
  return tells_of_all(asked) || other.mode == asked.mode ||
         (asked.what.op == reduce && other.what.op == reduce);
}

bool tells_abroad(const Kin& asked, const Kin& other) {
  const bool across = other.what.nodes > 1;
  return other.platform->known() && other.mode == asked.mode &&
         mirrored(asked.what.op, other.what.op) && (asked.what.nodes > 1) == across &&
         (!across || other.platform->network.empty() ||
          other.platform->network == asked.platform->network);
}

}  // namespace

bool is_across(const MeasuredSystem& system) {
  return std::ranges::any_of(system.curves,
                             [](const MeasuredCurve& curve) { return curve.what.nodes > 1; });
}

Relations::System::System(std::string_view name, const MeasuredSystem& of)
    : measured(of), platform(platform_of(name)), mean(name, of.forms) {}

const std::vector<Residuals>& Relations::System::residuals() const {
  std::call_once(once_, [this] {
    for (const MeasuredCurve& curve : measured.curves) {
      residuals_.push_back(residuals_of(curve, platform, mean));
    }
  });
  return residuals_;
}

Relations::Relations(const MeasuredSystems& systems) {
  for (const auto& [name, measured] : systems) {
    systems_.emplace(name, std::make_unique<System>(name, measured));
  }
}

const Platform& Relations::platform(std::string_view name) const { return system(name).platform; }
const MeanTime& Relations::mean(std::string_view name) const { return system(name).mean; }

void Relations::add_abroad(const Kin& kin, const System* home,
                           std::vector<const Residuals*>& relatives) const {
  for (const auto& [name, other] : systems_) {
    if (other.get() == home || !other->platform.known()) continue;
    for (const Residuals& far : other->residuals()) {
      if (tells_abroad(kin, far.kin)) relatives.push_back(&far);
    }
  }
}

const Kriging& Relations::abroad(const Kin& kin) const {
  const bool across = kin.what.nodes > 1;
  // All that `tells_abroad` asks of the case.
  const Key key{across ? kin.platform->network : "", kin.mode, kin.what.op, across};
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Kriging>& known = abroad_[key];
  if (!known) {
    std::vector<const Residuals*> relatives;
    add_abroad(kin, nullptr, relatives);
    known = std::make_unique<Kriging>(std::move(relatives), 0);
  }
  return *known;
}

std::unique_ptr<Kriging> Relations::make_kriging(const Kin& kin) const {
  const System& home = system(kin.platform->system);
  std::vector<const Residuals*> relatives;
  for (const Residuals& own : home.residuals()) {
    if (!home.platform.known() || tells_at_home(kin, own.kin)) relatives.push_back(&own);
  }
  const std::size_t own = relatives.size();
  if (home.platform.known()) add_abroad(kin, &home, relatives);
  if (relatives.empty()) {
    for (const Residuals& any : home.residuals()) relatives.push_back(&any);
  }
  return std::make_unique<Kriging>(std::move(relatives), own);
}

const Kriging& Relations::kriging(const Kin& kin) const {
  const Key key{kin.platform->system, kin.mode, kin.what.op, kin.what.nodes > 1};
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Kriging>& known = krigings_[key];
  if (!known) known = make_kriging(kin);
  return *known;
}

SystemBands Relations::find_bands(std::string_view name) const {
  std::array<std::array<std::vector<Kriging::Miss>, kDistances>, 2> misses;
  std::set<Key> seen;
  for (const Residuals& of : system(name).residuals()) {
    const Kin& kin = of.kin;
    if (!seen.emplace(kin.platform->system, kin.mode, kin.what.op, kin.what.nodes > 1).second) {
      continue;
    }
    const Kriging& kriging = this->kriging(kin);
    for (std::size_t d = 0; d < kDistances; ++d) {
      std::vector<Kriging::Miss>& all = misses[kin.what.nodes > 1 ? 1 : 0][d];
      const auto more = kriging.misses(static_cast<Distance>(d), kin);
      all.insert(all.end(), more.begin(), more.end());
    }
  }
  SystemBands bands;
  for (const std::size_t across : {0, 1}) {
    for (std::size_t d = 0; d < kDistances; ++d) bands[across][d] = bands_of(misses[across][d]);
  }
  if (!is_across(system(name).measured)) bands[1] = bands[0];
  return bands;
}

}  // namespace flopcast::network
