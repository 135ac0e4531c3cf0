// The process's side of the letters that ranks hand each other (wire/mail.h). Nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "live/wire/outboxes.h"

namespace flopcast::live {

/// From one member of a communicator to another.
inline constexpr int kEverybody = -1;
/// The key of a chain. @param group name of the communicator, the same in all its ranks
/// @param to a member, or kEverybody
std::uint64_t chain_key(std::string_view group, int from, int to);

/// All letters of this process. Not for several threads at once.
class Post : public Outboxes {
 public:
  static Post& get();
  /// A letter of the own outbox is hung on its chain: whoever takes letters to other machines is told of it.
  void tell_of(std::uint64_t key, LetterPlace place);

 private:
  Post();
};

/// The writer's end of a chain.
class Writer {
 public:
  explicit Writer(std::uint64_t key) : key_(key) {}
  /// Adds a letter. @param valid which of its bytes are; none: all are tainted
  void put(const void* bytes, std::size_t size, std::span<const LetterRange> valid,
           std::uint32_t readers);
  /// Takes back what all have read. @return whether only letters are left that nobody has to read
  bool clean(bool over);

 private:
  std::uint64_t key_;
  std::deque<LetterPlace> places_;  ///< not taken back, the oldest first
};

/// A reader's end of a chain.
class Reader {
 public:
  explicit Reader(std::uint64_t key) : key_(key) {}
  /// The next letter; null if it has not been written yet.
  Letter* peek();
  /// Goes on to it.
  void pass();
  /// Nothing more will be read.
  void leave();

 private:
  std::uint64_t key_;
  std::atomic<LetterPlace>* first_ = nullptr;
  LetterPlace at_ = 0;  ///< the last letter that was passed
};

}  // namespace flopcast::live
