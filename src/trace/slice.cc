// Cutting trace files. What to keep is decided on the columns, which are in memory already; the
// rows themselves are copied from the file byte for byte, in one more pass through a window.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/files/output_file.h"
#include "flopcast/trace/io.h"
#include "trace/json/document.h"
#include "trace/json/values.h"
#include "trace/kineto/rows.h"
#include "trace/pack/reader.h"
#include "trace/raw/crop.h"
#include "trace/raw/finish.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPidsPerRank = 100000000;

/// Of one file: by rank in a merged file, otherwise one entry under kNoRank.
using KeepByRank = std::map<std::int32_t, Keep>;

Diagnostic usage(std::string what, std::string hint) {
  return {ErrorCode::kUsage, "", std::move(what), std::move(hint)};
}

// The interval of a rank, or what is wrong with the request.
// @param file_origin_ns the first row of the file, which in a merged file may be another rank's.
Result<Keep> interval_of(const TraceSet& set, const Trace& trace, const Slice& slice,
                         std::int64_t file_origin_ns) {
  Keep keep;
  keep.origin_ns = trace.origin_ns;
  if (slice.step) {
    const auto step = find_step(set, trace, *slice.step);
    if (!step) return step.error();
    keep.from = step->start;
    keep.to = step->end;
  }
  const double lead_ps = static_cast<double>(trace.origin_ns - file_origin_ns) * 1e3;
  const auto to_time = [lead_ps](double seconds) {  // saturates, so that 1e9 means "to the end"
    constexpr double kMost = 9e18;
    const double ps = std::round(seconds * 1e12) - lead_ps;
    return Time{static_cast<std::int64_t>(std::clamp(ps, -kMost, kMost))};
  };
  if (slice.from_s) keep.from = std::max(keep.from, to_time(*slice.from_s));
  if (slice.to_s) keep.to = std::min(keep.to, to_time(*slice.to_s));
  if (keep.from >= keep.to) {
    return usage("the interval to keep of " + trace.path + " is empty",
                 "its end must be after its start");
  }
  return keep;
}

// What to keep of each file of the set.
Result<std::map<std::string, KeepByRank>> plan(const TraceSet& set, const Slice& slice) {
  std::map<std::string, std::vector<std::int64_t>> origins;  // of the traces of each file
  for (const Trace& trace : set.traces) origins[trace.path].push_back(trace.origin_ns);
  std::map<std::string, KeepByRank> files;
  for (const Trace& trace : set.traces) {
    const bool wanted =
        slice.ranks.empty() ||
        (trace.rank && std::count(slice.ranks.begin(), slice.ranks.end(), *trace.rank) > 0);
    if (!wanted) continue;
    const std::vector<std::int64_t>& of_file = origins[trace.path];
    auto keep = interval_of(set, trace, slice, *std::min_element(of_file.begin(), of_file.end()));
    if (!keep) return keep.error();
    collect_correlations(trace, *keep);
    const bool merged = of_file.size() > 1;
    files[trace.path].emplace(merged ? *trace.rank : kNoRank, std::move(*keep));
  }
  if (files.empty()) {
    return usage("none of the ranks to keep is in the traces", "see which ranks there are");
  }
  return files;
}

// Reads only what the file adds to its timestamps, which may stand behind the rows.
class BaseTimeFinder final : public DocumentHandler {
 public:
  Scan on_row(Cursor& cursor) override {
    JsonSlice ignored;
    cursor.read_value(ignored);
    return cursor.status();
  }
  bool wants(std::string_view key) override { return key == "baseTimeNanoseconds"; }
  void on_value(std::string_view, const JsonSlice& value) override {
    parse_integer(value, base_ns_);
  }
  std::int64_t base_ns() const { return base_ns_; }

 private:
  std::int64_t base_ns_ = 0;
};

/// Copies a document to a file, with the rows that are to be kept.
class Copier final : public DocumentHandler {
 public:
  Copier(const KeepByRank& keep, std::int64_t base_ns, OutputFile& out)
      : keep_(keep), base_ns_(base_ns), out_(out) {}

