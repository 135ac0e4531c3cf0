// What a shell knows while it runs: variables, arguments, and how much work it may still do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/shell/shell.h"
#include "parallel/shell/syntax.h"

namespace flopcast::parallel {

/// What stands for a value that nobody knows.
std::string unknown_value(std::string_view name);

struct ShellVariable {
  std::vector<std::string> items;  ///< one, but for arrays
  bool array = false;
  std::size_t number = 0;  ///< in the order of first assignments
};

struct ShellState {
  std::map<std::string, ShellVariable, std::less<>> variables;
  std::map<std::string, std::shared_ptr<ShellNode>, std::less<>> functions;
  std::vector<std::string> arguments;
  std::string accelerators;
  std::vector<ShellFile> files;
  std::size_t steps = 0, bytes = 0;  ///< done so far
  int depth = 0;                     ///< of evaluations within evaluations

  static constexpr std::size_t kMostSteps = 20'000, kMostBytes = std::size_t{1} << 23;
  static constexpr int kDeepest = 40;

  bool exhausted() const { return steps > kMostSteps || bytes > kMostBytes; }
  /// Counts bytes that are made; false where no more may be.
  bool spend(std::size_t made) {
    bytes += made + 1;
    return !exhausted();
  }
  void set(std::string_view name, std::vector<std::string> items, bool array);
  /// Joined by blanks; null where nothing set it.
  const ShellVariable* find(std::string_view name) const;
};

/// The fields that a word becomes: none, one, or (unquoted, or "${ARRAY[@]}") several.
std::vector<std::string> expand_word(ShellState& state, std::string_view raw);
/// The same as one text, without splitting: values of assignments, texts of here-documents.
std::string expand_text(ShellState& state, std::string_view raw);
/// Only `$` and backquotes count: bodies of here-documents.
std::string expand_document(ShellState& state, std::string_view raw);
/// The words between the brackets of NAME=( ... ).
std::vector<std::string> expand_array(ShellState& state, std::string_view inside);

/// The value of an expression, unknown where a part of it is.
std::string arithmetic(ShellState& state, std::string_view expression);

/// Whether a text is of this form: * ? [...].
bool matches(std::string_view text, std::string_view pattern);

/// What a test says: of [ ], [[ ]] or test, without these words.
enum class Truth : std::uint8_t { kFalse, kTrue, kUnknown };
Truth test_words(ShellState& state, const std::vector<std::string>& raw, bool extended);
Truth negated(Truth truth);

}  // namespace flopcast::parallel
