// What programs make of integers that nobody computed: they go where they are moved, and nothing is decided by them.
#include "live/standin/triton/run.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace flopcast::live::triton {
namespace {

/// Tensors of 16 words each, in one allocation.
class Words final : public DeviceBytes {
 public:
  static constexpr std::size_t kTensor = 16, kTensors = 4;
  static constexpr std::int64_t kBegin = 1 << 20, kApart = kTensor * 4;
  std::array<std::int32_t, kTensor * kTensors> words{};
  std::array<bool, kTensor * kTensors> computed{};

  Words() { computed.fill(true); }
  static std::int64_t tensor(std::size_t number) {
    return kBegin + static_cast<std::int64_t>(number) * kApart;
  }
  std::size_t at(std::size_t tensor, std::size_t word) const { return tensor * kTensor + word; }

  const char* readable(std::int64_t address, std::size_t bytes) override {
    const char* const there = writable(address, bytes);
    const std::size_t first = place(address);
    for (std::size_t i = 0; there && i < bytes / 4; ++i)
      if (!computed[first + i]) return nullptr;
    return there;
  }
  char* writable(std::int64_t address, std::size_t bytes) override {
    const auto end = address + static_cast<std::int64_t>(bytes);
    if (address < kBegin || end > tensor(kTensors)) return nullptr;
    return reinterpret_cast<char*>(words.data()) + (address - kBegin);
  }
  void written(std::int64_t address, std::size_t bytes) override { mark(address, bytes, true); }
  void lost(std::int64_t address, std::size_t bytes) override { mark(address, bytes, false); }
  void lost_within(std::int64_t tensor) override { mark(tensor, kTensor * 4, false); }

 private:
  static std::size_t place(std::int64_t address) {
    return static_cast<std::size_t>(address - kBegin) / 4;
  }
  void mark(std::int64_t address, std::size_t bytes, bool known) {
    for (std::size_t i = 0; i < bytes / 4; ++i) computed[place(address) + i] = known;
  }
};

/// A program of so many pointers to integers, one for each tensor. Its loads are of `%a`, `%b`, ...
Ran run(Words& memory, std::size_t pointers, const std::string& body,
        const std::string& element = "i32") {
  std::string parameters;
  std::vector<Given> arguments;
  for (std::size_t i = 0; i < pointers; ++i) {
    parameters += std::string(i == 0 ? "%" : ", %") + static_cast<char>('a' + i) + ": !tt.ptr<" +
                  element + "> loc(\"p\"(#loc))";
    arguments.push_back({static_cast<std::uint64_t>(Words::tensor(i)), nullptr});
  }
  const auto program = parse_program("#loc = loc(\"k.py\":1:1)\nmodule {\n  tt.func public @k(" +
                                     parameters + ") attributes {noinline = false} {\n" + body +
                                     "    tt.return loc(#loc1)\n  } loc(#loc)\n}\n");
  EXPECT_TRUE(program) << body;
  std::string why;
  return program ? run_program(*program, {1, 1, 1}, arguments, memory, 10'000, why) : Ran::kNot;
}

constexpr const char* kLoadA = "    %v = tt.load %a : !tt.ptr<i32>\n";

TEST(LiveTritonRun, AnUnknownIntegerGoesWhereItIsMoved) {
  Words memory;
  memory.computed[memory.at(0, 0)] = false;
  memory.words[memory.at(1, 0)] = 7;
  EXPECT_EQ(run(memory, 3,
                std::string(kLoadA) + "    %n = tt.load %b : !tt.ptr<i32>\n"
                                      "    %c1 = arith.constant 1 : i32\n"
                                      "    %m = arith.addi %n, %c1 : i32\n"
                                      "    tt.store %b, %m : !tt.ptr<i32>\n"
                                      "    %s = arith.addi %v, %n : i32\n"
                                      "    tt.store %c, %s : !tt.ptr<i32>\n"),
            Ran::kWhole);
  EXPECT_EQ(memory.words[memory.at(1, 0)], 8);
  EXPECT_TRUE(memory.computed[memory.at(1, 0)]);
  EXPECT_FALSE(memory.computed[memory.at(2, 0)]);
  EXPECT_TRUE(memory.computed[memory.at(2, 1)]);
}

TEST(LiveTritonRun, WhatIsWrittenToAnUnknownPlaceTakesItsTensorAlone) {
  Words memory;
  memory.computed[memory.at(0, 0)] = false;
  EXPECT_EQ(run(memory, 3,
                std::string(kLoadA) + "    %p = tt.addptr %b, %v : !tt.ptr<i32>, i32\n"
                                      "    %n = tt.load %p : !tt.ptr<i32>\n"
                                      "    tt.store %p, %n : !tt.ptr<i32>\n"),
            Ran::kWhole);
  for (std::size_t i = 0; i < Words::kTensor; ++i) {
    EXPECT_FALSE(memory.computed[memory.at(1, i)]) << i;
    EXPECT_TRUE(memory.computed[memory.at(2, i)]) << i;
  }
}

TEST(LiveTritonRun, NothingIsDecidedByWhatNobodyComputed) {
  const std::string kCondition =
      "    %c0 = arith.constant 0 : i32\n"
      "    %w = arith.cmpi sgt, %v, %c0 : i32\n"
      "    scf.if %w {\n      tt.store %b, %c0 : !tt.ptr<i32>\n    }\n";
  for (const std::string& decides :
       {kCondition,
        std::string("    %c0 = arith.constant 0 : i32\n"
                    "    %c1 = arith.constant 1 : i32\n"
                    "    scf.for %i = %c0 to %v step %c1 : i32 {\n"
                    "      tt.store %b, %i : !tt.ptr<i32>\n    }\n"),
        std::string("    %o = tt.atomic_rmw add, acq_rel, gpu, %b, %v, %true : (!tt.ptr<i32>, i32, "
                    "i1) -> i32\n")}) {
    Words memory;
    memory.computed[memory.at(0, 0)] = false;
    const std::string constant = "    %true = arith.constant true\n";
    EXPECT_EQ(run(memory, 2, constant + kLoadA + decides), Ran::kTainted) << decides;
  }
}

TEST(LiveTritonRun, NumbersThatAreNoIntegersAreNotMoved) {
  Words memory;
  memory.computed[memory.at(0, 0)] = false;
  EXPECT_EQ(run(memory, 2,
                "    %v = tt.load %a : !tt.ptr<f32>\n    tt.store %b, %v : !tt.ptr<f32>\n", "f32"),
            Ran::kTainted);
}

}  // namespace
}  // namespace flopcast::live::triton
