#include "live/torch/settings.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace flopcast::plugin {
namespace {

Settings from_environment() {
  Settings read;
  if (const char* elements = std::getenv("FLOPCAST_LIVE_EXECUTE"); elements && *elements) {
    read.elements = std::max(0LL, std::atoll(elements));
    read.integers = std::max(read.integers, read.elements);
  }
  constexpr std::string_view kZipf = "zipf:";
  const char* routing = std::getenv("FLOPCAST_LIVE_ROUTING");
  if (routing && std::string_view(routing).starts_with(kZipf))
    read.skew = std::max(0.0, std::atof(routing + kZipf.size()));
  return read;
}

}  // namespace

const Settings& settings() {
  static const Settings read = from_environment();
  return read;
}

}  // namespace flopcast::plugin
