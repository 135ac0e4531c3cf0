#include "live/standin/values/validity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace flopcast::live {
namespace {

constexpr std::size_t kBytes = 64;

/// What a map of validity says, byte by byte.
class OneByOne {
 public:
  void set(std::size_t at, std::size_t bytes, bool valid) {
    for (std::size_t i = at; i < at + bytes; ++i) valid_[i] = valid;
  }
  void carry(std::size_t to, std::size_t from, std::size_t bytes) {
    const auto before = valid_;
    for (std::size_t i = 0; i < bytes; ++i) valid_[to + i] = before[from + i];
  }
  bool valid(std::size_t at, std::size_t bytes) const {
    for (std::size_t i = at; i < at + bytes; ++i) {
      if (!valid_[i]) return false;
    }
    return true;
  }
  void taint_from(std::size_t at) {
    for (std::size_t i = at; i < kBytes && valid_[i]; ++i) valid_[i] = false;
  }
  std::size_t ranges() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < kBytes; ++i) count += valid_[i] && (i == 0 || !valid_[i - 1]);
    return count;
  }

 private:
  std::array<bool, kBytes> valid_{};
};

const char* at(std::size_t offset) {
  static const char memory[kBytes] = {};
  return memory + offset;
}

std::pair<std::size_t, std::size_t> a_stretch() {
  const auto begin = *rc::gen::inRange<std::size_t>(0, kBytes);
  return {begin, *rc::gen::inRange<std::size_t>(0, kBytes - begin + 1)};
}

RC_GTEST_PROP(LiveValidity, IsThatOfEveryByte, ()) {
  Validity map;
  OneByOne bytes;
  const int steps = *rc::gen::inRange(1, 40);
  for (int step = 0; step < steps; ++step) {
    const auto [begin, length] = a_stretch();
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        map.mark_valid(at(begin), length);
        bytes.set(begin, length, true);
        break;
      case 1:
        map.taint(at(begin), length);
        bytes.set(begin, length, false);
        break;
      case 2:
        map.taint_from(at(begin));
        bytes.taint_from(begin);
        break;
      default: {
        const auto to = *rc::gen::inRange<std::size_t>(0, kBytes - length + 1);
        map.carry(at(to), at(begin), length);
        bytes.carry(to, begin, length);
      }
    }
    const auto [from, count] = a_stretch();
    RC_ASSERT(map.valid(at(from), count) == bytes.valid(from, count));
    RC_ASSERT(map.ranges() == bytes.ranges());
    OneByOne seen;
    map.each_valid(at(from), count, [&, first = from](std::size_t offset, std::size_t some) {
      seen.set(first + offset, some, true);
    });
    for (std::size_t i = from; i < from + count; ++i)
      RC_ASSERT(seen.valid(i, 1) == bytes.valid(i, 1));
  }
}

RC_GTEST_PROP(LiveValidity, NeverCallsATaintedByteValidWhenItIsFull, ()) {
  constexpr std::size_t kFew = 3;
  Validity map(kFew);
  OneByOne bytes;
  const int steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < steps; ++step) {
    const auto [begin, length] = a_stretch();
    const bool valid = *rc::gen::arbitrary<bool>();
    valid ? map.mark_valid(at(begin), length) : map.taint(at(begin), length);
    bytes.set(begin, length, valid);
    RC_ASSERT(map.ranges() <= kFew);
    for (std::size_t i = 0; i < kBytes; ++i) RC_ASSERT(!map.valid(at(i), 1) || bytes.valid(i, 1));
  }
}

/// Two processes that have the same memory at different addresses.
TEST(LiveValidity, SharedMemoryIsValidWhereAnyProcessMadeItSo) {
  SharedBits::Word words[4] = {};
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  Validity mine, other;
  mine.mark_valid(at(1000), 100);
  mine.share({1000, 1256, words}, true);
  other.share({5000, 5256, words}, false);
  EXPECT_TRUE(other.valid(at(5000), 100));
  EXPECT_FALSE(other.valid(at(5000), 101));
  other.taint(at(5010), 80);
  EXPECT_TRUE(mine.valid(at(1000), 10));
  EXPECT_FALSE(mine.valid(at(1000), 11));
  other.mark_valid(at(5130), 126);
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  mine.each_valid(at(1000), 256,
                  [&](std::size_t offset, std::size_t bytes) { seen.emplace_back(offset, bytes); });
  EXPECT_EQ(seen,
            (std::vector<std::pair<std::size_t, std::size_t>>{{0, 10}, {90, 10}, {130, 126}}));
  mine.taint_from(at(1130));
  EXPECT_FALSE(other.valid(at(5255), 1));
  // What is beside it is each one's own.
  mine.mark_valid(at(2000), 8);
  EXPECT_TRUE(mine.valid(at(2000), 8));
  mine.carry(at(1200), at(2000), 8);
  EXPECT_TRUE(other.valid(at(5200), 8));
  EXPECT_EQ(mine.unshare(at(1000)).words, words);
  EXPECT_FALSE(mine.valid(at(1000), 10));
  EXPECT_TRUE(other.valid(at(5000), 10));
}

}  // namespace
}  // namespace flopcast::live
