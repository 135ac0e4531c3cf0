#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "live/wire/region.h"

namespace flopcast::live {
namespace {

/// Memory that child processes share.
template <typename T>
struct Shared {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  T& value = *::new (memory) T;
  ~Shared() { munmap(memory, sizeof(T)); }
};

Record numbered(std::uint64_t n) {
  Record record;
  record.act = Act::kKernel;
  record.word[0] = n;
  return record;
}

TEST(LiveWire, AnUntouchedRingOfZeroesIsEmpty) {
  Shared<Ring> ring;
  EXPECT_EQ(ring.value.front(), nullptr);
  EXPECT_EQ(ring.value.written(), 0u);
}

TEST(LiveWireThreads, RecordsArriveInOrderThroughAFullRing) {
  Shared<Ring> ring;
  Shared<Common> common;
  constexpr std::uint64_t kMany = 20 * Ring::kRecords;
  std::thread writer([&] {
    for (std::uint64_t n = 0; n < kMany; ++n) ring.value.write(numbered(n), common.value.bell);
  });
  for (std::uint64_t n = 0; n < kMany; ++n) {
    while (!ring.value.front()) {
      common.value.bell.sleep([&] { return ring.value.front() == nullptr; }, kAnswerLookNs);
    }
    ASSERT_EQ(ring.value.front()->word[0], n);
    ring.value.pop();
  }
  writer.join();
  EXPECT_EQ(ring.value.front(), nullptr);
}

// Nobody reads: whoever waits for room looks from time to time whether anybody will.
TEST(LiveWireThreads, AWriterOfAFullRingLooksWhetherItIsReadAtAll) {
  Shared<Ring> ring;
  Shared<Common> common;
  int looks = 0;
  const auto look = [&] {
    if (++looks == 3) ring.value.pop();
  };
  for (std::uint64_t n = 0; n <= Ring::kRecords; ++n)
    ring.value.write(numbered(n), common.value.bell, look);
  EXPECT_EQ(looks, 3);
}

TEST(LiveWireThreads, AnswersReachAnotherProcess) {
  Shared<Ring> ring;
  Shared<Common> common;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (std::uint32_t n = 0; n < 1000; ++n) {
      Record record = numbered(n);
      record.flags = kAnswerWanted;
      ring.value.write(record, common.value.bell);
      while (ring.value.answer.count.load(std::memory_order_acquire) == n)
        futex_wait(ring.value.answer.count, n);
      if (ring.value.answer.value != 2 * n) _exit(1);
    }
    _exit(0);
  }
  for (std::uint32_t n = 0; n < 1000; ++n) {
    while (!ring.value.front()) {
      common.value.bell.sleep([&] { return ring.value.front() == nullptr; }, kAnswerLookNs);
    }
    ring.value.answer.value = 2 * ring.value.front()->word[0];
    ring.value.pop();
    ring.value.answer.count.store(n + 1, std::memory_order_release);
    futex_wake(ring.value.answer.count);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(LiveWire, TextsAreNumberedFromOne) {
  Shared<Arena> arena;
  EXPECT_EQ(arena.value.add("gemm"), 1u);
  EXPECT_EQ(arena.value.add(""), 2u);
  EXPECT_EQ(arena.value.add("aten::mm"), 3u);
  EXPECT_EQ(arena.value.text(1), "gemm");
  EXPECT_EQ(arena.value.text(2), "");
  EXPECT_EQ(arena.value.text(3), "aten::mm");
  EXPECT_FALSE(arena.value.text(0));
  EXPECT_FALSE(arena.value.text(4));
}

TEST(LiveWire, AFullArenaSaysSo) {
  Shared<Arena> arena;
  const std::string half(Arena::kBytes / 2, 'x');
  EXPECT_TRUE(arena.value.add(half));
  EXPECT_TRUE(arena.value.add(half));
  EXPECT_FALSE(arena.value.add("y"));
  EXPECT_EQ(arena.value.text(2)->size(), half.size());
}

}  // namespace
}  // namespace flopcast::live
