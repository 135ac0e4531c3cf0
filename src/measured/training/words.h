// Words in what people write of their runs.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::measured {

inline bool is_word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Letters and digits between whatever else there is: "qkv_proj (FSDP2)" is qkv, proj, FSDP2.
inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word_part(text[end])) ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

inline std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

inline bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

/// Whether the words of a phrase follow each other in a text, in whatever case and between whatever signs.
inline bool says(std::string_view text, std::string_view phrase) {
  const std::vector<std::string_view> words = words_of(text), wanted = words_of(phrase);
  for (std::size_t first = 0; first + wanted.size() <= words.size(); ++first) {
    std::size_t i = 0;
    while (i < wanted.size() && same_word(words[first + i], wanted[i])) ++i;
    if (i == wanted.size()) return true;
  }
  return false;
}

}  // namespace flopcast::measured
