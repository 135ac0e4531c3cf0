// What changed when, for going back in time: one record per change of a flow, in a ring.
//
// Work done is not recorded: a flow keeps offset = work left + rate x time, and a change of the
// rate by d at time t moves the offset by d x t, forwards and backwards.
#pragma once

#include <cstdint>
#include <vector>

#include "network/rates/numbers.h"

namespace flopcast::network::flow {

/// Power-of-two ring that numbers what is pushed from 0; the numbers in it are [first, last).
template <typename T>
class Ring {
 public:
  std::uint64_t first() const { return first_; }
  std::uint64_t last() const { return last_; }
  std::size_t size() const { return static_cast<std::size_t>(last_ - first_); }
  bool empty() const { return first_ == last_; }
  bool holds(std::uint64_t number) const { return number >= first_ && number < last_; }
  T& operator[](std::uint64_t number) { return slots_[number & (slots_.size() - 1)]; }
  const T& operator[](std::uint64_t number) const { return slots_[number & (slots_.size() - 1)]; }

  /// A slot more, to be written; its number is last() - 1.
  T& push() {
    if (size() == slots_.size()) grow();
    return (*this)[last_++];
  }
  void pop_first() { ++first_; }
  void truncate(std::uint64_t last) { last_ = last; }
  std::size_t bytes() const { return slots_.capacity() * sizeof(T); }

 private:
  void grow() {
    std::vector<T> bigger(slots_.empty() ? 64 : 2 * slots_.size());
    for (std::uint64_t i = first_; i < last_; ++i) bigger[i & (bigger.size() - 1)] = (*this)[i];
    slots_.swap(bigger);
  }
  std::vector<T> slots_;
  std::uint64_t first_ = 0, last_ = 0;
};

enum class ChangeKind : std::uint8_t {
  kRate,     ///< level or fraction of an active flow
  kStart,    ///< waiting to active
  kFinish,   ///< active to done
  kAbort,    ///< active to cancelled
  kInstant,  ///< waiting to done: nothing to send
  kDrop,     ///< waiting to cancelled
  kDead,     ///< overwritten by a repair
};
constexpr bool leaves_links(ChangeKind kind) {
  return kind == ChangeKind::kFinish || kind == ChangeKind::kAbort;
}

/// One change of one flow. The changes of a flow are chained, latest first.
struct Change {
  Ps time;
  Level level;             ///< before
  std::uint64_t previous;  ///< number of the flow's change before this one, if the log holds it
  std::uint32_t flow;
  std::uint32_t fraction_and_kind;

  static std::uint32_t pack(std::uint32_t fraction, ChangeKind kind) {
    return fraction << kKindBits | static_cast<std::uint32_t>(kind);
  }
  std::uint32_t fraction() const { return fraction_and_kind >> kKindBits; }  ///< before
  ChangeKind kind() const {
    return static_cast<ChangeKind>(fraction_and_kind & ((1U << kKindBits) - 1));
  }
  static constexpr int kKindBits = 3;
};
static_assert(kFractionBits + Change::kKindBits < 32);
static_assert(sizeof(Change) == 32);

constexpr std::uint64_t kNoChange = ~std::uint64_t{0};

/// Changes in the order in which they were made: by time, but for those that repairs added later.
/// A mark per time at which something happened says from where on changes lie at or after it.
struct UndoLog {
  struct Mark {
    Ps time;
    std::uint64_t first;
  };
  Ring<Change> changes;
  Ring<Mark> marks;

  /// Number of the first mark at or after `time`.
  std::uint64_t mark_at(Ps time) const {
    std::uint64_t low = marks.first(), high = marks.last();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (marks[middle].time < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  /// How many times at or after `time` something happened at.
  std::uint64_t events_since(Ps time) const { return marks.last() - mark_at(time); }
};

}  // namespace flopcast::network::flow
