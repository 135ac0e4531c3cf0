#include "serving/fleet/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/names.h"

namespace flopcast {

using namespace serving;

std::string_view name(Router router) {
  constexpr std::string_view kNames[] = {"round-robin", "least-loaded", "prefix-aware"};
  return kNames[static_cast<int>(router)];
}

std::optional<Router> parse_router(std::string_view text) {
  for (const Router router : {Router::kRoundRobin, Router::kLeastLoaded, Router::kPrefixAware}) {
    if (name_key(text) == name_key(name(router))) return router;
  }
  return std::nullopt;
}

unsigned Fleet::chips() const {
  return most_replicas(*this) * pool.deployment.layout.chips() +
         (decode ? decode->replicas * decode->deployment.layout.chips() : 0);
}

}  // namespace flopcast

namespace flopcast::serving {
namespace {

Diagnostic fleet_error(std::string what, std::string hint) {
  return usage_error("fleet", std::move(what), std::move(hint));
}

std::optional<Diagnostic> wrong_scaling(const Fleet& fleet) {
  if (!fleet.autoscaling) return std::nullopt;
  const Autoscaling& scaling = *fleet.autoscaling;
  if (fleet.decode) {
    return fleet_error("autoscaling of a fleet split in prefill and decode pools",
                       "give both pools their numbers of replicas");
  }
  if (scaling.least < 1 || scaling.most < scaling.least) {
    return fleet_error(fmt::format("{} to {} replicas", scaling.least, scaling.most),
                       "at least 1, and no fewer at most than at least");
  }
  if (!(scaling.requests_per_replica > 0)) {
    return fleet_error(fmt::format("{} requests a replica", scaling.requests_per_replica),
                       "say how many outstanding requests a replica is for");
  }
  if (scaling.interval <= Time{} || scaling.start_up < Time{} ||
      scaling.idle_before_stop < Time{}) {
    return fleet_error("autoscaling with times below 0", "the interval is above 0");
  }
  return std::nullopt;
}

std::optional<Diagnostic> wrong_faults(const Fleet& fleet) {
  const unsigned replicas = most_replicas(fleet) + (fleet.decode ? fleet.decode->replicas : 0);
  for (const ReplicaFault& fault : fleet.faults) {
    if (fault.replica >= replicas) {
      return fleet_error(fmt::format("replica {} dies, of {}", fault.replica, replicas),
                         fmt::format("they are 0 to {}", replicas - 1));
    }
    if (fault.at < Time{} || fault.back <= fault.at) {
      return fleet_error(fmt::format("replica {} is back before it dies", fault.replica),
                         "it is back after it dies, or never");
    }
  }
  return std::nullopt;
}

}  // namespace

unsigned most_replicas(const Fleet& fleet) {
  return fleet.autoscaling ? fleet.autoscaling->most : fleet.pool.replicas;
}

std::optional<Diagnostic> wrong_fleet(const Fleet& fleet) {
  if (auto wrong = wrong_scaling(fleet)) return wrong;
  if (most_replicas(fleet) < 1 || (fleet.decode && fleet.decode->replicas < 1)) {
    return fleet_error("a pool without replicas", "each has at least one");
  }
  const auto chips = [](const ReplicaPool& pool, unsigned replicas) {
    return static_cast<std::uint64_t>(replicas) * pool.deployment.layout.chips();
  };
  const std::uint64_t needed = chips(fleet.pool, most_replicas(fleet)) +
                               (fleet.decode ? chips(*fleet.decode, fleet.decode->replicas) : 0);
  const unsigned there = fleet.pool.deployment.cluster.chips();
  if (needed > there) {
    const unsigned of_one = std::max(fleet.pool.deployment.layout.chips(), 1U);
    return fleet_error(fmt::format("a fleet of {} chips on a cluster of {}", needed, there),
                       fleet.decode
                           ? std::string("name a larger cluster or fewer replicas")
                           : fmt::format("{} replicas of {} chips fit", there / of_one, of_one));
  }
  return wrong_faults(fleet);
}

}  // namespace flopcast::serving
