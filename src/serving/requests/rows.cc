#include "serving/requests/rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/numeric/mix.h"

namespace flopcast::serving {
namespace {

/// More than any model reads or says at once.
constexpr std::int64_t kMostTokens = 1'000'000'000;
/// 50 days: sums with what a fleet takes still fit a Time.
constexpr WidePs kLongestTrace = static_cast<WidePs>(50) * 86400 * 1'000'000'000'000;

}  // namespace

std::string RequestRows::place(std::size_t line) const {
  return fmt::format("{}:{}", where_, line);
}

void RequestRows::refuse(std::size_t line, std::string_view kind, std::string_view what) {
  list_.anomalies.add(kind, [&] { return fmt::format("{}: {}", place(line), what); });
}

void RequestRows::take(std::size_t line, RequestRow row, const std::vector<std::uint64_t>& prefix) {
  ServingRequest& request = row.request;
  if (request.input < 1 || request.output < 1) {
    return refuse(
        line, "request_without_tokens",
        fmt::format("a prompt of {} tokens, an answer of {}", request.input, request.output));
  }
  if (request.input > kMostTokens || request.output > kMostTokens) {
    return refuse(line, "bad_request_row", fmt::format("more than {} tokens", kMostTokens));
  }
  if (!rows_.empty() && row.at < rows_.back().at) {
    list_.anomalies.add("request_out_of_order",
                        [&] { return place(line) + ": earlier than the row before it"; });
  }
  request.prefix_begin = static_cast<std::uint32_t>(list_.prefixes.size());
  std::size_t blocks = prefix.size();
  if (!prefix.empty()) {
    const auto most =
        static_cast<std::size_t>((request.input + list_.prefix_block - 1) / list_.prefix_block);
    if (blocks != most) {
      list_.anomalies.add("prefix_blocks", [&] {
        return fmt::format("{}: {} hashes for {} blocks", place(line), blocks, most);
      });
      blocks = std::min(blocks, most);
    }
  }
  // Chained here, too: whoever wrote the file may have hashed every block by itself.
  std::uint64_t chain = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    chain = mix(chain ^ mix(prefix[i]));
    list_.prefixes.push_back(chain);
  }
  request.prefix_end = static_cast<std::uint32_t>(list_.prefixes.size());
  rows_.push_back(row);
}

Result<RequestList> RequestRows::finish() {
  if (rows_.empty()) {
    const std::vector<Anomaly>& odd = list_.anomalies.list();
    return Diagnostic{ErrorCode::kBadInput, where_,
                      odd.empty() ? std::string("no request in it")
                                  : "no usable request; first: " + odd.front().first,
                      std::string(kRequestFormats)};
  }
  std::stable_sort(rows_.begin(), rows_.end(),
                   [](const RequestRow& a, const RequestRow& b) { return a.at < b.at; });
  const WidePs origin = rows_.front().at;
  for (RequestRow& row : rows_) {
    if (row.at - origin > kLongestTrace) {
      list_.anomalies.add("request_too_late", [&] { return where_ + ": 50 days after the first"; });
      continue;
    }
    row.request.arrival = Time{static_cast<std::int64_t>(row.at - origin)};
    list_.requests.push_back(row.request);
  }
  if (list_.prefixes.empty()) list_.prefix_block = 0;
  return std::move(list_);
}

}  // namespace flopcast::serving
