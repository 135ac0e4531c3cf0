// The files of a run, read side by side: what there is to read, what becomes of it, and what could not be read.
#pragma once

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "trace/kineto/selection.h"
#include "trace/pack/reader.h"

namespace flopcast::trace {

/// A file, or one of those in a pack.
struct Job {
  std::filesystem::path path;
  const PackFile* pack = nullptr;
  std::size_t member = 0;
  unsigned threads = 1;  ///< to read it with
};
/// Called with the bytes of the job's file that were read so far.
using JobProgress = std::function<void(std::uint64_t)>;

/// What came of one job.
struct Outcome {
  std::optional<Diagnostic> error;  ///< then there is nothing else
};

/// The packs of a selection, opened, and what there is to read in them and beside them.
struct Jobs {
  std::vector<std::optional<PackFile>> packs;  ///< by file; nothing for JSON
  std::vector<Job> list;
  std::vector<Diagnostic> unreadable;
};
Jobs jobs_of(const std::vector<std::filesystem::path>& files, unsigned threads);

/// What is said where nothing could be read.
Diagnostic nothing_read(const std::vector<Diagnostic>& failures);

/// What `read` makes of a file, or why it could not.
template <typename Content, typename Read>
Content guarded(const std::filesystem::path& path, Read read) {
  Content content;
  try {
    return read();
  } catch (const std::bad_alloc&) {
    content.error = Diagnostic{ErrorCode::kTooLarge, path.string(), "does not fit in memory",
                               "read fewer ranks, or cut the trace to one step"};
  } catch (const std::exception& failure) {
    content.error = Diagnostic{ErrorCode::kBadInput, path.string(), failure.what(), ""};
  }
  return content;
}

/// Reads a selection: `read` makes Contents of Jobs, `join` a Result<Set> of all of them.
template <typename Set, typename Content, typename Read, typename Join>
Result<Set> read_selection(Selection& selection, const ReadOptions& options, Read read, Join join) {
  const Jobs jobs = jobs_of(selection.files, options.threads);
  std::vector<Content> contents(jobs.list.size());
  Progress progress(selection.files, contents.size(), options.progress);
  parallel_for(contents.size(), options.threads, [&](std::size_t i) {
    const JobProgress at = [&](std::uint64_t position) { progress.at(i, position); };
    contents[i] = guarded<Content>(jobs.list[i].path, [&] { return read(jobs.list[i], at); });
  });
  std::vector<Diagnostic> failures = jobs.unreadable;
  for (const Content& content : contents) {
    if (content.error) failures.push_back(*content.error);
  }
  if (failures.size() == contents.size() + jobs.unreadable.size()) return nothing_read(failures);
  Result<Set> set = join(contents);
  if (!set) return set;
  const PackFile* only = selection.files.size() == 1 ? jobs.list.front().pack : nullptr;
  set->label = only != nullptr ? only->index().label : selection.label;
  set->unreadable = std::move(selection.unreadable);
  set->unreadable.insert(set->unreadable.end(), failures.begin(), failures.end());
  if (selection.execution_traces > 0) {
    set->anomalies.add(
        "execution_trace_skipped", [] { return "execution traces lie beside the traces"; },
        selection.execution_traces);
  }
  return set;
}

/// The same of what paths and a prefix select, as read_traces() takes them.
template <typename Set, typename Content, typename Read, typename Join>
Result<Set> read_run(const std::vector<std::filesystem::path>& paths, const std::string& prefix,
                     const ReadOptions& options, Read read, Join join) {
  try {
    auto selection = select_files(paths, prefix);
    if (!selection) return selection.error();
    return read_selection<Set, Content>(*selection, options, read, join);
  } catch (const std::bad_alloc&) {
    return Diagnostic{ErrorCode::kTooLarge, "", "the traces do not fit in memory",
                      "read fewer ranks"};
  } catch (const std::exception& failure) {
    return Diagnostic{ErrorCode::kBadInput, "", failure.what(), ""};
  }
}

}  // namespace flopcast::trace