  Scan on_row(Cursor& cursor) override {
    const char* begin = cursor.at();
    if (*begin != '{') {
      JsonSlice ignored;
      cursor.read_value(ignored);
      return cursor.status();
    }
    const Scan scan = shapes_.read(cursor);
    if (scan != Scan::kOk) return scan;
    if (!wanted(shapes_.row())) return Scan::kOk;
    begin_rows();
    out_.write(any_row_ ? ",\n" : "\n");
    out_.write({begin, static_cast<std::size_t>(cursor.at() - begin)});
    any_row_ = true;
    return Scan::kOk;
  }
  bool wants(std::string_view) override { return true; }
  void on_value(std::string_view key, const JsonSlice& value) override {
    end_rows();
    begin_member();
    std::string text = "\"" + std::string(key) + "\": ";
    if (value.is_string()) text += '"';
    text += value.text();
    if (value.is_string()) text += '"';
    out_.write(text);
  }
  void finish(bool bare_array) {
    bare_array_ = bare_array;
    begin_rows();
    end_rows();
    if (!bare_array) out_.write("\n}\n");
  }
  void set_bare_array() { bare_array_ = true; }

 private:
  void begin_member() {
    out_.write(any_member_ ? ",\n" : "{\n");
    any_member_ = true;
  }
  void begin_rows() {
    if (rows_begun_) return;
    rows_begun_ = rows_open_ = true;
    if (!bare_array_) begin_member();
    out_.write(bare_array_ ? "[" : "\"traceEvents\": [");
  }
  void end_rows() {
    if (std::exchange(rows_open_, false)) out_.write(bare_array_ ? "\n]\n" : "\n]");
  }

  const Keep* keep_of(const RawRow& row) const {
    if (const auto only = keep_.find(kNoRank); only != keep_.end()) return &only->second;
    std::int64_t number = kNoRank;
    if (row.has(Arg::kRank)) {
      parse_integer(row[Arg::kRank], number);
    } else if (parse_integer(row.pid, number) == Number::kGood) {
      number = number < 0 ? kNoRank : number / kPidsPerRank;
    } else {
      number = keep_.begin()->first;  // text pids are the profiler's own
    }
    const auto known = keep_.find(static_cast<std::int32_t>(number));
    return known == keep_.end() ? nullptr : &known->second;
  }

  bool wanted(const RawRow& row) const {
    const Keep* keep = keep_of(row);
    if (keep == nullptr) return false;
    if (row.phase_letter() == 'M') return true;
    std::int64_t ns = 0, duration_ns = 0;
    if (parse_us_as_ns(row.ts, ns) != Number::kGood) return false;
    if (parse_us_as_ns(row.duration, duration_ns) != Number::kGood) duration_ns = 0;
    if (is_launch_flow(row) && !keep_.contains(kNoRank)) return in_time(*keep, ns, 0);
    const std::int64_t correlation = correlation_of(row);
    return (correlation != kNoId && keep->correlations.contains(correlation)) ||
           (!is_launch_flow(row) && in_time(*keep, ns, duration_ns));
  }

  // Arrows from launches to GPU rows: they stay with what they connect.
  static bool is_launch_flow(const RawRow& row) {
    const char phase = row.phase_letter();
    return (phase == 's' || phase == 'f') && row.category.text() != "fwdbwd";
  }

  // The id by which a row hangs together with others, as the columns call it. Merged files number
  // them anew and keep the old number beside it, but not on arrows.
  static std::int64_t correlation_of(const RawRow& row) {
    const JsonSlice* id = nullptr;
    if (is_launch_flow(row)) {
      id = &row.id;
    } else if (is_host_call(row.kind) || is_gpu_work(row.kind)) {
      if (row.has(Arg::kCorrelation)) id = &row[Arg::kCorrelation];
      if (row.has(Arg::kCorrelationRaw)) id = &row[Arg::kCorrelationRaw];
    }
    std::int64_t correlation = kNoId;
    if (id == nullptr || parse_integer(*id, correlation) != Number::kGood) return kNoId;
    return correlation;
  }

