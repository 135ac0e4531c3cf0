#include "base/files/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace flopcast {

namespace fs = std::filesystem;

/// Deflate with a gzip header, a piece at a time.
class GzipPacker {
 public:
  GzipPacker() : work_(ISAL_DEF_LVL3_DEFAULT), packed_(std::size_t{256} << 10) {
    isal_deflate_init(&stream_);
    stream_.level = 3;
    stream_.level_buf = work_.data();
    stream_.level_buf_size = static_cast<std::uint32_t>(work_.size());
    stream_.gzip_flag = IGZIP_GZIP;
  }

  /// Calls `put(data, size)` for packed bytes as they come.
  template <typename Put>
  void pack(std::string_view bytes, bool last, Put&& put) {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // the library counts in 32 bits
    do {
      const std::string_view piece = bytes.substr(0, kMost);
      bytes.remove_prefix(piece.size());
      stream_.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(piece.data()));
      stream_.avail_in = static_cast<std::uint32_t>(piece.size());
      stream_.end_of_stream = last && bytes.empty();
      do {
        stream_.next_out = packed_.data();
        stream_.avail_out = static_cast<std::uint32_t>(packed_.size());
        isal_deflate(&stream_);
        put(reinterpret_cast<const char*>(packed_.data()), packed_.size() - stream_.avail_out);
      } while (stream_.avail_out == 0);
    } while (!bytes.empty());
  }

 private:
  isal_zstream stream_{};
  std::vector<std::uint8_t> work_;
  std::vector<std::uint8_t> packed_;
};

namespace {

// Replacing a link would leave its target stale: the file to write is what the link names.
fs::path link_target(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_symlink(path, ignored)) return path;
  const fs::path target = fs::weakly_canonical(path, ignored);
  return ignored ? path : target;
}

fs::path temporary_name(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  fs::path name = path;
  name += fmt::format(".{}-{}.part", ::getpid(), counter.fetch_add(1));
  return name;
}

fs::path folder_of_output(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path link_to(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// A file without a name that can be given one; -1 where there are none.
int nameless_in(const fs::path& folder) {
#ifdef O_TMPFILE
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0 || ::access(link_to(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);  // without /proc there is no way to name it
#endif
  return -1;
}

/// The process of "NAME.PID-N.part"; nothing where the name is another.
std::optional<::pid_t> writer_of(std::string_view part, std::string_view name) {
  if (!part.starts_with(name) || !part.ends_with(".part")) return std::nullopt;
  part.remove_prefix(name.size());
  part.remove_suffix(5);
  if (!part.starts_with('.')) return std::nullopt;
  part.remove_prefix(1);
  ::pid_t process = 0;
  const char* const end = part.data() + part.size();
  const auto [dash, error] = std::from_chars(part.data(), end, process);
  if (error != std::errc() || process <= 0 || dash == end || *dash != '-') return std::nullopt;
  return std::all_of(dash + 1, end, [](char c) { return c >= '0' && c <= '9'; })
             ? std::optional(process)
             : std::nullopt;
}

Diagnostic file_error(const fs::path& path, const char* doing, int error) {
  const char* hint = error == ENOSPC || error == EDQUOT ? "free some space or name another disk"
                     : error == ENOENT                  ? "make the folder first"
                                                        : "name a place that can be written";
  return {ErrorCode::kBadInput, path.string(), fmt::format("{}: {}", doing, std::strerror(error)),
          hint};
}

}  // namespace

std::optional<Diagnostic> read_only_problem(const fs::path& path) {
  struct ::stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  constexpr ::mode_t kWrites = S_IWUSR | S_IWGRP | S_IWOTH;
  if ((facts.st_mode & kWrites) != 0 && ::access(path.c_str(), W_OK) == 0) return std::nullopt;
  return Diagnostic{ErrorCode::kBadInput, path.string(), "is there and read-only",
                    "name another file, or make it writable: chmod u+w"};
}

void remove_stale_parts(const fs::path& named) {
  const fs::path path = link_target(named);
  const std::string name = path.filename().string();
  const auto yesterday = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of_output(path), ignored)) {
    const auto writer = writer_of(entry.path().filename().string(), name);
    // Where a disk is shared, another machine's process may have that number: it would have written since.
    if (!writer || (::kill(*writer, 0) == 0 || errno != ESRCH)) continue;
    if (entry.last_write_time(ignored) < yesterday && !ignored) fs::remove(entry.path(), ignored);
  }
}

