// What machines of a run send each other: frames of a kind and numbers, in both directions over one connection.
//
//   frame:  bytes that follow (u32) | FrameKind (u8) | fields
//
// Fields are copied as they lie in memory: all machines of a run are of one kind of processor, which the first frame shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace flopcast::live {

/// What a machine's agent sends to the engine, what it is told, and what goes both ways.
enum class FrameKind : std::uint8_t {
  kNone,
  // To the engine.
  kJoin,         ///< JoinFrame: the first
  kLine,         ///< line, Hello: a process has opened it
  kTexts,        ///< line, texts: the next of its arena
  kPlaces,       ///< line, count, of each: index, Watch::Place::looked, ::thread
  kRecords,      ///< line, ring, its thread as the system and as the C library have it, records
  kState,        ///< line, LineState, texts and stretches: what its region says besides
  kLeft,         ///< line, 1: it runs no program any more
  kOverwritten,  ///< line
  kWalked,       ///< question, Sight, BusyThreads: the answer to kWalk
  kStacks,       ///< line, question, count, of each: 1 for Python's lines, text
  kTimes,        ///< question, 1: it is there, ThreadTimes
  kName,         ///< question, text
  kEnded,        ///< process of the machine, status, last line: it has ended
  kRemarks,      ///< texts: functions that are not there
  kStopped,      ///< somebody there has ended the run
  kBye,          ///< all of its processes have ended, and nothing follows
  // From the engine.
  kWelcome,      ///< WelcomeFrame
  kRefused,      ///< text: why. Nothing follows
  kAnswer,       ///< line, ring, status, time, value
  kTook,         ///< line, ring, records
  kShow,         ///< line, nanoseconds
  kLook,         ///< line, looks wanted
  kCut,          ///< line
  kLeaveBehind,  ///< line, ring
  kAskWhere,     ///< line, question, count, of each: thread, handle
  kWalk,         ///< question, which the answer names
  kAskTimes,     ///< question, line, thread
  kAskName,      ///< question, line, thread
  kEnd,          ///< 1: it has ended well, text: why. All processes are to be ended
  // Both ways.
  kLetter,  ///< LetterHead, ranges, bytes
  kRead,    ///< letter, by how many more
  kDone,    ///< letter: all have read it
};
inline constexpr FrameKind kLastFrame = FrameKind::kDone;

/// No frame is longer: letters of 64 MiB are the longest.
inline constexpr std::uint32_t kMostFrame = std::uint32_t{80} << 20;
/// Nor is the first, before it is known who sends it.
inline constexpr std::uint32_t kMostFirstFrame = 4096;

/// Puts a frame together.
class FrameWriter {
 public:
  explicit FrameWriter(FrameKind kind) : bytes_(sizeof(std::uint32_t)) { put(kind); }

  template <typename T>
  FrameWriter& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_bytes(&value, sizeof value);
  }
  FrameWriter& put_bytes(const void* from, std::size_t size) {
    const auto* const at = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), at, at + size);
    return *this;
  }
  FrameWriter& text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    return put_bytes(text.data(), text.size());
  }
  /// The whole frame, its length in front.
  std::span<const std::byte> frame() {
    const auto size = static_cast<std::uint32_t>(bytes_.size() - sizeof(std::uint32_t));
    std::memcpy(bytes_.data(), &size, sizeof size);
    return bytes_;
  }

 private:
  std::vector<std::byte> bytes_;
};

/// Takes one apart. What is not there is zero, and shows at the end: whatever somebody sends, nothing is read beyond it.
class FrameReader {
 public:
  /// @param frame without its length
  explicit FrameReader(std::span<const std::byte> frame) : left_(frame) {
    const auto number = take<std::uint8_t>();
    if (number > static_cast<std::uint8_t>(kLastFrame)) sound_ = false;
    kind_ = sound_ ? static_cast<FrameKind>(number) : FrameKind::kNone;
  }

  FrameKind kind() const { return kind_; }
  template <typename T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::span<const std::byte> from = bytes(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  /// So many; none if there are fewer.
  std::span<const std::byte> bytes(std::size_t size) {
    if (size > left_.size()) sound_ = false;
    if (!sound_) return {};
    const std::span<const std::byte> taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::string text() {
    const std::span<const std::byte> from = bytes(take<std::uint32_t>());
    return {reinterpret_cast<const char*>(from.data()), from.size()};
  }
  /// A number of things that follow, each of so many bytes at least; 0 if there is no room for as many.
  std::uint32_t count(std::size_t each) {
    const auto number = take<std::uint32_t>();
    if (each == 0 || number > left_.size() / each) sound_ = false;
    return sound_ ? number : 0;
  }
  std::size_t left() const { return left_.size(); }
  void spoil() { sound_ = false; }
  /// All was there, and nothing else is.
  bool is_sound() const { return sound_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  FrameKind kind_ = FrameKind::kNone;
  bool sound_ = true;
};

}  // namespace flopcast::live
