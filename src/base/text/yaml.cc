// yaml-cpp's events, made a tree. Its headers are included here alone.
#include "base/text/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "base/text/numbers.h"
#include "base/text/utf8.h"

namespace flopcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBytes = std::size_t{4} << 20;   ///< of a text
constexpr std::size_t kDeepest = 64;                       ///< of mappings and lists in each other
constexpr std::size_t kMostCopied = std::size_t{1} << 17;  ///< of all anchors and aliases: weights
constexpr std::size_t kBytesOfWeight = 64;  ///< of texts that count as one value more
constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

/// Thrown through yaml-cpp, caught at the end of parse_yaml_documents.
struct YamlFault {
  int line = 0;  ///< from 1
  std::string what, hint;
};

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The digits of a number without what groups them; nothing where another sign is among them.
std::optional<std::string> plain_digits(std::string_view text, std::string_view allowed) {
  std::string digits;
  for (const char c : text) {
    if (c == '_') continue;
    if (allowed.find(c) == std::string_view::npos) return std::nullopt;
    digits += c;
  }
  return digits;
}

std::optional<Json> whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  int base = 10;
  std::string_view allowed = "0123456789";
  if (text.starts_with("0x")) base = 16, allowed = "0123456789abcdefABCDEF";
  if (text.starts_with("0b")) base = 2, allowed = "01";
  if (base != 10) text.remove_prefix(2);
  if (base == 10 && text.size() > 1 && text[0] == '0') base = 8, allowed = "01234567";
  const std::optional<std::string> digits = plain_digits(text, allowed);
  if (!digits || digits->empty()) return std::nullopt;
  std::int64_t value = 0;
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [last, error] = std::from_chars(signed_digits.data(), end, value, base);
  if (error != std::errc() || last != end) return std::nullopt;
  return Json(value);
}

/// "1.5", "1.", ".5", "-1.5e+3": a point, and a sign in the exponent; none before a point that comes first.
std::optional<Json> real_number(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const bool has_sign = text[0] == '-' || text[0] == '+';
  const std::size_t first = has_sign ? 1 : 0;
  if (point == 0 ? text.size() < 2 || !is_digit(text[1]) : first == point || !is_digit(text[first]))
    return std::nullopt;
  const std::size_t exponent = std::min(text.find_first_of("eE"), text.size());
  if (exponent < point) return std::nullopt;
  if (exponent < text.size()) {
    const std::string_view power = text.substr(exponent + 1);
    const bool has_power = power.size() > 1 && (power[0] == '-' || power[0] == '+') &&
                           std::all_of(power.begin() + 1, power.end(), is_digit);
    if (!has_power) return std::nullopt;
  }
  const auto before = plain_digits(text.substr(first, point - first), "0123456789");
  const auto behind = plain_digits(text.substr(point + 1, exponent - point - 1), "0123456789");
  if (!before || !behind) return std::nullopt;
  std::string plain = fmt::format("{}{}.{}", text[0] == '-' ? "-" : "", *before, *behind);
  if (exponent < text.size()) plain += fmt::format("e{}", text.substr(exponent + 1));
  plain.erase(std::remove(plain.begin(), plain.end(), '+'), plain.end());
  const std::optional<double> value = parse_number(plain);
  return value ? std::optional<Json>(*value) : std::nullopt;
}

