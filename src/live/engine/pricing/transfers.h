// Transfers of a live run on the links of its cluster: each takes what the model of collectives says where it is
// alone, and longer where others use its links.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flopcast/machine.h"
#include "live/engine/session/work.h"

namespace flopcast::live {

class Transfers {
 public:
  /// Errors: those of Topology::build.
  static Result<Transfers> make(const Machine& machine);

  /// How long it takes where nothing else uses its links; zero where it cannot be carried.
  Time alone(const Transfer& what);
  /// A transfer starts; at or after the time advance() was last told. @return what cannot be done
  std::optional<Diagnostic> begin(std::uint64_t transfer, const Transfer& what, Time start);
  /// When the first ends if nothing else begins.
  std::optional<Time> next_end();
  /// Those that end by `until`, the earliest first; nothing begins before it any more.
  std::vector<std::pair<std::uint64_t, Time>> advance(Time until);

 private:
  Transfers(Machine machine, Topology topology);

  struct Scaled {
    Time alone;                 ///< by the model of collectives
    std::optional<Bytes> size;  ///< for its flows; none: links do not matter
  };
  Result<Scaled> scaled(const CollectiveQuery& query);
  Result<Scaled> signalled(const CollectiveQuery& query) const;
  Result<Scaled> remembered(const CollectiveQuery& query);
  Result<Time> flows_alone(const CollectiveQuery& query) const;
  static Time end_of(const FlowSimulator& flows, const std::vector<FlowId>& last);

  Machine machine_;
  Topology topology_;
  FlowSimulator flows_;
  std::map<std::uint64_t, std::vector<FlowId>> under_way_;  ///< flows that end each transfer
  std::map<std::string, Scaled> scaled_;                    ///< by operation, bytes and ranks
};

}  // namespace flopcast::live
