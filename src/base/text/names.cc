#include "base/text/names.h"

#include <algorithm>
#include <numeric>

namespace flopcast {
namespace {

/// Letters added, left out, changed, or swapped with their neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above = row, next = row;
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) next[j] = std::min(next[j], above[j - 2] + 1);
    }
    above.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

}  // namespace

std::string name_key(std::string_view text) {
  std::string key;
  key.reserve(text.size());
  for (const char c : text) {
    if (c == '-' || c == '_' || c == ' ' || c == '.' || c == '\t') continue;
    key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return key;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string> nearest_names(std::string_view text,
                                       const std::vector<std::string>& names) {
  constexpr std::size_t kLongestTyped = 64;  // the distance costs the product of the lengths
  const std::string key = name_key(text.substr(0, kLongestTyped));
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string& candidate : names) {
    const std::string other = name_key(candidate);
    const bool part = key.size() >= 3 && other.find(key) != std::string::npos;
    const std::size_t distance = part ? 1 : edit_distance(key, other);
    if (part || 3 * distance <= std::max(key.size(), other.size())) {
      near.emplace_back(distance, candidate);
    }
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [distance, candidate] : near) {
    if (std::find(result.begin(), result.end(), candidate) == result.end()) {
      result.emplace_back(candidate);
    }
    if (result.size() == 3) break;
  }
  return result;
}

std::string did_you_mean(std::string_view text, const std::vector<std::string>& names,
                         std::string_view otherwise) {
  const std::vector<std::string> near = nearest_names(text, names);
  if (near.empty()) return std::string(otherwise);
  std::string list;
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) list += i + 1 == near.size() ? " or " : ", ";
    list += "'" + near[i] + "'";
  }
  return "did you mean " + list + "?";
}

}  // namespace flopcast
