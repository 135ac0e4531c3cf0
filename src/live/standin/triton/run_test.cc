// Small programs executed on a few bytes, against numbers by hand; formats of numbers against those of the language.
#include "live/standin/triton/run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace flopcast::live::triton {
namespace {

constexpr std::int64_t kBase = 4096;

/// One allocation. All of it is valid but for what is tainted.
class OneAllocation final : public DeviceBytes {
 public:
  std::vector<char> bytes = std::vector<char>(4096);
  std::set<std::int64_t> tainted, marked;

  const char* readable(std::int64_t address, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i)
      if (tainted.count(address + static_cast<std::int64_t>(i)) > 0) return nullptr;
    return writable(address, count);
  }
  char* writable(std::int64_t address, std::size_t count) override {
    const auto offset = static_cast<std::size_t>(address - kBase);
    return address < kBase || offset + count > bytes.size() ? nullptr : bytes.data() + offset;
  }
  void written(std::int64_t address, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) marked.insert(address + static_cast<std::int64_t>(i));
  }
  void lost(std::int64_t address, std::size_t count) override {
    for (std::size_t i = 0; i < count; ++i) tainted.insert(address + static_cast<std::int64_t>(i));
  }
  void lost_within(std::int64_t tensor) override { lost(tensor, bytes.size()); }
  template <typename T>
  T& at(std::size_t index) {
    return reinterpret_cast<T*>(bytes.data())[index];
  }
};

std::string runnable(const std::string& parameters, const std::string& body) {
  return "module {\n  tt.func public @k(" + parameters + ") attributes {noinline = false} {\n" +
         body + "    tt.return\n  }\n}\n";
}

struct Outcome {
  Ran ran;
  std::string why;
};
Outcome run(const std::string& text, OneAllocation& memory, const Grid& grid = {},
            std::uint64_t number = 0, std::uint64_t most = 100000) {
  const auto program = parse_program(text);
  EXPECT_TRUE(program) << text;
  if (!program) return {Ran::kNot, "no program"};
  std::vector<Given> given;
  for (const Type& type : program->functions.at(program->kernel).types)
    given.push_back({type.kind == Type::Kind::kPointer ? kBase : number, nullptr});
  Outcome outcome{};
  outcome.ran = run_program(*program, grid, given, memory, most, outcome.why);
  return outcome;
}

/// x[i] * 2 + 1 in place, up to n, in blocks of four.
constexpr const char* kInPlace =
    "    %c4 = arith.constant 4 : i32\n"
    "    %two = arith.constant dense<2.000000e+00> : tensor<4xf32>\n"
    "    %one = arith.constant dense<1.000000e+00> : tensor<4xf32>\n"
    "    %p = tt.get_program_id x : i32\n"
    "    %b = arith.muli %p, %c4 : i32\n"
    "    %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>\n"
    "    %s = tt.splat %b : i32 -> tensor<4xi32>\n"
    "    %o = arith.addi %s, %r : tensor<4xi32>\n"
    "    %ns = tt.splat %n : i32 -> tensor<4xi32>\n"
    "    %m = arith.cmpi slt, %o, %ns : tensor<4xi32>\n"
    "    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>\n"
    "    %at = tt.addptr %xs, %o : tensor<4x!tt.ptr<f32>>, tensor<4xi32>\n"
    "    %v = tt.load %at, %m : tensor<4x!tt.ptr<f32>>\n"
    "    %d = arith.mulf %v, %two : tensor<4xf32>\n"
    "    %e = arith.addf %d, %one : tensor<4xf32>\n"
    "    tt.store %at, %e, %m : tensor<4x!tt.ptr<f32>>\n";
const std::string kInPlaceKernel = runnable("%x: !tt.ptr<f32>, %n: i32", kInPlace);

TEST(TritonRun, ProgramsOfAGridChangeWhatTheirMaskLetsThem) {
  OneAllocation memory;
  for (std::size_t i = 0; i < 8; ++i) memory.at<float>(i) = static_cast<float>(i);
  EXPECT_EQ(run(kInPlaceKernel, memory, {2, 1, 1}, 6).ran, Ran::kWhole);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(memory.at<float>(i),
              i < 6 ? 2.0F * static_cast<float>(i) + 1 : static_cast<float>(i));
  EXPECT_EQ(memory.marked.size(), 6 * sizeof(float));
}

TEST(TritonRun, StopsAtTheFirstReadOfWhatNobodyComputed) {
  OneAllocation memory;
  memory.tainted.insert(kBase + 22);
  EXPECT_EQ(run(kInPlaceKernel, memory, {2, 1, 1}, 5).ran, Ran::kWhole) << "the mask hides it";
  EXPECT_EQ(run(kInPlaceKernel, memory, {2, 1, 1}, 6).ran, Ran::kTainted);
}

