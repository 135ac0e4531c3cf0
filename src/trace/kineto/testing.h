// What the tests and the fuzz target of row shapes share: both ways to read rows, side by side.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "trace/kineto/row_shapes.h"

namespace flopcast::trace {

/// Bytes with the padding that a cursor wants behind them.
class PaddedText {
 public:
  explicit PaddedText(std::string_view text) : bytes_(text), size_(text.size()) {
    bytes_.append(kPadding, '\0');
  }
  const char* begin() const { return bytes_.data(); }
  const char* end() const { return bytes_.data() + size_; }

 private:
  std::string bytes_;
  std::size_t size_;
};

inline bool same_slice(const JsonSlice& a, const JsonSlice& b) {
  return a.kind == b.kind && a.escaped == b.escaped && a.text() == b.text();
}

/// How two readings of one row differ, in a word; empty: in nothing that counts.
inline std::string row_difference(const RawRow& a, const RawRow& b) {
  if (a.passed_over != b.passed_over) return "passed over";
  if (!same_slice(a.phase, b.phase)) return "phase";
  if (a.passed_over) return "";
  if (!same_slice(a.category, b.category) || a.kind != b.kind) return "category";
  if (a.broken != b.broken) return "broken";
  if (a.bad_args != b.bad_args || a.args_present != b.args_present) return "arguments";
  const auto fields = {&RawRow::name, &RawRow::pid,      &RawRow::tid,
                       &RawRow::ts,   &RawRow::duration, &RawRow::id};
  for (const auto field : fields) {
    if (!same_slice(a.*field, b.*field)) return "field " + std::string((b.*field).text());
  }
  for (std::size_t i = 0; i < a.args.size(); ++i) {
    const auto arg = static_cast<Arg>(i);
    if (a.has(arg) && !same_slice(a[arg], b[arg])) return "argument " + std::to_string(i);
  }
  return "";
}

/// Reads every object of the text both ways, `shapes` going on from what it has learned.
/// @return what they differ in, or nothing
inline std::string reading_difference(RowShapes& shapes, PassOver pass_over,
                                      std::string_view bytes) {
  const PaddedText text(bytes);
  RawRow row;
  Trail trail;
  for (const char* at = text.begin(); at < text.end();) {
    if (*at != '{') {
      ++at;
      continue;
    }
    Cursor quick(at, text.end()), general(at, text.end());
    const Scan by_shape = shapes.read(quick), by_token = read_row(general, pass_over, row, trail);
    const std::string place = " at byte " + std::to_string(at - text.begin());
    if (by_shape != by_token) return "outcome" + place;
    if (by_token == Scan::kBad && std::strcmp(quick.complaint(), general.complaint()) != 0) {
      return "complaint" + place;
    }
    if (by_token != Scan::kMore && quick.at() != general.at()) return "end of the row" + place;
    if (by_token != Scan::kOk) return "";
    const std::string difference = row_difference(shapes.row(), row);
    if (!difference.empty()) return difference + place;
    at = general.at();
  }
  return "";
}

}  // namespace flopcast::trace
