#include "live/standin/torch/settings.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace flopcast::plugin {
namespace {

void take_word(std::string_view word, Settings& settings) {
  const std::size_t colon = word.find(':');
  if (colon == word.npos) return;
  const std::string number(word.substr(colon + 1));
  if (word.starts_with("execute:")) {
    settings.elements = std::max(0LL, std::atoll(number.c_str()));
    settings.integers = std::max(settings.integers, settings.elements);
  } else if (word.starts_with("zipf:")) {
    settings.skew = std::max(0.0, std::atof(number.c_str()));
  }
}

Settings from_environment() {
  Settings read;
  const char* const given = std::getenv("FLOPCAST_LIVE_VALUES");
  for (std::string_view words(given ? given : ""); !words.empty();) {
    const std::size_t end = std::min(words.find(','), words.size());
    take_word(words.substr(0, end), read);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return read;
}

}  // namespace

const Settings& settings() {
  static const Settings read = from_environment();
  return read;
}

}  // namespace flopcast::plugin
