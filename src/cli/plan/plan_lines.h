// Results of searches in a file, one JSON line each, added as they come (line_file.h).
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/terminal/line_file.h"
#include "flopcast/question/plan.h"

namespace flopcast::cli {

class PlanLines {
 public:
  /// Opens or makes the file and reads what it holds. Errors: LineFile's; a line that is no result:
  /// then nothing is cut off.
  static Result<PlanLines> open(const std::filesystem::path& path);

  /// The line that answers this question for this shard; nullptr: none yet.
  const PlanReport* find(const PlanReport& question, unsigned shard, unsigned shards) const;
  /// The file's line, or the error that kept it out; the file is as before then.
  std::optional<Diagnostic> append(const PlanReport& report);

 private:
  explicit PlanLines(LineFile file) : file_(std::move(file)) {}

  LineFile file_;
  std::vector<PlanReport> held_;
  std::unordered_multimap<std::string, std::size_t> places_;  ///< in held_, by question_key
};

}  // namespace flopcast::cli
