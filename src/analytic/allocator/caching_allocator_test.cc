// The simulated allocator against sequences worked out by hand, a slow and obvious one, and what must always hold.
#include "analytic/allocator/caching_allocator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace flopcast::analytic {
namespace {

constexpr std::int64_t kMb = 1024 * 1024;

// --- By hand ------------------------------------------------------------------------------------

TEST(CachingAllocator, RoundsToBlocksAndSegments) {
  CachingAllocator small;
  ASSERT_TRUE(small.allocate(1));
  EXPECT_EQ(small.allocated(), 512);
  EXPECT_EQ(small.reserved(), 2 * kMb);
  ASSERT_TRUE(small.allocate(kMb));  // the largest small one fits beside it
  EXPECT_EQ(small.allocated(), kMb + 512);
  EXPECT_EQ(small.reserved(), 2 * kMb);

  CachingAllocator shared;
  ASSERT_TRUE(shared.allocate(kMb + 1));  // the smallest large one
  EXPECT_EQ(shared.allocated(), kMb + 512);
  EXPECT_EQ(shared.reserved(), 20 * kMb);

  CachingAllocator own;
  ASSERT_TRUE(own.allocate(10 * kMb + 1));
  EXPECT_EQ(own.reserved(), 12 * kMb);
  // What is left of it is no more than 1 MiB short of 2: a block of its own, for others to take.
  EXPECT_EQ(own.allocated(), 10 * kMb + 512);
}

// Fully sharded layers of Llama 3 8B on eight chips: 8 + 8 + 2 + 2 MiB fill a shared segment, 28 MiB are one.
TEST(CachingAllocator, PacksShardsOfALayer) {
  CachingAllocator allocator;
  for (const std::int64_t mb : {8, 2, 2, 8, 28, 28, 28}) ASSERT_TRUE(allocator.allocate(mb * kMb));
  EXPECT_EQ(allocator.allocated(), 104 * kMb);
  EXPECT_EQ(allocator.reserved(), 104 * kMb);
}

TEST(CachingAllocator, TakesTheSmallestThatFitsAndSplitsIt) {
  CachingAllocator allocator;
  const auto large = *allocator.allocate(100 * kMb);
  const auto middle = *allocator.allocate(40 * kMb);
  allocator.free(large);
  allocator.free(middle);
  ASSERT_TRUE(allocator.allocate(30 * kMb));  // of the 40
  EXPECT_EQ(allocator.reserved(), 140 * kMb);
  ASSERT_TRUE(allocator.allocate(10 * kMb));  // what is left of the 40
  ASSERT_TRUE(allocator.allocate(99 * kMb));  // 1 MiB is left, which is not split off
  EXPECT_EQ(allocator.allocated(), 140 * kMb);
  EXPECT_EQ(allocator.reserved(), 140 * kMb);
}

TEST(CachingAllocator, MergesNeighbours) {
  CachingAllocator allocator;
  const auto whole = *allocator.allocate(90 * kMb);
  allocator.free(whole);
  const auto a = *allocator.allocate(30 * kMb), b = *allocator.allocate(30 * kMb);
  const auto c = *allocator.allocate(30 * kMb);
  allocator.free(a);
  allocator.free(c);
  allocator.free(b);  // between both
  ASSERT_TRUE(allocator.allocate(90 * kMb));
  EXPECT_EQ(allocator.reserved(), 90 * kMb);
}

// A loss over logits of 2 B, in fp32, differentiated by the operators of eager PyTorch: 12 B a logit at once, 14 B reserved where
// addresses are one range, since the hole that the two fp32 copies of forward leave takes but one gradient; as segments, 2 + 3 x 4.
TEST(CachingAllocator, HoldsAnEagerLoss) {
  for (const bool expandable : {true, false}) {
    CachingAllocator allocator({.expandable = expandable});
    const std::int64_t unit = 500 * kMb;
    const auto logits = *allocator.allocate(2 * unit), wide = *allocator.allocate(4 * unit);
    ASSERT_TRUE(allocator.allocate(4 * unit));  // log-probabilities
    allocator.free(wide);
    allocator.free(logits);
    ASSERT_TRUE(allocator.allocate(4 * unit));  // their gradient
    ASSERT_TRUE(allocator.allocate(4 * unit));  // the logits'
    EXPECT_EQ(allocator.most_allocated(), 12 * unit);
    EXPECT_EQ(allocator.reserved(), 14 * unit) << expandable;
  }
}

TEST(CachingAllocator, StreamsShareNothing) {
  CachingAllocator allocator;
  allocator.free(*allocator.allocate(30 * kMb, 1));
  ASSERT_TRUE(allocator.allocate(30 * kMb, 2));
  EXPECT_EQ(allocator.reserved(), 60 * kMb);
}

TEST(CachingAllocator, WaitsForStreamsThatUseABlock) {
  CachingAllocator allocator;
  const auto block = *allocator.allocate(30 * kMb);
  allocator.use(block, 1);
  allocator.use(block, 2);
  allocator.free(block);
  EXPECT_EQ(allocator.allocated(), 0);
  ASSERT_TRUE(allocator.allocate(30 * kMb));
  EXPECT_EQ(allocator.reserved(), 60 * kMb);
  allocator.finish(1);
  ASSERT_TRUE(allocator.allocate(30 * kMb));
  EXPECT_EQ(allocator.reserved(), 90 * kMb);
  allocator.finish(2);
  ASSERT_TRUE(allocator.allocate(30 * kMb));
  EXPECT_EQ(allocator.reserved(), 90 * kMb);
}

TEST(CachingAllocator, GivesSegmentsBackBeforeItFails) {
  CachingAllocator allocator({.capacity = 100 * kMb});
  const auto a = *allocator.allocate(40 * kMb), b = *allocator.allocate(40 * kMb);
  allocator.free(a);
  ASSERT_TRUE(allocator.allocate(60 * kMb));  // after the first 40 went back
  EXPECT_EQ(allocator.reserved(), 100 * kMb);
  EXPECT_FALSE(allocator.allocate(2 * kMb));
  allocator.free(b);
  ASSERT_TRUE(allocator.allocate(2 * kMb));    // of the other 40
  EXPECT_FALSE(allocator.allocate(40 * kMb));  // split, it cannot go back
  EXPECT_EQ(allocator.most_reserved(), 100 * kMb);
}

// One range that grows by pages of 20 MiB, its last free piece first.
TEST(CachingAllocator, ExpandsSegments) {
  CachingAllocator allocator({.expandable = true});
  const auto a = *allocator.allocate(30 * kMb);
  EXPECT_EQ(allocator.reserved(), 40 * kMb);
  const auto b = *allocator.allocate(30 * kMb);  // 10 are there
  EXPECT_EQ(allocator.reserved(), 60 * kMb);
  allocator.free(a);
  allocator.free(b);
  ASSERT_TRUE(allocator.allocate(59 * kMb));
  EXPECT_EQ(allocator.reserved(), 60 * kMb);
  ASSERT_TRUE(allocator.allocate(kMb));  // small ones have a range of their own, of 2 MiB
  EXPECT_EQ(allocator.reserved(), 62 * kMb);
}

TEST(CachingAllocator, UnmapsWholePages) {
  CachingAllocator allocator({.capacity = 100 * kMb, .expandable = true});
  const auto a = *allocator.allocate(50 * kMb);
  ASSERT_TRUE(allocator.allocate(50 * kMb));
  allocator.free(a);
  allocator.empty_cache();  // two pages of the first 50
  EXPECT_EQ(allocator.reserved(), 60 * kMb);
  ASSERT_TRUE(allocator.allocate(45 * kMb));  // where the pages were, with the 10 behind them
  EXPECT_EQ(allocator.reserved(), 100 * kMb);
}

// --- Against a slow one --------------------------------------------------------------------------

/// The same rules on one list of pieces for each segment, looked through from end to end.
class SlowAllocator {
 public:
  SlowAllocator(std::int64_t capacity, bool expandable)
      : capacity_(capacity), expandable_(expandable) {}

