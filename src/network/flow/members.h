// The flows on one link: most have one at a time and one that has left, which need no memory of their
// own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace flopcast::network::flow {

struct Member {
  std::uint32_t flow;
  std::uint32_t weight;
  std::uint32_t hop;  ///< index of the hop
};

class Members {
 public:
  Members() : few_{} {}
  Members(Members&& other) noexcept : Members() { *this = std::move(other); }
  Members& operator=(Members&& other) noexcept {
    if (is_list()) delete[] list_;
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, kFew);
    if (is_list()) {
      list_ = other.list_;
    } else {
      std::copy_n(other.few_, kFew, few_);
    }
    return *this;
  }
  ~Members() {
    if (is_list()) delete[] list_;
  }

  std::uint32_t size() const { return size_; }
  Member& operator[](std::size_t i) { return data()[i]; }
  std::span<const Member> first(std::uint32_t count) const { return {data(), count}; }
  std::span<const Member> all() const { return first(size_); }
  void push_back(const Member& member) {
    if (size_ == room_) grow();
    data()[size_++] = member;
  }
  void pop_back() {
    if (--size_ == 1 && is_list()) shrink();
  }
  std::size_t bytes() const { return is_list() ? room_ * sizeof(Member) : 0; }

 private:
  static constexpr std::uint32_t kFew = 2;

  bool is_list() const { return room_ > kFew; }
  Member* data() { return is_list() ? list_ : few_; }
  const Member* data() const { return is_list() ? list_ : few_; }
  void grow() {
    const std::uint32_t room = std::max(room_ + room_ / 2, 4U);
    auto* const list = new Member[room];
    std::copy_n(data(), size_, list);
    if (is_list()) delete[] list_;
    list_ = list;
    room_ = room;
  }
  void shrink() {
    Member* const list = list_;
    few_[0] = list[0];
    room_ = kFew;
    delete[] list;
  }

  union {
    Member few_[kFew];
    Member* list_;
  };
  std::uint32_t size_ = 0, room_ = kFew;
};

}  // namespace flopcast::network::flow
