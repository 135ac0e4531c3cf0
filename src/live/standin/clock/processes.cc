// Programs that a process in virtual time starts: they go on where it was.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "live/standin/clock/channels.h"

namespace flopcast::live {
namespace {

constinit Real<int(const char*, char* const*, char* const*)> real_execve{"execve"};
constinit Real<int(const char*, char* const*, char* const*)> real_execvpe{"execvpe"};

/// Whether the dynamic linker starts it: else the stand-ins do not come along. A script is run by an interpreter.
bool is_dynamic(const char* path) {
  struct ::stat facts {};
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file || ::fstat(file.get(), &facts) != 0 || (facts.st_mode & (S_ISUID | S_ISGID)) != 0)
    return false;
  Elf64_Ehdr head{};
  const ssize_t got = ::pread(file.get(), &head, sizeof head, 0);
  if (got > 2 && std::memcmp(&head, "#!", 2) == 0) return true;
  if (got != static_cast<ssize_t>(sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
    return false;
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    const auto at = static_cast<off_t>(head.e_phoff + std::uint64_t{i} * sizeof part);
    if (::pread(file.get(), &part, sizeof part, at) != static_cast<ssize_t>(sizeof part))
      return false;
    if (part.p_type == PT_INTERP) return true;
  }
  return false;
}

/// Of a setting in an environment; null if there is none.
const char* setting(char* const* environment, std::string_view name) {
  for (; environment && *environment; ++environment) {
    const std::string_view each = *environment;
    if (each.size() > name.size() && each.starts_with(name) && each[name.size()] == '=')
      return *environment + name.size() + 1;
  }
  return nullptr;
}

/// Whether the stand-ins come along, and can find the run.
bool comes_along(char* const* environment) {
  const char* const preloaded = setting(environment, "LD_PRELOAD");
  return preloaded && std::strstr(preloaded, "libflopcast_live") &&
         setting(environment, kSocketVariable);
}

/// The file that execvp would take.
std::string found_on_path(const char* name) {
  if (std::strchr(name, '/')) return name;
  const char* const path = std::getenv("PATH");
  std::string_view left = path ? path : "/bin:/usr/bin";
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(':'), left.size());
    std::string file(left.substr(0, end));
    file += (file.empty() ? "" : "/") + std::string(name);
    if (::access(file.c_str(), X_OK) == 0) return file;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return name;
}

/// Becomes another program, which goes on in this thread's time.
template <typename Start>
int start_program(const char* path, char* const* environment, Start start) {
  if (!followed() || !comes_along(environment) || !is_dynamic(path)) return start(environment);
  const char* const rank = setting(environment, "RANK");
  std::string line = Link::get().bequeath(rank ? std::atoi(rank) : -1);
  std::vector<char*> all;
  for (; *environment; ++environment) all.push_back(*environment);
  all.push_back(line.data());
  all.push_back(nullptr);
  close_channels(false);
  const int status = start(all.data());
  const int error = errno;
  Link::take_back(line);
  errno = error;
  return status;
}

/// What execl and its like are called with.
std::vector<char*> listed(const char* first, std::va_list& more) {
  std::vector<char*> words{const_cast<char*>(first)};
  while (words.back()) words.push_back(va_arg(more, char*));
  return words;
}

}  // namespace
}  // namespace flopcast::live

using namespace flopcast::live;

FLOPCAST_INTERPOSED int execve(const char* path, char* const* words,
                               char* const* environment) noexcept {
  return start_program(path, environment,
                       [&](char* const* all) { return real_execve(path, words, all); });
}

FLOPCAST_INTERPOSED int execv(const char* path, char* const* words) noexcept {
  return ::execve(path, words, ::environ);
}

FLOPCAST_INTERPOSED int execvpe(const char* file, char* const* words,
                                char* const* environment) noexcept {
  const std::string path = found_on_path(file);
  return start_program(path.c_str(), environment,
                       [&](char* const* all) { return real_execvpe(file, words, all); });
}

FLOPCAST_INTERPOSED int execvp(const char* file, char* const* words) noexcept {
  return ::execvpe(file, words, ::environ);
}

FLOPCAST_INTERPOSED int execl(const char* path, const char* first, ...) noexcept {
  std::va_list more;
  va_start(more, first);
  const std::vector<char*> words = listed(first, more);
  va_end(more);
  return ::execve(path, words.data(), ::environ);
}

FLOPCAST_INTERPOSED int execlp(const char* file, const char* first, ...) noexcept {
  std::va_list more;
  va_start(more, first);
  const std::vector<char*> words = listed(first, more);
  va_end(more);
  return ::execvpe(file, words.data(), ::environ);
}
