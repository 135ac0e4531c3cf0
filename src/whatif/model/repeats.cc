#include "whatif/model/repeats.h"

#include <algorithm>

namespace flopcast::whatif {
namespace {

using TokenSpan = std::span<const std::uint32_t>;

/// The longest run of one period.
Repeat longest_of_period(TokenSpan tokens, std::uint32_t period) {
  Repeat best;
  std::uint32_t most = 0;
  const auto last = static_cast<std::uint32_t>(tokens.size()) - period;
  for (std::uint32_t i = 0; i < last;) {
    if (tokens[i] != tokens[i + period]) {
      ++i;
      continue;
    }
    const std::uint32_t first = i;
    while (i < last && tokens[i] == tokens[i + period]) ++i;
    const std::uint32_t equal = i - first;
    if (equal < period || equal <= most) continue;
    most = equal;
    const std::uint32_t length = equal + period;
    best = {first, period, length / period, length % period};
  }
  return best;
}

void find_between(TokenSpan tokens, std::uint32_t from, std::uint32_t until, std::uint32_t shortest,
                  std::vector<Repeat>& found) {
  if (until - from < 2 * shortest) return;
  Repeat best = longest_repeat(tokens.subspan(from, until - from), shortest);
  if (best.copies == 0) return;
  best.start += from;
  find_between(tokens, from, best.start, shortest, found);
  found.push_back(best);
  find_between(tokens, best.end(), until, shortest, found);
}

}  // namespace

Repeat longest_repeat(TokenSpan tokens, std::uint32_t shortest) {
  const auto size = static_cast<std::uint32_t>(tokens.size());
  if (size < 2) return {};
  const auto most = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(size / 2, std::max<std::uint64_t>(kMostComparisons / size, 1)));
  Repeat best;
  for (std::uint32_t period = std::max(shortest, 1U); period <= most; ++period) {
    const Repeat run = longest_of_period(tokens, period);
    if (run.copies > 0 &&
        run.period * run.copies + run.extra > best.period * best.copies + best.extra) {
      best = run;
    }
  }
  return best;
}

std::vector<Repeat> find_repeats(TokenSpan tokens, std::uint32_t shortest) {
  std::vector<Repeat> found;
  find_between(tokens, 0, static_cast<std::uint32_t>(tokens.size()), std::max(shortest, 1U), found);
  return found;
}

double likeness(TokenSpan a, TokenSpan b) {
  if (a.empty() || b.empty()) return 0;
  std::vector<std::uint32_t> row(b.size() + 1, 0);  // common subsequence of a's part and b's
  for (const std::uint32_t token : a) {
    std::uint32_t diagonal = 0;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::uint32_t above = row[j];
      row[j] = token == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return static_cast<double>(row.back()) / static_cast<double>(std::max(a.size(), b.size()));
}

}  // namespace flopcast::whatif
