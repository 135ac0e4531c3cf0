// The process's side of the letters that ranks hand each other (wire/mail.h). Nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "live/wire/mail.h"

namespace flopcast::live {

/// From one member of a communicator to another.
inline constexpr int kEverybody = -1;
/// The key of a chain. @param group name of the communicator, the same in all its ranks
/// @param to a member, or kEverybody
std::uint64_t chain_key(std::string_view group, int from, int to);

/// All letters of this process. Not for several threads at once.
class Post {
 public:
  static Post& get();

  /// Room of the own outbox for a letter of so many bytes and ranges; 0 if there is none left.
  LetterPlace take(std::size_t bytes, std::size_t ranges);
  /// A letter that nobody reads any more.
  void give_back(LetterPlace place);
  Letter& letter(LetterPlace place);
  static LetterRange* ranges_of(Letter& letter) {
    return reinterpret_cast<LetterRange*>(&letter + 1);
  }
  static std::byte* bytes_of(Letter& letter) {
    return reinterpret_cast<std::byte*>(ranges_of(letter) + letter.ranges);
  }
  std::atomic<LetterPlace>* first_of(std::uint64_t key);

 private:
  Post();
  char* outbox(std::uint64_t index);

  Directory* directory_ = nullptr;
  std::uint64_t own_ = 0;              ///< index of the own outbox
  std::uint64_t fresh_ = 64;           ///< begin of what was never used; 0 is nowhere
  std::vector<char*> outboxes_;        ///< mapped so far, by index
  std::vector<LetterPlace> free_[64];  ///< by power of two
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
