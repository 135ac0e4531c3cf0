#include "base/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace flopcast {
namespace {

namespace fs = std::filesystem;

/// A FIFO may be named before the program that writes to it has started, but not for ever.
constexpr std::chrono::milliseconds kWriterComesWithin{3000}, kLookAgainAfter{20};

::ssize_t read_some(int descriptor, void* to, std::size_t room) {
  ::ssize_t n = 0;
  do {
    n = ::read(descriptor, to, room);
  } while (n < 0 && errno == EINTR);
  return n;
}

bool is_terminal_or_no_device(int descriptor, mode_t mode) {
  return (!S_ISCHR(mode) && !S_ISBLK(mode)) || ::isatty(descriptor) == 1;
}

}  // namespace

std::string read_complaint() { return std::string("cannot be read: ") + std::strerror(errno); }

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<InputFile> InputFile::open(const fs::path& path, std::string_view hint) {
  const bool standard = path == kStandardInput;
  const std::string where = standard ? "standard input" : path.string();
  const auto refuse = [&](std::string what, std::string_view instead) {
    return Diagnostic{ErrorCode::kBadInput, where, std::move(what), std::string(instead)};
  };
  // Opening a FIFO would wait for a writer, for ever if none comes.
  InputFile file(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct ::stat facts {};
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &facts) != 0) {
    return refuse(read_complaint(), hint);
  }
  if (S_ISDIR(facts.st_mode)) return refuse("is a directory", hint);
  if (!is_terminal_or_no_device(file.descriptor_, facts.st_mode)) {
    return refuse("is a device", "name a file, or - for standard input");
  }
  if (standard) return file;
  if (S_ISFIFO(facts.st_mode) && !file.wait_for_writer()) {
    return refuse("is a pipe that no program writes to", "start the writer first");
  }
  const int flags = ::fcntl(file.descriptor_, F_GETFL);
  if (flags >= 0) ::fcntl(file.descriptor_, F_SETFL, flags & ~O_NONBLOCK);
  return file;
}

/// Without blocking, an empty pipe gives 0 bytes where nobody has it open to write, EAGAIN where
/// somebody has.
bool InputFile::wait_for_writer() {
  const auto end = std::chrono::steady_clock::now() + kWriterComesWithin;
  char first = 0;
  for (;;) {
    const ::ssize_t n = read_some(descriptor_, &first, 1);
    if (n > 0) head_.assign(1, first);
    if (n != 0) return true;
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kLookAgainAfter);
  }
}

::ssize_t InputFile::peek(std::size_t room) {
  std::size_t have = head_.size();
  head_.resize(std::max(room, have));
  ::ssize_t n = 1;
  while (have < room && n > 0) {
    n = read_some(descriptor_, head_.data() + have, room - have);
    if (n > 0) have += static_cast<std::size_t>(n);
  }
  head_.resize(have);
  return n < 0 ? n : static_cast<::ssize_t>(have);
}

::ssize_t InputFile::read(void* to, std::size_t room) {
  ::ssize_t n = 0;
  if (given_ < head_.size()) {
    n = static_cast<::ssize_t>(std::min(room, head_.size() - given_));
    std::memcpy(to, head_.data() + given_, static_cast<std::size_t>(n));
    given_ += static_cast<std::size_t>(n);
  } else {
    n = read_some(descriptor_, to, room);
  }
  if (n > 0) position_ += static_cast<std::uint64_t>(n);
  return n;
}

}  // namespace flopcast