  /// @return whether there was room.
  bool allocate(int name, std::int64_t bytes, unsigned stream) {
    const std::int64_t size = std::max<std::int64_t>((bytes + 511) / 512 * 512, 512);
    const bool small = size <= kMb;
    if (place(name, size, stream, small)) return true;
    for (const auto& [waiting, users] : std::map(waits_)) give_back(waiting);
    waits_.clear();
    clear_cache();
    return place(name, size, stream, small);
  }

  void free(int name) {
    if (users_[name].empty()) return give_back(name);
    waits_[name] = users_[name];
  }
  void use(int name, unsigned stream) {
    if (stream != stream_of(name)) users_[name].push_back(stream);
  }
  void finish(unsigned stream) {
    for (auto& [name, users] : std::map(waits_)) {
      std::erase(waits_[name], stream);
      if (waits_[name].empty()) waits_.erase(name), give_back(name);
    }
  }
  void empty_cache() {
    for (const auto& [waiting, users] : std::map(waits_)) give_back(waiting);
    waits_.clear();
    clear_cache();
  }

  std::int64_t reserved() const {
    std::int64_t sum = 0;
    for (const Segment& segment : segments_) {
      for (const Run& run : segment.runs) sum += run.name == kUnmapped ? 0 : run.size;
    }
    return sum;
  }
  std::int64_t allocated() const {
    std::int64_t sum = 0;
    for (const Segment& segment : segments_) {
      for (const Run& run : segment.runs) {
        if (run.name >= 0 && !waits_.contains(run.name)) sum += run.size;
      }
    }
    return sum;
  }

