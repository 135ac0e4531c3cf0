// Requests as a file has them, before they are put in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving/requests.h"
#include "serving/requests/clock.h"

namespace flopcast::serving {

/// A request with the time its file says.
struct RequestRow {
  WidePs at = 0;
  ServingRequest request;
};

/// Collects rows; counts those left out.
class RequestRows {
 public:
  explicit RequestRows(std::string where) : where_(std::move(where)) {}

  /// "file.csv:17"
  std::string place(std::size_t line) const;
  /// Leaves a row out.
  void refuse(std::size_t line, std::string_view kind, std::string_view what);
  /// Takes a row, or refuses one without tokens or with more than any model reads. `prefix` is a block's hash
  /// each, chained or not.
  void take(std::size_t line, RequestRow row, const std::vector<std::uint64_t>& prefix = {});
  /// Tokens of a prefix block, for what take() is given from now on.
  void set_prefix_block(std::int64_t tokens) { list_.prefix_block = tokens; }
  void merge(const Anomalies& anomalies) { list_.anomalies.merge(anomalies); }

  /// In order of arrival, the first at 0. Errors: there is none.
  Result<RequestList> finish();

 private:
  std::string where_;
  std::vector<RequestRow> rows_;
  RequestList list_;
};

/// What requests may look like: a hint.
inline constexpr std::string_view kRequestFormats =
    "formats: TIMESTAMP,ContextTokens,GeneratedTokens (Azure); arrival_s,input,output[,session]; "
    "JSON lines with "
    "timestamp, input_length, output_length, hash_ids (Mooncake) or arrival_time, input_toks, "
    "output_toks (vLLM)";

/// Tables with a header row.
Result<RequestList> csv_requests(std::string_view text, const std::string& where);
/// A JSON object a line.
Result<RequestList> json_requests(std::string_view text, const std::string& where);

}  // namespace flopcast::serving
