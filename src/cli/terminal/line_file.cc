#include "cli/terminal/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text/shown.h"

namespace flopcast::cli {

namespace fs = std::filesystem;

LineFile::LineFile(LineFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      held_(std::move(other.held_)),
      torn_(other.torn_) {}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Diagnostic LineFile::complaint(const char* doing) const {
  return {ErrorCode::kBadInput, path_.string(),
          fmt::format("{} failed: {}", doing, std::strerror(errno)),
          "what was complete before is still there; the same command goes on from it"};
}

namespace {

/// Whether what stands behind the last line's end was torn off one of our lines. A file that begins
/// with it has to show the whole head: a few bytes may be anybody's.
bool is_torn_line(std::string_view text, std::string_view head, bool first) {
  return text.starts_with(head) || (!first && head.starts_with(text));
}

}  // namespace

Result<LineFile> LineFile::open(const fs::path& path, std::string_view head) {
  LineFile lines(path, ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lines.descriptor_ < 0) return lines.complaint("opening it");
  // Some network file systems have no locks: then there is none to respect.
  if (::flock(lines.descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Diagnostic{ErrorCode::kUsage, path.string(), "another flopcast writes to it",
                      "give every command a file of its own"};
  }
  if (const auto problem = lines.read_held(head)) return *problem;
  return lines;
}

std::optional<Diagnostic> LineFile::read_held(std::string_view head) {
  struct stat facts {};
  if (::fstat(descriptor_, &facts) != 0) return complaint("reading it");
  if (!S_ISREG(facts.st_mode)) return std::nullopt;  // a pipe or device holds nothing yet
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(descriptor_, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return complaint("reading it");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  const std::size_t lines = text.rfind('\n') + 1;  // 0 where there is none
  const std::string_view tail = std::string_view(text).substr(lines);
  const bool other_lines = lines > 0 && !text.starts_with(head);
  if (other_lines || (!tail.empty() && !is_torn_line(tail, head, lines == 0))) {
    const std::string_view shown =
        other_lines ? std::string_view(text).substr(0, text.find('\n')) : tail;
    return Diagnostic{
        ErrorCode::kBadInput, path_.string(),
        fmt::format("holds something else and is left as it is: '{}'", excerpt(shown)),
        "name a new file, or one that the same command began"};
  }
  torn_ = !tail.empty();
  text.resize(lines);
  held_ = std::move(text);
  return std::nullopt;
}

std::optional<Diagnostic> LineFile::cut_torn_line() {
  if (torn_ && ::ftruncate(descriptor_, static_cast<off_t>(held_.size())) != 0) {
    return complaint("cutting off a torn line");
  }
  torn_ = false;
  // Pipes have no end to go to.
  if (::lseek(descriptor_, 0, SEEK_END) < 0 && errno != ESPIPE) return complaint("reading it");
  return std::nullopt;
}

std::optional<Diagnostic> LineFile::append(std::string_view line) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_CUR);
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t put = ::write(descriptor_, line.data() + done, line.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) {
      const Diagnostic error = complaint("writing to it");
      // Where this fails too, the torn line is cut off when the file is opened again.
      if (before >= 0 && ::ftruncate(descriptor_, before) != 0) return error;
      return error;
    }
    done += static_cast<std::size_t>(put);
  }
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) {
    return complaint("writing to it");
  }
  return std::nullopt;
}

}  // namespace flopcast::cli
