#include "live/standin/values/settings.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

namespace flopcast::live {
namespace {

void take_word(std::string_view word, FlopcastValues& settings) {
  if (word == "strict") settings.strict = true;
  const std::size_t colon = word.find(':');
  if (colon == word.npos) return;
  const std::string after(word.substr(colon + 1));
  if (word.starts_with("execute:")) {
    settings.elements = std::max(0LL, std::atoll(after.c_str()));
    settings.integers = std::max(settings.integers, settings.elements);
  } else if (word.starts_with("zipf:")) {
    settings.skew = std::max(0.0, std::atof(after.c_str()));
  } else if (word.starts_with("tainted:")) {
    settings.tainted = std::strtod(after == "zero" ? "0" : after.c_str(), nullptr);
    settings.spares_programs = false;
  }
}

FlopcastValues from_environment() {
  FlopcastValues read;
  read.tainted = std::numeric_limits<double>::quiet_NaN();
  const char* const given = std::getenv("FLOPCAST_LIVE_VALUES");
  for (std::string_view words(given ? given : ""); !words.empty();) {
    const std::size_t end = std::min(words.find(','), words.size());
    take_word(words.substr(0, end), read);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return read;
}

}  // namespace

const FlopcastValues& value_settings() {
  static const FlopcastValues read = from_environment();
  return read;
}

}  // namespace flopcast::live

const FlopcastValues* flopcast_live_values() { return &flopcast::live::value_settings(); }
