// When a run's software is of, and which set its id tells.
#include <fmt/format.h>

#include <cmath>

#include "measured/training/book.h"
#include "measured/training/launches.h"

namespace flopcast::measured {
namespace {

/// What a text says behind a word, wherever that stands first with a month behind it.
int month_behind(std::string_view after, std::string_view text) {
  for (std::size_t at = text.find(after); at != text.npos; at = text.find(after, at + 1)) {
    const int month = leading_month(text.substr(at + after.size()));
    if (month > 0) return month;
  }
  return 0;
}

/// Of a text that begins with "v5.1" or "5.1" the autumn of the year.
int month_of_round(const LaunchBook& book, std::string_view round) {
  if (round.starts_with('v')) round.remove_prefix(1);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool told = round.size() >= 3 && digit(round[0]) && round[1] == '.' && digit(round[2]) &&
                    (round.size() == 3 || (!digit(round[3]) && round[3] != '.'));
  if (!told) return 0;
  return (book.first_round + (round[0] - '0')) * 100 +
         (round[2] == '0' ? book.spring : book.autumn);
}

/// What a rule finds in a text: a month behind its word, or a round there.
int month_in(const LaunchBook& book, const MonthRule& rule, std::string_view text) {
  if (!rule.round) return month_behind(rule.after, text);
  const std::size_t at = text.find(rule.after);
  return at == text.npos ? 0 : month_of_round(book, text.substr(at + rule.after.size()));
}

}  // namespace

int month_of(const Datable& run) {
  if (!launch_book()) return 0;
  const LaunchBook& book = *launch_book();
  for (const MonthRule& rule : book.months) {
    if (!rule.repo.empty() && rule.repo != run.repo) continue;
    int month = 0;
    if (rule.field == "year" && run.year > 0) month = static_cast<int>(run.year * 100) + 1;
    const std::string* text = rule.field == "container" ? &run.container
                              : rule.field == "id"      ? &run.id
                              : rule.field == "round"   ? &run.round
                              : rule.field == "repo"    ? &run.repo
                              : rule.field == "path"    ? &run.path
                                                        : nullptr;
    if (text != nullptr) month = month_in(book, rule, *text);
    if (month > 0) return month;
  }
  return 0;
}

std::string set_of_id(std::string_view id) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < id.size();) {
    const std::size_t end = std::min(id.find('-', at), id.size());
    words.push_back(id.substr(at, end - at));
    at = end + 1;
  }
  if (words.empty()) return "";
  const std::string first(words[0]);
  if (!launch_book()) return first;
  const auto known = launch_book()->set_of_id.find(first);
  if (known == launch_book()->set_of_id.end()) return first;
  // "mlperf-{3}": the third word stands for the brace.
  const std::string& form = known->second;
  const std::size_t open = form.find('{');
  if (open == form.npos) return form;
  const auto place = static_cast<std::size_t>(form[open + 1] - '0');
  if (place < 1 || place > words.size()) return first;
  return form.substr(0, open) + std::string(words[place - 1]);
}

}  // namespace flopcast::measured
