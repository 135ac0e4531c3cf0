// What a list of levels must fulfil, and the parts nobody wants to spell out.
#pragma once

#include <optional>
#include <string>

#include "flopcast/hardware.h"

namespace flopcast::hardware {

/// Directed neighbours of a child along one dimension of a ring or torus.
inline unsigned torus_neighbours(unsigned extent) { return extent > 2 ? 2 : extent - 1; }

/// Fills in the shape where none was given, and checks one that was.
/// @param where for messages.
std::optional<Diagnostic> complete_shape(Level& level, const std::string& where);

/// What no link has; `where` is left to say. @param what has it, for the message
std::optional<Diagnostic> outside_of_limits(const std::string& what, BytesPerSecond bandwidth,
                                            Seconds latency);

/// Sizes, bandwidths and shares that make sense; at most 2^24 chips.
std::optional<Diagnostic> check_levels(const Cluster& cluster, const std::string& where);

/// More or fewer children; links between neighbours stay as they are. The shape is left to complete.
void resize_level(Level& level, unsigned size);

/// Cuts the levels of a node down to `chips` of its chips, as "4 x h100" asks. Whole inner groups are
/// kept. @param chips more than 1. @return false where that many do not make such a part.
bool shrink_levels(std::vector<Level>& levels, unsigned chips);

}  // namespace flopcast::hardware
