#include "mapping/partition/path.h"

#include <gtest/gtest.h>

#include "mapping/partition/testing.h"

namespace flopcast::mapping {
namespace {

using test::Random;

constexpr std::size_t kInstances = 10'000, kMostSequences = 2'000;

struct Tally {
  std::size_t compared = 0, fit = 0, limited = 0, several = 0;
};

IdealLattice whole_lattice(const ChipProgram& program) {
  return *ideal_lattice(program.producers, std::size_t{1} << program.size());
}

/// Half of the programs without pins have a limit too.
void compare(std::uint64_t seed, Tally& tally) {
  Random random(seed);
  test::ProgramKind kind;
  kind.kernels = 1 + test::below(random, 10);
  kind.density = 10 + 20 * test::below(random, 5);
  kind.shared = test::once_in(random, 2);
  kind.cycles = test::once_in(random, 4);
  const ChipProgram program = test::random_program(random, kind);
  const unsigned partitions =
      test::once_in(random, 2) ? 0 : 1 + static_cast<unsigned>(test::below(random, 4));
  test::Enumeration all(program, partitions);
  if (!all.run(kMostSequences)) return;
  const auto path = best_partitions(program, whole_lattice(program), partitions);
  ++tally.compared;
  ASSERT_EQ(path.has_value(), std::isfinite(all.best_s())) << "seed " << seed;
  if (!path) return;
  ++tally.fit;
  tally.limited += partitions != 0;
  tally.several += path->partitions.size() > 1;
  ASSERT_EQ(path->time_s, all.best_s()) << "seed " << seed;
  ASSERT_EQ(test::time_by_definition(program, path->partitions), path->time_s) << "seed " << seed;
  if (partitions != 0) {
    ASSERT_LE(path->partitions.size(), partitions) << "seed " << seed;
  }
}

TEST(BestPartitions, AreTheBestOfAllSequences) {
  Tally tally;
  for (std::uint64_t seed = 0; tally.compared < kInstances && !HasFatalFailure(); ++seed) {
    compare(seed, tally);
  }
  EXPECT_GT(tally.fit, kInstances / 2);
  EXPECT_GT(tally.limited, kInstances / 8);
  EXPECT_GT(tally.several, kInstances / 8);
}

/// n x n kernels of weight 1, each read by the one below and the one to the right.
ChipProgram grid(std::size_t n, double compute_s, double sram_bytes) {
  ChipProgram program;
  program.sram_bytes = sram_bytes;
  program.memory_bandwidth = 1;
  for (std::size_t i = 0; i < n * n; ++i) {
    ProgramKernel kernel;
    kernel.compute_s = compute_s;
    kernel.weight_bytes = kernel.traffic_bytes = 1;
    program.kernels.push_back(kernel);
    ProgramTensor tensor;
    tensor.producer = static_cast<std::int32_t>(i);
    tensor.bytes = 1;
    if (i + n < n * n) tensor.uses.add(i + n);
    if ((i + 1) % n != 0) tensor.uses.add(i + 1);
    if (!tensor.uses.empty()) program.tensors.push_back(tensor);
  }
  link_producers(program);
  return program;
}

TEST(BestPartitions, AGridOf64KernelsIsNotLookedAtWhole) {
  constexpr std::size_t kIdeals = 12'870;  // 16 over 8; two hundred million pairs of them fit
  const ChipProgram program = grid(8, 100, 40);
  const auto lattice = ideal_lattice(program.producers, kIdeals);
  ASSERT_TRUE(lattice);
  ASSERT_EQ(lattice->size(), kIdeals);
  const auto path = best_partitions(program, *lattice, 0);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->time_s, 64 * 100);  // with so much compute nothing else counts
  EXPECT_EQ(test::time_by_definition(program, path->partitions), path->time_s);
  EXPECT_LT(path->transitions, 10 * kIdeals);
}

TEST(BestPartitions, AGridIsCutWhereTheLeastIsOpen) {
  // All weights pass once. Two partitions of at most 24 kernels: what is open between them is
  // stored and loaded again, least along the diagonal of five.
  const ChipProgram program = grid(6, 0, 24);
  const auto path = best_partitions(program, *ideal_lattice(program.producers, 924), 0);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->time_s, 36 + 2 * 5);
  EXPECT_EQ(path->partitions.size(), 2u);
  EXPECT_EQ(test::time_by_definition(program, path->partitions), path->time_s);
}

