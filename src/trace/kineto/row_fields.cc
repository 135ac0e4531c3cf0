#include "trace/kineto/row_fields.h"

#include <cstring>
#include <iterator>

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

/// A name as whole blocks, which are compared at once.
struct ArgName {
  constexpr ArgName(std::string_view name, Arg arg) : size(name.size()), key(arg) {
    for (std::size_t i = 0; i < size; ++i) text[i] = name[i];
  }
  char text[48] = {};
  std::size_t size;
  Arg key;
};
constexpr ArgName kArgNames[] = {
    {"Seq", Arg::kSeq},
    {"grid", Arg::kGrid},
    {"name", Arg::kName},
    {"rank", Arg::kRank},
    {"bytes", Arg::kBytes},
    {"block", Arg::kBlock},
    {"dtype", Arg::kDtype},
    {"stream", Arg::kStream},
    {"device", Arg::kDevice},
    {"Group size", Arg::kGroupSize},
    {"Input Dims", Arg::kInputDims},
    {"Input type", Arg::kInputTypes},
    {"External id", Arg::kExternalId},
    {"external id", Arg::kExternalId},  // 2021
    {"correlation", Arg::kCorrelation},
    {"blocks per SM", Arg::kBlocksPerSm},
    {"graph node id", Arg::kGraphNode},
    {"In msg nelems", Arg::kInElements},
    {"shared memory", Arg::kSharedMemory},
    {"Fwd thread id", Arg::kForwardThread},
    {"Out msg nelems", Arg::kOutElements},
    {"wait_on_stream", Arg::kWaitOnStream},
    {"Collective name", Arg::kCollective},
    {"Sequence number", Arg::kSequenceNumber},
    {"Concrete Inputs", Arg::kConcreteInputs},
    {"correlation_raw", Arg::kCorrelationRaw},
    {"Process Group Name", Arg::kGroupName},
    {"Record function id", Arg::kRecordFunction},
    {"Process Group Ranks", Arg::kGroupRanks},
    {"Is asynchronized op", Arg::kIsAsync},
    {"registers per thread", Arg::kRegisters},
    {"wait_on_cuda_event_id", Arg::kEventId},
    {"Process Group Description", Arg::kGroupDesc},
    {"wait_on_cuda_event_record_corr_id", Arg::kRecordCorrelation},
};

// kArgNames is sorted by length: where the names of each length begin.
constexpr std::size_t kLongestArg = 33;
constexpr auto kArgsByLength = [] {
  std::array<std::uint8_t, kLongestArg + 2> first{};
  std::size_t i = 0;
  for (std::size_t length = 0; length < first.size(); ++length) {
    while (i < std::size(kArgNames) && kArgNames[i].size < length) ++i;
    first[length] = static_cast<std::uint8_t>(i);
  }
  return first;
}();

FLOPCAST_INLINE Arg arg_of(std::string_view key) {
  if (key.size() > kLongestArg) return Arg::kNone;
  for (std::size_t i = kArgsByLength[key.size()]; i < kArgsByLength[key.size() + 1]; ++i) {
    if (equal_blocks(kArgNames[i].text, key.data(), key.size())) return kArgNames[i].key;
  }
  return Arg::kNone;
}

FLOPCAST_INLINE JsonSlice* field_of(std::string_view key, RawRow& row) {
  // Of a size that is known, bytes are compared as one number.
  const auto is = [at = key.data()](const auto& name) {
    return std::memcmp(at, name, sizeof name - 1) == 0;
  };
  switch (key.size()) {
    case 2:
      if (is("ph")) return &row.phase;
      if (is("ts")) return &row.ts;
      return is("id") ? &row.id : nullptr;
    case 3:
      if (is("cat")) return &row.category;
      if (is("pid")) return &row.pid;
      if (is("tid")) return &row.tid;
      return is("dur") ? &row.duration : nullptr;
    case 4:
      return is("name") ? &row.name : nullptr;
    default:
      return nullptr;
  }
}

// Steps over `key :` in an object and stands at the value.
FLOPCAST_INLINE bool read_key(Cursor& cursor, JsonSlice& key) {
  if (*cursor.at() != '"') return cursor.fail("expected a key");
  return cursor.read_string(key) && cursor.skip_space() &&
         cursor.expect(':', "expected ':' after a key") && cursor.skip_space();
}

// After a value in an object: sets `closed` behind the brace, or stands at the next key.
FLOPCAST_INLINE bool read_separator(Cursor& cursor, bool& closed) {
  if (!cursor.skip_space()) return false;
  closed = *cursor.at() == '}';
  if (closed) return cursor.pass(), true;
  return cursor.expect(',', "expected ',' or '}' in an object") && cursor.skip_space();
}

// Enters the object at the cursor: sets `closed` if it is empty, or stands at the first key.
FLOPCAST_INLINE bool enter_object(Cursor& cursor, bool& closed) {
  cursor.pass();
  if (!cursor.skip_space()) return false;
  closed = *cursor.at() == '}';
  if (closed) cursor.pass();
  return true;
}

