// Many trace files to one set: which files, in parallel, then in rank order with one string table.
#include "trace/kineto/reader.h"

#include <algorithm>
#include <new>

#include "trace/kineto/ranks.h"
#include "trace/raw/crop.h"
#include "trace/raw/finish.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

namespace fs = std::filesystem;

FileContent read_member(const Job& job, const ReadOptions& options, const JobProgress& progress) {
  FileContent content;
  auto raw =
      job.pack->read(job.member, {options.keep_python, job.threads, options.steps, progress});
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
                      const JobProgress& progress) {
  FileContent content;
  auto source = file_source(path);
  if (!source) {
    content.error = source.error();
    return content;
  }
  ByteSource& bytes = **source;
  return read_kineto(bytes, path.string(), options, {}, [&] { progress(bytes.packed_position()); });
}

std::optional<Diagnostic> crop_to_steps(const TraceSet& set, const StepRange& steps, Trace& trace) {
  const auto first = find_step(set, trace, steps.first), last = find_step(set, trace, steps.last);
  if (!first || !last) return first ? last.error() : first.error();
  Keep keep;
  keep.from = first->start;
  keep.to = last->end;
  if (keep.from >= keep.to) {
    return Diagnostic{ErrorCode::kUsage, trace.path, "these steps are in no order or take no time",
                      "name the earlier one first"};
  }
  collect_correlations(trace, keep);
  trace = crop(trace, keep);
  return std::nullopt;
}

// Leaves of every trace of a file what is asked for, before the next file is read.
void crop_file(const StepRange& steps, FileContent& file) {
  TraceSet set;
  set.strings = std::move(file.strings);
  for (Trace& trace : file.traces) {
    if (!file.no_steps) file.no_steps = crop_to_steps(set, steps, trace);
  }
  file.strings = std::move(set.strings);
}

// Puts the contents of files together: rank order, one string table, checks across rows and files.
Result<TraceSet> assemble(std::vector<FileContent>& files, const ReadOptions& options) {
  TraceSet set;
  for (auto& part : traces_by_rank(files)) {
    if (part.file->no_steps) return *part.file->no_steps;
    adopt_strings(part.trace, part.file->strings, set.strings);
    set.traces.push_back(std::move(part.trace));
  }
  make_ranks_unique(facts_of(set), set.anomalies);
  std::stable_sort(set.traces.begin(), set.traces.end(), by_rank);
  parallel_for(set.traces.size(), options.threads,
               [&](std::size_t i) { check_trace(set.traces[i], set.strings); });
  check_world(facts_of(set), set.anomalies);
  return set;
}

}  // namespace

FileContent trace::read_job(const Job& job, const ReadOptions& options,
                            const JobProgress& progress) {
  FileContent content = job.pack == nullptr ? read_json(job.path, options, progress)
                                            : read_member(job, options, progress);
  if (options.steps && !content.error) crop_file(*options.steps, content);
  return content;
}

Result<TraceSet> read_traces(const std::vector<fs::path>& paths, const ReadOptions& options,
                             const std::string& prefix) {
  const auto read = [&options](const Job& job, const JobProgress& progress) {
    return read_job(job, options, progress);
  };
  const auto join = [&options](std::vector<FileContent>& files) {
    return assemble(files, options);
  };
  return read_run<TraceSet, FileContent>(paths, prefix, options, read, join);
}

Result<TraceSet> trace::read_trace_text_in_windows(std::string_view text, std::string_view label,
                                                   const ReadOptions& options,
                                                   const WindowOptions& window) {
  try {
    std::vector<FileContent> contents;
    const auto source = memory_source(text);
    contents.push_back(read_kineto(*source, std::string(label), options, window));
    if (contents[0].error) return *contents[0].error;
    if (options.steps) crop_file(*options.steps, contents[0]);
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