Json plain_scalar(const std::string& text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (is_one_of(text, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) return true;
  if (is_one_of(text, {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return false;
  }
  if (std::optional<Json> number = whole_number(text)) return *std::move(number);
  if (std::optional<Json> number = real_number(text)) return *std::move(number);
  return text;
}

/// yaml-cpp makes single bytes of the escapes \N and \_: they are points of Unicode, U+0085 and U+00A0.
std::string whole_points(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) append_utf8(out, static_cast<unsigned char>(text[0]));
    out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

/// "!!python/tuple" as it is written.
std::string written_tag(std::string_view tag) {
  if (!tag.starts_with(kCoreTag)) return std::string(tag);
  return fmt::format("!!{}", tag.substr(kCoreTag.size()));
}

/// A scalar with an explicit tag.
Json tagged_scalar(const std::string& tag, const std::string& text) {
  if (tag == "!" || written_tag(tag) == "!!str") return text;
  Json value = plain_scalar(text);
  const std::string type = written_tag(tag);
  const bool fits = (type == "!!int" && value.is_number_integer()) ||
                    (type == "!!bool" && value.is_boolean()) ||
                    (type == "!!null" && value.is_null());
  if (fits) return value;
  if (type == "!!float") {
    if (value.is_number()) return value.get<double>();
    if (const std::optional<double> number = parse_number(text)) return *number;
  }
  return fmt::format("{} {}", type, text);
}

bool is_plain_list(const std::string& tag) {
  return is_one_of(written_tag(tag), {"?", "!", "!!seq", "!!python/list", "!!python/tuple"});
}
bool is_plain_mapping(const std::string& tag) {
  return is_one_of(written_tag(tag), {"?", "!", "!!map", "!!omap", "!!python/dict"});
}

/// One document, event by event.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlFile& file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override { start = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // An empty key is the empty text.
    add(mark, anchor, wants_key() ? Json("") : Json(nullptr), 1);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw YamlFault{mark.line + 1, "an alias of what holds it", "write the value out"};
    }
    count_copy(mark, found->second.weight);
    add(mark, 0, found->second.value, found->second.weight);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& given) override {
    const std::string text = whole_points(given);
    const std::size_t weight = 1 + text.size() / kBytesOfWeight;
    const bool key = wants_key();
    if (key) stack_.back().merge_key = tag == "?" && text == "<<";
    add(mark, anchor,
        key          ? Json(text)
        : tag == "?" ? plain_scalar(text)
                     : tagged_scalar(tag, text),
        weight);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Json::array(), is_plain_list(tag) ? std::string() : written_tag(tag));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Json::object(), is_plain_mapping(tag) ? std::string() : written_tag(tag));
  }
  void OnMapEnd() override {
    merge();
    close();
  }

  YAML::Mark start;  ///< of the document

 private:
  struct Frame {
    Json value;
    YAML::Mark mark;
    YAML::anchor_t anchor = 0;
    std::string tag;                   ///< of a program's own: what is inside is not read
    std::size_t path = 0;              ///< length of the pointer to it
    std::size_t weight = 1;            ///< of all it holds
    std::optional<std::string> key{};  ///< of a mapping, whose value comes next
    bool merge_key = false;            ///< it is "<<"
    std::unordered_map<std::string, std::pair<std::size_t, int>> places{};  ///< of keys; lines
    std::vector<Json> merged{};
  };
  struct Anchor {
    Json value;
    std::size_t weight = 0;
  };

  bool wants_key() const {
    return !stack_.empty() && stack_.back().value.is_object() && !stack_.back().key;
  }

  void count_copy(const YAML::Mark& mark, std::size_t weight) {
    copied_ += weight;
    if (copied_ <= kMostCopied) return;
    throw YamlFault{mark.line + 1, "aliases repeat more than is read", "write the values out"};
  }

  /// The pointer to the value that comes next, and its line.
  void step_in(const YAML::Mark& mark) {
    if (stack_.empty()) return;
    Frame& frame = stack_.back();
    path_.resize(frame.path);
    path_ += '/';
    if (frame.value.is_array()) {
      path_ += std::to_string(frame.value.size());
    } else {
      for (const char c : *frame.key) {
        path_ += c == '~' ? "~0" : c == '/' ? "~1" : std::string_view(&c, 1);
      }
    }
    // A key's line is that of the key, which came before.
    if (frame.value.is_array()) file_.lines[path_] = mark.line + 1;
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Json value, std::string tag) {
    if (wants_key()) {
      throw YamlFault{mark.line + 1, "a key that is a list or a mapping", "use a text as the key"};
    }
    if (stack_.size() >= kDeepest) {
      throw YamlFault{mark.line + 1, fmt::format("more than {} values in each other", kDeepest),
                      "use fewer levels"};
    }
    step_in(mark);
    Frame frame;
    frame.value = std::move(value);
    frame.mark = mark;
    frame.anchor = anchor;
    frame.tag = std::move(tag);
    frame.path = path_.size();
    stack_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    if (!frame.tag.empty()) frame.value = frame.tag;
    path_.resize(frame.path);
    place(frame.mark, frame.anchor, std::move(frame.value), frame.weight);
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, Json value, std::size_t weight) {
    if (wants_key()) return set_key(mark, value, weight);
    step_in(mark);
    place(mark, anchor, std::move(value), weight);
  }

  void set_key(const YAML::Mark& mark, const Json& key, std::size_t weight) {
    if (!key.is_string()) {
      throw YamlFault{mark.line + 1, "a key that is no text", "write the key out"};
    }
    Frame& frame = stack_.back();
    frame.key = key.get<std::string>();
    frame.weight += weight;
    if (frame.merge_key) return;
    step_in(mark);
    const int line = mark.line + 1;
    const auto [found, is_new] = frame.places.try_emplace(*frame.key, frame.value.size(), line);
    if (!is_new) {
      file_.repeated.push_back(
          fmt::format("{}: in the lines {} and {}", *frame.key, found->second.second, line));
      found->second.second = line;
    }
    file_.lines[path_] = line;
  }

  /// A value that is whole goes into what holds it.
  void place(const YAML::Mark& mark, YAML::anchor_t anchor, Json value, std::size_t weight) {
    if (anchor != 0) {
      count_copy(mark, weight);
      anchors_[anchor] = {value, weight};
    }
    if (stack_.empty()) {
      file_.root = std::move(value);
      return;
    }
    Frame& frame = stack_.back();
    frame.weight += weight;
    if (frame.value.is_array()) {
      frame.value.push_back(std::move(value));
      return;
    }
    if (frame.merge_key) {
      take_merged(mark, frame, std::move(value));
    } else {
      put(frame, std::move(value));
    }
    frame.key.reset();
    frame.merge_key = false;
  }

  /// Without a search: keys are looked up by their places.
  static void put(Frame& frame, Json value) {
    auto& members = frame.value.get_ref<Json::object_t&>();
    const std::size_t at = frame.places.at(*frame.key).first;
    if (at < members.size()) {
      (members.begin() + static_cast<std::ptrdiff_t>(at))->second = std::move(value);
    } else {
      members.emplace_back(*frame.key, std::move(value));
    }
  }

  static void take_merged(const YAML::Mark& mark, Frame& frame, Json value) {
    const auto wrong = [&mark]() {
      return YamlFault{mark.line + 1, "'<<' merges something else than mappings",
                       "give an alias of a mapping, or a list of them"};
    };
    if (value.is_object()) value = Json::array({std::move(value)});
    if (!value.is_array()) throw wrong();
    for (Json& one : value) {
      if (!one.is_object()) throw wrong();
      frame.merged.push_back(std::move(one));
    }
  }

  /// What the mapping says itself counts before what is merged, and what is merged first before the rest.
  void merge() {
    Frame& frame = stack_.back();
    auto& members = frame.value.get_ref<Json::object_t&>();
    for (Json& from : frame.merged) {
      for (auto& [key, value] : from.get_ref<Json::object_t&>()) {
        const auto place = std::pair(members.size(), frame.mark.line + 1);
        if (frame.places.try_emplace(key, place).second)
          members.emplace_back(key, std::move(value));
      }
    }
  }

  YamlFile& file_;
  std::vector<Frame> stack_;
  std::string path_;  ///< JSON pointer of the value that is read
  std::unordered_map<YAML::anchor_t, Anchor> anchors_;
  std::size_t copied_ = 0;
};