  bool in_time(const Keep& keep, std::int64_t ns, std::int64_t duration_ns) const {
    __extension__ using Wide = __int128;
    const Wide start = (static_cast<Wide>(ns) + base_ns_ - keep.origin_ns) * 1000;
    const Wide end = start + static_cast<Wide>(std::max<std::int64_t>(duration_ns, 0)) * 1000;
    const auto narrow = [](Wide ps) {
      return Time{static_cast<std::int64_t>(
          std::clamp<Wide>(ps, std::numeric_limits<std::int64_t>::min() + 1,
                           std::numeric_limits<std::int64_t>::max() - 1))};
    };
    return keep.holds(narrow(start), narrow(end));
  }

  const KeepByRank& keep_;
  std::int64_t base_ns_;
  OutputFile& out_;
  RowShapes shapes_{PassOver::kNothing};
  bool bare_array_ = false;
  bool any_member_ = false, any_row_ = false, rows_begun_ = false, rows_open_ = false;
};

Result<fs::path> cut_file(const fs::path& from, const KeepByRank& keep, const fs::path& to) {
  auto first = file_source(from);
  if (!first) return first.error();
  BaseTimeFinder finder;
  const DocumentOutcome seen = read_document(**first, finder, {});
  if (!seen.is_json || !seen.has_events || (*first)->end() == ByteSource::End::kCorrupt) {
    return Diagnostic{ErrorCode::kBadInput, from.string(), "is no longer the trace it was",
                      "read it again"};
  }
  auto second = file_source(from);
  if (!second) return second.error();
  auto out = OutputFile::create(to);
  if (!out) return out.error();
  Copier copier(keep, finder.base_ns(), *out);
  if (seen.bare_array) copier.set_bare_array();
  read_document(**second, copier, {});
  copier.finish(seen.bare_array);
  const auto written = out->commit();
  if (!written) return written.error();
  return to;
}

// The rows of a file in a pack, which are no text any more.
Result<fs::path> cut_packed(const TraceSet& set, const std::string& from, const KeepByRank& keep,
                            const fs::path& to) {
  TraceSet part;
  for (const Trace& trace : set.traces) {
    if (trace.path != from) continue;
    const auto known = keep.find(keep.contains(kNoRank) ? kNoRank : *trace.rank);
    if (known == keep.end()) continue;
    part.traces.push_back(crop(trace, known->second));
    adopt_strings(part.traces.back(), set.strings, part.strings);
  }
  const auto written = write_kineto(part, to);
  if (!written) return written.error();
  return to;
}

std::optional<Diagnostic> check_target(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::equivalent(from, to, error) || error) return std::nullopt;
  return usage("cutting " + from.string() + " would overwrite it", "choose another directory");
}

Result<std::vector<fs::path>> cut_files(const TraceSet& set,
                                        const std::map<std::string, KeepByRank>& files,
                                        const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Diagnostic{ErrorCode::kUsage, directory.string(), "cannot be made: " + error.message(),
                      ""};
  }
  std::vector<std::pair<fs::path, fs::path>> jobs;
  std::vector<const KeepByRank*> keeps;
  std::map<fs::path, fs::path> sources;
  for (const auto& [from, keep] : files) {
    const fs::path to = directory / fs::path(from).filename();
    if (auto problem = check_target(from, to)) return *problem;
    const auto [other, added] = sources.emplace(to, from);
    if (!added) {
      return usage(other->second.string() + " and " + from + " have the same name",
                   "cut them one by one");
    }
    jobs.emplace_back(from, to);
    keeps.push_back(&keep);
  }
  std::vector<std::optional<Diagnostic>> failures(jobs.size());
  parallel_for(jobs.size(), 0, [&](std::size_t i) {
    const auto& [from, to] = jobs[i];
    const bool packed = is_pack(from.parent_path());
    auto cut =
        packed ? cut_packed(set, from.string(), *keeps[i], to) : cut_file(from, *keeps[i], to);
    if (!cut) failures[i] = cut.error();
  });
  std::vector<fs::path> written;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (failures[i]) return *failures[i];
    written.push_back(jobs[i].second);
  }
  return written;
}

}  // namespace

Result<std::vector<fs::path>> slice_traces(const TraceSet& set, const Slice& slice,
                                           const fs::path& directory) {
  try {
    auto files = plan(set, slice);
    if (!files) return files.error();
    return cut_files(set, *files, directory);
  } catch (const std::exception& failure) {
    return Diagnostic{ErrorCode::kBadInput, directory.string(), failure.what(), ""};
  }
}

}  // namespace flopcast
