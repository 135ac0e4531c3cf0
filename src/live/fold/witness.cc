#include "live/fold/witness.h"

#include <fmt/format.h>

#include <algorithm>

namespace flopcast::live {
namespace {

constexpr std::int32_t kFirst = 0;
/// More than a process has.
constexpr std::uint32_t kThreads = 1 << 16;

}  // namespace

Witness::Witness(const Folding& folding, OperatorTable table)
    : folding_(folding), trails_(std::move(table)) {
  for (std::size_t rank = 0; rank < folding.alike.size(); ++rank) {
    const std::size_t number = folding.alike[rank];
    there_.resize(std::max(there_.size(), number + 1));
    all_.resize(there_.size());
    ++all_[number];
    there_[number] += folding.there[rank] ? 1 : 0;
  }
}

/// Children of ranks that are alike come in the same order.
void Witness::came(std::int32_t rank) {
  const auto before = std::count_if(members_.begin(), members_.end(),
                                    [rank](const Member& one) { return one.rank == rank; });
  members_.push_back({rank, kThreads * static_cast<std::uint32_t>(before)});
}

/// What all of them have made matters no longer.
void Witness::forget(Calls& calls) const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& [rank, count] : calls.come) {
    if (rank != kFirst || !calls.excused) least = std::min(least, count);
  }
  while (calls.gone < least && !calls.made.empty()) {
    calls.made.pop_front();
    ++calls.gone;
  }
}

void Witness::took(std::uint32_t process, std::uint32_t thread, const Record& record,
                   std::string_view signature) {
  const std::optional<CallMark> mark = trails_.mark(record, signature);
  if (!mark || problem_) return;
  const auto [rank, lines] = members_[process];
  const std::uint32_t number = folding_.alike[static_cast<std::size_t>(rank)];
  if (there_[number] == all_[number]) return;  // they stand for nobody
  Calls& calls = calls_[{number, lines + trails_.place_of(process, thread)}];
  if (rank == kFirst) {
    if (!calls.excused) calls.ahead.push_back(*mark);
  } else {
    take(calls, number, rank, *mark);
  }
  if (!problem_) hold_first(calls, number);
}

/// A call of a rank that stands for others.
void Witness::take(Calls& calls, std::uint32_t number, std::int32_t rank, const CallMark& mark) {
  const std::uint64_t place = calls.come[rank]++ - calls.gone;
  if (place == calls.made.size()) {
    calls.made.emplace_back(mark, rank);
  } else if (calls.made[place].first != mark) {
    problem_ = difference(calls.gone + place, calls.made[place].first, calls.made[place].second,
                          mark, rank);
    return;
  } else if (calls.made[place].first.told != mark.told) {
    ++other_lengths_;
  }
  if (place == 0 && calls.come.size() == there_[number]) forget(calls);
}

/// The run's first rank, as far as it has gone.
void Witness::hold_first(Calls& calls, std::uint32_t number) {
  while (!calls.ahead.empty()) {
    const std::uint64_t place = calls.come[kFirst] - calls.gone;
    if (place >= calls.made.size()) return;
    const auto& [mark, rank] = calls.made[place];
    if (mark != calls.ahead.front()) {
      if (there_[number] < 3) {
        problem_ = difference(calls.gone + place, mark, rank, calls.ahead.front(), kFirst);
        return;
      }
      calls.excused = true;
      calls.ahead.clear();
      return;
    }
    other_lengths_ += mark.told != calls.ahead.front().told ? 1 : 0;
    ++calls.come[kFirst];
    calls.ahead.pop_front();
  }
}

Diagnostic Witness::difference(std::uint64_t call, const CallMark& a, std::int32_t rank_a,
                               const CallMark& b, std::int32_t rank_b) const {
  return unlike(rank_a, rank_b,
                fmt::format("call {} of theirs is {} in rank {} and {} in rank {}", call + 1,
                            trails_.words_of(a), rank_a, trails_.words_of(b), rank_b));
}

Diagnostic Witness::unlike(std::int32_t rank_a, std::int32_t rank_b, std::string_view what) const {
  return {
      ErrorCode::kNoAnswer, "live run",
      fmt::format("ranks {} and {} stand for others that are like both, and they are not alike: {}",
                  std::min(rank_a, rank_b), std::max(rank_a, rank_b), what),
      "fold less: --fold dp, or --fold off"};
}

std::optional<Diagnostic> Witness::problem_at_end() const {
  for (const auto& [key, calls] : calls_) {
    const std::uint32_t number = key.first;
    std::vector<std::pair<std::uint64_t, std::int32_t>> counts;  // with the rank
    for (std::size_t i = 0; i < folding_.alike.size(); ++i) {
      const auto rank = static_cast<std::int32_t>(i);
      const bool is_held = rank != kFirst || there_[number] < 3;
      if (folding_.alike[i] != number || !folding_.there[i] || !is_held) continue;
      const auto come = calls.come.find(rank);
      counts.emplace_back(come == calls.come.end() ? 0 : come->second, rank);
      if (rank == kFirst) counts.back().first += calls.ahead.size();
    }
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    if (counts.empty() || least->first == most->first) continue;
    const std::uint64_t call = least->first, all = calls.gone + calls.made.size();
    const CallMark& mark =
        call < all ? calls.made[call - calls.gone].first : calls.ahead[call - all];
    return unlike(most->second, least->second,
                  fmt::format("call {} of theirs is {} in rank {}, and rank {} makes none",
                              call + 1, trails_.words_of(mark), most->second, least->second));
  }
  return std::nullopt;
}

}  // namespace flopcast::live
