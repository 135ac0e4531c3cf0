// Two forms of one thing: PyTorch's execution trace observer writes JSON; Chakra tools turn that
// into a row of length-delimited protobuf messages, GlobalMetadata first and then one Node each.
// Field numbers are those of MLCommons' et_def.proto (schema 0.0.4).
#include "trace/execution/trace.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <utility>

#include "base/files/byte_source.h"
#include "base/text/json_error.h"
#include "base/text/numbers.h"

namespace flopcast {

using namespace trace;  // the room's own names

namespace {

namespace dom = simdjson::dom;
using protozero::pbf_reader;

constexpr const char* kHint =
    "name a PyTorch execution trace (.json, .json.gz) or a Chakra trace (.et)";
constexpr std::uint64_t kMostBytes = 0xffffff00;  // the JSON parser counts in 32 bits

Diagnostic broken(std::string_view path, std::optional<std::size_t> byte, std::string what,
                  std::string hint = kHint) {
  std::string where(path);
  if (byte) where += fmt::format(", byte {}", *byte);
  return {ErrorCode::kBadInput, std::move(where), std::move(what), std::move(hint)};
}

// --- Where JSON is damaged ----------------------------------------------------------------------

Diagnostic json_error(std::string_view bytes, std::string_view path, simdjson::error_code error) {
  const std::optional<std::size_t> byte = json_error_byte(bytes);  // simdjson does not tell it
  if (!byte) {
    return broken(path, std::nullopt, fmt::format("JSON: {}", simdjson::error_message(error)));
  }
  if (*byte >= bytes.size()) {
    return broken(path, bytes.size(), "the JSON ends in the middle of a value",
                  "the file is truncated: record or copy it again");
  }
  return broken(path, *byte, fmt::format("JSON: {}", simdjson::error_message(error)));
}

// --- JSON ---------------------------------------------------------------------------------------

std::optional<std::int64_t> integer_of(const dom::element& value) {
  std::int64_t integer = 0;
  if (value.get(integer) == simdjson::SUCCESS) return integer;
  std::uint64_t big = 0;
  if (value.get(big) == simdjson::SUCCESS) return static_cast<std::int64_t>(big);
  return std::nullopt;
}

std::optional<std::int64_t> integer_at(const dom::element& object, std::string_view key) {
  dom::element value;
  if (object[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return integer_of(value);
}

std::uint32_t text_at(const dom::element& object, std::string_view key, StringTable& strings) {
  dom::element value;
  if (object[key].get(value) != simdjson::SUCCESS) return 0;
  return strings.intern(simdjson::minify(value));
}

void read_attributes(const dom::element& node, ExecutionNode& out) {
  dom::array attributes;
  if (node["attrs"].get(attributes) != simdjson::SUCCESS) return;
  for (const dom::element attribute : attributes) {
    std::string_view name;
    if (attribute["name"].get(name) != simdjson::SUCCESS) continue;
    if (name == "rf_id") out.rf_id = integer_at(attribute, "value").value_or(kNoId);
    if (name == "tid") out.thread = integer_at(attribute, "value").value_or(0);
  }
}

bool read_node(const dom::element& node, StringTable& strings, ExecutionNode& out) {
  std::string_view name;
  if (node["name"].get(name) != simdjson::SUCCESS) return false;
  const std::optional<std::int64_t> id = integer_at(node, "id");
  if (!id) return false;
  out.id = static_cast<std::uint64_t>(*id);
  out.name = strings.intern(name);
  out.rf_id = integer_at(node, "rf_id").value_or(kNoId);
  out.thread = integer_at(node, "tid").value_or(0);
  dom::element inputs;
  if (node["inputs"].get(inputs) == simdjson::SUCCESS && inputs.is_object()) {  // 1.0.2 and later
    out.input_shapes = text_at(inputs, "shapes", strings);
    out.input_types = text_at(inputs, "types", strings);
    out.input_values = text_at(inputs, "values", strings);
    read_attributes(node, out);
  } else {
    out.input_shapes = text_at(node, "input_shapes", strings);
    out.input_types = text_at(node, "input_types", strings);
    out.input_values = text_at(node, "inputs", strings);
  }
  return true;
}

std::optional<std::int32_t> rank_at(const dom::element& root) {
  std::optional<std::int64_t> rank = integer_at(root, "rank");
  dom::element info;
  if (!rank && root["distributedInfo"].get(info) == simdjson::SUCCESS) {
    rank = integer_at(info, "rank");
  }
  if (!rank || *rank < 0 || *rank > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int32_t>(*rank);
}

Diagnostic not_execution_json(const dom::element& root, std::string_view path) {
  const bool is_kineto = root["traceEvents"].error() == simdjson::SUCCESS;
  return broken(path, std::nullopt,
                is_kineto ? "this is a profiler trace (\"traceEvents\"), not an execution trace"
                          : "the JSON has no \"nodes\" array: not an execution trace");
}

Result<ExecutionTrace> parse_json(std::string_view bytes, std::string_view path,
                                  StringTable& strings) {
  dom::parser parser;
  dom::element root;
  const simdjson::error_code error = parser.parse(bytes.data(), bytes.size(), true).get(root);
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
    return Diagnostic{ErrorCode::kTooLarge, std::string(path), simdjson::error_message(error), ""};
  }
  if (error != simdjson::SUCCESS) return json_error(bytes, path, error);
  dom::array nodes;
  if (root["nodes"].get(nodes) != simdjson::SUCCESS) return not_execution_json(root, path);

  ExecutionTrace trace;
  trace.rank = rank_at(root);
  std::string_view schema;
  if (root["schema"].get(schema) == simdjson::SUCCESS) trace.schema = schema;
  trace.nodes.reserve(nodes.size());
  std::size_t position = 0;
  for (const dom::element node : nodes) {
    ExecutionNode out;
    if (read_node(node, strings, out)) {
      trace.nodes.push_back(out);
    } else {
      trace.anomalies.add("bad_node", [&] {
        return fmt::format("{}: node {} has no name or no id", path, position);
      });
    }
    ++position;
  }
  return trace;
}

// --- Chakra protobuf ----------------------------------------------------------------------------

/// Messages of a file, each behind its size. After a failure `error` says what and `at` where.
class Messages {
 public:
  explicit Messages(std::string_view bytes) : rest_(bytes), size_(bytes.size()) {}

  bool next(std::string_view& message) {
    at_ = size_ - rest_.size();
    if (rest_.empty()) return false;
    std::uint64_t length = 0;
    const char* cursor = rest_.data();
    try {
      length = protozero::decode_varint(&cursor, rest_.data() + rest_.size());
    } catch (const protozero::exception&) {
      error_ = "no message size";
      return false;
    }
    rest_.remove_prefix(static_cast<std::size_t>(cursor - rest_.data()));
    if (length > rest_.size()) {
      error_ = fmt::format("a message of {} bytes is announced, {} are left", length, rest_.size());
      return false;
    }
    message = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  std::size_t at() const { return at_; }
  const std::string& error() const { return error_; }

 private:
  std::string_view rest_;
  std::size_t size_;
  std::size_t at_ = 0;
  std::string error_;
};

// Tag and wire type of a field at once: damaged files hold the one with the wrong other.
constexpr std::uint32_t varint(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t bytes(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}

// An attribute is a name (field 1) and one value; integers have fields 7 to 17 by type.
void read_chakra_attribute(pbf_reader attribute, ExecutionNode& out) {
  std::string name;
  std::optional<std::int64_t> value;
  while (attribute.next()) {
    switch (attribute.tag_and_type()) {
      case bytes(1):
        name = attribute.get_string();
        break;
      case varint(7):
      case varint(9):
        value = attribute.get_int64();
        break;
      case varint(11):
      case varint(13):
        value = static_cast<std::int64_t>(attribute.get_uint64());
        break;
      case varint(15):
      case varint(17):
        value = attribute.get_sint64();
        break;
      default:
        attribute.skip();
    }
  }
  if (value && name == "rf_id") out.rf_id = *value;
  if (value && name == "tid") out.thread = *value;
}

void read_chakra_inputs(pbf_reader info, StringTable& strings, ExecutionNode& out) {
  while (info.next()) {
    const std::uint32_t field = info.tag_and_type();
    if (field != bytes(1) && field != bytes(2) && field != bytes(3)) {
      info.skip();
      continue;
    }
    const protozero::data_view text = info.get_view();
    const std::uint32_t id = strings.intern(json_from_python_repr({text.data(), text.size()}));
    (field == bytes(1)   ? out.input_values
     : field == bytes(2) ? out.input_shapes
                         : out.input_types) = id;
  }
}

// Throws protozero::exception where the message is damaged.
ExecutionNode read_chakra_node(std::string_view message, StringTable& strings) {
  ExecutionNode out;
  pbf_reader node(message.data(), message.size());
  bool has_name = false;
  while (node.next()) {
    switch (node.tag_and_type()) {
      case varint(1):
        out.id = node.get_uint64();
        break;
      case bytes(2):
        out.name = strings.intern(node.get_string());
        has_name = true;
        break;
      case bytes(8):
        read_chakra_inputs(node.get_message(), strings, out);
        break;
      case bytes(10):
        read_chakra_attribute(node.get_message(), out);
        break;
      default:
        node.skip();
    }
  }
  if (!has_name) throw protozero::invalid_tag_exception();
  return out;
}

// GlobalMetadata: version (field 1) and attributes (field 2).
std::string read_chakra_version(std::string_view message) {
  std::string version;
  pbf_reader metadata(message.data(), message.size());
  while (metadata.next()) {
    if (metadata.tag_and_type() == bytes(1)) {
      version = metadata.get_string();
    } else if (metadata.tag_and_type() == bytes(2)) {
      metadata.skip();
    } else {
      throw protozero::invalid_tag_exception();
    }
  }
  return version;
}

Result<ExecutionTrace> parse_chakra(std::string_view file, std::string_view path,
                                    StringTable& strings) {
  ExecutionTrace trace;
  Messages messages(file);
  std::string_view message;
  try {
    if (!messages.next(message)) return broken(path, 0, "neither JSON nor a Chakra trace");
    trace.schema = fmt::format("chakra {}", read_chakra_version(message));
  } catch (const protozero::exception&) {
    return broken(path, 0, "neither JSON nor a Chakra trace: the first message is no metadata");
  }
  while (messages.next(message)) {
    try {
      trace.nodes.push_back(read_chakra_node(message, strings));
    } catch (const protozero::exception&) {
      trace.anomalies.add("bad_node", [&] {
        return fmt::format("{}, byte {}: a message that is no node", path, messages.at());
      });
    }
  }
  if (!messages.error().empty()) {
    return broken(path, messages.at(), messages.error(),
                  "the file is truncated: make or copy it again");
  }
  // Any short run of bytes may pass for messages: without one node it was something else.
  if (trace.nodes.empty() && !trace.anomalies.empty()) {
    return broken(path, 0, "neither JSON nor a Chakra trace: no message is a node");
  }
  return trace;
}

// --- Which of them ------------------------------------------------------------------------------

bool is_text(std::string_view bytes) {
  for (const char c : bytes.substr(0, 512)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') return false;
  }
  return true;
}

std::string_view without_leading_space(std::string_view bytes) {
  while (!bytes.empty() && std::isspace(static_cast<unsigned char>(bytes.front())) != 0) {
    bytes.remove_prefix(1);
  }
  return bytes;
}

// "rank3" anywhere, or the number before the extension: "run.3.et".
std::optional<std::int32_t> rank_from_name(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (name.ends_with(".gz")) name.remove_suffix(3);
  std::size_t at = name.rfind("rank");
  if (at != std::string_view::npos) {
    at += 4;
    if (at < name.size() && (name[at] == '_' || name[at] == '-')) ++at;
  } else if (name.ends_with(".et")) {
    name.remove_suffix(3);
    at = name.rfind('.');
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  } else {
    return std::nullopt;
  }
  name.remove_prefix(at);
  const auto rank = take_whole<std::int32_t>(name);
  return rank && *rank >= 0 ? rank : std::nullopt;
}

Result<ExecutionTrace> parse_any(std::string_view bytes, std::string_view path,
                                 StringTable& strings) {
  if (bytes.empty()) return broken(path, std::nullopt, "the file is empty (0 bytes)");
  if (bytes.size() > kMostBytes) {
    return Diagnostic{ErrorCode::kTooLarge, std::string(path), "more than 4 GB of text", kHint};
  }
  if (bytes.starts_with(std::string_view("\x00\x05\x16\x07", 4))) {
    return broken(path, 0, "an AppleDouble file: macOS metadata, not the trace itself",
                  "name the file without the leading \"._\"");
  }
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  const std::string_view text = without_leading_space(bytes);
  if (text.empty()) return broken(path, std::nullopt, "the file holds only white space");
  if (text.front() == '{') return parse_json(bytes, path, strings);
  if (is_text(bytes)) {
    return broken(path, bytes.size() - text.size(),
                  text.front() == '['
                      ? "a JSON array, where an execution trace is an object"
                      : "text that is no JSON object (perhaps protobuf in text form)",
                  kHint);
  }
  return parse_chakra(bytes, path, strings);
}

Result<std::string> read_whole(const std::filesystem::path& path) {
  Result<std::unique_ptr<ByteSource>> source = file_source(path);
  if (!source) {
    Diagnostic error = source.error();
    error.hint = kHint;
    return error;
  }
  std::string bytes = read_all(**source, kMostBytes);
  if ((*source)->end() != ByteSource::End::kClean) {
    return broken(path.string(), (*source)->packed_position(), (*source)->complaint());
  }
  return bytes;
}

/// A step-by-step copy of a Python literal as JSON.
class ReprReader {
 public:
  explicit ReprReader(std::string_view text) : text_(text) {}

  bool convert(std::string& out) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        if (!quoted(c, out)) return false;
      } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
        if (!word(out)) return false;
      } else {
        ++at_;
        out += c == '(' ? '[' : c == ')' ? ']' : c;  // tuples become lists
      }
    }
    return true;
  }

 private:
  bool quoted(char quote, std::string& out) {
    std::string plain;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      plain += text_[at_];
    }
    if (at_++ >= text_.size()) return false;
    using nlohmann::json;
    out += json(plain).dump(-1, ' ', false, json::error_handler_t::replace);
    return true;
  }

