// What the shell of a launch script runs: variables, words and branches worked out, nothing executed.
//
//   ShellRun run = run_shell("TP=4\ntorchrun train.py --tp $TP", {});
//   run.commands[0]   {"torchrun", "train.py", "--tp", "4"}
//
// It knows what launch scripts use: quotes, arrays, +=, ${VAR:-default} and its kin, $((..)), if, case,
// for, functions, eval, here-documents. A value that only the caller or a program knows ($1, $(date))
// stays unknown and keeps its name, through assignments and arithmetic. Conditions on what is unknown are
// false. Work and memory are bounded, whatever the text.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flopcast::parallel {

/// What a script is started with.
struct ShellInput {
  std::map<std::string, std::string, std::less<>> variables;
  std::vector<std::string> arguments;  ///< $1, $2, ...
  /// what counts the accelerators of a machine (nvidia-smi -L | wc -l); empty: unknown
  std::string accelerators;
};

/// A file that the script writes by a here-document or by echo.
struct ShellFile {
  std::string name, text;
};

/// What a script runs.
struct ShellRun {
  std::vector<std::vector<std::string>> commands;  ///< words; assignments and tests are none
  std::vector<ShellFile> files;                    ///< in the order of their first lines
  /// variables as they are at the end, in the order of their first assignment; arrays joined by blanks
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> undecided;  ///< conditions that were taken as false: "$MODEL = 8B"
  std::vector<std::string> sourced;    ///< files that the script reads, which are not read here
  bool complete = true;                ///< false: the work's bound was reached
};

ShellRun run_shell(std::string_view text, const ShellInput& input);

/// Whether a word holds something unknown.
bool has_unknown(std::string_view word);
/// The name of the first unknown of a word: "SLURM_NNODES", "3" (an argument), "$(date)"; or empty.
std::string unknown_in(std::string_view word);
/// The word as the script writes it: "$TP".
std::string readable(std::string_view word);
/// The words of a text, without expansion: as a shell splits a line that has no variables.
std::vector<std::string> shell_words(std::string_view text);

}  // namespace flopcast::parallel
