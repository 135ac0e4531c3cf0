// Many trace files to one set: which files, in parallel, then in rank order with one string table.
#include "trace/kineto/reader.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <set>

#include "trace/kineto/files.h"
#include "trace/kineto/finish.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

namespace fs = std::filesystem;

/// What is to be read, and what was found on the way.
struct Selection {
  std::string label;
  std::vector<fs::path> files;
  std::vector<Diagnostic> unreadable;
  std::uint64_t execution_traces = 0;
};

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

/// Adds up the progress of files read at the same time.
class Progress {
 public:
  Progress(const std::vector<fs::path>& files, const ReadOptions& options)
      : report_(options.progress), done_(files.size(), 0) {
    for (const fs::path& file : files) {
      std::error_code error;
      const auto size = fs::file_size(file, error);
      if (!error) total_ += size;
    }
  }
  void at(std::size_t file, std::uint64_t position) {
    if (!report_) return;
    const std::lock_guard lock(mutex_);
    sum_ += position - done_[file];
    done_[file] = position;
    report_(std::min(sum_, total_), total_);
  }

 private:
  const std::function<void(std::uint64_t, std::uint64_t)>& report_;
  std::mutex mutex_;
  std::vector<std::uint64_t> done_;
  std::uint64_t sum_ = 0, total_ = 0;
};

FileContent read_file(const fs::path& path, const ReadOptions& options,
                      const std::function<void(std::uint64_t)>& progress) {
  FileContent content;
  try {
    auto source = file_source(path);
    if (!source) {
      content.error = source.error();
      return content;
    }
    ByteSource& bytes = **source;
    content =
        read_kineto(bytes, path.string(), options, {}, [&] { progress(bytes.packed_position()); });
  } catch (const std::bad_alloc&) {
    content.traces.clear();
    content.error = Diagnostic{ErrorCode::kTooLarge, path.string(), "does not fit in memory",
                               "read fewer ranks, or cut the trace to one step"};
  } catch (const std::exception& failure) {
    content.traces.clear();
    content.error = Diagnostic{ErrorCode::kBadInput, path.string(), failure.what(), ""};
  }
  return content;
}

void take_rank_from_name(Trace& trace) {
  const auto rank = rank_in_name(fs::path(trace.path).filename().string());
  if (!rank) return;
  trace.rank = rank;
  trace.anomalies.add("rank_from_file_name", [&] {
    return trace.path + ": no rank in distributedInfo, " + std::to_string(*rank) + " from the name";
  });
}

// Two files that claim one rank are both kept: later ones get the smallest number nobody has.
void make_ranks_unique(TraceSet& set) {
  std::set<std::int32_t> taken;
  std::vector<Trace*> again;
  for (Trace& trace : set.traces) {
    if (trace.rank && !taken.insert(*trace.rank).second) again.push_back(&trace);
  }
  std::int32_t next = 0;
  for (Trace* trace : again) {
    while (taken.contains(next)) ++next;
    taken.insert(next);
    set.anomalies.add("duplicate_rank", [&] {
      return trace->path + ": rank " + std::to_string(*trace->rank) +
             " is taken, counted as rank " + std::to_string(next);
    });
    trace->rank = next;
  }
}

bool by_rank(const Trace& a, const Trace& b) {
  constexpr auto kLast = std::numeric_limits<std::int64_t>::max();
  const auto rank = [](const Trace& t) { return t.rank ? std::int64_t{*t.rank} : kLast; };
  return rank(a) != rank(b) ? rank(a) < rank(b) : a.path < b.path;
}

void check_world(TraceSet& set) {
  std::set<std::int32_t> sizes;
  std::size_t ranked = 0;
  for (const Trace& trace : set.traces) {
    if (trace.world_size) sizes.insert(*trace.world_size);
    ranked += trace.rank ? 1 : 0;
  }
  if (set.traces.size() > 1 && ranked < set.traces.size()) {
    set.anomalies.add(
        "trace_without_rank", [] { return "several traces, not all say their rank"; },
        set.traces.size() - ranked);
  }
  if (sizes.size() > 1) {
    set.anomalies.add("world_sizes_differ", [&] {
      return "from " + std::to_string(*sizes.begin()) + " to " + std::to_string(*sizes.rbegin());
    });
  } else if (sizes.size() == 1 && static_cast<std::size_t>(*sizes.begin()) > set.traces.size()) {
    set.anomalies.add(
        "ranks_missing",
        [&] {
          return "a world of " + std::to_string(*sizes.begin()) + ", traces of " +
                 std::to_string(set.traces.size());
        },
        static_cast<std::uint64_t>(*sizes.begin()) - set.traces.size());
  }
}

