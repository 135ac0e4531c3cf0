// Any bytes are documents or one error; each value has a line of the text, and what was read can be written as JSON.
#include "base/text/yaml.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/fuzz_target.h"

namespace {

void check_lines(const flopcast::YamlFile& file, const nlohmann::ordered_json& value,
                 const std::string& pointer, int most) {
  const int line = file.line(pointer);
  flopcast::test::check(line >= 1 && line <= most);
  if (!value.is_structured()) return;
  for (const auto& [key, member] : value.items()) {
    std::string name;
    for (const char c : key) {
      name += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    check_lines(file, member, pointer + "/" + name, most);
  }
}

}  // namespace

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = flopcast::parse_yaml_documents(text, "input");
  if (!files) return 0;
  // A line ends with a line feed, a carriage return, or both.
  const auto lines = static_cast<int>(
      std::count_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }));
  for (const flopcast::YamlFile& file : *files) {
    check_lines(file, file.root, "", lines + 1);
    flopcast::test::check(!file.root.dump().empty());
  }
  return 0;
}