TEST(TritonRun, RefusesWritesBeyondAnAllocation) {
  OneAllocation memory;
  memory.bytes.resize(20);
  const Outcome outcome = run(kInPlaceKernel, memory, {2, 1, 1}, 5);
  EXPECT_EQ(outcome.ran, Ran::kWhole);
  EXPECT_NE(run(kInPlaceKernel, memory, {2, 1, 1}, 6).ran, Ran::kWhole);
}

TEST(TritonRun, StopsWhereALoopHasNoEnd) {
  const std::string text = runnable("%x: !tt.ptr<i32>",
                                    "    %t = arith.constant true\n"
                                    "    scf.while : () -> () {\n"
                                    "      scf.condition(%t)\n"
                                    "    } do {\n"
                                    "      scf.yield\n"
                                    "    }\n");
  OneAllocation memory;
  EXPECT_EQ(run(text, memory).ran, Ran::kTooLong);
}

TEST(TritonRun, NamesWhatItDoesNotUnderstand) {
  OneAllocation memory;
  const Outcome outcome = run(runnable("%x: !tt.ptr<i32>", "    %y = tt.dance %x : i32\n"), memory);
  EXPECT_EQ(outcome.ran, Ran::kNot);
  EXPECT_EQ(outcome.why, "tt.dance");
}

/// The least from the back on, and of all.
TEST(TritonRun, ScansAndReducesInOrder) {
  const std::string region =
      "    ^bb0(%a: i32, %b: i32):\n"
      "      %f = arith.minsi %a, %b : i32\n"
      "      tt.X.return %f : i32\n";
  const auto with = [&](const std::string& name) {
    std::string text = region;
    return text.replace(text.find("X"), 1, name);
  };
  const std::string text =
      runnable("%x: !tt.ptr<i32>",
               "    %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>\n"
               "    %c4 = arith.constant 4 : i32\n"
               "    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>\n"
               "    %at = tt.addptr %xs, %r : tensor<4x!tt.ptr<i32>>, tensor<4xi32>\n"
               "    %v = tt.load %at : tensor<4x!tt.ptr<i32>>\n"
               "    %s = \"tt.scan\"(%v) <{axis = 0 : i32, reverse = true}> ({\n" +
                   with("scan") +
                   "    }) : (tensor<4xi32>) -> tensor<4xi32>\n"
                   "    %m = \"tt.reduce\"(%v) <{axis = 0 : i32}> ({\n" +
                   with("reduce") +
                   "    }) : (tensor<4xi32>) -> i32\n"
                   "    tt.store %at, %s : tensor<4x!tt.ptr<i32>>\n"
                   "    %end = tt.addptr %x, %c4 : !tt.ptr<i32>, i32\n"
                   "    tt.store %end, %m : !tt.ptr<i32>\n");
  OneAllocation memory;
  const int given[] = {3, 9, 1, 5};
  std::memcpy(memory.bytes.data(), given, sizeof given);
  const Outcome outcome = run(text, memory);
  EXPECT_EQ(outcome.ran, Ran::kWhole) << outcome.why;
  const int expected[] = {1, 1, 1, 5, 1};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(memory.at<int>(i), expected[i]) << i;
}

TEST(TritonNumber, EveryNarrowNumberIsItself) {
  for (const char* const name :
       {"f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f16", "bf16", "i8", "i16"}) {
    const Format& format = *format_of(element_type(name));
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.bits; ++bits) {
      const std::int64_t word = word_of_bits(bits, format);
      if (format.floats && std::isnan(double_of(word))) continue;
      const std::uint64_t again = bits_of_word(word, format);
      EXPECT_EQ(again, bits) << name;
      if (format.floats && std::isfinite(double_of(word))) {
        EXPECT_EQ(rounded(double_of(word), format), double_of(word)) << name << ' ' << bits;
      }
    }
  }
}

TEST(TritonNumber, RoundsToTheNearest) {
  const auto near = [](double value, const char* name) {
    return rounded(value, *format_of(element_type(name)));
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(near(1 + 0x1p-8, "bf16"), 1) << "half goes to even";
  EXPECT_EQ(near(1 + 0x1p-8 + 0x1p-20, "bf16"), 1 + 0x1p-7);
  EXPECT_EQ(near(1 + 3 * 0x1p-11, "f16"), 1 + 0x1p-9);
  EXPECT_EQ(near(65519, "f16"), 65504);
  EXPECT_EQ(near(65520, "f16"), kInfinity);
  EXPECT_EQ(near(0x1p-25, "f16"), 0) << "half of the smallest";
  EXPECT_EQ(near(3 * 0x1p-26, "f16"), 0x1p-24);
  EXPECT_EQ(near(1000, "f8E4M3FN"), 448) << "GPUs convert to the largest";
  EXPECT_EQ(near(-kInfinity, "f8E5M2"), -57344);
  EXPECT_EQ(near(0.1, "f32"), static_cast<double>(0.1F));
  EXPECT_TRUE(std::isnan(near(std::nan(""), "f8E4M3FN")));
}

}  // namespace
}  // namespace flopcast::live::triton