Result<OutputFile> OutputFile::create(const fs::path& named) {
  const fs::path path = link_target(named);
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) return file_error(named, "cannot be written", EISDIR);
  const bool in_place = fs::exists(status) && !fs::is_regular_file(status);
  if (auto problem = read_only_problem(path)) return *problem;
  const fs::path target = in_place ? path : temporary_name(path);
  int descriptor = in_place ? -1 : nameless_in(folder_of_output(path));
  const bool nameless = descriptor >= 0;
  const int flags = O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL);
  if (!nameless) descriptor = ::open(target.c_str(), flags, 0666);
  if (descriptor < 0) return file_error(named, "cannot be created", errno);
  OutputFile file(path, in_place ? fs::path() : target, descriptor);
  file.nameless_ = nameless;
  return file;
}

OutputFile::OutputFile(fs::path path, fs::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {
  if (path_.extension() == ".gz") packer_ = std::make_unique<GzipPacker>();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      nameless_(other.nameless_),
      packer_(std::move(other.packer_)),
      written_(other.written_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      error_(other.error_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty() && !nameless_) ::unlink(temporary_.c_str());
}

void OutputFile::put(const char* data, std::size_t size) {
  while (size > 0 && error_ == 0) {
    const ::ssize_t n = ::write(descriptor_, data, size);
    if (n < 0) {
      if (errno != EINTR) error_ = errno;
      continue;
    }
    data += n;
    size -= static_cast<std::size_t>(n);
    written_ += static_cast<std::uint64_t>(n);
  }
}

void OutputFile::write(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!packer_) return put(bytes.data(), bytes.size());
  packer_->pack(bytes, false, [this](const char* data, std::size_t n) { put(data, n); });
}

Diagnostic OutputFile::complaint(const char* doing) const {
  return file_error(path_, doing, error_);
}

Result<std::uint64_t> OutputFile::commit() {
  if (packer_) packer_->pack({}, true, [this](const char* data, std::size_t n) { put(data, n); });
  if (error_ != 0) return complaint("cannot be written");
  const bool in_place = temporary_.empty();
  if (!in_place) take_over_mode();
  if (!in_place && ::fsync(descriptor_) != 0) error_ = errno;
  if (error_ == 0 && !in_place && !take_name()) return complaint("cannot take its name");
  if (::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) return complaint("cannot be written");
  temporary_.clear();
  return written_;
}

/// Who could read the file that this one replaces, and nobody else, can read this one.
void OutputFile::take_over_mode() {
  struct ::stat old {};
  if (::stat(path_.c_str(), &old) != 0 || !S_ISREG(old.st_mode)) return;
  // Only the superuser gives files away; a file of somebody else's folder becomes one's own.
  if (::fchown(descriptor_, old.st_uid, old.st_gid) != 0) errno = 0;
  if (::fchmod(descriptor_, old.st_mode & 07777) != 0) error_ = errno;
}

bool OutputFile::take_name() {
  constexpr int kFollow = AT_SYMLINK_FOLLOW;
  const std::string from = link_to(descriptor_);
  const bool named =
      !nameless_ || ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, temporary_.c_str(), kFollow) == 0;
  if (named) nameless_ = false;
  if (named && std::rename(temporary_.c_str(), path_.c_str()) == 0) return true;
  error_ = errno;
  return false;
}

}  // namespace flopcast
