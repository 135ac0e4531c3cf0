#include "trace/kineto/rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "trace/json/values.h"

namespace flopcast::trace {
namespace {

SyncDetail::Kind sync_kind(std::string_view name) {
  if (name == "Stream Wait Event") return SyncDetail::Kind::kStreamWaitEvent;
  if (name == "Event Sync") return SyncDetail::Kind::kEventSync;
  if (name == "Stream Sync") return SyncDetail::Kind::kStreamSync;
  if (name == "Context Sync") return SyncDetail::Kind::kContextSync;
  return SyncDetail::Kind::kOther;
}

// "stream 7" or "7".
std::optional<std::int32_t> stream_from_tid(std::string_view tid) {
  if (tid.starts_with("stream ")) tid.remove_prefix(7);
  const JsonSlice digits{tid.data(), static_cast<std::uint32_t>(tid.size()),
                         JsonSlice::Kind::kScalar, 0};
  std::int64_t value = 0;
  if (parse_integer(digits, value) != Number::kGood) return std::nullopt;
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(value);
}

// Files of 2021 call everything an operator that record_function() named: these names are
// PyTorch's own, and no operator has one of them.
bool is_annotation(std::string_view name) {
  if (name.starts_with('a')) return false;  // "aten::", mostly
  return name.starts_with("ProfilerStep#") || name.starts_with("Optimizer.") ||
         name.starts_with("enumerate(DataLoader)") || name == "DistributedDataParallel.forward";
}

Category category_of_row(const RawRow& row) {
  const bool annotation = row.kind == Category::kCpuOp && is_annotation(row.name.text());
  return annotation ? Category::kUserAnnotation : row.kind;
}

// A collective as opposed to other kernels and operators.
bool is_collective(const RawRow& row, Category category) {
  if (row.has(Arg::kCollective)) return true;
  return category == Category::kCpuOp && row.name.text() == "record_param_comms";
}

bool is_list(const JsonSlice& value) {
  return value.kind == JsonSlice::Kind::kNested && value.data[0] == '[';
}

// "[12288, 1, 1]" → 12288, of short whole numbers as nearly always; 0 if it is something else.
std::uint64_t plain_product(const JsonSlice& list) {
  const char* end = list.data + list.size;
  std::uint64_t out = is_list(list) ? 1 : 0;
  for (const char* p = list.data; out != 0;) {
    ++p;  // the bracket or a comma
    while (p < end && *p == ' ') ++p;
    std::uint64_t value = 0;
    const char* digits = p;
    p = pass_digits(p, end, value);
    const bool good =
        p != digits && p - digits <= 9 && p < end && !__builtin_mul_overflow(out, value, &out);
    if (!good) return 0;
    if (*p == ']') return out;
    if (*p != ',') return 0;
  }
  return 0;
}

}  // namespace

Scan KinetoRows::read(Cursor& cursor) {
  if (*cursor.at() != '{') {
    JsonSlice value;
    if (!cursor.read_value(value)) return cursor.status();
    out_.trace.anomalies.add("rows_not_objects", [&] {
      return "element " + std::to_string(order_ + 1) + " is " +
             std::string(value.text().substr(0, 40));
    });
    ++order_;
    return Scan::kOk;
  }
  const Scan scan = shapes_.read(cursor);
  if (scan != Scan::kOk) return scan;
  ++order_;
  commit(shapes_.row());
  return Scan::kOk;
}

void KinetoRows::begin_anew() {
  out_.strings = StringTable();
  out_.trace.tracks.clear();
  cleaned_ = StringTable();
  cleaned_ids_.assign(1, 0);
  tracks_.clear();
  recent_tracks_ = {};
}

void KinetoRows::commit(const RawRow& row) {
  const char phase = row.phase_letter();
  out_.any_phase |= phase != '\0';
  if (row.broken) count("broken_field", row);
  if (phase == 'X' || phase == 'B') {
    if (row.passed_over) {
      ++out_.trace.row_counts[static_cast<int>(Category::kPythonFunction)];
    } else {
      commit_event(row, phase == 'B');
    }
    return;
  }
  ++out_.trace.other_rows;
  if (row.passed_over) return;
  if (phase == 'E') commit_end(row);
  if (phase == 's' || phase == 'f') commit_flow(row);
  if (phase == 'M') commit_name(row);
  if (phase == 'i' || phase == 'I') commit_instant(row);
  if (phase == '\0') count("row_without_phase", row);
}

bool KinetoRows::start_of(const RawRow& row, std::int64_t& ns) {
  const Number number = parse_us_as_ns(row.ts, ns);
  if (number == Number::kGood) return true;
  count(number == Number::kHuge ? "huge_number" : "bad_ts", row);
  return false;
}

bool KinetoRows::times_of(const RawRow& row, bool open, std::int64_t& ns,
                          std::int64_t& duration_ns) {
  if (!start_of(row, ns)) return false;
  duration_ns = 0;
  if (open) return true;
  if (row.duration.kind == JsonSlice::Kind::kNone) {
    count("missing_dur", row);
    return true;
  }
  const Number number = parse_us_as_ns(row.duration, duration_ns);
  if (number != Number::kGood) {
    count(number == Number::kHuge ? "huge_number" : "bad_dur", row);
    return false;
  }
  if (duration_ns < 0) {
    count("negative_dur", row);
    duration_ns = 0;
  }
  return true;
}

void KinetoRows::commit_event(const RawRow& row, bool open) {
  const Category category = category_of_row(row);
  if (row.bad_args) return count("bad_args", row);
  std::int64_t ns = 0, duration_ns = 0;
  if (!times_of(row, open, ns, duration_ns)) return;
  ++out_.trace.row_counts[static_cast<int>(category)];
  if (category == Category::kPythonFunction && !options_.keep_python &&
      !is_module_row(row.name.text())) {
    return;
  }
  if (out_.step_ns > 1) {
    out_.step_ns = std::gcd(out_.step_ns, std::gcd(ns % 1000, duration_ns % 1000));
  }
  Events& events = out_.trace.events;
  std::int32_t stream = kNoStream, device = -1;
  place_on_device(row, category, stream, device);
  if (open) out_.begins.push_back({static_cast<std::uint32_t>(out_.events()), order_});
  add_rank(row);
  out_.start_ns.push_back(ns);
  out_.duration_ns.push_back(duration_ns);
  events.name.push_back(intern(row.name));
  events.track.push_back(track_of(row));
  events.category.push_back(category);
  events.stream.push_back(stream);
  events.device.push_back(device);
  // Merged files number correlations anew and keep what each rank called them beside it.
  const Arg correlation = row.has(Arg::kCorrelationRaw) ? Arg::kCorrelationRaw : Arg::kCorrelation;
  events.correlation.push_back(integer(row, correlation, kNoId));
  events.external_id.push_back(integer(row, Arg::kExternalId, kNoId));
  events.detail.push_back(detail_of(row, category));
  events.collective.push_back(collective_of(row, category));
}

void KinetoRows::commit_end(const RawRow& row) {
  std::int64_t ns = 0;
  if (start_of(row, ns)) out_.ends.push_back({track_of(row), ns, order_});
}

void KinetoRows::commit_flow(const RawRow& row) {
  std::int64_t ns = 0, id = 0;
  if (row.category.text() != "fwdbwd" || !start_of(row, ns)) return;
  if (parse_integer(row.id, id) != Number::kGood) return count("bad_flow_id", row);
  out_.flows.push_back({id, track_of(row), ns, row.phase_letter() == 's'});
}

void KinetoRows::commit_name(const RawRow& row) {
  const std::string_view what = row.name.text();
  const bool of_process = what == "process_name";
  if ((!of_process && what != "thread_name") || !row.has(Arg::kName)) return;
  JsonSlice name = row[Arg::kName];
  while (name.size > 0 && name.data[name.size - 1] == ' ') --name.size;  // "stream 7 "
  out_.names.push_back({intern(row.pid), intern(row.tid), intern(name), of_process});
}

void KinetoRows::commit_instant(const RawRow& row) {
  if (row.name.text() != "Record Window End") return;
  std::int64_t ns = 0;
  if (start_of(row, ns)) out_.window_end_ns = ns;
}

void KinetoRows::add_rank(const RawRow& row) {
  const std::int32_t rank = integer32(row, Arg::kRank, kNoRank);
  if (rank == kNoRank && out_.row_rank.empty()) return;
  out_.row_rank.resize(out_.events(), kNoRank);  // rows before the first with a rank
  out_.row_rank.push_back(rank);
}

void KinetoRows::place_on_device(const RawRow& row, Category category, std::int32_t& stream,
                                 std::int32_t& device) {
  stream = integer32(row, Arg::kStream, kNoStream);
  const bool work = is_gpu_work(category);
  if (stream == kNoStream && (work || category == Category::kGpuUserAnnotation)) {
    stream = stream_from_tid(row.tid.text()).value_or(kNoStream);
  }
  if (!work && category != Category::kSync && category != Category::kGpuUserAnnotation) return;
  device = integer32(row, Arg::kDevice, -1);
  if (device < 0) {  // pids of GPU rows are device ordinals
    const std::optional<std::int32_t> pid = stream_from_tid(row.pid.text());
    if (pid && *pid < 1024) device = *pid;
  }
}

std::uint32_t KinetoRows::detail_of(const RawRow& row, Category category) {
  Trace& trace = out_.trace;
  const auto add = [](auto& table, auto detail) {
    table.push_back(detail);
    return static_cast<std::uint32_t>(table.size() - 1);
  };
  constexpr auto kMost32 = std::uint64_t{std::numeric_limits<std::uint32_t>::max()};
  switch (category) {
    case Category::kKernel: {
      if (!row.has(Arg::kGrid) && !row.has(Arg::kBlock) && !row.has(Arg::kGraphNode)) break;
      double blocks_per_sm = 0;
      if (row.has(Arg::kBlocksPerSm)) parse_real(row[Arg::kBlocksPerSm], blocks_per_sm);
      KernelDetail kernel{product(row, Arg::kGrid),
                          static_cast<std::uint32_t>(std::min(product(row, Arg::kBlock), kMost32)),
                          static_cast<float>(blocks_per_sm), integer(row, Arg::kGraphNode, kNoId)};
      kernel.registers =
          static_cast<std::uint32_t>(std::max(0, integer32(row, Arg::kRegisters, 0)));
      kernel.shared_memory =
          static_cast<std::uint32_t>(std::max(0, integer32(row, Arg::kSharedMemory, 0)));
      return add(trace.kernels, kernel);
    }
    case Category::kMemcpy:
    case Category::kMemset:
      if (!row.has(Arg::kBytes)) break;
      return add(trace.copies, CopyDetail{integer(row, Arg::kBytes, 0)});
    case Category::kSync:
      return add(trace.syncs, SyncDetail{sync_kind(row.name.text()),
                                         integer32(row, Arg::kWaitOnStream, kNoStream),
                                         integer(row, Arg::kRecordCorrelation, kNoId),
                                         integer(row, Arg::kEventId, kNoId)});
    case Category::kCpuOp: {
      OpDetail op;
      op.sequence_number = integer(row, Arg::kSequenceNumber, kNoId);
      op.forward_thread = integer(row, Arg::kForwardThread, 0);
      op.record_function_id = integer(row, Arg::kRecordFunction, kNoId);
      if (options_.keep_arguments) {
        op.input_dims = text(row, Arg::kInputDims);
        op.input_types = text(row, Arg::kInputTypes);
        op.concrete_inputs = text(row, Arg::kConcreteInputs);
      }
      return add(trace.ops, op);
    }
    default:
      break;
  }
  return kNoDetail;
}

std::uint32_t KinetoRows::collective_of(const RawRow& row, Category category) {
  if (!is_collective(row, category)) return kNoDetail;
  CollectiveDetail detail;
  detail.name = text(row, Arg::kCollective);
  detail.dtype = text(row, Arg::kDtype);
  detail.group_name = text(row, Arg::kGroupName);
  detail.group_desc = text(row, Arg::kGroupDesc);
  detail.group_ranks = text(row, Arg::kGroupRanks);
  detail.group_size = integer32(row, Arg::kGroupSize, 0);
  detail.in_elements = integer(row, Arg::kInElements, 0);
  detail.out_elements = integer(row, Arg::kOutElements, 0);
  detail.sequence = integer(row, Arg::kSeq, kNoId);
  detail.is_wait = row.has(Arg::kCollective) && row[Arg::kCollective].text() == "wait";
  detail.is_async = row.has(Arg::kIsAsync) &&
                    (row[Arg::kIsAsync].text() == "true" || row[Arg::kIsAsync].text() == "True" ||
                     row[Arg::kIsAsync].text() == "1");
  sequence_from_inputs(row, detail);
  out_.trace.collectives.push_back(detail);
  return static_cast<std::uint32_t>(out_.trace.collectives.size() - 1);
}

// Concrete Inputs of record_param_comms: ['', SEQ, group, ...] for a collective, whose first input
// is a tensor, and [SEQ, group, ...] for a wait, which has none. Verified by matching all waits of
// four traces.
void KinetoRows::sequence_from_inputs(const RawRow& row, CollectiveDetail& detail) const {
  if (!row.has(Arg::kConcreteInputs)) return;
  const JsonSlice& inputs = row[Arg::kConcreteInputs];
  if (!is_list(inputs)) return;
  Cursor cursor(inputs.data + 1, inputs.data + inputs.size);
  JsonSlice first, second;
  if (!cursor.skip_space() || !cursor.read_value(first)) return;
  std::int64_t sequence = 0;
  if (parse_integer(first, sequence) == Number::kGood) {
    if (!row.has(Arg::kCollective)) detail.is_wait = true;
  } else if (!cursor.skip_space() || !cursor.expect(',', "") || !cursor.skip_space() ||
             !cursor.read_value(second) || parse_integer(second, sequence) != Number::kGood) {
    return;
  }
  if (detail.sequence == kNoId) detail.sequence = sequence;
}

std::int64_t KinetoRows::present_integer(const RawRow& row, Arg key, std::int64_t otherwise) {
  std::int64_t value = 0;
  if (parse_integer(row[key], value) == Number::kGood) return value;
  if (row[key].text() != "null") count("bad_argument", row);
  return otherwise;
}

std::int32_t KinetoRows::present_integer32(const RawRow& row, Arg key, std::int32_t otherwise) {
  const std::int64_t value = present_integer(row, key, otherwise);
  constexpr std::int64_t kMostUnsigned = std::numeric_limits<std::uint32_t>::max();
  const bool fits = value >= std::numeric_limits<std::int32_t>::min() && value <= kMostUnsigned;
  if (fits) return static_cast<std::int32_t>(value);  // 4294967295 is an unsigned way to write -1
  count("bad_argument", row);
  return otherwise;
}

// What the list's numbers make, multiplied; 0 if it is no list of whole numbers.
std::uint64_t KinetoRows::product(const RawRow& row, Arg key) {
  if (!row.has(key)) return 0;
  const JsonSlice& list = row[key];
  if (const std::uint64_t plain = plain_product(list)) return plain;
  std::uint64_t out = 1;
  bool good = is_list(list);
  Cursor cursor(list.data + 1, list.data + list.size);
  while (good) {
    JsonSlice item;
    std::int64_t value = 0;
    good = cursor.skip_space() && cursor.read_value(item) &&
           parse_integer(item, value) == Number::kGood && value >= 0 &&
           !__builtin_mul_overflow(out, static_cast<std::uint64_t>(value), &out) &&
           cursor.skip_space();
    if (good && *cursor.at() == ']') return out;
    good = good && cursor.expect(',', "");
  }
  count("bad_argument", row);
  return 0;
}

std::uint32_t KinetoRows::text(const RawRow& row, Arg key) {
  return row.has(key) ? intern(row[key]) : 0;
}

std::uint32_t KinetoRows::intern(const JsonSlice& value) {
  if (value.size == 0) return 0;
  if (!value.escaped) {
    if (const auto known = out_.strings.find(value.text())) return *known;
  }
  if (const auto raw = cleaned_.find(value.text())) return cleaned_ids_[*raw];
  std::string plain;
  const bool bad = clean_text(value, plain);
  if (bad) out_.trace.anomalies.add("bad_text", [&] { return plain.substr(0, 80); });
  if (!bad && !value.escaped) return out_.strings.intern(value.text());
  cleaned_.intern(value.text());
  cleaned_ids_.push_back(out_.strings.intern(plain));
  return cleaned_ids_.back();
}

std::uint32_t KinetoRows::track_of(const RawRow& row) {
  if (const auto recent = recent_tracks_.find(row.pid, row.tid)) return *recent;
  const std::uint32_t pid = intern(row.pid), tid = intern(row.tid);
  const auto [known, added] = tracks_.try_emplace(
      std::uint64_t{pid} << 32 | tid, static_cast<std::uint32_t>(out_.trace.tracks.size()));
  if (added) out_.trace.tracks.push_back({pid, tid, 0, 0});
  recent_tracks_.add(row.pid, row.tid, known->second);
  return known->second;
}

void KinetoRows::count(const char* kind, const RawRow& row) {
  out_.trace.anomalies.add(kind, [&] {
    return "row \"" + std::string(row.name.text().substr(0, 80)) + "\" at ts " +
           std::string(row.ts.text().substr(0, 40));
  });
}

}  // namespace flopcast::trace