Diagnostic yaml_error(const std::string& name, int line, std::string what, std::string hint) {
  return {ErrorCode::kBadInput, fmt::format("{}:{}", name, std::max(line, 1)), std::move(what),
          std::move(hint)};
}

}  // namespace

int YamlFile::line(std::string_view pointer) const {
  while (!pointer.empty()) {
    if (const auto found = lines.find(pointer); found != lines.end()) return found->second;
    pointer = pointer.substr(0, std::min(pointer.rfind('/'), pointer.size()));
  }
  return 1;
}

std::string YamlFile::place(std::string_view pointer) const {
  return fmt::format("{}:{}", name, line(pointer));
}

Result<std::vector<YamlFile>> parse_yaml_documents(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes) {
    return Diagnostic{
        ErrorCode::kTooLarge, name,
        fmt::format("has {} bytes of YAML; up to {} are read", text.size(), kMostBytes),
        "give a smaller file"};
  }
  if (std::optional<Diagnostic> wrong = check_text(text, name)) return *std::move(wrong);
  std::vector<YamlFile> files;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    int last = -1;
    for (bool more = true; more;) {
      YamlFile file;
      file.name = name;
      TreeBuilder builder(file);
      more = parser.HandleNextDocument(builder);
      // What belongs to no document is one without a value to yaml-cpp, again and again.
      if (more && builder.start.pos == last) {
        throw YamlFault{builder.start.line + 1, "is no YAML: a value that belongs to nothing",
                        "correct the line, or the one before it"};
      }
      last = builder.start.pos;
      if (more && !file.root.is_null()) files.push_back(std::move(file));
    }
  } catch (const YamlFault& fault) {
    return yaml_error(name, fault.line, fault.what, fault.hint);
  } catch (const YAML::Exception& error) {
    return yaml_error(name, error.mark.line + 1, fmt::format("is no YAML: {}", error.msg),
                      "correct the line, or the one before it");
  }
  return files;
}

Result<YamlFile> parse_yaml(std::string_view text, const std::string& name) {
  Result<std::vector<YamlFile>> files = parse_yaml_documents(text, name);
  if (!files) return files.error();
  if (files->size() > 1) {
    return Diagnostic{ErrorCode::kBadInput, name,
                      fmt::format("holds {} YAML documents, one was expected", files->size()),
                      "give the one that is meant, without its '---'"};
  }
  if (files->empty()) {
    YamlFile empty;
    empty.name = name;
    return empty;
  }
  return std::move(files->front());
}

}  // namespace flopcast
