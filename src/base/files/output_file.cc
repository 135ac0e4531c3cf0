#include "base/files/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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

Diagnostic file_error(const fs::path& path, const char* doing, int error) {
  const char* hint = error == ENOSPC || error == EDQUOT ? "free some space or name another disk"
                     : error == ENOENT                  ? "make the folder first"
                                                        : "name a place that can be written";
  return {ErrorCode::kBadInput, path.string(), fmt::format("{}: {}", doing, std::strerror(error)),
          hint};
}

}  // namespace

Result<OutputFile> OutputFile::create(const fs::path& named) {
  const fs::path path = link_target(named);
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) return file_error(named, "cannot be written", EISDIR);
  const bool in_place = fs::exists(status) && !fs::is_regular_file(status);
  const fs::path target = in_place ? path : temporary_name(path);
  const int flags = O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_EXCL);
  const int descriptor = ::open(target.c_str(), flags, 0666);
  if (descriptor < 0) return file_error(named, "cannot be created", errno);
  return OutputFile(path, in_place ? fs::path() : target, descriptor);
}

OutputFile::OutputFile(fs::path path, fs::path temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {
  if (path_.extension() == ".gz") packer_ = std::make_unique<GzipPacker>();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      packer_(std::move(other.packer_)),
      written_(other.written_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      error_(other.error_) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
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
  if (!in_place && ::fsync(descriptor_) != 0) error_ = errno;
  if (::close(std::exchange(descriptor_, -1)) != 0 && error_ == 0) error_ = errno;
  if (error_ != 0) return complaint("cannot be written");
  if (!in_place && std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    error_ = errno;
    return complaint("cannot take its name");
  }
  temporary_.clear();
  return written_;
}

}  // namespace flopcast
