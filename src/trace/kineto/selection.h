// Which files a request names, and how far reading them has come.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast::trace {

/// What is to be read, and what was found on the way.
struct Selection {
  std::string label;
  std::vector<std::filesystem::path> files;
  std::vector<Diagnostic> unreadable;
  std::uint64_t execution_traces = 0;
};

Result<Selection> select_files(const std::vector<std::filesystem::path>& paths,
                               const std::string& prefix);

/// Adds up the progress of what is read at the same time: files, or parts of them.
class Progress {
 public:
  using Report = std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>;
  Progress(const std::vector<std::filesystem::path>& files, std::size_t parts,
           const Report& report);
  /// Bytes of a part that were read.
  void at(std::size_t part, std::uint64_t position);

 private:
  const Report& report_;
  std::mutex mutex_;
  std::vector<std::uint64_t> done_;
  std::uint64_t sum_ = 0, total_ = 0;
};

}  // namespace flopcast::trace