 private:
  static constexpr int kFree = -1, kUnmapped = -2;
  struct Run {
    std::int64_t size;
    int name;
  };
  struct Segment {
    unsigned stream;
    bool small;
    std::vector<Run> runs;
  };

  bool place(int name, std::int64_t size, unsigned stream, bool small) {
    if (fill(name, size, stream, small)) return true;
    if (!more(size, stream, small)) return false;
    return fill(name, size, stream, small);
  }

  bool fill(int name, std::int64_t size, unsigned stream, bool small) {
    Segment* best = nullptr;
    std::size_t at = 0;
    for (Segment& segment : segments_) {
      if (segment.stream != stream || segment.small != small) continue;
      for (std::size_t i = 0; i < segment.runs.size(); ++i) {
        const Run& run = segment.runs[i];
        if (run.name != kFree || run.size < size) continue;
        if (best == nullptr || run.size < best->runs[at].size) best = &segment, at = i;
      }
    }
    if (best == nullptr) return false;
    const std::int64_t left = best->runs[at].size - size;
    best->runs[at].name = name;
    if (small || expandable_ ? left >= 512 : left > kMb) {
      best->runs[at].size = size;
      best->runs.insert(best->runs.begin() + static_cast<std::ptrdiff_t>(at) + 1, {left, kFree});
    }
    return true;
  }

  bool more(std::int64_t size, unsigned stream, bool small) {
    if (expandable_) return expand(size, stream, small);
    const std::int64_t whole = small             ? 2 * kMb
                               : size < 10 * kMb ? 20 * kMb
                                                 : (size + 2 * kMb - 1) / (2 * kMb) * (2 * kMb);
    if (reserved() + whole > capacity_) return false;
    segments_.push_back({stream, small, {{whole, kFree}}});
    return true;
  }

  /// Maps page after page from the first place on where free and unmapped runs together are large enough.
  bool expand(std::int64_t size, unsigned stream, bool small) {
    const std::int64_t page = small ? 2 * kMb : 20 * kMb;
    auto segment = std::ranges::find_if(
        segments_, [&](const Segment& s) { return s.stream == stream && s.small == small; });
    if (segment == segments_.end()) {
      segments_.push_back({stream, small, {{std::int64_t{1} << 50, kUnmapped}}});
      segment = segments_.end() - 1;
    }
    std::vector<Run>& runs = segment->runs;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      std::int64_t room = 0;
      bool unmapped = false;
      for (std::size_t j = i; j < runs.size() && runs[j].name < 0 && room < size; ++j) {
        room += runs[j].size;
        unmapped = unmapped || runs[j].name == kUnmapped;
      }
      if (room < size || !unmapped) continue;
      return map_from(runs, i, size, page);
    }
    return false;
  }

  bool map_from(std::vector<Run>& runs, std::size_t at, std::int64_t size, std::int64_t page) {
    bool enough = true;
    std::int64_t had = 0;
    for (std::size_t i = at; had < size; ++i) {
      if (runs[i].name == kUnmapped) {
        const std::int64_t wanted = std::min(size - had, runs[i].size);
        const std::int64_t pages = (wanted + page - 1) / page * page;
        if (reserved() + pages > capacity_) {
          enough = false;
          break;
        }
        const std::int64_t left = runs[i].size - pages;
        runs[i] = {pages, kFree};
        if (left > 0) {
          runs.insert(runs.begin() + static_cast<std::ptrdiff_t>(i) + 1, {left, kUnmapped});
        }
      }
      had += runs[i].size;
    }
    join(runs);
    return enough;
  }

