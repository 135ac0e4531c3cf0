#include "trace/kineto/selection.h"

#include <algorithm>

#include "trace/kineto/files.h"
#include "trace/kineto/reader.h"

namespace flopcast::trace {
namespace {

namespace fs = std::filesystem;

Diagnostic several_runs(const fs::path& directory, const Runs& runs) {
  std::vector<std::string> names;
  for (const auto& [name, files] : runs) {
    names.push_back(name + " (" + std::to_string(files.size()) +
                    (files.size() == 1 ? " file)" : " files)"));
  }
  return {ErrorCode::kUsage, directory.string(),
          "holds " + std::to_string(runs.size()) + " runs: " + joined(names, 12),
          "choose one by the prefix of its file names, e.g. " + runs.begin()->first +
              ", or name the files"};
}

// The run whose label is the prefix, or the files that begin with it.
Runs matching(const Runs& runs, const std::string& prefix) {
  if (prefix.empty()) return runs;
  if (const auto exact = runs.find(prefix); exact != runs.end()) return {*exact};
  Runs out;
  for (const auto& [name, files] : runs) {
    for (const fs::path& file : files) {
      if (file.filename().string().starts_with(prefix)) out[name].push_back(file);
    }
  }
  return out;
}

std::optional<Diagnostic> select_directory(const fs::path& directory, const std::string& prefix,
                                           Selection& out) {
  auto listing = list_directory(directory);
  if (!listing) return listing.error();
  const Runs runs = matching(listing->runs, prefix);
  if (runs.size() > 1) return several_runs(directory, runs);
  if (runs.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, files] : listing->runs) names.push_back(name);
    return Diagnostic{names.empty() ? ErrorCode::kBadInput : ErrorCode::kUsage, directory.string(),
                      names.empty() ? "no Kineto trace in this directory"
                                    : "no trace whose name begins with \"" + prefix + "\"",
                      names.empty() ? "expected files named .json or .json.gz"
                                    : "its runs are " + joined(names, 12)};
  }
  const auto& [label, files] = *runs.begin();
  if (out.label.empty()) out.label = label;
  out.files.insert(out.files.end(), files.begin(), files.end());
  out.unreadable = std::move(listing->unreadable);
  out.execution_traces += listing->execution_traces;
  return std::nullopt;
}

}  // namespace

Result<Selection> select_files(const std::vector<fs::path>& paths, const std::string& prefix) {
  Selection out;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      if (auto failure = select_directory(path, prefix, out)) return *failure;
    } else {
      if (out.label.empty()) out.label = path.filename().string();
      out.files.push_back(path);
    }
  }
  if (out.files.empty()) {
    return Diagnostic{ErrorCode::kUsage, "", "no trace named", "name files or a directory"};
  }
  return out;
}

Progress::Progress(const std::vector<fs::path>& files, std::size_t parts, const Report& report)
    : report_(report), done_(parts, 0) {
  for (const fs::path& file : files) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (!error) total_ += size;
  }
}

void Progress::at(std::size_t part, std::uint64_t position) {
  if (!report_) return;
  const std::lock_guard lock(mutex_);
  sum_ += position - done_[part];
  done_[part] = position;
  report_(std::min(sum_, total_), total_);
}

}  // namespace flopcast::trace
