// Reading trace files: one file to its traces, and the internal entry points that tests use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/byte_source.h"
#include "flopcast/trace.h"
#include "trace/json/document.h"

namespace flopcast::trace {

/// What one file held.
struct FileContent {
  std::vector<Trace> traces;  ///< one, or one a rank in a merged file; string ids of `strings`
  StringTable strings;
  std::optional<Diagnostic> error;  ///< then `traces` is empty
};

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
