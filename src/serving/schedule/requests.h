// The requests that an engine knows, each in a slot; queues and lists of slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::serving {

using Slot = std::uint32_t;
constexpr Slot kNoSlot = ~0U;

/// What an engine knows of one request.
struct RequestState {
  enum class Phase : std::uint8_t { kFree, kWaiting, kPrefill, kDecode, kEnded };
  Time at;          ///< may be scheduled from then on
  Time last_token;  ///< when its last token came, kept while it is preempted
  std::int64_t input = 0, output = 1;
  std::int64_t ready = 0;  ///< tokens of the prompt that come computed
  std::int64_t made = 0;   ///< tokens of the answer; of decodes: when they joined
  std::int64_t computed =
      0;  ///< tokens whose keys and values are there, while its prompt is computed
  std::int64_t blocks = 0;         ///< blocks it holds; of decodes: when they joined
  std::int64_t joined = 0;         ///< the batch's steps when it became a decode
  std::int64_t shared_blocks = 0;  ///< of its blocks, those that nodes of the prefix cache own
  std::uint64_t order = 0;         ///< grows with every admission: its place in the running list
  std::uint32_t id = 0;
  Slot before = kNoSlot, after = kNoSlot;  ///< in the running list
  std::int64_t prefix_block = 0;           ///< tokens of a hash of its prefix
  std::uint32_t nodes = 0;  ///< hashes of its prefix whose nodes it holds in the cache
  std::uint32_t own_node =
      0;  ///< in the cache: what it left behind when it was preempted; 0: nothing
  std::uint32_t own_stamp = 0;  ///< the node is still what it left if its stamp is this
  std::uint16_t rank = 0, lane = 0;
  Phase phase = Phase::kFree;
  bool begun = false;                                   ///< it was scheduled once
  std::int64_t tokens() const { return input + made; }  ///< to compute before the next one is made
};

/// Slots of requests, used again when free.
class RequestTable {
 public:
  Slot add();              ///< a slot with a fresh state
  void remove(Slot slot);  ///< free for the next
  RequestState& operator[](Slot slot) { return states_[slot]; }
  const RequestState& operator[](Slot slot) const { return states_[slot]; }
  std::size_t size() const { return states_.size(); }  ///< slots there are, free ones too
  /// chained hashes of the prompt's prefix
  std::vector<std::uint64_t>& prefix(Slot slot) { return prefixes_[slot]; }
  const std::vector<std::uint64_t>& prefix(Slot slot) const { return prefixes_[slot]; }
  std::uint64_t admissions = 0;  ///< so far, of all ranks: RequestState::order

 private:
  std::vector<RequestState> states_;
  std::vector<std::vector<std::uint64_t>> prefixes_;
  std::vector<Slot> free_;
};

/// Slots in order: taken from the head, put at either end.
class SlotQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Slot front() const { return ring_[head_]; }
  Slot operator[](std::size_t i) const { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  void push_back(Slot slot);
  void push_front(Slot slot);
  void pop_front() { head_ = (head_ + 1) & (ring_.size() - 1), --size_; }
  void erase(Slot slot);  ///< wherever it is

 private:
  void grow();
  std::vector<Slot> ring_ = std::vector<Slot>(16);
  std::size_t head_ = 0, size_ = 0;
};

/// Slots in order of admission, linked through their states.
class RunningList {
 public:
  bool empty() const { return size_ == 0; }
  std::int64_t size() const { return size_; }
  Slot front() const { return front_; }
  Slot back() const { return back_; }
  void push_back(RequestTable& table, Slot slot);
  void erase(RequestTable& table, Slot slot);

 private:
  Slot front_ = kNoSlot, back_ = kNoSlot;
  std::int64_t size_ = 0;
};

}  // namespace flopcast::serving