// Puts the contents of files together: rank order, one string table, checks across rows and files.
TraceSet assemble(std::vector<FileContent>& files, unsigned threads) {
  TraceSet set;
  struct Part {
    Trace trace;
    StringTable* strings;
  };
  std::vector<Part> parts;
  for (FileContent& file : files) {
    for (Trace& trace : file.traces) {
      if (!trace.rank) take_rank_from_name(trace);
      parts.push_back({std::move(trace), &file.strings});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return by_rank(a.trace, b.trace); });
  for (Part& part : parts) {
    adopt_strings(part.trace, *part.strings, set.strings);
    set.traces.push_back(std::move(part.trace));
  }
  make_ranks_unique(set);
  std::stable_sort(set.traces.begin(), set.traces.end(), by_rank);
  parallel_for(set.traces.size(), threads,
               [&](std::size_t i) { check_trace(set.traces[i], set.strings); });
  check_world(set);
  return set;
}

Diagnostic nothing_read(const std::vector<Diagnostic>& failures) {
  Diagnostic first = failures.front();
  if (failures.size() > 1) {
    first.what += "; and " + std::to_string(failures.size() - 1) + " more files could not be read";
  }
  return first;
}

Result<TraceSet> read_selection(Selection& selection, const ReadOptions& options) {
  std::vector<FileContent> contents(selection.files.size());
  Progress progress(selection.files, options);
  parallel_for(contents.size(), options.threads, [&](std::size_t i) {
    contents[i] = read_file(selection.files[i], options,
                            [&](std::uint64_t position) { progress.at(i, position); });
  });
  std::vector<Diagnostic> failures;
  for (FileContent& content : contents) {
    if (content.error) failures.push_back(*content.error);
  }
  if (failures.size() == contents.size()) return nothing_read(failures);
  TraceSet set = assemble(contents, options.threads);
  set.label = selection.label;
  set.unreadable = std::move(selection.unreadable);
  set.unreadable.insert(set.unreadable.end(), failures.begin(), failures.end());
  if (selection.execution_traces > 0) {
    set.anomalies.add(
        "execution_trace_skipped", [] { return "execution traces lie beside the traces"; },
        selection.execution_traces);
  }
  return set;
}

}  // namespace

Result<TraceSet> read_traces(const std::vector<fs::path>& paths, const ReadOptions& options,
                             const std::string& prefix) {
  try {
    auto selection = select_files(paths, prefix);
    if (!selection) return selection.error();
    return read_selection(*selection, options);
  } catch (const std::bad_alloc&) {
    return Diagnostic{ErrorCode::kTooLarge, "", "the traces do not fit in memory",
                      "read fewer ranks"};
  } catch (const std::exception& failure) {
    return Diagnostic{ErrorCode::kBadInput, "", failure.what(), ""};
  }
}

Result<TraceSet> trace::read_trace_text_in_windows(std::string_view text, std::string_view label,
                                                   const ReadOptions& options,
                                                   const WindowOptions& window) {
  try {
    std::vector<FileContent> contents;
    const auto source = memory_source(text);
    contents.push_back(read_kineto(*source, std::string(label), options, window));
    if (contents[0].error) return *contents[0].error;
    TraceSet set = assemble(contents, 1);
    set.label = label;
    return set;
  } catch (const std::bad_alloc&) {
    return Diagnostic{ErrorCode::kTooLarge, std::string(label), "does not fit in memory", ""};
  } catch (const std::exception& failure) {
    return Diagnostic{ErrorCode::kBadInput, std::string(label), failure.what(), ""};
  }
}

Result<TraceSet> read_trace_text(std::string_view text, std::string_view label,
                                 const ReadOptions& options) {
  return read_trace_text_in_windows(text, label, options, {});
}

}  // namespace flopcast
