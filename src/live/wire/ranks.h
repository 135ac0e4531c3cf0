// Sets of ranks as short texts: "0-3,8,16-120/8" are 0, 1, 2, 3, 8 and every eighth from 16 to 120.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::live {

/// No run has more.
inline constexpr std::size_t kMostRanks = std::size_t{1} << 22;

/// In the environment of a folded run's processes: the ranks that are there, and which are alike, "THERE|ALIKE|ALIKE"; or
/// "alone".
inline constexpr const char* kFoldVariable = "FLOPCAST_LIVE_FOLD";

/// @param ranks in any order, which the text keeps
inline std::string text_of_ranks(const std::vector<std::int32_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    const std::int32_t step = end < ranks.size() ? ranks[end] - ranks[i] : 0;
    while (step > 0 && end < ranks.size() && ranks[end] - ranks[end - 1] == step) ++end;
    if (end - i < 3) end = i + 1;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (end - i > 1) {
      text += '-' + std::to_string(ranks[end - 1]);
      if (step > 1) text += '/' + std::to_string(step);
    }
    i = end;
  }
  return text;
}

/// @return none if it is no such text, or names more than `most` ranks
inline std::optional<std::vector<std::int32_t>> ranks_of_text(std::string_view text,
                                                              std::size_t most) {
  std::vector<std::int32_t> ranks;
  const auto number = [&text](std::int32_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  const auto next_is = [&text](char sign) {
    if (text.empty() || text.front() != sign) return false;
    text.remove_prefix(1);
    return true;
  };
  while (!text.empty()) {
    std::int32_t first = 0, last = 0, step = 1;
    if (!ranks.empty() && !next_is(',')) return std::nullopt;
    if (!number(first)) return std::nullopt;
    last = first;
    if (next_is('-') && !number(last)) return std::nullopt;
    if (next_is('/') && (!number(step) || step == 0)) return std::nullopt;
    if (last < first || ranks.size() + static_cast<std::size_t>((last - first) / step) >= most)
      return std::nullopt;
    for (std::int64_t rank = first; rank <= last; rank += step)
      ranks.push_back(static_cast<std::int32_t>(rank));
  }
  return ranks;
}

}  // namespace flopcast::live
