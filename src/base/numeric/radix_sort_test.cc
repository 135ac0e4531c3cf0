#include "base/numeric/radix_sort.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace flopcast {
namespace {

struct Item {
  std::int64_t key = 0;
  std::size_t place = 0;  // before
  bool operator==(const Item&) const = default;
};

void expect_as_stable_sort(const std::vector<std::int64_t>& keys) {
  std::vector<Item> items;
  for (const std::int64_t key : keys) items.push_back({key, items.size()});
  std::vector<Item> wanted = items;
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Item& a, const Item& b) { return a.key < b.key; });
  radix_sort(items, [](const Item& item) { return item.key; });
  EXPECT_TRUE(items == wanted) << keys.size() << " keys";
}

TEST(RadixSort, SortsNothingAndAll) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  expect_as_stable_sort({});
  expect_as_stable_sort({3, 1, 2});
  std::vector<std::int64_t> keys(2000, 7);
  expect_as_stable_sort(keys);
  for (std::size_t i = 0; i < keys.size(); i += 3) keys[i] = i % 2 == 0 ? kLeast : kMost;
  expect_as_stable_sort(keys);
}

RC_GTEST_PROP(RadixSort, IsAStableSort, ()) {
  const auto bits = *rc::gen::inRange(1, 64);
  const auto count = *rc::gen::inRange<std::size_t>(1, 5000);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::vector<std::int64_t> keys;
  std::uint64_t state = seed | 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    keys.push_back(static_cast<std::int64_t>(state) >> bits);  // of either sign, often equal
  }
  expect_as_stable_sort(keys);
}

}  // namespace
}  // namespace flopcast
