// What launches of small programs do, against counts by hand.
#include "live/standin/triton/count.h"

#include <gtest/gtest.h>

#include <map>

namespace flopcast::live::triton {
namespace {

class SmallMemory final : public Surroundings {
 public:
  std::map<std::int64_t, std::int64_t> numbers;
  std::optional<std::int64_t> read(std::int64_t address, std::size_t, std::int64_t) override {
    const auto found = numbers.find(address);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  }
  std::uint64_t left(std::int64_t address, std::uint64_t most) override {
    return address < 1 << 30 ? std::min(bytes_left, most) : 0;
  }
  bool scales_blocks() override { return scales; }
  std::uint64_t bytes_left = 0;  ///< 0: no limit
  bool scales = true;
};

constexpr std::int64_t kFirst = 1 << 20, kApart = 1 << 26;

/// Pointers lie far apart; `numbers` are what the other parameters are.
LaunchWork count(const std::string& text, const Grid& grid,
                 const std::vector<std::int64_t>& numbers, SmallMemory memory = {}) {
  const auto program = parse_program(text);
  EXPECT_TRUE(program) << text;
  if (!program) return {};
  std::vector<Value> arguments;
  std::int64_t next = kFirst;
  std::size_t used = 0;
  for (const Type& type : program->functions.at(program->kernel).types) {
    if (type.kind == Type::Kind::kPointer) {
      arguments.push_back(Value::number(next));
      next += kApart;
    } else {
      arguments.push_back(used < numbers.size() ? Value::number(numbers[used++])
                                                : Value::unknown({}));
    }
  }
  return count_work(*program, grid, arguments, memory);
}

std::string kernel(const std::string& parameters, const std::string& body) {
  return "#loc = loc(\"k.py\":1:1)\nmodule {\n  tt.func public @k(" + parameters +
         ") attributes {noinline = false} {\n" + body +
         "    tt.return loc(#loc1)\n  } loc(#loc)\n}\n";
}

/// Blocks of 64 elements, up to n.
constexpr const char* kOffsets =
    "    %c64 = arith.constant 64 : i32 loc(#loc2)\n"
    "    %p = tt.get_program_id x : i32\n"
    "    %b = arith.muli %p, %c64 : i32\n"
    "    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>\n"
    "    %s = tt.splat %b : i32 -> tensor<64xi32>\n"
    "    %o = arith.addi %s, %r : tensor<64xi32>\n"
    "    %ns = tt.splat %n : i32 -> tensor<64xi32>\n"
    "    %m = arith.cmpi slt, %o, %ns : tensor<64xi32>\n"
    "    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>\n"
    "    %xp = tt.addptr %xs, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n";
constexpr const char* kTwo =
    "%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc(\"x\"(#loc)), %n: i32 loc(\"n\"(#loc))";

TEST(LiveTritonCount, MasksCutWhatIsMoved) {
  const std::string text = kernel(
      kTwo, std::string(kOffsets) +
                "    %v = tt.load %xp, %m evictionPolicy = evict_last : tensor<64x!tt.ptr<f32>>\n"
                "    %w = arith.addf %v, %v : tensor<64xf32>\n"
                "    tt.store %xp, %w, %m : tensor<64x!tt.ptr<f32>>\n");
  for (const std::int64_t n : {1000, 1024, 5, 0}) {
    const LaunchWork work = count(text, {16, 1, 1}, {n});
    EXPECT_EQ(work.read, 4u * static_cast<unsigned>(n));
    EXPECT_EQ(work.written, 4u * static_cast<unsigned>(n));
    EXPECT_DOUBLE_EQ(work.operations, 16 * 64);
    EXPECT_FALSE(work.assumed);
    EXPECT_EQ(work.unknown, "");
    EXPECT_EQ(work.written_at,
              n > 0 ? std::vector<std::int64_t>{kFirst} : std::vector<std::int64_t>());
  }
}

TEST(LiveTritonCount, WhatIsReadOverAndOverCountsOnceAndNoMoreThanThereIs) {
  // All programs read the same 64.
  std::string body(kOffsets);
  body.replace(body.find("%b = arith.muli %p, %c64"), 24, "%b = arith.subi %p, %p  ");
  body += "    %v = tt.load %xp, %m : tensor<64x!tt.ptr<f32>>\n";
  EXPECT_EQ(count(kernel(kTwo, body), {1000, 3, 1}, {64}).read, 256u);
  // A gather from where nobody knows, of an allocation that is smaller than what is asked of it.
  const std::string gather =
      kernel("%x: !tt.ptr<f32>, %n: i32",
             std::string(kOffsets) +
                 "    %i = tt.load %xp, %m : tensor<64x!tt.ptr<f32>>\n"
                 "    %j = arith.fptosi %i : tensor<64xf32> to tensor<64xi32>\n"
                 "    %gp = tt.addptr %xs, %j : tensor<64x!tt.ptr<f32>>, tensor<64xi32>\n"
                 "    %g = tt.load %gp, %m : tensor<64x!tt.ptr<f32>>\n");
  SmallMemory memory;
  memory.bytes_left = 1000;
  EXPECT_LE(count(gather, {100, 1, 1}, {6400}, memory).read, 1000u);
}

/// A product of blocks of 16 by 32 over k, 8 at a time.
std::string product(const std::string& types, const std::string& turns) {
  return kernel("%a: !tt.ptr<" + types + ">, %k: i32",
                "    %c0 = arith.constant 0 : i32\n    %c8 = arith.constant 8 : i32\n"
                "    %z = arith.constant dense<0.0> : tensor<16x32xf32>\n"
                "    %x = arith.constant dense<0.0> : tensor<16x8x" +
                    types +
                    ">\n"
                    "    %y = arith.constant dense<0.0> : tensor<8x32x" +
                    types +
                    ">\n"
                    "    %acc = scf.for %i = %c0 to " +
                    turns +
                    " step %c8 iter_args(%s = %z) -> (tensor<16x32xf32>)  : i32 {\n"
                    "      %d = tt.dot %x, %y, %s, inputPrecision = tf32 : tensor<16x8x" +
                    types + "> * tensor<8x32x" + types +
                    "> -> tensor<16x32xf32>\n"
                    "      scf.yield %d : tensor<16x32xf32>\n    }\n");
}

TEST(LiveTritonCount, ProductsAreThoseOfAllTurnsAndPrograms) {
  const std::map<std::string, std::string> types{
      {"bf16", "bf16"}, {"f16", "fp16"}, {"f32", "tf32"}, {"f8E4M3FN", "fp8_static"}, {"i8", "sq"}};
  for (const auto& [type, name] : types) {
    const LaunchWork work = count(product(type, "%k"), {7, 5, 3}, {4096});
    ASSERT_EQ(work.products.size(), 1u) << type;
    const Product& one = work.products.front();
    EXPECT_EQ(one.type, name);
    EXPECT_EQ(one.m, 16);
    EXPECT_EQ(one.n, 32);
    EXPECT_DOUBLE_EQ(one.k, 4096);
    EXPECT_DOUBLE_EQ(one.blocks, 105);
    EXPECT_EQ(one.kind, Product::Kind::kPlain);
  }
  EXPECT_EQ(count(product("f64", "%k"), {1, 1, 1}, {64}).unknown, "tt.dot of f64");
  EXPECT_TRUE(count(product("bf16", "%k"), {1, 1, 1}, {0}).products.empty());
}

TEST(LiveTritonCount, TurnsThatDifferByProgramAreFollowed) {
  // As a causal mask has them: program p goes through p blocks of 8.
  std::string text = product("bf16", "%end");
  text.replace(text.find("    %z ="), 0,
               "    %p = tt.get_program_id x : i32\n    %end = arith.muli %p, %c8 : i32\n");
  const LaunchWork work = count(text, {101, 1, 1}, {0});
  ASSERT_EQ(work.products.size(), 1u);
  const Product& one = work.products.front();
  EXPECT_DOUBLE_EQ(one.k * one.blocks, 8 * 5050);
  EXPECT_DOUBLE_EQ(one.most, 800);
  // Of a large grid a part is followed: the mean is the same to a percent.
  const LaunchWork large = count(text, {64, 1000, 1}, {0});
  EXPECT_NEAR(large.products.front().k * large.products.front().blocks / (8.0 * 2016 * 1000), 1,
              0.01);
}

TEST(LiveTritonCount, LoopsWhoseEndMemoryHolds) {
  std::string text = product("bf16", "%end");
  text.replace(text.find("%a: !tt.ptr<bf16>"), 17, "%a: !tt.ptr<i32> ");
  text.replace(text.find("    %z ="), 0, "    %end = tt.load %a : !tt.ptr<i32>\n");
  SmallMemory memory;
  memory.numbers[kFirst] = 80;
  const LaunchWork read = count(text, {1, 1, 1}, {0}, memory);
  EXPECT_DOUBLE_EQ(read.products.front().k, 80);
  EXPECT_FALSE(read.assumed);
  // Nobody computed it, and nothing bounds it: its work is not known. A bound makes it half of what it can be.
  const LaunchWork nobody = count(text, {1, 1, 1}, {0});
  EXPECT_EQ(nobody.unknown, "a loop without a known end");
  text.replace(text.find("    %z ="), 0,
               "    %c160 = arith.constant 160 : i32\n    %few = arith.minsi %end, %c160 : i32\n");
  text.replace(text.find("to %end"), 7, "to %few");
  const LaunchWork half = count(text, {1, 1, 1}, {0});
  EXPECT_EQ(half.unknown, "");
  EXPECT_TRUE(half.assumed);
  EXPECT_DOUBLE_EQ(half.products.front().k, 80);
}

TEST(LiveTritonCount, WhatIsNotUnderstoodIsNamed) {
  for (const char* const line :
       {"    ttng.warp_group_dot_wait %x\n", "    %q = tt.made_up %x : !tt.ptr<f32> -> f32\n",
        "    %q = tt.dot_scaled %x scale %x, %x lhs = e2m1 rhs = e2m1 : f32 -> f32\n",
        "    %q = tt.elementwise_inline_asm \"ld\" {pure = false} %x : !tt.ptr<f32> -> i32\n"}) {
    const LaunchWork work = count(kernel(kTwo, line), {1, 1, 1}, {1});
    EXPECT_NE(work.unknown, "") << line;
  }
  for (const char* const text :
       {"", "module {\n}\n", "tt.func public @k(%a: i32) {\n", "tt.func public @k(%a i32) {\n}\n"})
    EXPECT_FALSE(parse_program(text)) << text;
}

TEST(LiveTritonCount, BranchesLoopsWithAConditionAndCalls) {
  const std::string work =
      "    %c1 = arith.constant 1 : i32\n    %c5 = arith.constant 5 : i32\n"
      "    %z = arith.constant dense<0.0> : tensor<64xf32>\n"
      "    %t = scf.while (%i = %n) : (i32) -> i32 {\n"
      "      %c = arith.cmpi slt, %i, %c5 : i32\n"
      "      scf.condition(%c) %i : i32\n"
      "    } do {\n"
      "    ^bb0(%i: i32 loc(\"i\"(#loc))):\n"
      "      %j = arith.addi %i, %c1 : i32\n"
      "      %e = math.sqrt %z : tensor<64xf32>\n"
      "      scf.yield %j : i32\n"
      "    } loc(#loc3)\n"
      "    %w = arith.cmpi eq, %t, %c5 : i32\n"
      "    scf.if %w {\n"
      "      tt.call @other(%z) : (tensor<64xf32>) -> ()\n"
      "    } else {\n"
      "      %f = tt.never_seen %z : tensor<64xf32> -> f32\n"
      "    }\n";
  std::string text = kernel(kTwo, work);
  text.insert(text.find("  tt.func public"),
              "  tt.func private @other(%z: tensor<64xf32>) attributes {noinline = true} {\n"
              "    %g = math.sqrt %z : tensor<64xf32>\n    tt.return\n  }\n");
  const LaunchWork counted = count(text, {1, 1, 1}, {2});
  EXPECT_EQ(counted.unknown, "");
  EXPECT_DOUBLE_EQ(counted.operations, 64 * (3 + 1));
  // Some programs leave early.
  const std::string leaves =
      kernel(kTwo,
             "    %p = tt.get_program_id x : i32\n    %late = arith.cmpi sge, %p, %n : i32\n"
             "    %z = arith.constant dense<0.0> : tensor<64xf32>\n"
             "    cf.cond_br %late, ^bb1, ^bb2\n  ^bb1:  // pred: ^bb0\n    tt.return\n"
             "  ^bb2:  // pred: ^bb0\n    %g = math.sqrt %z : tensor<64xf32>\n");
  EXPECT_DOUBLE_EQ(count(leaves, {100, 1, 1}, {30}).operations, 64 * 30);
}

TEST(LiveTritonCount, DescriptorsEndWhereTheirTensorDoes) {
  const std::string text =
      kernel("%x: !tt.ptr<f16>, %rows: i32",
             "    %c10 = arith.constant 10 : i32\n    %c8 = arith.constant 8 : i32\n"
             "    %s = arith.constant 10 : i64\n    %one = arith.constant 1 : i64\n"
             "    %p = tt.get_program_id x : i32\n    %at = arith.muli %p, %c8 : i32\n"
             "    %d = tt.make_tensor_descriptor %x, [%rows, %c10], [%s, %one] : !tt.ptr<f16>, "
             "!tt.tensordesc<tensor<4x8xf16>>\n"
             "    %c0 = arith.constant 0 : i32\n"
             "    %v = tt.descriptor_load %d[%c0, %at] : !tt.tensordesc<tensor<4x8xf16>> -> "
             "tensor<4x8xf16>\n");
  // Columns 0 to 8 and 8 to 10 of three rows.
  EXPECT_EQ(count(text, {2, 1, 1}, {3}).read, 3u * 10 * 2);
  EXPECT_EQ(count(text, {2, 1, 1}, {3}).unknown, "");
}

/// A product of 128 by 128 over 128 elements, whose blocks have scales.
LaunchWork scaled(const std::string& operation, const std::string& types, bool by_the_chip = true) {
  SmallMemory memory;
  memory.scales = by_the_chip;
  std::string body;
  for (const char* const one : {"%a", "%b"}) {
    const bool packed = types.find(one + std::string("=i8")) != types.npos;
    const std::string shape = !packed ? "128x128xbf16" : one[1] == 'a' ? "128x64xi8" : "64x128xi8";
    body += std::string("    ") + one + " = arith.constant dense<0> : tensor<" + shape + ">\n";
  }
  body +=
      "    %s = arith.constant dense<0> : tensor<128x4xi8>\n"
      "    %z = arith.constant dense<0.0> : tensor<128x128xf32>\n"
      "    %d = tt.dot_scaled " +
      operation + " -> tensor<128x128xf32>\n";
  return count(kernel("%n: i32", body), {4, 1, 1}, {1}, memory);
}

TEST(LiveTritonCount, ProductsOfScaledBlocksCountTheirElements) {
  const std::string four =
      "tensor<128x64xi8>, tensor<128x4xi8> * tensor<64x128xi8>, tensor<128x4xi8>";
  const LaunchWork both =
      scaled("%a scale %s, %b scale %s, %z lhs = e2m1 rhs = e2m1 {fastMath = false} : " + four,
             "%a=i8 %b=i8");
  ASSERT_EQ(both.products.size(), 1u);
  EXPECT_EQ(both.products[0].type, "nvfp4");
  EXPECT_EQ(both.products[0].m * both.products[0].n, 128 * 128);
  EXPECT_DOUBLE_EQ(both.products[0].k, 128);  // two to a byte
  EXPECT_DOUBLE_EQ(both.products[0].blocks, 4);
  EXPECT_EQ(both.unknown, "");
  // Only one has scales: the other's type multiplies.
  const LaunchWork one = scaled(
      "%a, %b scale %s, %z lhs = bf16 rhs = e2m1 {fastMath = false} : "
      "tensor<128x128xbf16> * tensor<64x128xi8>, tensor<128x4xi8>",
      "%b=i8");
  ASSERT_EQ(one.products.size(), 1u);
  EXPECT_EQ(one.products[0].type, "bf16");
  EXPECT_EQ(one.products[0].n, 128);
  // A chip without such products brings them to bf16 first.
  const LaunchWork older =
      scaled("%a scale %s, %b scale %s, %z lhs = e2m1 rhs = e2m1 {fastMath = false} : " + four,
             "%a=i8 %b=i8", false);
  EXPECT_EQ(older.products.at(0).type, "bf16");
  // Of a form that nobody knows: told, and not free.
  EXPECT_EQ(scaled("%a scale %s, %b scale %s, %z : " + four, "%a=i8 %b=i8").unknown,
            "tt.dot_scaled");
}

}  // namespace
}  // namespace flopcast::live::triton
