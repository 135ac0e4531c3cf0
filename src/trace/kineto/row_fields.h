// One row of a Kineto event array as the fields it is made of, still text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "flopcast/trace.h"
#include "trace/json/cursor.h"

namespace flopcast::trace {

/// Arguments that are read; all others are passed over.
enum class Arg : std::uint8_t {
  kExternalId,
  kCorrelation,
  kCorrelationRaw,
  kStream,
  kDevice,
  kBytes,
  kGrid,
  kBlock,
  kBlocksPerSm,
  kRegisters,
  kSharedMemory,
  kGraphNode,
  kCollective,
  kDtype,
  kGroupName,
  kGroupDesc,
  kGroupRanks,
  kGroupSize,
  kInElements,
  kOutElements,
  kSeq,
  kIsAsync,
  kWaitOnStream,
  kRecordCorrelation,
  kEventId,
  kSequenceNumber,
  kForwardThread,
  kRecordFunction,
  kInputDims,
  kInputTypes,
  kConcreteInputs,
  kRank,
  kName,
  kCount,
  kNone = kCount
};

/// The fields of one row as slices of the window.
struct RawRow {
  JsonSlice phase, category, name, pid, tid, ts, duration, id;
  std::array<JsonSlice, static_cast<std::size_t>(Arg::kCount)> args;
  std::uint64_t args_present = 0;
  Category kind = Category::kOther;  ///< what the category's text says; unset if passed over
  bool bad_args = false;             ///< `args` is neither an object nor null
  bool passed_over = false;
  bool broken = false;  ///< a field was no JSON: it has no value, and the others have theirs

  void clear() {
    phase = category = name = pid = tid = ts = duration = id = {};
    args_present = 0;
    kind = Category::kOther;
    bad_args = passed_over = broken = false;
  }

  bool has(Arg key) const { return args_present >> static_cast<unsigned>(key) & 1; }
  const JsonSlice& operator[](Arg key) const { return args[static_cast<std::size_t>(key)]; }
  char phase_letter() const { return phase.size == 1 ? *phase.data : '\0'; }
};

Category category_of(std::string_view name);

/// Rows of Python that are always kept: few, and they tell layers apart ("nn.Module: BertLayer_3").
inline bool is_module_row(std::string_view name) { return name.starts_with("nn.Module: "); }

/// Rows of which no more is read than what tells that nobody needs them.
enum class PassOver : std::uint8_t {
  kNothing,
  kUnused,           ///< flows but fwdbwd, counters, asynchronous spans
  kUnusedAndPython,  ///< and python_function rows
};
/// What has been read of it says that the row is one of a Python function.
inline bool is_python(const RawRow& row) {
  return row.phase_letter() == 'X' && row.category.text() == "python_function";
}
/// Whether a row of a Python function of this name is needless where python rows are.
inline bool is_needless_python(const JsonSlice& name) {
  return name.size > 0 && !is_module_row(name.text());
}

/// The values of a row in the order of the text, those of `args` in place of it.
struct Trail {
  struct Value {
    JsonSlice slice;
    JsonSlice* to;  ///< the field of the row it went to; null if to none
  };
  std::vector<Value> values;
  bool is_whole = true;  ///< `args` is an object if it is there at all, and every field is JSON
};

/// Reads the row object at the cursor, token by token. A field that is no JSON (Kineto's empty `"Process Group
/// Description": ,`) costs that field alone: the row goes on with its next key.
Scan read_row(Cursor& cursor, PassOver pass_over, RawRow& row, Trail& trail);

}  // namespace flopcast::trace
