// Indexed 4-ary heap of (time, flow): the next thing that happens to each flow.
#pragma once

#include <cstdint>
#include <vector>

#include "network/rates/numbers.h"

namespace flopcast::network::flow {

class FlowHeap {
 public:
  bool empty() const { return entries_.empty(); }
  Ps top_time() const { return entries_.front().time; }
  std::uint32_t top() const { return entries_.front().flow; }
  std::size_t bytes() const {
    return entries_.capacity() * sizeof(Entry) + places_.capacity() * sizeof(std::uint32_t);
  }

  void pop() { remove(0); }

  /// Enters, moves or (kNever) removes a flow.
  void set(std::uint32_t flow, Ps time) {
    if (flow >= places_.size()) places_.resize(flow + std::size_t{1}, kNone);
    std::uint32_t at = places_[flow];
    if (time == kNever) {
      if (at != kNone) remove(at);
      return;
    }
    if (at == kNone) {
      at = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({});
      rise(at, {time, flow});
    } else if (time < entries_[at].time) {
      rise(at, {time, flow});
    } else if (time > entries_[at].time) {
      sink(at, {time, flow});
    }
  }

 private:
  struct Entry {
    Ps time;
    std::uint32_t flow;
  };

  void put(std::uint32_t at, const Entry& entry) {
    entries_[at] = entry;
    places_[entry.flow] = at;
  }
  void remove(std::uint32_t at) {
    places_[entries_[at].flow] = kNone;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    if (at > 0 && last.time < entries_[(at - 1) / 4].time) {
      rise(at, last);
    } else {
      sink(at, last);
    }
  }
  void rise(std::uint32_t at, const Entry& entry) {
    while (at > 0) {
      const std::uint32_t parent = (at - 1) / 4;
      if (entries_[parent].time <= entry.time) break;
      put(at, entries_[parent]);
      at = parent;
    }
    put(at, entry);
  }
  void sink(std::uint32_t at, const Entry& entry) {
    const auto size = static_cast<std::uint32_t>(entries_.size());
    for (;;) {
      const std::uint32_t first = 4 * at + 1;
      if (first >= size) break;
      const std::uint32_t child = first + 3 < size ? first_of_four(first) : first_of(first, size);
      if (entries_[child].time >= entry.time) break;
      put(at, entries_[child]);
      at = child;
    }
    put(at, entry);
  }

  std::uint32_t first_of(std::uint32_t child, std::uint32_t end) const {
    for (std::uint32_t i = child + 1; i < end; ++i) {
      if (entries_[i].time < entries_[child].time) child = i;
    }
    return child;
  }
  /// Without branches: nobody could foretell them.
  std::uint32_t first_of_four(std::uint32_t at) const {
    const Entry* const four = &entries_[at];
    const std::uint32_t a = four[1].time < four[0].time ? 1 : 0;
    const std::uint32_t b = four[3].time < four[2].time ? 3 : 2;
    return at + a + (b - a) * static_cast<std::uint32_t>(four[b].time < four[a].time);
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> places_;  // by flow; kNone: not in
};

}  // namespace flopcast::network::flow
