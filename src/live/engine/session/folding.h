// Folded runs: of ranks that make the same calls at the same times, a few are there and stand for the others.
#pragma once

#include <cstdint>
#include <string>
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

  bool folds() const { return alone || !alike.empty(); }
  bool is_there(std::int32_t rank) const {
    return alike.empty() || there[static_cast<std::size_t>(rank)];
  }
  bool are_alike(std::int32_t a, std::int32_t b) const {
    return !alike.empty() && alike[static_cast<std::size_t>(a)] == alike[static_cast<std::size_t>(b)];
  }
};

/// As processes are told of it (standin/nccl/members.h).
std::string text_of(const Folding& folding);

}  // namespace flopcast::live
