// The letters of mail.h as one who writes some has them: the file that all processes of a machine share, mapped where it is used.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "live/wire/mail.h"

namespace flopcast::live {

/// Not for several threads at once.
class Outboxes {
 public:
  /// Takes an outbox. Where memory cannot be mapped later on, the process says so and ends. @param file as `common` lies in
  Outboxes(int file, Common& common) : file_(file), outboxes_(kOutboxes, nullptr) {
    directory_ = reinterpret_cast<Directory*>(map(kDirectoryBegin, sizeof(Directory)));
    own_ = common.outboxes.fetch_add(1);
    if (own_ >= kOutboxes) fresh_ = kOutboxBytes;
  }
  Outboxes(const Outboxes&) = delete;
  Outboxes& operator=(const Outboxes&) = delete;
  ~Outboxes() {
    if (directory_) ::munmap(directory_, sizeof(Directory));
    for (char* const each : outboxes_) {
      if (each) ::munmap(each, kOutboxBytes);
    }
  }

  /// Room of the own outbox for a letter of so many bytes and ranges; 0 if there is none left.
  LetterPlace take(std::size_t bytes, std::size_t ranges) {
    const unsigned power = power_for(room_of(bytes, ranges));
    std::vector<LetterPlace>& free = free_[power];
    if (!free.empty()) {
      const LetterPlace place = free.back();
      free.pop_back();
      return place;
    }
    const std::uint64_t room = std::uint64_t{1} << power;
    if (room > kOutboxBytes - fresh_ || !outbox(own_)) return 0;
    const LetterPlace place = (own_ + 1) * kOutboxBytes + fresh_;
    fresh_ += room;
    return place;
  }
  /// A letter of the own outbox that nobody reads any more.
  void give_back(LetterPlace place) {
    const Letter& old = letter(place);
    free_[power_for(room_of(old.bytes, old.ranges))].push_back(place);
  }
  Letter& letter(LetterPlace place) {
    return *reinterpret_cast<Letter*>(outbox(place / kOutboxBytes - 1) + place % kOutboxBytes);
  }
  static LetterRange* ranges_of(Letter& letter) {
    return reinterpret_cast<LetterRange*>(&letter + 1);
  }
  static std::byte* bytes_of(Letter& letter) {
    return reinterpret_cast<std::byte*>(ranges_of(letter) + letter.ranges);
  }
  /// Of a letter that ends where its outbox does at the latest; whatever a process has written there, nothing lies beyond.
  static bool fits(LetterPlace place, const Letter& letter) {
    const std::uint64_t left = kOutboxBytes - place % kOutboxBytes - sizeof(Letter);
    const std::uint64_t ranges = std::uint64_t{letter.ranges} * sizeof(LetterRange);
    return ranges <= left && letter.bytes <= left - ranges;
  }
  /// Where the first letter of a chain is hung; null if there is no room for another chain.
  std::atomic<LetterPlace>* first_of(std::uint64_t key) {
    Directory::Entry* const entry = directory_ ? directory_->find(key) : nullptr;
    return entry ? &entry->first : nullptr;
  }
  /// Of an outbox, by its index.
  Posted& posted(std::uint64_t index) { return *reinterpret_cast<Posted*>(outbox(index)); }
  /// Index of the own one; kOutboxes or more: there was none left.
  std::uint64_t own() const { return own_; }

 private:
  /// Room is taken in powers of two, of a line of the cache at least.
  static unsigned power_for(std::size_t bytes) {
    return static_cast<unsigned>(std::bit_width(std::max<std::size_t>(bytes, 64) - 1));
  }
  static std::size_t room_of(std::size_t bytes, std::size_t ranges) {
    return sizeof(Letter) + ranges * sizeof(LetterRange) + bytes;
  }
  char* map(std::uint64_t begin, std::uint64_t bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_,
                      static_cast<off_t>(begin));
    return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
  }
  char* outbox(std::uint64_t index) {
    char*& known = outboxes_[index];
    if (!known) known = map((index + 1) * kOutboxBytes, kOutboxBytes);
    if (!known) {
      std::fputs("flopcast: error: shared memory cannot be mapped (see ulimit -v)\n", stderr);
      std::_Exit(3);
    }
    return known;
  }

  int file_;
  Directory* directory_ = nullptr;
  std::uint64_t own_ = 0;                ///< index of the own outbox
  std::uint64_t fresh_ = kLettersBegin;  ///< begin of what was never used; 0 is nowhere
  std::vector<char*> outboxes_;          ///< mapped so far, by index
  std::vector<LetterPlace> free_[64];    ///< by power of two
};

}  // namespace flopcast::live
