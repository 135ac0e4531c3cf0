#include "mapping/partition/cost.h"

#include <gtest/gtest.h>

#include "mapping/partition/testing.h"

namespace flopcast::mapping {
namespace {

using test::Random;

/// a -> b -> c, tensors of 10 and 20 bytes.
ChipProgram chain() {
  ChipProgram program;
  program.kernels.resize(3);
  program.memory_bandwidth = 10;
  program.tensors = {{0, 10, 5, 4, KernelSet::of(1), false},
                     {1, 20, 8, 6, KernelSet::of(2), false}};
  link_producers(program);
  return program;
}

PartitionSums sums_of(const ChipProgram& program, const KernelSet& in, const KernelSet& out) {
  return partition_sums(ideal_sums(program, in), ideal_sums(program, out), in, out);
}

TEST(PartitionSums, OfTheWorkedChain) {
  const ChipProgram program = chain();
  const KernelSet a = KernelSet::of(0), ab = a | KernelSet::of(1), abc = ab | KernelSet::of(2);
  const PartitionSums b = sums_of(program, a, ab);
  EXPECT_EQ(b.load_bytes, 10);
  EXPECT_EQ(b.store_bytes, 20);
  EXPECT_EQ(b.dram_bytes, 30);
  EXPECT_EQ(b.live_bytes, 30);
  EXPECT_EQ(b.buffer_bytes, 4 + 6);  // streamed at either end, nothing held
  const PartitionSums bc = sums_of(program, a, abc);
  EXPECT_EQ(bc.dram_bytes, 10);
  EXPECT_EQ(bc.live_bytes, 10);
  EXPECT_EQ(bc.buffer_bytes, 4 + 8);
  EXPECT_EQ(sums_of(program, {}, abc).dram_bytes, 0);
}

TEST(PartitionSums, OfIdealsAreThoseOfTheDefinition) {
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Random random(seed);
    test::ProgramKind kind;
    kind.kernels = 1 + test::below(random, 12);
    kind.density = 10 + test::below(random, 60);
    kind.shared = test::once_in(random, 2);
    const ChipProgram program = test::random_program(random, kind);
    // Kernels are in topological order: any two cuts of it are ideals.
    const std::size_t from = test::below(random, kind.kernels);
    const std::size_t to = from + 1 + test::below(random, kind.kernels - from);
    test::Assignment of(kind.kernels, test::kLater);
    KernelSet in, out;
    for (std::size_t i = 0; i < to; ++i) {
      of[i] = i < from ? 0 : 1;
      out.add(i);
      if (i < from) in.add(i);
    }
    const PartitionSums got = sums_of(program, in, out);
    const PartitionSums expected = test::sums_by_definition(program, of, 1);
    ASSERT_EQ(got.compute_s, expected.compute_s) << "seed " << seed;
    ASSERT_EQ(got.network_s, expected.network_s) << "seed " << seed;
    ASSERT_EQ(got.dram_bytes, expected.dram_bytes) << "seed " << seed;
    ASSERT_EQ(got.wire_bytes, expected.wire_bytes) << "seed " << seed;
    ASSERT_EQ(got.flop, expected.flop) << "seed " << seed;
    ASSERT_EQ(got.weight_bytes, expected.weight_bytes) << "seed " << seed;
    ASSERT_EQ(got.buffer_bytes, expected.buffer_bytes) << "seed " << seed;
    ASSERT_EQ(got.live_bytes, expected.live_bytes) << "seed " << seed;
    ASSERT_EQ(got.load_bytes, expected.load_bytes) << "seed " << seed;
    ASSERT_EQ(got.store_bytes, expected.store_bytes) << "seed " << seed;
    ASSERT_EQ(got.store_buffer_bytes, expected.store_buffer_bytes) << "seed " << seed;
  }
}

TEST(PartitionCost, CombinesByOverlap) {
  EXPECT_EQ(combine(MappingOverlap::kPerfect, 3, 4, 5), 5);
  EXPECT_EQ(combine(MappingOverlap::kPerfect, 6, 4, 5), 6);
  EXPECT_EQ(combine(MappingOverlap::kComputeMemory, 3, 4, 5), 9);
  EXPECT_EQ(combine(MappingOverlap::kNone, 3, 4, 5), 12);
}

/// Kernel b alone: 30 bytes of weights, buffers of 4 in and 6 out.
PartitionCost lone_cost(double sram_bytes, bool reload_inputs, bool reload_all) {
  ChipProgram program = chain();
  program.kernels[1].weight_bytes = 30;
  program.sram_bytes = sram_bytes;
  program.reload_inputs = reload_inputs;
  program.reload_all = reload_all;
  const KernelSet a = KernelSet::of(0), b = KernelSet::of(1);
  return partition_cost(program, sums_of(program, a, a | b), b);
}

TEST(PartitionCost, TakesWeightsOfALoneKernelInPieces) {
  EXPECT_EQ(lone_cost(40, true, false).weight_pieces, 1);
  EXPECT_DOUBLE_EQ(lone_cost(40, true, false).time_s, 3);
  // 10 bytes are left for weights: three pieces, and 10 bytes are loaded twice more.
  EXPECT_EQ(lone_cost(20, false, false).weight_pieces, 3);
  EXPECT_DOUBLE_EQ(lone_cost(20, false, false).time_s, 3);
  EXPECT_DOUBLE_EQ(lone_cost(20, true, false).time_s, 3 + 2 * 1);
  // The output's buffer is cut as well: (30 + 6) / f + 4 <= 20 at f = 3; all 30 bytes move thrice.
  EXPECT_EQ(lone_cost(20, true, true).weight_pieces, 3);
  EXPECT_DOUBLE_EQ(lone_cost(20, true, true).time_s, 9);
  EXPECT_TRUE(std::isinf(lone_cost(10, true, false).time_s));
  EXPECT_TRUE(std::isinf(lone_cost(4, true, true).time_s));
}

TEST(PartitionCost, IsInfiniteWhereSramOrDramIsShort) {
  ChipProgram program = chain();
  const KernelSet a = KernelSet::of(0), bc = KernelSet::of(1) | KernelSet::of(2);
  const auto time_s = [&] {
    return partition_cost(program, sums_of(program, a, a | bc), bc).time_s;
  };
  program.sram_bytes = 12;
  program.live_bytes = 10;
  EXPECT_DOUBLE_EQ(time_s(), 1);
  program.sram_bytes = 11;
  EXPECT_TRUE(std::isinf(time_s()));
  program.kernels[1].weight_bytes = 1;  // not alone: no pieces
  EXPECT_TRUE(std::isinf(time_s()));
  program.sram_bytes = 13;
  EXPECT_DOUBLE_EQ(time_s(), 1);
  program.live_bytes = 9;
  EXPECT_TRUE(std::isinf(time_s()));
}

}  // namespace
}  // namespace flopcast::mapping
