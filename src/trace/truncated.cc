#include <algorithm>
#include <string>
#include <vector>

#include "flopcast/trace/summary.h"

namespace flopcast {
namespace {

template <typename Set>
std::vector<std::string> truncated_of(const Set& set) {
  std::vector<std::string> files;
  for (const TraceFacts& trace : set.traces) {
    // A cut in the compressed data is one in the text as well: the first of them says why.
    const auto& list = trace.anomalies.list();
    const auto cut = std::find_if(list.begin(), list.end(), [](const Anomaly& a) {
      return a.kind == "truncated_gzip" || a.kind == "damaged_tail";
    });
    if (cut == list.end()) continue;
    std::string text = trace.path + ": " + cut->first;
    // Several ranks may have come from one file.
    if (std::find(files.begin(), files.end(), text) == files.end()) {
      files.push_back(std::move(text));
    }
  }
  return files;
}

}  // namespace

std::vector<std::string> truncated_files(const TraceSet& set) { return truncated_of(set); }
std::vector<std::string> truncated_files(const RunSummary& run) { return truncated_of(run); }

}  // namespace flopcast
