// Floor 8: a live run as a summary and JSON.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "flopcast/live.h"

namespace flopcast {

/// Aligned tables with bars for a terminal.
std::string live_text(const LiveReport& report);
/// Two lines where kernels of unknown work would be more than 1 % of GPU time; else nothing.
std::string live_unknown_work(const LiveReport& report);
/// Documented in docs/reference/json.md; the field names are a contract.
std::string live_json(const LiveReport& report);

/// A captured run on one of several clusters.
struct ResolvedRow {
  std::string cluster;                ///< as asked for
  std::optional<LiveReport> report;   ///< of the run there
  std::optional<Diagnostic> problem;  ///< why there is none
};
/// A row a cluster, in their order.
std::string resolved_text(std::span<const ResolvedRow> rows);
/// The documents of all, in their order.
std::string resolved_json(std::span<const ResolvedRow> rows);

}  // namespace flopcast
