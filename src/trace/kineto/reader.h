// Reading trace files: one file to its traces, and the internal entry points that tests use.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "flopcast/trace.h"
#include "trace/json/document.h"
#include "trace/kineto/jobs.h"
#include "trace/raw/raw_trace.h"

namespace flopcast::trace {

/// What one file held.
struct FileContent : Outcome {
  std::vector<Trace> traces;  ///< one, or one a rank in a merged file; string ids of `strings`
  StringTable strings;
  std::optional<Diagnostic> no_steps;  ///< why nothing of it lies in ReadOptions::steps
};
/// Reads all rows that are asked for.
FileContent read_job(const Job& job, const ReadOptions& options, const JobProgress& progress);

/// What takes the rows of a file: moves past the one at the cursor, as DocumentHandler::on_row().
using RowReader = std::function<Scan(Cursor&)>;
/// Hands the rows of a file to `read_row`, which fills `raw` with them, and adds what stands beside them.
/// @return why the file is no trace, if it is none.
std::optional<Diagnostic> read_kineto_rows(ByteSource& source, const std::string& path,
                                           const RowReader& read_row, RawTrace& raw,
                                           const WindowOptions& window,
                                           const std::function<void()>& on_refill = {});
FileContent read_kineto(ByteSource& source, const std::string& path, const ReadOptions& options,
                        const WindowOptions& window, const std::function<void()>& on_refill = {});

/// read_trace_text() through a window of chosen size.
Result<TraceSet> read_trace_text_in_windows(std::string_view text, std::string_view label,
                                            const ReadOptions& options,
                                            const WindowOptions& window);

/// "a, b, c, ...": at most `most` of the words.
std::string joined(const std::vector<std::string>& words, std::size_t most);

/// Counts what does not fit together across rows (launches without GPU rows, overlaps, skewed
/// clocks).
void check_trace(Trace& trace, const StringTable& strings);

}  // namespace flopcast::trace
