// One trace file: its rows to columns, the few values beside them, and whether it is a trace at
// all.
#include <simdjson.h>

#include <algorithm>
#include <limits>

#include "trace/json/values.h"
#include "trace/kineto/reader.h"
#include "trace/kineto/rows.h"
#include "trace/raw/finish.h"

namespace flopcast::trace {
namespace {

namespace dom = simdjson::dom;

// Rows go to columns, the few small values beside them are kept as text until the end: they may
// stand before or after the rows.
class KinetoHandler final : public DocumentHandler {
 public:
  explicit KinetoHandler(const RowReader& read_row) : read_row_(read_row) {}

  Scan on_row(Cursor& cursor) override { return read_row_(cursor); }
  bool wants(std::string_view key) override { return place_of(key) != nullptr; }
  void on_value(std::string_view key, const JsonSlice& value) override {
    *place_of(key) = std::string(value.text());
  }
  const std::optional<std::string>& devices() const { return devices_; }
  const std::optional<std::string>& distributed() const { return distributed_; }
  const std::optional<std::string>& base_time() const { return base_time_; }

 private:
  std::optional<std::string>* place_of(std::string_view key) {
    if (key == "deviceProperties") return &devices_;
    if (key == "distributedInfo") return &distributed_;
    return key == "baseTimeNanoseconds" ? &base_time_ : nullptr;
  }

  const RowReader& read_row_;
  std::optional<std::string> devices_, distributed_, base_time_;
};

// An integer that may be written as a string.
std::optional<std::int64_t> integer_of(dom::object object, std::string_view key) {
  dom::element value;
  if (object[key].get(value)) return std::nullopt;
  std::int64_t number = 0;
  if (!value.get(number)) return number;
  std::string_view text;
  if (value.get(text)) return std::nullopt;
  const JsonSlice slice{text.data(), static_cast<std::uint32_t>(text.size()),
                        JsonSlice::Kind::kString, 0};
  if (parse_integer(slice, number) != Number::kGood) return std::nullopt;
  return number;
}

std::int32_t small_or_zero(std::optional<std::int64_t> value) {
  if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) return 0;
  return static_cast<std::int32_t>(*value);
}

void read_devices(const std::string& text, Trace& trace) {
  dom::parser parser;
  dom::array list;
  if (parser.parse(text).get(list)) {
    trace.anomalies.add("bad_device_properties", [&] { return text.substr(0, 80); });
    return;
  }
  for (const dom::element item : list) {
    dom::object properties;
    if (item.get(properties)) continue;
    Device device;
    std::string_view name;
    device.id = small_or_zero(integer_of(properties, "id"));
    if (!properties["name"].get(name)) device.name = name;
    device.sm_count = small_or_zero(integer_of(properties, "numSms"));
    device.memory_bytes = integer_of(properties, "totalGlobalMem").value_or(0);
    const auto of_sm = [&](std::string_view key) {
      return small_or_zero(integer_of(properties, key));
    };
    device.threads_per_sm = of_sm("maxThreadsPerMultiprocessor");
    device.registers_per_sm = of_sm("regsPerMultiprocessor");
    device.shared_memory_per_sm = of_sm("sharedMemPerMultiprocessor");
    trace.devices.push_back(std::move(device));
  }
}

// A rank or world size; what is there but is no count of ranks is told and not used.
std::optional<std::int32_t> count_of(dom::object info, std::string_view key, Trace& trace) {
  dom::element present;
  if (info[key].get(present)) return std::nullopt;
  const auto value = integer_of(info, key);
  if (value && *value >= 0 && *value <= std::numeric_limits<std::int32_t>::max()) {
    return static_cast<std::int32_t>(*value);
  }
  trace.anomalies.add("bad_distributed_info", [&] {
    return "distributedInfo." + std::string(key) + " is " + simdjson::to_string(present);
  });
  return std::nullopt;
}

void read_distributed(const std::string& text, Trace& trace) {
  dom::parser parser;
  dom::object info;
  if (parser.parse(text).get(info)) {
    trace.anomalies.add("bad_distributed_info", [&] { return text.substr(0, 80); });
    return;
  }
  std::string_view backend;
  if (!info["backend"].get(backend)) trace.backend = backend;
  trace.rank = count_of(info, "rank", trace);
  trace.world_size = count_of(info, "world_size", trace);
  if (trace.rank && trace.world_size && *trace.rank >= *trace.world_size) {
    trace.anomalies.add("rank_outside_world", [&] {
      return "rank " + std::to_string(*trace.rank) + " of a world of " +
             std::to_string(*trace.world_size);
    });
  }
}

std::int64_t read_base_time(const std::optional<std::string>& text, Trace& trace) {
  if (!text) return 0;
  const JsonSlice slice{text->data(), static_cast<std::uint32_t>(text->size()),
                        JsonSlice::Kind::kScalar, 0};
  std::int64_t base_ns = 0;
  if (parse_integer(slice, base_ns) == Number::kGood) return base_ns;
  trace.anomalies.add("bad_base_time",
                      [&] { return "baseTimeNanoseconds is " + text->substr(0, 40); });
  return 0;
}

std::string at_byte(const DocumentOutcome::Damage& damage) {
  return damage.what + " (byte " + std::to_string(damage.offset) + " of the unpacked text)";
}

bool has_key(const DocumentOutcome& seen, std::string_view key) {
  return std::find(seen.keys.begin(), seen.keys.end(), key) != seen.keys.end();
}

// Why a document is no trace, or nothing if it is one.
std::optional<Diagnostic> refusal(const DocumentOutcome& seen, const ByteSource& source,
                                  bool any_phase, const std::string& path) {
  const auto because = [&path](std::string what, std::string hint) {
    return Diagnostic{ErrorCode::kBadInput, path, std::move(what), std::move(hint)};
  };
  static constexpr const char* kWanted =
      "expected a Kineto trace: a JSON object with \"traceEvents\", or an array of event objects";
  if (source.end() == ByteSource::End::kCorrupt) {
    return because(source.complaint(), "copy or record the file again");
  }
  if (!seen.is_json) {
    const bool cut = source.end() == ByteSource::End::kTruncated;
    return because(cut ? source.complaint() : at_byte(*seen.damage), kWanted);
  }
  if (!seen.has_events && has_key(seen, "nodes") && has_key(seen, "schema")) {
    return because("this is a PyTorch execution trace, not a Kineto trace",
                   "name the Kineto trace recorded beside it");
  }
  if (seen.damage && seen.rows == 0) return because(at_byte(*seen.damage), kWanted);
  if (!seen.has_events) {
    const std::string keys = joined(seen.keys, 8);
    return because(
        "no \"traceEvents\" among the keys of the file (" + (keys.empty() ? "none" : keys) + ")",
        kWanted);
  }
  if (seen.bare_array && seen.rows > 0 && !any_phase) {
    return because(
        "none of the " + std::to_string(seen.rows) + " elements of the array is an event", kWanted);
  }
  return std::nullopt;
}

void tell_damage(const DocumentOutcome& seen, const ByteSource& source, Anomalies& anomalies) {
  if (source.end() == ByteSource::End::kTruncated) {
    anomalies.add("truncated_gzip", [&] {
      return source.complaint() + "; kept the " + std::to_string(seen.rows) + " rows before it";
    });
  }
  if (seen.damage) {
    anomalies.add("damaged_tail", [&] {
      return at_byte(*seen.damage) + "; kept the " + std::to_string(seen.rows) + " rows before it";
    });
  }
  if (seen.text_after) {
    anomalies.add("text_after_document", [&] {
      return "byte " + std::to_string(*seen.text_after) + " of " + std::to_string(seen.bytes) +
             ": only the first document is used";
    });
  }
  if (source.trailing_bytes() > 0) {
    anomalies.add("bytes_after_gzip", [&] {
      return std::to_string(source.trailing_bytes()) + " bytes behind the compressed data";
    });
  }
}

}  // namespace

