#include "live/fold/witness.h"

#include <fmt/format.h>

#include <algorithm>

namespace flopcast::live {

Witness::Witness(const Folding& folding) : folding_(folding) {
  for (std::size_t rank = 0; rank < folding.alike.size(); ++rank) {
    const std::size_t number = folding.alike[rank];
    there_.resize(std::max(there_.size(), number + 1));
    there_[number] += folding.there[rank] ? 1 : 0;
  }
}

/// What all of them have made matters no longer.
void Witness::forget(Calls& calls) const {
  std::uint64_t least = ~std::uint64_t{0};
  for (const auto& [rank, count] : calls.come) least = std::min(least, count);
  while (calls.gone < least && !calls.made.empty()) {
    calls.made.pop_front();
    ++calls.gone;
  }
}

void Witness::took(std::uint32_t process, std::uint32_t thread, const Record& record,
                   std::string_view signature) {
  const std::optional<CallMark> mark = trails_.mark(process, thread, record, signature);
  if (!mark || problem_) return;
  const std::int32_t rank = ranks_[process];
  const std::uint32_t number = folding_.alike[static_cast<std::size_t>(rank)];
  if (there_[number] < 2) return;
  Calls& calls = calls_[{number, trails_.name_of(process, thread)}];
  std::uint64_t& come = calls.come[rank];
  const std::uint64_t place = come++ - calls.gone;
  if (place == calls.made.size()) {
    calls.made.emplace_back(*mark, rank);
    return;
  }
  const auto& [first, first_rank] = calls.made[place];
  if (first != *mark) {
    problem_ = Diagnostic{
        ErrorCode::kNoAnswer, "live run",
        fmt::format("ranks {} and {} stand for others that are like both, and they are not alike: "
                    "call {} of theirs is {} in rank {} and {} in rank {}",
                    std::min(first_rank, rank), std::max(first_rank, rank), calls.gone + place + 1,
                    trails_.words_of(first), first_rank, trails_.words_of(*mark), rank),
        "fold less: --fold dp, or --fold off"};
    return;
  }
  if (calls.come.size() == there_[number] && place == 0) forget(calls);
}

}  // namespace flopcast::live
