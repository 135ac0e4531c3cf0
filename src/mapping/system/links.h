// What the links and the memory of a system are made of.
#pragma once

#include <string_view>

#include "flopcast/mapping.h"

namespace flopcast::mapping {

/// Bandwidths, prices and power of all dimensions from "nvlink", "50GB/s" or one of these per
/// dimension, the last for all further ones. "nvlink" alone joins the chips of the innermost dimension,
/// PCIe what is outside, as in the published systems. Errors (kUsage): no such technology, more than
/// there are dimensions.
std::optional<Diagnostic> set_links(MappingSystem& system, std::string_view text,
                                    const Catalog& catalog);

/// Prices and power of links that keep their bandwidths: PCIe's.
std::optional<Diagnostic> price_links(MappingSystem& system, const Catalog& catalog);

/// Bandwidth and capacity from "ddr", "hbm", "3d" or a bandwidth; the chip's own where `text` is
/// empty. Prices are those of the technology nearest in bandwidth. Errors (kUsage): no such technology.
std::optional<Diagnostic> set_memory_of(MappingSystem& system, std::string_view text,
                                        const Catalog& catalog);

}  // namespace flopcast::mapping
