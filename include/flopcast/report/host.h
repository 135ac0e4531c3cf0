// Floor 8: what calls and operators take the host, as a table and as JSON.
#pragma once

#include <string>

#include "flopcast/live/host.h"

namespace flopcast {

/// For people: the costs, and for each recording the errors of a fit to all others.
std::string host_fit_text(const HostFit& fit);
/// One document; docs/reference/json.md names every field.
std::string host_fit_json(const HostFit& fit);

}  // namespace flopcast
