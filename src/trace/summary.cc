// A run summed up: files to pieces of rows, pieces to sums, sums to ranks in their order.
#include "flopcast/trace/summary.h"

#include <algorithm>

#include "trace/file_summary.h"
#include "trace/kineto/ranks.h"
#include "trace/kineto/reader.h"
#include "trace/kineto/rows.h"
#include "trace/pack/block.h"
#include "trace/raw/append.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

/// What one file says, summed up.
struct FileSums : Outcome {
  std::vector<TraceSummary> traces;
  std::optional<Diagnostic> no_steps;
  std::size_t most_rows = 0;
  bool needs_whole = false;  // then there is nothing else
};

TraceSummary summary_of_trace(const Trace& trace, const StringTable& strings) {
  TraceSummary out;
  static_cast<TraceFacts&>(out) = trace;
  const Events& events = trace.events;
  RowCounter counter(trace, strings);
  for (std::size_t row = 0; row < events.size(); ++row) {
    counter.add(row, events.start[row].ps, events.duration[row].ps, row);
  }
  counter.take().tell(Time{1}, out);
  return out;
}

FileSums sums_of_whole(const Job& job, const ReadOptions& options, const JobProgress& progress) {
  const FileContent file = read_job(job, options, progress);
  FileSums sums;
  sums.error = file.error;
  sums.no_steps = file.no_steps;
  for (const Trace& trace : file.traces) {
    sums.traces.push_back(summary_of_trace(trace, file.strings));
    sums.most_rows += trace.events.size();
  }
  return sums;
}

FileSums finished(const FileSummary& summary, const RawTrace& file) {
  FileSums sums;
  sums.needs_whole = summary.needs_whole();
  sums.most_rows = summary.most_rows();
  if (!sums.needs_whole) sums.traces = summary.finish(file);
  return sums;
}

FileSums sums_of_pack(const Job& job, const ReadOptions& options, const JobProgress& progress) {
  const BlockChoice choice{options.keep_python, job.threads, options.steps, progress};
  FileSums sums;
  FileSummary summary;
  sums.error = job.pack->for_each_block(
      job.member, choice, [&](const BlockPlace&, const RawTrace& block) { summary.add(block); });
  return sums.error ? sums : finished(summary, job.pack->facts(job.member, choice));
}

/// The rows of a JSON file, a piece at a time.
class RowSummer {
 public:
  RowSummer(const ReadOptions& options, std::size_t rows_at_once)
      : rows_at_once_(rows_at_once), rows_(raw_, options) {}

  Scan read(Cursor& cursor) {
    const char* before = cursor.at();
    const Scan scan = rows_.read(cursor);
    if (scan != Scan::kOk) return scan;
    bytes_ += static_cast<std::uint64_t>(cursor.at() - before);
    if (rows_held(raw_) >= rows_at_once_ || bytes_ >= kTextOfBlock) take();
    return scan;
  }
  FileSums finish() {
    take();
    return finished(summary_, raw_);
  }
  RawTrace& raw() { return raw_; }

 private:
  void take() {
    summary_.add(raw_);
    clear_rows(raw_);
    rows_.begin_anew();
    bytes_ = 0;
  }

  std::size_t rows_at_once_;
  RawTrace raw_;
  KinetoRows rows_;
  FileSummary summary_;
  std::uint64_t bytes_ = 0;  // of JSON since the last piece
};

FileSums sums_of_json(const Job& job, const ReadOptions& options, std::size_t rows_at_once,
                      const JobProgress& progress) {
  FileSums sums;
  auto source = file_source(job.path);
  if (!source) {
    sums.error = source.error();
    return sums;
  }
  ByteSource& bytes = **source;
  RowSummer summer(options, rows_at_once);
  sums.error = read_kineto_rows(
      bytes, job.path.string(), [&summer](Cursor& cursor) { return summer.read(cursor); },
      summer.raw(), {}, [&] { progress(bytes.packed_position()); });
  return sums.error ? sums : summer.finish();
}

FileSums sums_of(const Job& job, const ReadOptions& options, std::size_t rows_at_once,
                 const JobProgress& progress) {
  std::error_code ignored;
  const bool can_read_again = std::filesystem::is_regular_file(job.path, ignored);
  if (options.steps || !can_read_again) return sums_of_whole(job, options, progress);
  FileSums sums = job.pack != nullptr ? sums_of_pack(job, options, progress)
                                      : sums_of_json(job, options, rows_at_once, progress);
  return sums.needs_whole ? sums_of_whole(job, options, progress) : sums;
}

// As ranks of a TraceSet are put together.
Result<RunSummary> join(std::vector<FileSums>& files) {
  RunSummary run;
  for (const FileSums& file : files) {
    run.most_rows = std::max<std::uint64_t>(run.most_rows, file.most_rows);
  }
  for (auto& part : traces_by_rank(files)) {
    if (part.file->no_steps) return *part.file->no_steps;
    run.traces.push_back(std::move(part.trace));
  }
  make_ranks_unique(facts_of(run), run.anomalies);
  std::stable_sort(run.traces.begin(), run.traces.end(), by_rank);
  check_world(facts_of(run), run.anomalies);
  return run;
}

}  // namespace

Result<RunSummary> summarise_traces(const std::vector<std::filesystem::path>& paths,
                                    const SummaryOptions& options, const std::string& prefix) {
  ReadOptions rows;
  rows.threads = options.threads;
  rows.steps = options.steps;
  rows.progress = options.progress;
  const auto read = [&](const Job& job, const JobProgress& progress) {
    return sums_of(job, rows, options.rows_at_once, progress);
  };
  return read_run<RunSummary, FileSums>(paths, prefix, rows, read, join);
}

RunSummary summary_of(const TraceSet& set) {
  RunSummary run{set.label, {}, set.anomalies, set.unreadable};
  for (const Trace& trace : set.traces) {
    run.traces.push_back(summary_of_trace(trace, set.strings));
    run.most_rows = std::max<std::uint64_t>(run.most_rows, trace.events.size());
  }
  return run;
}

}  // namespace flopcast