  static void join(std::vector<Run>& runs) {
    for (std::size_t i = 1; i < runs.size();) {
      if (runs[i].name < 0 && runs[i].name == runs[i - 1].name) {
        runs[i - 1].size += runs[i].size;
        runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  void give_back(int name) {
    users_.erase(name);
    for (Segment& segment : segments_) {
      for (Run& run : segment.runs) {
        if (run.name == name) run.name = kFree;
      }
      join(segment.runs);
    }
  }

  void clear_cache() {
    if (!expandable_) {
      std::erase_if(segments_,
                    [](const Segment& s) { return s.runs.size() == 1 && s.runs[0].name == kFree; });
      return;
    }
    for (Segment& segment : segments_) {
      const std::int64_t page = segment.small ? 2 * kMb : 20 * kMb;
      std::vector<Run> runs;
      std::int64_t at = 0;
      for (const Run& run : segment.runs) {
        const std::int64_t end = at + run.size;
        const std::int64_t from = (at + page - 1) / page * page, to = end / page * page;
        if (run.name == kFree && from < to) {
          runs.push_back({from - at, kFree});
          runs.push_back({to - from, kUnmapped});
          runs.push_back({end - to, kFree});
        } else {
          runs.push_back(run);
        }
        at = end;
      }
      std::erase_if(runs, [](const Run& run) { return run.size == 0; });
      join(runs);
      segment.runs = runs;
    }
  }

  unsigned stream_of(int name) const {
    for (const Segment& segment : segments_) {
      for (const Run& run : segment.runs) {
        if (run.name == name) return segment.stream;
      }
    }
    return 0;
  }

  std::int64_t capacity_;
  bool expandable_;
  std::vector<Segment> segments_;
  std::map<int, std::vector<unsigned>> users_, waits_;
};

/// Sizes around every border, and any.
rc::Gen<std::int64_t> sizes() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(1, 4096),
                        rc::gen::inRange<std::int64_t>(kMb - 600, kMb + 600),
                        rc::gen::inRange<std::int64_t>(kMb, 12 * kMb),
                        rc::gen::inRange<std::int64_t>(10 * kMb - 600, 10 * kMb + 600),
                        rc::gen::inRange<std::int64_t>(10 * kMb, 90 * kMb));
}

RC_GTEST_PROP(CachingAllocator, IsTheSlowOne, ()) {
  const bool expandable = *rc::gen::arbitrary<bool>();
  const auto capacity =
      *rc::gen::element<std::int64_t>(150 * kMb, 400 * kMb, std::int64_t{1} << 45);
  CachingAllocator fast({.capacity = capacity, .expandable = expandable});
  SlowAllocator slow(capacity, expandable);
  std::vector<std::pair<int, CachingAllocator::Block>> held;
  const int steps = *rc::gen::inRange(1, 120);
  for (int name = 0; name < steps; ++name) {
    const int what = *rc::gen::inRange(0, 16);
    if (what < 8 || held.empty()) {
      const std::int64_t bytes = *sizes();
      const unsigned stream = *rc::gen::inRange(0U, 3U);
      const auto block = fast.allocate(bytes, stream);
      RC_ASSERT(block.has_value() == slow.allocate(name, bytes, stream));
      if (block) held.emplace_back(name, *block);
    } else if (what < 13) {
      const auto at = *rc::gen::inRange<std::size_t>(0, held.size());
      fast.free(held[at].second);
      slow.free(held[at].first);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (what == 13) {
      const auto at = *rc::gen::inRange<std::size_t>(0, held.size());
      const unsigned stream = *rc::gen::inRange(0U, 3U);
      fast.use(held[at].second, stream);
      slow.use(held[at].first, stream);
    } else if (what == 14) {
      const unsigned stream = *rc::gen::inRange(0U, 3U);
      fast.finish(stream);
      slow.finish(stream);
    } else {
      fast.empty_cache();
      slow.empty_cache();
    }
    RC_ASSERT(fast.reserved() == slow.reserved());
    RC_ASSERT(fast.allocated() == slow.allocated());
    RC_ASSERT(fast.reserved() >= fast.allocated());
    RC_ASSERT(fast.reserved() <= capacity);
    RC_ASSERT(fast.most_reserved() >= fast.reserved());
  }
  // Everything freed, segments are whole and go back.
  for (const auto& [name, block] : held) fast.free(block);
  fast.empty_cache();
  RC_ASSERT(fast.allocated() == 0);
  RC_ASSERT(fast.reserved() == 0);
}

// Once all is freed, an expandable segment is one piece again: the same requests find room in it.
RC_GTEST_PROP(CachingAllocator, ExpandsNoMoreInASecondRound, ()) {
  const auto all = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(sizes()));
  CachingAllocator allocator({.expandable = true});
  const auto round = [&] {
    std::vector<CachingAllocator::Block> blocks;
    for (const std::int64_t bytes : all) blocks.push_back(*allocator.allocate(bytes));
    for (const CachingAllocator::Block block : blocks) allocator.free(block);
    return allocator.reserved();
  };
  const std::int64_t first = round();
  RC_ASSERT(round() == first);
}

}  // namespace
}  // namespace flopcast::analytic
