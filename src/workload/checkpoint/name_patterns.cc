#include "workload/checkpoint/name_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>

namespace flopcast::workload {
namespace {

/// What checkpoints write before a module's name.
constexpr std::string_view kPrefixes[] = {"model.", "", "model.language_model.",
                                          "language_model.model.", "backbone."};

RE2::Options options() {
  RE2::Options quiet(RE2::Quiet);
  quiet.set_never_capture(true);
  return quiet;
}

/// From wildcards of fnmatch, for a whole name or what it is inside of.
std::string of_wildcards(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '*') {
      out += ".*";
    } else if (letter == '?') {
      out += '.';
    } else {
      out += RE2::QuoteMeta(std::string(1, letter));
    }
  }
  return out + R"((?:\..*)?$)";
}

/// From some words of a name between its dots, in a row.
std::string of_words(std::string_view text) {
  const std::size_t layers = text.find("layers.");
  std::string part(text.substr(layers == std::string_view::npos ? 0 : layers));
  while (part.ends_with('.')) part.pop_back();
  return R"((?:.*\.)?)" + RE2::QuoteMeta(part) + R"((?:\..*)?$)";
}

}  // namespace

NamePatterns::NamePatterns(const std::vector<std::string>& patterns) {
  std::vector<std::string> all;
  for (const std::string& text : patterns) {
    if (text.empty()) continue;
    const bool wild = text.find_first_of("*?") != std::string::npos;
    std::string expression = text.starts_with("re:") ? text.substr(3)
                             : wild                  ? of_wildcards(text)
                                                     : of_words(text);
    // Each by itself first: a fault may not change what its neighbours mean.
    if (text.starts_with("re:") && !RE2(expression, options()).ok()) {
      unread_ = fmt::format("the pattern '{}'", text);
      continue;
    }
    all.push_back(std::move(expression));
  }
  if (all.empty()) return;
  expression_ = std::make_shared<RE2>(fmt::format("(?:{})", fmt::join(all, ")|(?:")), options());
  if (!expression_->ok()) unread_ = fmt::format("{} patterns together", all.size());
}

bool NamePatterns::name(std::string_view module) const {
  if (empty() || !expression_->ok()) return false;
  return std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
    const std::string full = fmt::format("{}{}", prefix, module);
    return expression_->Match(full, 0, full.size(), RE2::ANCHOR_START, nullptr, 0);
  });
}

}  // namespace flopcast::workload
