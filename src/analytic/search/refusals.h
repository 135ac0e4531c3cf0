// Why no plan is possible, counted by reason. Reasons that differ in numbers only are one; the
// least of their texts stands for them, so that counts add up the same in any order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace flopcast::analytic::search {

class Refusals {
 public:
  using List = std::vector<std::pair<std::string, std::uint64_t>>;

  void add(const std::string& reason, std::uint64_t count = 1);
  void add(const List& list);
  /// Most frequent first, then by text.
  List list() const;

 private:
  std::map<std::string, std::pair<std::string, std::uint64_t>>
      reasons_;  ///< by text without digits
};

}  // namespace flopcast::analytic::search
