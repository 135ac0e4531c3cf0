// The program itself is solved by tests/python/test_mapping_milp.py.
#include "mapping/partition/mps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mapping/partition/testing.h"

namespace flopcast::mapping {
namespace {

using testing::HasSubstr;

std::vector<PassProgram> chain_of_two() {
  PassProgram pass;
  pass.program.kernels.resize(2);
  pass.program.kernels[0].compute_s = 2e-9;
  pass.program.memory_bandwidth = 1e9;
  pass.program.tensors = {{0, 8, 2e6, 3e6, KernelSet::of(1), false}};
  link_producers(pass.program);
  return {pass};
}

TEST(PartitionMps, IsTheProgramOfTwoKernels) {
  std::vector<PassProgram> passes = chain_of_two();
  passes[0].program.sram_bytes = 5e6;
  const Result<std::string> mps = partition_mps(passes, "two kernels", 2);
  ASSERT_TRUE(mps) << mps.error().text();
  EXPECT_TRUE(mps->starts_with("NAME two_kernels\nROWS\n N COST\n"));
  EXPECT_TRUE(mps->ends_with("ENDATA\n"));
  EXPECT_THAT(*mps, HasSubstr(" BV BND y0_0_0\n"));
  EXPECT_THAT(*mps, HasSubstr(" FX BND y0_1_1 1\n"));
  EXPECT_THAT(*mps, HasSubstr(" T0_0 COST 1\n"));
  EXPECT_THAT(*mps, HasSubstr(" 5\n"));  // MB of SRAM
}

TEST(PartitionMps, RefusesWhatIsNotLinear) {
  std::vector<PassProgram> passes = chain_of_two();
  passes[0].program.kernels[0].weight_bytes = 10;
  passes[0].program.sram_bytes = 9;
  const auto in_pieces = partition_mps(passes, "two", 2);
  ASSERT_FALSE(in_pieces);
  EXPECT_EQ(in_pieces.error().code, ErrorCode::kUsage);
  EXPECT_THAT(in_pieces.error().text(), HasSubstr("in pieces"));
  passes = chain_of_two();
  passes[0].program.curves.resize(2);
  const auto by_cycles = partition_mps(passes, "two", 2);
  ASSERT_FALSE(by_cycles);
  EXPECT_THAT(by_cycles.error().text(), HasSubstr("not linear"));
}

}  // namespace
}  // namespace flopcast::mapping