/// Behind a field that is no JSON: sets `closed` behind the object's brace, or stands at the next key. `to` is where the
/// part that was read of it went. Not inline: nearly no file has one.
__attribute__((noinline)) bool pass_broken(Cursor& cursor, RawRow& row, Trail& trail, JsonSlice* to,
                                           bool& closed) {
  if (cursor.status() != Scan::kBad || cursor.too_deep()) return false;
  cursor.recover();
  row.broken = true;
  trail.is_whole = false;
  if (to != nullptr) *to = {};
  for (; !cursor.ends(); cursor.pass()) {
    closed = *cursor.at() == '}';
    if (closed) return cursor.pass(), true;
    if (*cursor.at() != ',') continue;
    Cursor next = cursor;
    next.pass();
    if (!next.skip_space()) return cursor = next, false;
    if (*next.at() == '"') return cursor = next, true;
  }
  return false;
}

FLOPCAST_INLINE bool read_args(Cursor& cursor, RawRow& row, Trail& trail) {
  JsonSlice value;
  if (*cursor.at() != '{') {
    if (!cursor.read_value(value)) return false;
    trail.is_whole = false;
    row.bad_args = value.text() != "null" || value.is_string();
    return true;
  }
  bool closed = false;
  if (!enter_object(cursor, closed)) return false;
  while (!closed) {
    JsonSlice key;
    JsonSlice* to = nullptr;
    std::uint64_t bit = 0;
    const bool read = read_key(cursor, key) && cursor.read_value(value);
    if (const Arg arg = read ? arg_of(key.text()) : Arg::kNone; arg != Arg::kNone) {
      to = &row.args[static_cast<std::size_t>(arg)];
      *to = value;
      bit = std::uint64_t{1} << static_cast<unsigned>(arg);
      row.args_present |= bit;
    }
    if (read) trail.values.push_back({value, to});
    if (read && read_separator(cursor, closed)) continue;
    if (!pass_broken(cursor, row, trail, to, closed)) return false;
    row.args_present &= ~bit;
  }
  return true;
}

bool is_needless(const RawRow& row, PassOver pass_over) {
  if (pass_over == PassOver::kNothing) return false;
  switch (row.phase_letter()) {
    case '\0':
      return false;
    case 'X':
      return pass_over == PassOver::kUnusedAndPython && is_python(row) &&
             is_needless_python(row.name);
    case 's':
    case 'f':
      return row.category.size > 0 && row.category.text() != "fwdbwd";
    case 'B':
    case 'E':
    case 'M':
    case 'i':
    case 'I':
      return false;
    default:
      return true;
  }
}

Scan read_fields(Cursor& cursor, PassOver pass_over, RawRow& row, Trail& trail) {
  row.clear();
  trail.values.clear();
  trail.is_whole = true;
  bool closed = false;
  if (!enter_object(cursor, closed)) return cursor.status();
  while (!closed) {
    JsonSlice key, value;
    JsonSlice* field = nullptr;
    bool read = read_key(cursor, key);
    if (read && key.size == 4 && std::memcmp(key.data, "args", 4) == 0) {
      read = read_args(cursor, row, trail);
    } else {
      read = read && cursor.read_value(value);
      field = read ? field_of(key.text(), row) : nullptr;
      if (read) trail.values.push_back({value, field});
      if (field != nullptr) *field = value;
      const bool tells = field == &row.phase || field == &row.category || field == &row.name;
      if (field != nullptr && tells && is_needless(row, pass_over)) {
        row.passed_over = true;
        cursor.skip_rest();
        return cursor.status();
      }
    }
    if (read && read_separator(cursor, closed)) continue;
    if (!pass_broken(cursor, row, trail, field, closed)) return cursor.status();
  }
  row.kind = category_of(row.category.text());
  return Scan::kOk;
}

}  // namespace

Category trace::category_of(std::string_view name) {
  struct Known {
    std::string_view text;
    Category category;
  };
  static constexpr Known kKnown[] = {
      {"cpu_op", Category::kCpuOp},
      {"cuda_runtime", Category::kRuntime},
      {"kernel", Category::kKernel},
      {"cuda_driver", Category::kDriver},
      {"python_function", Category::kPythonFunction},
      {"gpu_memcpy", Category::kMemcpy},
      {"gpu_memset", Category::kMemset},
      {"user_annotation", Category::kUserAnnotation},
      {"gpu_user_annotation", Category::kGpuUserAnnotation},
      {"cuda_sync", Category::kSync},
      {"overhead", Category::kOverhead},
      {"Operator", Category::kCpuOp},
      {"Runtime", Category::kRuntime},
      {"Kernel", Category::kKernel},
      {"Memcpy", Category::kMemcpy},
      {"Memset", Category::kMemset},
  };
  for (const Known& known : kKnown) {
    if (known.text == name) return known.category;
  }
  return Category::kOther;
}

const char* category_name(Category category) {
  static constexpr const char* kNames[kCategoryCount] = {
      "cpu_op",          "cuda_runtime",    "cuda_driver",
      "kernel",          "gpu_memcpy",      "gpu_memset",
      "cuda_sync",       "user_annotation", "gpu_user_annotation",
      "python_function", "overhead",        "other"};
  return kNames[static_cast<std::size_t>(category)];
}

Scan trace::read_row(Cursor& outer, PassOver pass_over, RawRow& row, Trail& trail) {
  Cursor cursor = outer;  // a copy can live in registers
  const Scan scan = read_fields(cursor, pass_over, row, trail);
  outer = cursor;
  return scan;
}

}  // namespace flopcast
