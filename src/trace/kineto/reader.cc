// Many trace files to one set: which files, in parallel, then in rank order with one string table.
#include "trace/kineto/reader.h"

#include <algorithm>
#include <limits>
#include <new>
#include <set>

#include "trace/kineto/files.h"
#include "trace/kineto/selection.h"
#include "trace/pack/reader.h"
#include "trace/raw/crop.h"
#include "trace/raw/finish.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

namespace fs = std::filesystem;

/// A file, or one of those in a pack.
struct Job {
  std::size_t file = 0;  // of the selection
  const PackFile* pack = nullptr;
  std::size_t member = 0;
};

FileContent read_member(const PackFile& pack, std::size_t member, const ReadOptions& options,
                        unsigned threads, const std::function<void(std::uint64_t)>& progress) {
  FileContent content;
  auto raw = pack.read(member, {options.keep_python, threads, options.steps, progress});
  if (!raw) {
    content.error = raw.error();
    return content;
  }
  if (!options.keep_arguments) {
    for (OpDetail& op : raw->trace.ops) op.input_dims = op.input_types = op.concrete_inputs = 0;
  }
  content.traces = finish_traces(*raw);
  content.strings = std::move(raw->strings);
  return content;
}

FileContent read_json(const fs::path& path, const ReadOptions& options,
                      const std::function<void(std::uint64_t)>& progress) {
  FileContent content;
  auto source = file_source(path);
  if (!source) {
    content.error = source.error();
    return content;
  }
  ByteSource& bytes = **source;
  return read_kineto(bytes, path.string(), options, {}, [&] { progress(bytes.packed_position()); });
}

// What `read` reads of a file, or why it could not.
template <typename Read>
FileContent guarded(const fs::path& path, Read read) {
  FileContent content;
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

// Leaves of every trace what is asked for.
std::optional<Diagnostic> crop_to_steps(TraceSet& set, const StepRange& steps) {
  for (Trace& trace : set.traces) {
    const auto first = find_step(set, trace, steps.first), last = find_step(set, trace, steps.last);
    if (!first || !last) return first ? last.error() : first.error();
    Keep keep;
    keep.from = first->start;
    keep.to = last->end;
    if (keep.from >= keep.to) {
      return Diagnostic{ErrorCode::kUsage, trace.path,
                        "these steps are in no order or take no time",
                        "name the earlier one first"};
    }
    collect_correlations(trace, keep);
    trace = crop(trace, keep);
  }
  return std::nullopt;
}

// Puts the contents of files together: rank order, one string table, checks across rows and files.
Result<TraceSet> assemble(std::vector<FileContent>& files, const ReadOptions& options) {
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
  if (options.steps) {
    if (auto error = crop_to_steps(set, *options.steps)) return *error;
  }
  parallel_for(set.traces.size(), options.threads,
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

/// The packs of a selection, opened, and what there is to read in them and beside them.
struct Jobs {
  std::vector<std::optional<PackFile>> packs;  // by file; nothing for JSON
  std::vector<Diagnostic> unreadable;
  std::vector<Job> list;
};

Jobs jobs_of(const std::vector<fs::path>& files) {
  Jobs jobs;
  jobs.packs.reserve(files.size());
  for (std::size_t file = 0; file < files.size(); ++file) {
    jobs.packs.emplace_back();
    if (!is_pack(files[file])) {
      jobs.list.push_back({file, nullptr, 0});
      continue;
    }
    auto pack = PackFile::open(files[file]);
    if (!pack) {
      jobs.unreadable.push_back(pack.error());
      continue;
    }
    jobs.packs.back().emplace(std::move(*pack));
    const PackFile& opened = *jobs.packs.back();
    for (std::size_t member = 0; member < opened.index().members.size(); ++member) {
      jobs.list.push_back({file, &opened, member});
    }
  }
  return jobs;
}

std::vector<FileContent> read_jobs(const Jobs& jobs, const std::vector<fs::path>& files,
                                   const ReadOptions& options) {
  std::vector<FileContent> contents(jobs.list.size());
  Progress progress(files, contents.size(), options.progress);
  // Several files are read side by side; a file alone has its blocks unpacked so.
  const unsigned within = contents.size() > 1 ? 1 : options.threads;
  parallel_for(contents.size(), options.threads, [&](std::size_t i) {
    const Job& job = jobs.list[i];
    contents[i] = guarded(files[job.file], [&] {
      const auto at = [&](std::uint64_t position) { progress.at(i, position); };
      return job.pack == nullptr ? read_json(files[job.file], options, at)
                                 : read_member(*job.pack, job.member, options, within, at);
    });
  });
  return contents;
}

Result<TraceSet> read_selection(Selection& selection, const ReadOptions& options) {
  const Jobs jobs = jobs_of(selection.files);
  std::vector<FileContent> contents = read_jobs(jobs, selection.files, options);
  std::vector<Diagnostic> failures = jobs.unreadable;
  for (FileContent& content : contents) {
    if (content.error) failures.push_back(*content.error);
  }
  if (failures.size() == contents.size() + jobs.unreadable.size()) return nothing_read(failures);
  auto assembled = assemble(contents, options);
  if (!assembled) return assembled;
  TraceSet& set = *assembled;
  const PackFile* only = selection.files.size() == 1 ? jobs.list.front().pack : nullptr;
  set.label = only != nullptr ? only->index().label : selection.label;
  set.unreadable = std::move(selection.unreadable);
  set.unreadable.insert(set.unreadable.end(), failures.begin(), failures.end());
  if (selection.execution_traces > 0) {
    set.anomalies.add(
        "execution_trace_skipped", [] { return "execution traces lie beside the traces"; },
        selection.execution_traces);
  }
  return assembled;
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
    ReadOptions alone = options;
    alone.threads = 1;
    auto set = assemble(contents, alone);
    if (set) set->label = label;
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
