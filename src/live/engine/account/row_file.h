// Rows that are written once and read once at the end: beyond a few they lie in a temporary file without a name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace flopcast::live {

/// Bytes in blocks. Shared by all lists of a run: one descriptor.
class BlockFile {
 public:
  BlockFile() = default;
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;
  ~BlockFile();
  /// @return where it lies; -1 if there is no room for it in the folder of temporary files
  std::int64_t write(const void* bytes, std::size_t size);
  /// What lies there. @return whether it could be read
  bool read(std::int64_t place, void* bytes, std::size_t size) const;

 private:
  bool open();

  int file_ = -1;
  bool refused_ = false;
  std::int64_t end_ = 0;
};

/// A list of rows, in the order in which they came. If they cannot be written they stay in memory.
template <typename Row>
class RowList {
  static_assert(std::is_trivially_copyable_v<Row>);

 public:
  static constexpr std::size_t kHeld = 1024;  ///< rows in memory

  void push(const Row& row, BlockFile& file) {
    held_.push_back(row);
    if (held_.size() % kHeld != 0) return;
    const std::int64_t place = file.write(held_.data(), held_.size() * sizeof(Row));
    if (place < 0) return;
    written_.push_back({place, held_.size()});
    held_.clear();
  }
  std::size_t size() const {
    std::size_t rows = held_.size();
    for (const Block& block : written_) rows += block.rows;
    return rows;
  }
  std::size_t held() const { return held_.size(); }  ///< rows that take memory
  /// All of them; none if they cannot be read.
  std::optional<std::vector<Row>> read(const BlockFile& file) const {
    std::vector<Row> rows(size());
    std::size_t at = 0;
    for (const Block& block : written_) {
      if (!file.read(block.place, rows.data() + at, block.rows * sizeof(Row))) return std::nullopt;
      at += block.rows;
    }
    std::copy(held_.begin(), held_.end(), rows.begin() + static_cast<std::ptrdiff_t>(at));
    return rows;
  }

 private:
  struct Block {
    std::int64_t place = 0;
    std::size_t rows = 0;
  };
  std::vector<Row> held_;
  std::vector<Block> written_;
};

}  // namespace flopcast::live
