// Results of searches in a file, one JSON line each, added as they come: what is complete stays
// through Ctrl-C and full disks, and the same command takes up where it was stopped.
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "flopcast/report_plan.h"

namespace flopcast::cli {

class PlanLines {
 public:
  /// Opens or makes the file and reads what it holds. A last line without an end is cut off: it was
  /// being written when something stopped. Errors: another process writes to it; a line that is no
  /// result.
  static Result<PlanLines> open(const std::filesystem::path& path);
  PlanLines(PlanLines&& other) noexcept;
  PlanLines& operator=(PlanLines&&) = delete;
  PlanLines(const PlanLines&) = delete;
  PlanLines& operator=(const PlanLines&) = delete;
  ~PlanLines();

  /// The line that answers this question for this shard; nullptr: none yet.
  const PlanReport* find(const PlanReport& question, unsigned shard, unsigned shards) const;
  /// The file's line, or the error that kept it out; the file is as before then.
  std::optional<Diagnostic> append(const PlanReport& report);

 private:
  PlanLines(std::filesystem::path path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}
  std::optional<Diagnostic> read_held();
  Diagnostic complaint(const char* doing) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::vector<PlanReport> held_;
  std::unordered_multimap<std::string, std::size_t> places_;  ///< in held_, by question_key
};

}  // namespace flopcast::cli
