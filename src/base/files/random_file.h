// A file that is read at any place: on disk, or a nameless one that is written first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "flopcast/base.h"

namespace flopcast {

/// An open file; closes itself.
class RandomFile {
 public:
  /// A regular file, to be read. @param hint what to do where it cannot be
  static Result<RandomFile> open(const std::filesystem::path& path, std::string_view hint);
  /// A new file without a name in `folder`, which is gone with this object however the process ends.
  static Result<RandomFile> nameless(const std::filesystem::path& folder);

  RandomFile(RandomFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  RandomFile& operator=(RandomFile&&) = delete;
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;
  ~RandomFile();

  std::uint64_t size() const { return size_; }
  /// Writes behind what is there. False where the disk does not take it (errno).
  bool append(std::string_view bytes);
  /// Exactly `size` bytes from `offset` on. False where they are not there or cannot be read.
  bool read_at(std::uint64_t offset, std::size_t size, std::string& to) const;

 private:
  RandomFile(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}

  int descriptor_;
  std::uint64_t size_;
};

}  // namespace flopcast
