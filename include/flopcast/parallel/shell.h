// Floor 2: the commands that a launch script starts, worked out without running anything.
//
//   shell_commands("TP=4\nvllm serve m --tensor-parallel-size $TP").commands[0]   {"vllm", "serve", "m", ...}
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flopcast {

/// What a script runs, and what it writes for that.
struct ShellCommands {
  /// words of each, in order; what only the caller or a program knows stands as in the script: "$TP"
  std::vector<std::vector<std::string>> commands;
  std::vector<std::pair<std::string, std::string>> files;  ///< by here-documents: name, text
  std::vector<std::string>
      undecided;                     ///< conditions that were taken as false, for nobody knows them
  std::vector<std::string> sourced;  ///< files that it reads, which are not read here
  bool complete = true;              ///< false: it does more work than is followed
};
/// @param arguments what it is started with, as a shell takes it: "TP=4 8B"
/// @param variables that it finds set, by name
ShellCommands shell_commands(std::string_view text, std::string_view arguments = {},
                             const std::map<std::string, std::string, std::less<>>& variables = {});

}  // namespace flopcast
