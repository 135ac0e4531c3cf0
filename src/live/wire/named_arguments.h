// Kernels whose arguments the table of operators asks for: what the engine tells processes of them, in a variable of their
// environment. "PATTERN NAME=TYPE:INDEX:OFFSET ...;PATTERN ...": NAME is at byte OFFSET of argument INDEX.
#pragma once

#include <cstddef>
#include <string_view>

namespace flopcast::live {

inline constexpr const char* kArgumentsVariable = "FLOPCAST_LIVE_ARGUMENTS";

struct ArgumentType {
  std::string_view name;
  std::size_t bytes;
  bool points;  ///< to memory of a device: what is told is how many bytes are behind it
};
inline constexpr ArgumentType kArgumentTypes[] = {
    {"i32", 4, false}, {"i64", 8, false}, {"pointer", 8, true}};

/// Whether a name is of a pattern: "*" is anything, "{n}" a whole number.
/// @param take_hole takes a number off a name, of a pattern that begins with '{', and both as they were behind it; or says no
template <typename TakeHole>
bool fits_pattern(std::string_view pattern, std::string_view name, TakeHole&& take_hole) {
  bool starred = false;
  std::string_view behind_star, from;  // where what is behind the last star was tried
  for (;;) {
    if (!pattern.empty() && pattern.front() == '*') {
      pattern.remove_prefix(1);
      if (pattern.empty()) return true;
      starred = true;
      behind_star = pattern;
      from = name;
    } else if (!pattern.empty() && pattern.front() == '{' && take_hole(pattern, name)) {
      continue;
    } else if (!pattern.empty() && !name.empty() && pattern.front() == name.front()) {
      pattern.remove_prefix(1);
      name.remove_prefix(1);
    } else if (pattern.empty() && name.empty()) {
      return true;
    } else {
      if (!starred || from.empty()) return false;
      from.remove_prefix(1);
      pattern = behind_star;
      name = from;
    }
  }
}

}  // namespace flopcast::live
