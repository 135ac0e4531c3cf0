#include "live/start/launch/remarks.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace flopcast::live {
namespace {

constexpr std::string_view kUnsupported = "NOT_SUPPORTED ";

std::string whole_file(int descriptor) {
  std::string text;
  std::array<char, 65536> bytes;
  ssize_t got = 0;
  while ((got = ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(text.size()))) >
         0)
    text.append(bytes.data(), static_cast<std::size_t>(got));
  return text;
}

}  // namespace

Remarks::Remarks() {
  if (!std::getenv(kVariable)) file_ = Descriptor(::memfd_create("flopcast", MFD_CLOEXEC));
}

std::string Remarks::path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()); }

std::vector<std::string> Remarks::unsupported() const {
  std::vector<std::string> names;
  const std::string text = file_ ? whole_file(file_.get()) : std::string();
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    if (!line.starts_with(kUnsupported)) continue;
    line.remove_prefix(kUnsupported.size());
    names.emplace_back(line.substr(0, line.find(' ')));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace flopcast::live
