#include "live/standin/values/validity.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace flopcast::live {
namespace {

std::uintptr_t address(const void* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

Validity& Validity::get() {
  static Validity* const validity = new Validity;  // asked until the process is gone
  return *validity;
}

Validity::Ranges::const_iterator Validity::first_behind(std::uintptr_t at) const {
  auto range = ranges_.upper_bound(at);
  if (range != ranges_.begin() && std::prev(range)->second > at) --range;
  return range;
}

const SharedBits* Validity::shared(std::uintptr_t begin, std::uintptr_t end) const {
  const auto found = std::find_if(shared_.begin(), shared_.end(),
                                  [=](const SharedBits& one) { return one.contains(begin, end); });
  return found == shared_.end() ? nullptr : &*found;
}

void Validity::share(const SharedBits& bits, bool told) {
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> stretches;
  if (told) {
    each_valid(reinterpret_cast<const void*>(bits.begin), bits.end - bits.begin,
               [&](std::size_t offset, std::size_t length) {
                 stretches.emplace_back(bits.begin + offset, bits.begin + offset + length);
               });
  }
  const std::lock_guard guard(lock_);
  cut(bits.begin, bits.end);
  shared_.push_back(bits);
  for (const auto& [begin, end] : stretches) add(begin, end);
}

SharedBits Validity::unshare(const void* begin) {
  const std::lock_guard guard(lock_);
  const auto found = std::find_if(shared_.begin(), shared_.end(), [begin](const SharedBits& one) {
    return one.begin == address(begin);
  });
  if (found == shared_.end()) return {};
  const SharedBits bits = *found;
  shared_.erase(found);
  return bits;
}

void Validity::add(std::uintptr_t begin, std::uintptr_t end) {
  if (const SharedBits* const bits = shared(begin, end)) return bits->set(begin, end, true);
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second >= begin) --range;
  if (range == ranges_.end() || range->first > end) {
    if (ranges_.size() < most_) ranges_.emplace_hint(range, begin, end);
    return;
  }
  // One that overlaps or touches grows, and takes in those behind it.
  if (range->first > begin) {
    auto node = ranges_.extract(range++);
    node.key() = begin;
    range = ranges_.insert(range, std::move(node));
  }
  range->second = std::max(range->second, end);
  for (auto next = std::next(range); next != ranges_.end() && next->first <= range->second;) {
    range->second = std::max(range->second, next->second);
    next = ranges_.erase(next);
  }
}

void Validity::cut(std::uintptr_t begin, std::uintptr_t end) {
  if (const SharedBits* const bits = shared(begin, end)) return bits->set(begin, end, false);
  auto range = ranges_.upper_bound(begin);
  if (range != ranges_.begin() && std::prev(range)->second > begin) --range;
  while (range != ranges_.end() && range->first < end) {
    const std::uintptr_t behind = range->second;
    if (range->first < begin) {
      range->second = begin;
      ++range;
    } else {
      range = ranges_.erase(range);
    }
    if (behind <= end) continue;
    if (ranges_.size() < most_) ranges_.emplace_hint(range, end, behind);
    return;
  }
}

void Validity::mark_valid(const void* at, std::size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard guard(lock_);
  add(address(at), address(at) + bytes);
}

void Validity::taint(const void* at, std::size_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard guard(lock_);
  cut(address(at), address(at) + bytes);
}

void Validity::taint_from(const void* at) {
  const std::lock_guard guard(lock_);
  if (const SharedBits* const bits = shared(address(at), address(at) + 1))
    return cut(address(at), bits->find(address(at), bits->end, false));
  const auto range = first_behind(address(at));
  if (range != ranges_.end() && range->first <= address(at)) cut(address(at), range->second);
}

bool Validity::valid(const void* at, std::size_t bytes) const {
  if (bytes == 0) return true;
  const std::lock_guard guard(lock_);
  const std::uintptr_t end = address(at) + bytes;
  if (const SharedBits* const bits = shared(address(at), end))
    return bits->find(address(at), end, false) == end;
  const auto after = ranges_.upper_bound(address(at));
  return after != ranges_.begin() && std::prev(after)->second >= end;
}

void Validity::carry(const void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  std::vector<std::pair<std::size_t, std::size_t>> stretches;
  each_valid(from, bytes, [&](std::size_t offset, std::size_t length) {
    stretches.emplace_back(offset, length);
  });
  const std::lock_guard guard(lock_);
  cut(address(to), address(to) + bytes);
  for (const auto& [offset, length] : stretches)
    add(address(to) + offset, address(to) + offset + length);
}

std::size_t Validity::ranges() const {
  const std::lock_guard guard(lock_);
  return ranges_.size();
}

}  // namespace flopcast::live
