#include <algorithm>
#include <string>
#include <vector>

#include "flopcast/trace.h"

namespace flopcast {

std::vector<std::string> truncated_files(const TraceSet& set) {
  std::vector<std::string> files;
  for (const Trace& trace : set.traces) {
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

}  // namespace flopcast
