#include "mapping/partition/sink_path.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "mapping/partition/bounded_path.h"
#include "mapping/partition/testing.h"

namespace flopcast::mapping {
namespace {

using test::Random;

/// A small trunk and up to six sinks of two kinds. No two read the same tensor; half of what they read
/// the trunk reads as well.
ChipProgram random_sinks(Random& random, bool cycles) {
  test::ProgramKind kind;
  kind.kernels = 1 + test::below(random, 4);
  kind.density = 60;
  kind.shared = false;
  kind.cycles = cycles;
  ChipProgram program = test::random_program(random, kind);
  const std::size_t trunk = kind.kernels;
  const KernelSet unread = sinks_of(program);
  kind.kernels = 2;
  kind.density = 100;
  const ChipProgram kinds = test::random_program(random, kind);
  const std::size_t inputs = 1 + test::below(random, 2);
  for (std::size_t sinks = 1 + test::below(random, 6); sinks > 0; --sinks) {
    const std::size_t own = test::below(random, 2);
    program.kernels.push_back(kinds.kernels[own]);
    if (cycles) program.curves.push_back(kinds.curves[own]);
    for (std::size_t i = 0; i < inputs; ++i) {
      ProgramTensor tensor = test::random_tensor(
          random, static_cast<std::int32_t>(test::below(random, trunk + 1)) - 1);
      tensor.bytes = static_cast<double>(10 * own + 7 * i + 3);
      tensor.stream_bytes = static_cast<double>(own + i);
      tensor.uses = KernelSet::of(program.size() - 1);
      tensor.output = test::once_in(random, 8);
      for (auto reader = static_cast<std::size_t>(tensor.producer + 1); reader < trunk; ++reader) {
        if (!unread.has(reader) && test::once_in(random, 2)) tensor.uses.add(reader);
      }
      program.tensors.push_back(tensor);
    }
  }
  link_producers(program);
  return program;
}

std::optional<PartitionPath> exact(const ChipProgram& program, unsigned partitions) {
  const auto lattice = ideal_lattice(program.producers, std::size_t{1} << program.size());
  return best_partitions(program, *lattice, partitions);
}

TEST(BestSinkPartitions, EqualTheShortestPathWhereNoTwoSinksShare) {
  std::size_t fit = 0, shared = 0;
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    Random random(seed);
    const ChipProgram program = random_sinks(random, test::once_in(random, 6));
    const unsigned partitions =
        test::once_in(random, 2) ? 0 : 1 + static_cast<unsigned>(test::below(random, 4));
    const auto expected = exact(program, partitions);
    bool too_large = true;
    const auto got = best_sink_partitions(program, partitions, {}, too_large);
    ASSERT_FALSE(too_large);
    ASSERT_EQ(got.has_value(), expected.has_value()) << "seed " << seed;
    if (!got) continue;
    ++fit;
    shared += std::any_of(program.tensors.begin(), program.tensors.end(),
                          [](const ProgramTensor& tensor) { return tensor.uses.size() > 1; });
    ASSERT_EQ(got->time_s, expected->time_s) << "seed " << seed;
    ASSERT_EQ(test::time_by_definition(program, got->partitions), got->time_s) << "seed " << seed;
  }
  EXPECT_GT(fit, 700U);
  EXPECT_GT(shared, 150U);
}

TEST(BestSinkPartitions, SayWhenThereAreTooManyStates) {
  Random random(7);
  const ChipProgram program = random_sinks(random, false);
  bool too_large = false;
  EXPECT_FALSE(best_sink_partitions(program, 0, {.most_states = 2}, too_large));
  EXPECT_TRUE(too_large);
  EXPECT_FALSE(best_sink_partitions(program, 0, {.most_ideals = 1}, too_large));
  EXPECT_TRUE(too_large);
}

TEST(SinksOf, AreKernelsWhoseResultNobodyReads) {
  Random random(3);
  test::ProgramKind kind;
  kind.density = 0;
  kind.kernels = 4;
  ChipProgram program = test::random_program(random, kind);
  program.tensors = {test::random_tensor(random, 0), test::random_tensor(random, 1)};
  program.tensors[0].uses.add(2);
  program.tensors[1].output = true;
  EXPECT_EQ(sinks_of(program), KernelSet::of(2) | KernelSet::of(3));
}

TEST(BoundedPartitions, AreExactWhereNoTwoSinksShare) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const ChipProgram program = random_sinks(random, false);
    const auto expected = exact(program, 0);
    const BoundedPath got = bounded_partitions(program, 0, 0);
    ASSERT_EQ(got.path.has_value(), expected.has_value()) << "seed " << seed;
    if (!expected) continue;
    ASSERT_EQ(got.path->time_s, expected->time_s) << "seed " << seed;
    ASSERT_EQ(got.bound_s, expected->time_s) << "seed " << seed;
  }
}

TEST(BoundedPartitions, EncloseTheBestWhereSinksShare) {
  std::size_t found = 0, best = 0;
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    Random random(seed);
    test::ProgramKind kind;
    kind.kernels = 1 + test::below(random, 9);
    kind.density = 5 + 10 * test::below(random, 3);
    kind.kernel_classes = 3;
    kind.cycles = test::once_in(random, 6);
    const ChipProgram program = test::random_program(random, kind);
    const unsigned partitions =
        test::once_in(random, 2) ? 0 : 1 + static_cast<unsigned>(test::below(random, 4));
    const auto expected = exact(program, partitions);
    const BoundedPath got = bounded_partitions(program, partitions, 0);
    if (!expected) {
      ASSERT_FALSE(got.path) << "seed " << seed;
      continue;
    }
    ASSERT_LE(got.bound_s, expected->time_s) << "seed " << seed;
    if (!got.path) continue;
    ++found;
    best += got.path->time_s == expected->time_s;
    ASSERT_GE(got.path->time_s, expected->time_s) << "seed " << seed;
    ASSERT_EQ(test::time_by_definition(program, got.path->partitions), got.path->time_s)
        << "seed " << seed;
    if (partitions != 0) {
      ASSERT_LE(got.path->partitions.size(), partitions) << "seed " << seed;
    }
  }
  EXPECT_GT(found, 700U);
  EXPECT_GT(best, found / 2);
}

TEST(BoundedPartitions, HoldEverythingInOneWhereOneIsAllowed) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    ChipProgram program = random_sinks(random, false);
    program.sram_bytes = program.live_bytes = INFINITY;
    const BoundedPath got = bounded_partitions(program, 1, 0);
    ASSERT_TRUE(got.path) << "seed " << seed;
    EXPECT_EQ(got.path->partitions.size(), 1U);
    EXPECT_EQ(got.path->time_s, exact(program, 1)->time_s) << "seed " << seed;
  }
}

}  // namespace
}  // namespace flopcast::mapping
