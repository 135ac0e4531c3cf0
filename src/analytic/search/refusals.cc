#include "analytic/search/refusals.h"

#include <algorithm>
#include <cctype>

namespace flopcast::analytic::search {

void Refusals::add(const std::string& reason, std::uint64_t count) {
  std::string key = reason;
  std::erase_if(key, [](unsigned char c) { return std::isdigit(c) != 0; });
  auto& [text, counted] = reasons_[key];
  if (counted == 0 || reason < text) text = reason;
  counted += count;
}

void Refusals::add(const List& list) {
  for (const auto& [reason, count] : list) add(reason, count);
}

Refusals::List Refusals::list() const {
  List list;
  for (const auto& [key, reason] : reasons_) list.push_back(reason);
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return list;
}

}  // namespace flopcast::analytic::search
