#include "mapping/partition/ideal_lattice.h"

#include <gtest/gtest.h>

#include "mapping/partition/testing.h"
#include "mapping/search/layer_solver.h"

namespace flopcast::mapping {
namespace {

std::size_t ideals_of(const std::vector<KernelSet>& producers) {
  const auto lattice = ideal_lattice(producers, 100'000);
  return lattice ? lattice->size() : 0;
}

TEST(IdealLattice, CountsChainsAndAntichains) {
  std::vector<KernelSet> chain(200), antichain(12);
  for (std::size_t i = 1; i < chain.size(); ++i) chain[i] = KernelSet::of(i - 1);
  EXPECT_EQ(ideals_of(chain), 201U);
  EXPECT_EQ(ideals_of(antichain), 4096U);
  EXPECT_EQ(ideals_of({}), 1U);
}

TEST(IdealLattice, StopsWhereThereAreTooMany) {
  const std::vector<KernelSet> antichain(12);
  EXPECT_TRUE(ideal_lattice(antichain, 4096));
  EXPECT_FALSE(ideal_lattice(antichain, 4095));
}

TEST(IdealLattice, HasEveryClosedSetOnceAndItsCovers) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::Random random(seed);
    test::ProgramKind kind;
    kind.kernels = 1 + test::below(random, 9);
    const ChipProgram program = test::random_program(random, kind);
    const auto closed = [&](unsigned set) {
      for (std::size_t i = 0; i < kind.kernels; ++i) {
        if ((set >> i & 1) != 0 && (program.producers[i].words[0] & ~set) != 0) return false;
      }
      return true;
    };
    const auto lattice = ideal_lattice(program.producers, 1'000);
    ASSERT_TRUE(lattice);
    std::size_t expected = 0, covers = 0;
    for (unsigned set = 0; set < 1U << kind.kernels; ++set) {
      if (!closed(set)) continue;
      ++expected;
      for (std::size_t i = 0; i < kind.kernels; ++i) {
        covers += (set >> i & 1) == 0 && closed(set | 1U << i);
      }
    }
    ASSERT_EQ(lattice->size(), expected) << "seed " << seed;
    ASSERT_EQ(lattice->covers.size(), covers) << "seed " << seed;
    for (std::size_t i = 0; i < lattice->size(); ++i) {
      ASSERT_TRUE(closed(static_cast<unsigned>(lattice->ideals[i].words[0])));
      for (const IdealLattice::Cover& cover : lattice->covers_of(i)) {
        ASSERT_GT(cover.ideal, i);
        KernelSet larger = lattice->ideals[i];
        larger.add(cover.kernel);
        ASSERT_EQ(lattice->ideals[cover.ideal], larger);
      }
    }
  }
}

GraphPasses passes_of(const char* workload, bool mix_passes, std::int64_t unroll = 1) {
  MappingSearch search;
  search.mix_passes = mix_passes;
  DataflowOptions options;
  options.unroll = unroll;
  const Result<DataflowWorkload> loaded = load_dataflow(workload, options);
  EXPECT_TRUE(loaded) << loaded.error().text();
  Result<GraphPasses> passes = GraphPasses::make(loaded->graph, search);
  EXPECT_TRUE(passes);
  return std::move(*passes);
}

TEST(IdealLattice, OfPublishedGraphs) {
  EXPECT_EQ(passes_of("gpt3-175b", false).ideals(), 26U);
  EXPECT_EQ(passes_of("gpt3-175b", false, 4).ideals(), 101U);
  EXPECT_EQ(passes_of("llama3-8b-dfmodel:decode", false).ideals(), 39U);
  const GraphPasses training = passes_of("gpt3-1t", false);
  EXPECT_EQ(training.lattice(0)->size(), 26U);
  EXPECT_EQ(training.lattice(1)->size(), 1146U);
  EXPECT_EQ(passes_of("gpt3-1t", true).ideals(), 7273U);
  const GraphPasses recommendation = passes_of("dlrm", false);
  EXPECT_EQ(recommendation.lattice(0)->size(), 21U);
  EXPECT_EQ(recommendation.lattice(1), nullptr);  // 3,145,726
}

}  // namespace
}  // namespace flopcast::mapping
