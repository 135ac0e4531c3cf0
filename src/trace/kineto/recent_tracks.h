// The tracks of the rows before: rows of some few threads and streams alternate.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "trace/json/cursor.h"

namespace flopcast::trace {

/// Some tracks by the text of their pid and tid, as these stand in a window. Short ones without
/// escapes only: others are never found.
class RecentTracks {
 public:
  FLOPCAST_INLINE std::optional<std::uint32_t> find(const JsonSlice& pid,
                                                    const JsonSlice& tid) const {
    for (const Entry& entry : entries_) {
      if (entry.tid.is(tid) && entry.pid.is(pid)) return entry.track;
    }
    return std::nullopt;
  }
  void add(const JsonSlice& pid, const JsonSlice& tid, std::uint32_t track) {
    if (!Text::fits(pid) || !Text::fits(tid)) return;
    entries_[next_++ % entries_.size()] = {Text(pid), Text(tid), track};
  }

 private:
  class Text {
   public:
    static bool fits(const JsonSlice& slice) {
      return slice.escaped == 0 && slice.size > 0 && slice.size <= sizeof bytes_;
    }
    Text() = default;
    explicit Text(const JsonSlice& slice) : size_(slice.size) {
      std::memcpy(bytes_.data(), slice.data, slice.size);
    }
    FLOPCAST_INLINE bool is(const JsonSlice& slice) const {
      return slice.size == size_ && slice.escaped == 0 &&
             equal_blocks(bytes_.data(), slice.data, size_);
    }

   private:
    std::array<char, 16> bytes_{};
    std::uint32_t size_ = kNever;
    static constexpr std::uint32_t kNever = 0xffffffffU;
  };
  struct Entry {
    Text pid, tid;
    std::uint32_t track = 0;
  };
  std::array<Entry, 8> entries_;
  std::size_t next_ = 0;
};

}  // namespace flopcast::trace
