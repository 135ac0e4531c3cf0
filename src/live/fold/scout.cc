#include "live/fold/scout.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "live/engine/session/work.h"
#include "live/wire/ranks.h"

namespace flopcast::live {
namespace {

constexpr std::string_view kOptimizerStep = "Optimizer.step#";

}  // namespace

std::string difference(const Scouted& a, const Scouted& b, const Trails& trails) {
  std::set<std::uint32_t> threads;
  for (const Scouted* const one : {&a, &b}) {
    for (const auto& [thread, calls] : one->calls) threads.insert(thread);
  }
  for (const std::uint32_t thread : threads) {
    const auto of = [thread](const Scouted& one) {
      const auto found = one.calls.find(thread);
      return found == one.calls.end() ? std::vector<CallMark>() : found->second;
    };
    const std::vector<CallMark> left = of(a), right = of(b);
    const auto [at, other] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
    const auto call = at - left.begin() + 1;
    if (at != left.end() && other != right.end()) {
      return fmt::format("call {} is {} in rank {} and {} in rank {}", call, trails.words_of(*at),
                         a.rank, trails.words_of(*other), b.rank);
    }
    const bool is_left = at != left.end();
    if (!is_left && other == right.end()) continue;
    return fmt::format("call {} is {} in rank {}, and rank {} makes none", call,
                       trails.words_of(is_left ? *at : *other), is_left ? a.rank : b.rank,
                       is_left ? b.rank : a.rank);
  }
  return "";
}

void Scout::came(std::int32_t rank) {
  const bool child = std::any_of(all_.begin(), all_.end(),
                                 [rank](const Scouted& one) { return one.rank == rank; });
  all_.emplace_back();
  all_.back().rank = rank;
  all_.back().child = child;
}

std::vector<Scouted> Scout::take() {
  std::vector<Scouted> ranks = std::move(all_);
  std::erase_if(ranks, [](const Scouted& one) { return one.child; });
  return ranks;
}

void Scout::lost(std::uint32_t process) { all_[process].gone = true; }

bool Scout::enough(std::size_t ranks) const {
  std::size_t come = 0;
  for (const Scouted& one : all_) {
    if (one.child) continue;
    if (!one.stepped && !one.gone) return false;
    ++come;
  }
  return come >= ranks;
}

void Scout::know(Scouted& scouted, const Record& record, std::uint32_t process,
                 std::string_view signature) {
  const std::size_t space = std::min(signature.find(' '), signature.size());
  std::optional<std::vector<std::int32_t>> ranks =
      ranks_of_text(signature.substr(0, space), kMostRanks);
  if (!ranks || ranks->empty()) return;
  if (record.word[0] != 0) {
    communicators_[{process, record.word[0]}] = std::move(*ranks);
    return;
  }
  const auto same = [&](const KnownGroup& group) { return group.ranks == *ranks; };
  if (std::any_of(scouted.groups.begin(), scouted.groups.end(), same)) return;
  scouted.groups.push_back(
      {std::move(*ranks), std::string(signature.substr(std::min(space + 1, signature.size())))});
}

void Scout::call(Scouted& scouted, std::uint32_t process, const Record& record) {
  GroupCall& open = open_[process];
  const auto found = communicators_.find({process, record.word[0]});
  if (found != communicators_.end()) {  // else of two: told by its peer
    const std::vector<std::int32_t>& ranks = found->second;
    const Collective op = op_of(record.word[1]);
    const auto peer = static_cast<std::uint32_t>(record.word[1]);
    if (op != Collective::kSend && op != Collective::kReceive) {
      scouted.together.insert(ranks);
    } else if (peer < ranks.size()) {
      open.with[ranks].insert(ranks[peer]);
    }
  }
  if (++open.calls < static_cast<std::uint32_t>(record.word[3])) return;
  for (auto& [ranks, peers] : std::exchange(open, {}).with) end_group_call(scouted, ranks, peers);
}

/// Sends and receives of one group call, to and from all others of a communicator, are a collective of all.
void Scout::end_group_call(Scouted& scouted, const std::vector<std::int32_t>& ranks,
                           const std::set<std::int32_t>& peers) {
  const bool all = ranks.size() > 2 && std::all_of(ranks.begin(), ranks.end(), [&](auto rank) {
                     return rank == scouted.rank || peers.contains(rank);
                   });
  if (all) {
    scouted.together.insert(ranks);
    return;
  }
  scouted.peers.insert(peers.begin(), peers.end());
  scouted.peers.erase(scouted.rank);
}

void Scout::took(std::uint32_t process, std::uint32_t thread, const Record& record,
                 std::string_view signature) {
  Scouted& scouted = all_[process];
  if (scouted.stepped) return;
  if (record.act == Act::kMembers) know(scouted, record, process, signature);
  if (record.act == Act::kPeer) scouted.peers.insert(static_cast<std::int32_t>(record.word[0]));
  if (record.act == Act::kCollective) call(scouted, process, record);
  if (record.act == Act::kMark && record.word[0] == 0 && signature.starts_with(kOptimizerStep))
    scouted.stepped = true;
  if (const auto mark = trails_.mark(record, signature))
    scouted.calls[trails_.place_of(process, thread)].push_back(*mark);
}

}  // namespace flopcast::live
