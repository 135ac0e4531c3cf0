// Arithmetic of collectives, on any type of elements: part by part in the order of the ranks, so that every run and
// every rank gets the same bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "live/wire/record.h"

namespace flopcast::live {

/// None if there is no such type.
std::optional<Element> element_of(int type);
std::size_t bytes_of(Element element);

/// to[i] = parts[0][i] with parts[1][i] and so on. Sums of types below 32 bits are rounded once. `to` may be
/// one of the parts.
void reduce_parts(Element element, Reduction reduction, std::span<const std::byte* const> parts,
                  std::size_t count, std::byte* to);
/// to[i] = from[i] times a scalar of the same type.
void scale(Element element, const std::byte* from, const std::byte* scalar, std::size_t count,
           std::byte* to);

}  // namespace flopcast::live
