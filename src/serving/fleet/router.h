// Who gets the next request.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "serving/fleet/seats.h"

namespace flopcast::serving {

/// What a router looks at.
struct RoutedRequest {
  std::int64_t input = 0;
  std::span<const std::uint64_t> prefix;
  std::int64_t prefix_block = 0;
  std::uint32_t session = 0;
};

/// Chooses among the replicas that are open. Loads are requests given and not answered.
///   round robin    one after the other
///   least loaded   the least load; of equal ones the next in turn
///   prefix-aware   as SGLang's cache-aware router: the least loaded where loads differ by more than 64 and by half;
///                  else the one that holds most of the prompt where that is more than 0.3 of it; else the one that
///                  had the session last; else the least loaded
class RequestRouter {
 public:
  explicit RequestRouter(Router rule) : rule_(rule) {}
  /// Its index; nothing where none is open.
  std::optional<std::size_t> choose(const Seats& seats, const RoutedRequest& request);

 private:
  std::size_t next_with(std::span<const std::int64_t> loads, std::int64_t load) const;
  std::size_t next_in_turn(const Seats& seats) const;
  std::size_t least_loaded(const Seats& seats) const;
  std::optional<std::size_t> holder(const Seats& seats, const RoutedRequest& request) const;
  static bool out_of_balance(const Seats& seats);

  Router rule_;
  std::size_t last_ = ~std::size_t{0};                         // chosen
  std::unordered_map<std::uint32_t, std::size_t> of_session_;  // chosen last; kPrefixAware
};

}  // namespace flopcast::serving
