#include "live/standin/triton/program.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace flopcast::live::triton {
namespace {

constexpr std::size_t kMostText = std::size_t{16} << 20;
constexpr int kDeepest = 64;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '$' || c == '-' || c == '#';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Where the bracket that opens there ends; npos where it does not.
std::size_t closing(std::string_view text, std::size_t open, char begin, char end) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '"') {
      at = text.find('"', at + 1);
      if (at == text.npos) return at;
    } else if (text[at] == begin) {
      ++depth;
    } else if (text[at] == end && (at == 0 || text[at - 1] != '-') && --depth == 0) {
      return at;
    }
  }
  return text.npos;
}

/// A line without where in the source it comes from.
std::string without_places(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t place = line.find(" loc(", at);
    const std::size_t end = place == line.npos ? line.npos : closing(line, place + 4, '(', ')');
    if (end == line.npos) return out.append(line.substr(at));
    out.append(line.substr(at, place - at));
    at = end + 1;
  }
  return out;
}

/// Parts between commas that no bracket holds.
std::vector<std::string_view> parts(std::string_view text) {
  std::vector<std::string_view> all;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    const bool arrow = c == '>' && at > 0 && text[at - 1] == '-';
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' && !arrow) || c == ')' || c == '}' || c == ']') --depth;
    if (c != ',' || (depth != 0 && at < text.size())) continue;
    if (const auto part = trimmed(text.substr(begin, at - begin)); !part.empty())
      all.push_back(part);
    begin = at + 1;
  }
  return all;
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

Type scalar_type(std::string_view text) {
  Type type;
  type.element = text;
  if (text == "index") type.element = "i64";
  const bool number = text.size() > 1 && text[1] >= '0' && text[1] <= '9';
  if (text == "index" || (number && text[0] == 'i')) type.kind = Type::Kind::kInteger;
  if (text.starts_with("bf16") || text == "tf32" || (number && text[0] == 'f'))
    type.kind = Type::Kind::kFloat;
  return type;
}

/// "128x64xbf16, #layout" behind "tensor<".
Type shaped(std::string_view text);

Type parse_type(std::string_view text) {
  text = trimmed(text);
  const auto inside = [&text](std::size_t open) {
    const std::size_t end = closing(text, open, '<', '>');
    return end == text.npos ? std::string_view() : text.substr(open + 1, end - open - 1);
  };
  if (text.starts_with("tensor<")) return shaped(inside(6));
  if (text.starts_with("!tt.ptr<")) {
    Type type = parse_type(parts(inside(7)).empty() ? std::string_view() : parts(inside(7))[0]);
    if (type.kind == Type::Kind::kPointer) type.element = "i64";
    // A pointer to a whole tensor is another thing, of older versions.
    type.kind = type.is_tensor() ? Type::Kind::kOther : Type::Kind::kPointer;
    return type;
  }
  if (text.starts_with("!tt.tensordesc<")) {
    const std::string_view of = inside(14);
    Type type = of.starts_with("tensor<") ? parse_type(of) : shaped(of);
    type.kind = Type::Kind::kDescriptor;
    return type;
  }
  return scalar_type(text);
}

Type shaped(std::string_view text) {
  std::vector<std::int64_t> shape;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    const std::size_t cross = text.find('x');
    const auto size = whole(text.substr(0, cross));
    if (cross == text.npos || !size || *size <= 0 || shape.size() == kMostDims) return {};
    shape.push_back(*size);
    text.remove_prefix(cross + 1);
  }
  Type type = parts(text).empty() ? Type{} : parse_type(parts(text)[0]);
  std::int64_t all = 1;
  for (const std::int64_t size : shape) {
    if (__builtin_mul_overflow(all, size, &all) || all > std::int64_t{1} << 40) return {};
  }
  type.shape = std::move(shape);
  return type;
}

