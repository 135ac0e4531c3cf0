// Where the text of a trace comes from: memory, a plain file or a gzip file, told by content. All
// are read in pieces, so memory does not grow with the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast {

class ByteSource {
 public:
  /// How the text ended. Only meaningful once read() has returned 0.
  enum class End : std::uint8_t {
    kClean,
    kTruncated,  ///< the gzip stream stops in the middle: what was read is right but not all
    kCorrupt,  ///< bad compressed data or checksum, or the disk failed: what was read is doubtful; or there is more
               ///< of it than anybody can keep
  };

  virtual ~ByteSource() = default;
  /// Unpacked bytes, at most `room`; 0 at the end.
  virtual std::size_t read(char* to, std::size_t room) = 0;
  /// Bytes consumed of the file as it lies on disk.
  virtual std::uint64_t packed_position() const = 0;

  End end() const { return end_; }
  /// What ended the text early, in words.
  const std::string& complaint() const { return complaint_; }
  /// Bytes after the last gzip member that are not gzip; 0 for other sources.
  std::uint64_t trailing_bytes() const { return trailing_bytes_; }

 protected:
  void finish(End end, std::string complaint) {
    end_ = end;
    complaint_ = std::move(complaint);
  }
  /// To be told of bytes that are about to be handed on. False where whoever keeps what is read, as most do, would
  /// fill the memory with it: the text has ended then, with a complaint.
  bool may_hand_on(std::size_t bytes);
  void count_trailing(std::uint64_t bytes) { trailing_bytes_ += bytes; }

 private:
  std::uint64_t handed_on_ = 0, looked_at_ = 0;
  std::uint64_t trailing_bytes_ = 0;
  End end_ = End::kClean;
  std::string complaint_;
};

/// Everything that is left; where it is more than `most` bytes, the first of these and some more.
std::string read_all(ByteSource& source,
                     std::size_t most = std::numeric_limits<std::size_t>::max());

/// The text must outlive the source.
std::unique_ptr<ByteSource> memory_source(std::string_view text);
/// A plain or gzip file (all members of it); standard input where it is "-". Fails if it cannot be opened,
/// is a device or is empty. @param hint what to do then
Result<std::unique_ptr<ByteSource>> file_source(
    const std::filesystem::path& path,
    std::string_view hint = "name a Kineto trace, .json or .json.gz");
/// All of such a file as one text. Fails as well if it is damaged or larger than kMostTextBytes.
Result<std::string> read_unpacked(const std::filesystem::path& path, std::string_view hint);

}  // namespace flopcast
