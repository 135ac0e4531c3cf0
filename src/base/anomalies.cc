#include "flopcast/base.h"

#include "base/text/shown.h"

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

Diagnostic Diagnostic::shown() const {
  return {code, excerpt(where), sentence(what), sentence(hint)};
}

std::string Diagnostic::text() const {
  const Diagnostic said = shown();
  std::string out = said.where;
  if (!out.empty() && !said.what.empty()) out += ": ";
  out += said.what;
  if (!said.hint.empty()) out += out.empty() ? said.hint : " (" + said.hint + ")";
  return out;
}

}  // namespace flopcast