/// Where types begin: behind the last " : " that no bracket holds.
std::size_t types_at(std::string_view text) {
  int depth = 0;
  std::size_t found = text.npos;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool arrow = c == '>' && at > 0 && text[at - 1] == '-';
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' && !arrow) || c == ')' || c == '}' || c == ']') --depth;
    if (depth == 0 && c == ':' && at > 0 && text[at - 1] == ' ') found = at + 1;
  }
  return found;
}

/// What stands in front of one: "(a, b) -> c", "a * b -> c".
std::vector<Type> input_types(std::string_view text) {
  const std::size_t arrow = text.rfind(" -> ");
  if (arrow == text.npos) return {};
  text = trimmed(text.substr(0, arrow));
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::string list(text);
  for (std::size_t at = 0; (at = list.find(" * ", at)) != list.npos;) list.replace(at, 3, ", ");
  std::vector<Type> types;
  for (const std::string_view part : parts(list)) types.push_back(parse_type(part));
  return types;
}

/// What stands behind an arrow, else what stands alone: "(a, b) -> c", "a to b", "a".
std::vector<Type> result_types(std::string_view text) {
  for (const std::string_view arrow : {std::string_view("-> "), std::string_view(" to ")}) {
    if (const std::size_t at = text.rfind(arrow); at != text.npos)
      text.remove_prefix(at + arrow.size());
  }
  text = trimmed(text);
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::vector<Type> types;
  for (const std::string_view part : parts(text)) types.push_back(parse_type(part));
  return types;
}

