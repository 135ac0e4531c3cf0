// Where ranks that are alike lie: what they transfer takes the same only over the same links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flopcast/hardware.h"
#include "live/engine/session/folding.h"

namespace flopcast::live {

/// Whether messages between different nodes may meet on a link that is no node's own. On switches, and on fat trees and rails
/// with as much bandwidth above as below, they hardly do.
bool shares_tiers(const Cluster& cluster);

/// Two groups whose ranks are alike and lie differently: on nodes, on those that programs see, or on parts of the cluster whose
/// links to each other have less bandwidth than within. Empty: there are none.
/// @param node devices of a node, as programs see it
std::string unlike_places(const Folding& folding, const Cluster& cluster, std::uint32_t node);

}  // namespace flopcast::live
