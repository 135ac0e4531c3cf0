#include "live/standin/memory/named_arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>

#include "live/standin/memory/memory.h"
#include "live/wire/named_arguments.h"

namespace flopcast::live {
namespace {

std::string_view take_until(char end, std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(end));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

std::size_t whole(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool take_hole(std::string_view& pattern, std::string_view& name) {
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits == 0) return false;
  pattern.remove_prefix(std::min(pattern.find('}'), pattern.size() - 1) + 1);
  name.remove_prefix(digits);
  return true;
}

/// "rows=i32:0:8"
NamedArgument argument_of(std::string_view word) {
  NamedArgument one;
  one.name = take_until('=', word);
  const std::string_view type = take_until(':', word);
  for (const ArgumentType& known : kArgumentTypes) {
    if (known.name != type) continue;
    one.bytes = known.bytes;
    one.points = known.points;
  }
  one.index = whole(take_until(':', word));
  one.offset = whole(word);
  return one;
}

std::int64_t value_of(const NamedArgument& one, const void* argument) {
  std::int64_t value = 0;
  std::memcpy(&value, static_cast<const char*>(argument) + one.offset, one.bytes);
  if (one.bytes == sizeof(std::int32_t)) return static_cast<std::int32_t>(value);
  if (!one.points) return value;
  const void* at = nullptr;
  std::memcpy(&at, &value, sizeof at);
  return at ? static_cast<std::int64_t>(Memory::get().left(at)) : 0;
}

}  // namespace

std::vector<NamedArgument> named_arguments(std::string_view kernel, std::string_view text) {
  std::vector<NamedArgument> all;
  while (!text.empty()) {
    std::string_view rule = take_until(';', text);
    if (!fits_pattern(take_until(' ', rule), kernel, take_hole)) continue;
    while (!rule.empty()) all.push_back(argument_of(take_until(' ', rule)));
    break;
  }
  return all;
}

std::string told_launch(std::string_view kernel, const std::vector<NamedArgument>& named,
                        void* const* arguments) {
  std::string text = "told " + std::string(kernel);
  for (const NamedArgument& one : named) {
    if (!arguments[one.index]) continue;
    text += ' ' + one.name + '=' + std::to_string(value_of(one, arguments[one.index]));
  }
  return text;
}

}  // namespace flopcast::live
