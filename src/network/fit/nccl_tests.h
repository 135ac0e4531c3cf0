// What nccl-tests and rccl-tests print, one run or several after another, as it comes out of a terminal
// or a launcher's log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flopcast/network/fit.h"

namespace flopcast::network {

/// It has the header of their tables.
bool is_nccl_tests(std::string_view text);

/// Every row with the test, the library's version, ranks, nodes and chip that the lines above it tell;
/// times are those out of place. Where those lines do not tell the ranks, the two bandwidths of the rows do; `told`
/// stands before both. Systems are the catalogue's of that chip. Errors: a table without its ranks or nodes, or no row
/// at all. Rows that cannot be used are counted in `anomalies`.
Result<std::vector<CollectiveSample>> parse_nccl_tests(std::string_view text,
                                                       const std::string& where,
                                                       Anomalies& anomalies,
                                                       const RunSize& told = {});

}  // namespace flopcast::network
