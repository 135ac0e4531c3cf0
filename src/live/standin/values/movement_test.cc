// Which bytes programs read back, against the stand-in libraries.
#include "live/standin/values/movement.h"

#include "support/live_programs.h"

namespace flopcast::live {
namespace {

using test::Library;
using test::Told;

class LiveValuesThreads : public test::LivePrograms {};

/// cudaMemcpyKind
enum Kind : int { kIn = 1, kBack = 2, kWithin = 3 };

constexpr std::size_t kCount = 1000, kSize = kCount * sizeof(int);

char* device_memory(const Library& cuda, std::size_t bytes) {
  void* memory = nullptr;
  cuda("cudaMalloc", &memory, bytes);
  return static_cast<char*>(memory);
}

void copy(const Library& cuda, void* to, const void* from, std::size_t bytes, Kind kind) {
  cuda("cudaMemcpy", to, from, bytes, static_cast<int>(kind));
}

/// How many are there of a number, in what is read back.
double count_of(const Library& cuda, const char* memory, int number) {
  std::vector<int> back(kCount, -7);
  copy(cuda, back.data(), memory, kSize, kBack);
  return static_cast<double>(std::count(back.begin(), back.end(), number));
}

TEST_F(LiveValuesThreads, WhatIsBroughtThereIsReadBackAndNothingElse) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    const std::vector<int> ones(kCount, 1);
    char* const memory = device_memory(cuda, kSize);
    char* const other = device_memory(cuda, kSize);
    said["fresh"] = count_of(cuda, memory, 0);
    copy(cuda, memory + kSize / 2, ones.data(), kSize / 2, kIn);
    said["half"] = count_of(cuda, memory, 1);
    said["other_half"] = count_of(cuda, memory, 0);
    copy(cuda, other, memory, kSize, kWithin);
    said["carried"] = count_of(cuda, other, 1);
    cuda("cudaMemset", static_cast<void*>(other), 0xff, kSize);
    said["set"] = count_of(cuda, other, -1);
    cuda("cudaFree", static_cast<void*>(memory));
    said["of_another"] = count_of(cuda, device_memory(cuda, kSize), 0);
  });
  EXPECT_EQ(told, (Told{{"fresh", 1000},
                        {"half", 500},
                        {"other_half", 500},
                        {"carried", 500},
                        {"set", 1000},
                        {"of_another", 1000}}));
}

TEST_F(LiveValuesThreads, LargeBytesFromTheHostAreTainted) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    constexpr std::size_t kLarge = kMovedBytes + 4096;
    std::vector<char> there(kLarge, 1), back(kLarge, 2);
    char* const memory = device_memory(cuda, kLarge);
    copy(cuda, memory, there.data(), kLarge, kIn);
    copy(cuda, back.data(), memory, kLarge, kBack);
    said["zeroes"] = static_cast<double>(std::count(back.begin(), back.end(), 0));
    said["all"] = kLarge;
  });
  EXPECT_EQ(told.at("zeroes"), told.at("all"));
}

TEST_F(LiveValuesThreads, APluginThatMakesValuesItselfSeesOnlyItsOwn) {
  const Told told = run("dgx-h100", [](const Library& cuda, Told& said) {
    char* const memory = device_memory(cuda, kSize);
    const void* const at = memory;
    cuda("flopcast_live_launches_only", true);
    cuda("cudaMemset", static_cast<void*>(memory), 0xff, kSize);
    cuda("flopcast_live_launches_only", false);
    said["not_set"] = count_of(cuda, memory, 0);
    reinterpret_cast<int*>(memory)[3] = 5;
    cuda("flopcast_live_mark_valid", at, kSize);
    said["written"] = count_of(cuda, memory, 5);
    cuda("flopcast_live_taint", at, kSize);
    said["tainted"] = count_of(cuda, memory, 0);
  });
  EXPECT_EQ(told, (Told{{"not_set", 1000}, {"written", 1}, {"tainted", 1000}}));
}

}  // namespace
}  // namespace flopcast::live