  bool word(std::string& out) {
    std::size_t end = at_;
    while (end < text_.size() && std::isalnum(static_cast<unsigned char>(text_[end])) != 0) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    at_ = end;
    if (word == "None" || word == "null" || word == "nan" || word == "inf") {
      out += "null";
    } else if (word == "True" || word == "true") {
      out += "true";
    } else if (word == "False" || word == "false") {
      out += "false";
    } else if (word.front() == 'e' || word.front() == 'E') {
      out += word;  // exponent of a number
    } else {
      return false;
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string trace::json_from_python_repr(std::string_view text) {
  std::string out;
  if (text.empty()) return out;
  if (ReprReader(text).convert(out) && nlohmann::json::accept(out)) return out;
  using nlohmann::json;
  return json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<ExecutionTrace> trace::parse_execution_trace(std::string_view bytes, std::string_view path,
                                                    StringTable& strings) {
  Result<ExecutionTrace> trace = parse_any(bytes, path, strings);
  if (!trace) return trace;
  trace->path = path;
  if (!trace->rank) trace->rank = rank_from_name(path);
  return trace;
}

Result<ExecutionTrace> read_execution_trace(const std::filesystem::path& path,
                                            StringTable& strings) {
  const Result<std::string> bytes = read_whole(path);
  if (!bytes) return bytes.error();
  return parse_execution_trace(*bytes, path.string(), strings);
}

}  // namespace flopcast
