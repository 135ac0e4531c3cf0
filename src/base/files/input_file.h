// A file that is read from its beginning to its end, whatever it is: on disk, standard input, a pipe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "flopcast/base.h"

namespace flopcast {

/// What names standard input where a file is asked for.
inline constexpr std::string_view kStandardInput = "-";

/// An open file; closes itself.
class InputFile {
 public:
  /// "-" is standard input. Errors: it cannot be opened; a directory; a device, which may never end; a FIFO
  /// that nobody writes to for a few seconds. @param hint what to do where there is no such file
  static Result<InputFile> open(const std::filesystem::path& path, std::string_view hint);
  InputFile(InputFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        head_(std::move(other.head_)),
        given_(other.given_),
        position_(other.position_) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// Bytes read, 0 at the end, -1 on failure (errno).
  ::ssize_t read(void* to, std::size_t room);
  /// The first bytes, at most `room`, which read() gives all the same; -1 on failure. @pre nothing was read
  ::ssize_t peek(std::size_t room);
  std::string_view head() const { return head_; }  ///< what was peeked at
  std::uint64_t position() const { return position_; }

 private:
  explicit InputFile(int descriptor) : descriptor_(descriptor) {}
  bool wait_for_writer();

  int descriptor_;
  std::string head_;
  std::size_t given_ = 0;
  std::uint64_t position_ = 0;
};

/// "cannot be read: No space left on device", of errno.
std::string read_complaint();

}  // namespace flopcast