std::string joined(const std::vector<std::string>& words, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) out += (i > 0 ? ", " : "") + words[i];
  return words.size() > most ? out + ", ..." : out;
}

std::optional<Diagnostic> read_kineto_rows(ByteSource& source, const std::string& path,
                                           const RowReader& read_row, RawTrace& raw,
                                           const WindowOptions& window,
                                           const std::function<void()>& on_refill) {
  raw.trace.path = path;
  KinetoHandler handler(read_row);
  const DocumentOutcome seen = read_document(source, handler, window, on_refill);
  if (auto error = refusal(seen, source, raw.any_phase, path)) return error;
  raw.trace.bytes_read = seen.bytes;
  tell_damage(seen, source, raw.trace.anomalies);
  if (handler.devices()) read_devices(*handler.devices(), raw.trace);
  if (handler.distributed()) read_distributed(*handler.distributed(), raw.trace);
  raw.base_ns = read_base_time(handler.base_time(), raw.trace);
  return std::nullopt;
}

FileContent read_kineto(ByteSource& source, const std::string& path, const ReadOptions& options,
                        const WindowOptions& window, const std::function<void()>& on_refill) {
  FileContent content;
  RawTrace raw;
  KinetoRows rows(raw, options);
  content.error = read_kineto_rows(
      source, path, [&rows](Cursor& cursor) { return rows.read(cursor); }, raw, window, on_refill);
  if (content.error) return content;
  content.traces = finish_traces(raw);
  content.strings = std::move(raw.strings);
  return content;
}

}  // namespace flopcast::trace