PartitionRules rules_of(const std::vector<test::Pin>& pins) {
  PartitionRules rules;
  for (const test::Pin& pin : pins) {
    if (rules.of.size() <= pin.partition) rules.of.resize(pin.partition + 1);
    PartitionRules::Rule& rule = rules.of[pin.partition];
    (pin.forbidden ? rule.must_not : rule.must).add(pin.kernel);
    if (!pin.forbidden) rules.pinned.add(pin.kernel);
  }
  return rules;
}

TEST(BestPartitions, ObeyPins) {
  std::size_t compared = 0, fit = 0;
  for (std::uint64_t seed = 1'000'000; compared < kInstances / 5; ++seed) {
    Random random(seed);
    test::ProgramKind kind;
    kind.kernels = 2 + test::below(random, 5);
    kind.density = 50;
    const ChipProgram program = test::random_program(random, kind);
    const unsigned partitions = 1 + static_cast<unsigned>(test::below(random, 4));
    std::vector<test::Pin> pins;
    for (std::size_t i = 0; i <= test::below(random, 3); ++i) {
      pins.push_back({test::below(random, kind.kernels),
                      static_cast<unsigned>(test::below(random, partitions + 1)),
                      test::once_in(random, 2)});
    }
    test::Enumeration all(program, partitions, pins);
    if (!all.run(kMostSequences)) continue;
    ++compared;
    const auto path = best_partitions(program, whole_lattice(program), partitions, rules_of(pins));
    ASSERT_EQ(path.has_value(), std::isfinite(all.best_s())) << "seed " << seed;
    if (!path) continue;
    ++fit;
    ASSERT_EQ(path->time_s, all.best_s()) << "seed " << seed;
    ASSERT_EQ(test::time_by_definition(program, path->partitions), path->time_s);
    for (const test::Pin& pin : pins) {
      const bool there = pin.partition < path->partitions.size() &&
                         path->partitions[pin.partition].has(pin.kernel);
      ASSERT_EQ(there, !pin.forbidden) << "seed " << seed;
    }
  }
  EXPECT_GT(fit, kInstances / 20);
}

TEST(PartitionsBound, IsNeverAboveTheBest) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Random random(seed);
    test::ProgramKind kind;
    kind.kernels = 1 + test::below(random, 7);
    kind.shared = test::once_in(random, 2);
    kind.cycles = test::once_in(random, 2);
    const ChipProgram program = test::random_program(random, kind);
    const auto path = best_partitions(program, whole_lattice(program), 0);
    if (path) {
      ASSERT_LE(partitions_bound(program), path->time_s) << "seed " << seed;
    }
  }
}

TEST(OneByOne, IsTheSequenceOfLoneKernels) {
  std::size_t fit = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    Random random(seed);
    const ChipProgram program = test::random_program(random, {});
    const auto path = one_by_one(program);
    std::vector<KernelSet> alone;  // kernels of random programs are in topological order
    for (std::size_t i = 0; i < program.size(); ++i) alone.push_back(KernelSet::of(i));
    const std::optional<double> time_s = test::time_by_definition(program, alone);
    ASSERT_EQ(path.has_value(), time_s.has_value()) << "seed " << seed;
    if (!path) continue;
    ++fit;
    ASSERT_EQ(path->time_s, time_s) << "seed " << seed;
    ASSERT_EQ(path->partitions, alone) << "seed " << seed;
  }
  EXPECT_GT(fit, 300U);
}

}  // namespace
}  // namespace flopcast::mapping
