// Flags of a launch: what stands behind "--" in the words of a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flopcast::parallel {

struct LaunchFlag {
  std::string name;                 ///< without dashes, '-' for '_'
  std::vector<std::string> values;  ///< words up to the next flag
  /// the first value; empty: none
  std::string_view first() const {
    return values.empty() ? std::string_view() : std::string_view(values.front());
  }
};

/// The flags of a command's words: "--flag value", "--flag=value"; "--flag value" in one word too, as
/// arrays of quoted pairs leave them.
std::vector<LaunchFlag> flags_of(const std::vector<std::string>& words);

/// Whether a flag says something of a plan (launchers' flags of nodes and processes do not).
bool is_plan_flag(std::string_view name);
/// Whether it says something of the model.
bool is_model_flag(std::string_view name);
/// What is taken instead of a flag that changes time or memory and is not modelled; empty: it is none.
/// A flag may matter with certain values only.
std::string_view instead_of(const LaunchFlag& flag);

}  // namespace flopcast::parallel
