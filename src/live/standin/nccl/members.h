// Members of communicators that are not there: in a folded run some ranks stand for others that make the same calls.
// What the program's own library says of its groups comes here before it makes their communicators.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flopcast::live {

class Folded {
 public:
  /// As the environment says it; null: every rank of the run is there.
  static Folded* get();

  /// A group of the program's, before its communicator is made. @param ranks of the run, in the group's order
  void know(std::string_view group, std::vector<std::int32_t> ranks);
  /// Ranks of a communicator. @param name that the program gives it. Empty: not known
  std::vector<std::int32_t> ranks_of(std::string_view name) const;
  /// For each member the one whose bytes are its own: itself, if it is there.
  std::vector<int> voices(const std::vector<std::int32_t>& ranks) const;
  /// This rank alone is there, whoever is asked for.
  bool alone() const { return alone_; }

 private:
  Folded(std::string_view text, std::int32_t own);

  bool alone_ = false;
  std::int32_t own_ = 0;
  std::vector<bool> there_;          ///< by rank of the run
  std::vector<std::int32_t> alike_;  ///< by rank of the run: ranks of one number are
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> groups_;
};

/// Tells the engine who a communicator is of (0: a group of the program's).
void say_members(std::uint64_t communicator, const std::vector<std::int32_t>& ranks,
                 std::string_view what = {});

}  // namespace flopcast::live
