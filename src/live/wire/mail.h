// Bytes that ranks hand each other: the payload of small collectives. It lies in the file that all processes of a run
// share, behind Common, and takes only the pages that are touched. The engine moves none of it.
//
//   file:   Common | directory of chains | outbox 0 | outbox 1 | ... | memory that programs share
//                                          an outbox per process
//   chain:  the letters of one member of a communicator, or from one member to another, in the order of its calls
//
// A run on several machines has such a file on each. Who writes a letter then also notes it in its outbox, for whoever takes it to the others.
//
// A letter is written by one process and read by those that its chain has. Each remembers how far it has
// come, and takes its mark from a letter when it goes on to the next; a letter without marks is the writer's again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "live/wire/region.h"

namespace flopcast::live {

/// Where a letter is in the file; 0: nowhere.
using LetterPlace = std::uint64_t;

/// Valid bytes of a letter.
struct LetterRange {
  std::uint64_t begin, end;
};

/// Its ranges follow it, then its bytes.
struct Letter {
  std::atomic<LetterPlace> next;       ///< of its chain
  std::atomic<std::uint32_t> readers;  ///< that have not gone on to the next
  std::uint32_t ranges;  ///< 0: all that it would hold is tainted, and no bytes are here
  std::uint64_t bytes;
};
static_assert(sizeof(Letter) == 24);

/// First letters of chains by the chain's key: a table with open addressing, of which nothing is taken out.
struct Directory {
  static constexpr std::size_t kChains = std::size_t{1} << 20;
  struct Entry {
    std::atomic<std::uint64_t> key;  ///< 0: free
    std::atomic<LetterPlace> first;
  };
  Entry entries[kChains];

  /// The entry of a key, made where there is none; null if the table is full.
  Entry* find(std::uint64_t key) {
    for (std::size_t step = 0; step < kChains; ++step) {
      Entry& entry = entries[(key + step) % kChains];
      std::uint64_t there = entry.key.load(std::memory_order_acquire);
      if (there == 0 && entry.key.compare_exchange_strong(there, key)) return &entry;
      if (there == key) return &entry;
    }
    return nullptr;
  }
};

/// Letters of an outbox that are to be taken to other machines. It lies at the outbox's beginning.
struct Posted {
  static constexpr std::uint32_t kLetters = 1024;
  struct Note {
    std::uint64_t key;  ///< of the chain
    LetterPlace place;
  };
  std::atomic<std::uint32_t> written, read;
  Note notes[kLetters];
};

inline constexpr std::uint64_t kDirectoryBegin = std::uint64_t{1} << 20;
/// A thousand letters of the largest collective that carries floating-point numbers may be on their way.
inline constexpr std::uint64_t kOutboxBytes = std::uint64_t{1} << 32;
inline constexpr std::uint64_t kOutboxes = 4096;
/// Outboxes begin at a multiple of their size: a place tells whose it is.
/// Device memory that a program hands to other processes of the run. Its places are taken once.
inline constexpr std::uint64_t kSharedBegin = (kOutboxes + 1) * kOutboxBytes;
inline constexpr std::uint64_t kSharedBytes = std::uint64_t{1} << 50;
inline constexpr std::uint64_t kCommonFileBytes = kSharedBegin + kSharedBytes;
static_assert(sizeof(Common) <= kDirectoryBegin);
static_assert(kDirectoryBegin + sizeof(Directory) <= kOutboxBytes);
/// Where letters begin in an outbox.
inline constexpr std::uint64_t kLettersBegin = std::uint64_t{1} << 15;
static_assert(sizeof(Posted) <= kLettersBegin);

}  // namespace flopcast::live
