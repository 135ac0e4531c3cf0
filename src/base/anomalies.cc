#include "flopcast/base.h"

namespace flopcast {

Anomaly* Anomalies::find(std::string_view kind) {
  for (Anomaly& known : list_) {
    if (known.kind == kind) return &known;
  }
  return nullptr;
}

void Anomalies::merge(const Anomalies& other) {
  for (const Anomaly& more : other.list_) {
    add(
        more.kind, [&] { return more.first; }, more.count);
  }
}

std::uint64_t Anomalies::count(std::string_view kind) const {
  for (const Anomaly& known : list_) {
    if (known.kind == kind) return known.count;
  }
  return 0;
}

std::string Diagnostic::text() const {
  std::string out = where;
  if (!out.empty() && !what.empty()) out += ": ";
  out += what;
  if (!hint.empty()) out += out.empty() ? hint : " (" + hint + ")";
  return out;
}

}  // namespace flopcast