class Parser {
 public:
  explicit Parser(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = trimmed(text.substr(0, end));
      if (!line.empty() && !line.starts_with('#')) lines_.push_back(std::string(trimmed(line)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    for (std::string& line : lines_) line = std::string(trimmed(without_places(line)));
  }

  std::optional<Program> program() {
    while (at_ < lines_.size()) {
      const std::string& line = lines_[at_++];
      if (line.starts_with("tt.func ") && !function(line)) return std::nullopt;
    }
    program_.values = values_;
    if (program_.kernel.empty()) return std::nullopt;
    return std::move(program_);
  }

 private:
  int value(std::string_view name) {
    return names_.insert_or_assign(std::string(name), static_cast<int>(values_++)).first->second;
  }
  int known(std::string_view name) {
    const auto found = names_.find(name);
    return found == names_.end() ? value(name) : found->second;
  }

  /// "tt.func public @name(%a: type {attributes}, ...) -> type attributes {...} {"
  bool function(std::string_view line) {
    const std::size_t at = line.find('@'), open = line.find('(', std::min(at, line.size()));
    if (at == line.npos || open == line.npos || !line.ends_with('{')) return false;
    const std::size_t end = closing(line, open, '(', ')');
    if (end == line.npos) return false;
    names_.clear();
    Function made;
    for (const std::string_view part : parts(line.substr(open + 1, end - open - 1))) {
      const std::size_t colon = part.find(": ");
      if (!part.starts_with('%') || colon == part.npos) return false;
      std::string_view type = part.substr(colon + 2);
      if (const std::size_t brace = type.find(" {"); brace != type.npos)
        type = type.substr(0, brace);
      made.parameters.push_back(value(std::string(part.substr(0, colon)) + "#0"));
      made.types.push_back(parse_type(type));
    }
    const std::string name(line.substr(at + 1, open - at - 1));
    if (line.starts_with("tt.func public ")) program_.kernel = name;
    if (!region(made.body, 0)) return false;
    program_.functions[name] = std::move(made);
    return true;
  }

  /// Up to the line that closes it, which is taken.
  bool region(std::vector<Block>& blocks, int depth) {
    if (depth > kDeepest) return false;
    blocks.emplace_back();
    for (; at_ < lines_.size(); ++at_) {
      const std::string line = lines_[at_];
      if (line.starts_with('}')) {
        ++at_;
        last_ = line;
        return true;
      }
      if (line.starts_with('^')) {
        begin_block(blocks, line);
        continue;
      }
      Operation made;
      ++at_;
      if (!operation(made, line, depth)) return false;
      blocks.back().operations.push_back(std::move(made));
      --at_;
    }
    return false;
  }

  /// "^bb1(%a: i32, %b: i32):  // comment"
  void begin_block(std::vector<Block>& blocks, std::string_view line) {
    if (!blocks.back().operations.empty() || !blocks.back().label.empty()) blocks.emplace_back();
    const std::size_t end = std::min(line.find_first_of("(:"), line.size());
    blocks.back().label = line.substr(1, end - 1);
    std::size_t at = end;
    while ((at = line.find('%', at)) != line.npos) {
      const std::size_t colon = std::min(line.find(':', at), line.size());
      blocks.back().arguments.push_back(value(std::string(line.substr(at, colon - at)) + "#0"));
      at = colon;
    }
  }

  bool operation(Operation& made, std::string_view line, int depth) {
    std::string_view results;
    if (line.starts_with('%')) {
      const std::size_t equals = line.find(" = ");
      if (equals == line.npos) return false;
      results = line.substr(0, equals);
      line.remove_prefix(equals + 3);
    }
    if (line.starts_with('"')) {
      const std::size_t end = line.find('"', 1);
      if (end == line.npos) return false;
      made.name = line.substr(1, end - 1);
      line.remove_prefix(end + 1);
    } else {
      const auto stop = std::find_if_not(line.begin(), line.end(), is_name);
      made.name = line.substr(0, static_cast<std::size_t>(stop - line.begin()));
      line.remove_prefix(made.name.size());
    }
    const bool opens = line.ends_with('{');
    made.text = opens ? line.substr(0, line.size() - 1) : line;
    if (made.name.starts_with("scf.for") || made.name.starts_with("scf.while")) {
      loop_heads(made);
    } else {
      operands(made);
    }
    if (opens && !regions(made, depth)) return false;
    types(made);
    return define(made, results);
  }

  /// Regions one behind the other: "} else {", "} do {", "}, {"; what stands behind the last has the types.
  bool regions(Operation& made, int depth) {
    for (bool more = true; more;) {
      made.regions.emplace_back();
      if (!region(made.regions.back(), depth + 1)) return false;
      more = last_.ends_with('{');
    }
    if (last_.size() > 1 && made.name != "scf.for" && made.name != "scf.while" &&
        made.name != "scf.if")
      made.text += last_.substr(1);
    return true;
  }

  /// "%i = %a to %b step %c iter_args(%x = %y, ...) -> (types) : i32", "(%x = %y) : (types) -> types": operands are the
  /// bounds and what goes in; what the body calls them are arguments of its block.
  void loop_heads(Operation& made) {
    const std::string& text = made.text;
    for (std::size_t at = 0; (at = text.find('%', at)) != text.npos;) {
      const std::string name = word(text, at);
      at += name.size();
      if (std::string_view(text).substr(at).starts_with(" = ")) {
        inner_.push_back(name);
        at += 3;
        if (at < text.size() && text[at] != '%') return;
      } else {
        made.operands.push_back(known(whole_name(name)));
      }
    }
    for (const std::string& name : inner_) made.results.push_back(value(whole_name(name)));
    inner_.clear();
  }

  void operands(Operation& made) {
    const std::string& text = made.text;
    int bracket = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if (c == '"') at = std::min(text.find('"', at + 1), text.size());
      if (c == '[' && bracket++ == 0) made.groups.emplace_back();
      if (c == ']' && bracket > 0) --bracket;
      if (c == '^') at = jump(made, at);
      if (c != '%') continue;
      const std::string name = word(text, at);
      const int used = known(whole_name(name));
      made.operands.push_back(used);
      if (bracket > 0) made.groups.back().push_back(used);
      at += name.size() - 1;
    }
  }

  /// "^bb1(%a, %b : i32, i32)". @return its last character's place
  std::size_t jump(Operation& made, std::size_t at) {
    const std::string& text = made.text;
    const std::string label = word(text, at);
    Jump to{label.substr(1), {}};
    at += label.size();
    if (at < text.size() && text[at] == '(') {
      const std::size_t end = closing(text, at, '(', ')');
      for (; at < text.size() && at < end; ++at) {
        if (text[at] != '%') continue;
        const std::string name = word(text, at);
        to.values.push_back(known(whole_name(name)));
        at += name.size() - 1;
      }
    } else {
      --at;
    }
    made.jumps.push_back(std::move(to));
    return at;
  }

  static std::string word(std::string_view text, std::size_t at) {
    std::size_t end = at + 1;
    while (end < text.size() && is_name(text[end])) ++end;
    return std::string(text.substr(at, end - at));
  }
  static std::string whole_name(const std::string& name) {
    return name.find('#') == name.npos ? name + "#0" : name;
  }

  static void types(Operation& made) {
    // A loop's and a condition's follow an arrow in their head.
    const std::string_view text = made.text;
    if (made.name == "scf.for" || made.name == "scf.if") {
      const std::size_t arrow = text.find("-> ");
      if (arrow == text.npos) return;
      const std::size_t open = text.find('(', arrow);
      const std::size_t end = open == text.npos ? open : closing(text, open, '(', ')');
      if (end != text.npos) made.types = result_types(text.substr(open, end - open + 1));
      return;
    }
    if (const std::size_t at = types_at(text); at != text.npos) {
      made.inputs = input_types(text.substr(at));
      made.types = result_types(text.substr(at));
    } else if (made.name == "arith.constant") {
      made.types = {scalar_type("i1")};  // "true" alone
    }
  }

  /// "%a", "%a:2", "%a, %b". A loop's own names were kept among its results until here.
  bool define(Operation& made, std::string_view results) {
    if (made.name == "scf.for" || made.name == "scf.while") {
      if (made.regions.empty()) return false;
      std::vector<int>& arguments = made.regions[0].front().arguments;
      arguments.insert(arguments.begin(), made.results.begin(), made.results.end());
      made.results.clear();
    }
    for (const std::string_view part : parts(results)) {
      const std::size_t colon = part.find(':');
      const std::int64_t count = colon == part.npos ? 1 : whole(part.substr(colon + 1)).value_or(0);
      if (count < 1 || count > 4096) return false;
      for (std::int64_t i = 0; i < count; ++i) {
        made.results.push_back(value(std::string(part.substr(0, colon)) + '#' + std::to_string(i)));
      }
    }
    if (made.types.size() == 1 && made.results.size() > 1)
      made.types.resize(made.results.size(), made.types[0]);
    made.types.resize(std::max(made.types.size(), made.results.size()));
    return true;
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::string last_;  ///< the line that closed the last region
  std::map<std::string, int, std::less<>> names_;
  std::vector<std::string> inner_;
  std::size_t values_ = 0;
  Program program_;
};

}  // namespace

std::int64_t Type::elements() const {
  std::int64_t all = 1;
  for (const std::int64_t size : shape) all *= size;
  return all;
}

unsigned bits_of(std::string_view element) {
  std::size_t at = 0;
  while (at < element.size() && (element[at] < '0' || element[at] > '9')) ++at;
  const auto bits = whole(element.substr(std::min(at, element.size())));
  return bits && *bits > 0 && *bits <= 64 ? static_cast<unsigned>(*bits) : 0;
}

std::size_t parameter_bytes(const Type& type) {
  constexpr std::size_t kTensorMap = 128;
  if (type.kind == Type::Kind::kDescriptor) return kTensorMap;
  if (type.kind == Type::Kind::kPointer) return sizeof(void*);
  return (bits_of(type.element) + 7) / 8;
}

std::optional<Program> parse_program(std::string_view text) {
  if (text.size() > kMostText) return std::nullopt;
  return Parser(text).program();
}

std::optional<std::int64_t> attribute(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    std::string_view rest = trimmed(text.substr(at + name.size()));
    if ((at > 0 && is_name(text[at - 1])) || !rest.starts_with('=')) continue;
    return whole(trimmed(rest.substr(1)));
  }
  return std::nullopt;
}

}  // namespace flopcast::live::triton
