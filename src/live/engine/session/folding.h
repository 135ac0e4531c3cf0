// Folded runs: of ranks that make the same calls at the same times, a few are there and stand for the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::live {

/// Who is there. Calls of a communicator wait for those that are; links carry what all of them transfer.
struct Folding {
  /// Each rank that is there meets nobody: all others come when it comes, wherever it calls. Times mean nothing then; it
  /// shows what a rank calls.
  bool alone = false;
  /// By rank of the run, the number of those that are alike; empty: every rank is there.
  std::vector<std::uint32_t> alike;
  std::vector<bool> there;  ///< by rank of the run
  /// Groups that the program makes by one rule, as all of one dimension of a mesh: where one of them transfers something, those
  /// do so too that are like it and of which nobody is there.
  std::vector<std::vector<std::vector<std::int32_t>>> families;
  /// Transfers of nodes that have nothing to do with each other share links: of upper tiers with less bandwidth.
  bool shares_tiers = false;

  bool folds() const { return alone || !alike.empty(); }
  /// Who is no rank of the run, or is not known, is nobody that another stands for.
  bool is_there(std::int32_t rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at >= there.size() || there[at];
  }
  bool are_alike(std::int32_t a, std::int32_t b) const {
    const auto one = static_cast<std::size_t>(a), other = static_cast<std::size_t>(b);
    return std::max(one, other) < alike.size() && alike[one] == alike[other];
  }
};

/// Groups of absent ranks that transfer when this one does, on links that it may use too. @param node ranks of one node
std::vector<std::vector<std::int32_t>> images_of(const Folding& folding,
                                                 const std::vector<std::int32_t>& group,
                                                 std::uint32_t node);

/// As processes are told of it (standin/nccl/members.h).
std::string text_of(const Folding& folding);
/// What such a text says of a run of so many ranks. None where it is none, or leaves a rank out, or has it twice, or has ranks
/// of which nobody is there.
std::optional<Folding> folding_of(std::string_view text, std::size_t ranks);

/// A family: "0-3|4-7".
std::string text_of_groups(const std::vector<std::vector<std::int32_t>>& groups);
/// None where it is no such text, or its groups are no family of a run of so many ranks.
std::optional<std::vector<std::vector<std::int32_t>>> groups_of_text(std::string_view text,
                                                                     std::size_t ranks);

}  // namespace flopcast::live
