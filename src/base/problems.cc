#include "base/problems.h"

#include <fmt/format.h>

namespace flopcast {

Diagnostic together(const std::vector<Diagnostic>& problems, const std::string& where) {
  constexpr std::size_t kMostTold = 20;
  if (problems.size() == 1) return problems.front();
  Diagnostic all{problems.front().code, where, fmt::format("{} problems:", problems.size()), ""};
  for (std::size_t i = 0; i < problems.size() && i < kMostTold; ++i) {
    all.what += "\n  " + problems[i].text();
  }
  if (problems.size() > kMostTold) {
    all.what += fmt::format("\n  and {} more", problems.size() - kMostTold);
  }
  return all;
}

}  // namespace flopcast
