#include "live/standin/api/unsupported.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "live/standin/values/inside.h"

namespace flopcast::live {
namespace {

bool said_first(std::string_view name) {
  // Never destroyed: threads may still call while the process exits.
  static auto& guard = *new std::mutex;
  static auto& said = *new std::unordered_set<std::string_view>;
  const std::lock_guard lock(guard);
  return said.insert(name).second;
}

// One write a line: several processes share the file.
void append_line(const char* path, const std::string& line) {
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = write(file, line.data(), line.size());
  close(file);
}

}  // namespace
}  // namespace flopcast::live

extern "C" int flopcast_unsupported(const char* name, int answer) {
  flopcast::live::fall_short();
  const char* path = std::getenv("FLOPCAST_LIVE_LOG");
  if (path == nullptr || *path == '\0' || !flopcast::live::said_first(name)) return answer;
  const int before = errno;
  flopcast::live::append_line(
      path, std::string("NOT_SUPPORTED ") + name + " answers " + std::to_string(answer) + "\n");
  errno = before;
  return answer;
}
