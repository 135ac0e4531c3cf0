#include "whatif/planned/told.h"

#include <gtest/gtest.h>

namespace flopcast::whatif::planned {
namespace {

std::optional<ToldTransfer> transfer(std::string_view name) {
  return told_transfer({3, Time{}, Time::from_us(7), name});
}

TEST(Told, PartsOfPasses) {
  const auto layers = told_part("weights of 20 layers");
  ASSERT_TRUE(layers);
  EXPECT_EQ(layers->what, ToldPart::What::kLayers);
  EXPECT_EQ(layers->layers, 20U);
  EXPECT_TRUE(layers->of_weights);
  EXPECT_EQ(told_part("head")->what, ToldPart::What::kHead);
  for (const char* other : {"", "layers", "-1 layers", "20 layers of", "99999999999 layers"}) {
    EXPECT_FALSE(told_part(other)) << other;
  }
}

TEST(Told, WholeTransfers) {
  const auto told = transfer("reduce: reduce_scatter of 9083027456 bytes over 32");
  ASSERT_TRUE(told);
  EXPECT_FALSE(told->gathers);
  EXPECT_EQ(told->transfer.op, CollectiveOp::kReduceScatter);
  EXPECT_EQ(told->transfer.bytes, 9083027456.0);
  EXPECT_EQ(told->transfer.ranks, 32U);
  EXPECT_DOUBLE_EQ(told->transfer.time, 7e-6);
  for (const char* other :
       {"reduce: ", "reduce: magic of 1 bytes over 2", "all_gather of 1 bytes over 2",
        "gather: all_gather of x bytes over 2", "gather: all_gather of 1 bytes over 0",
        "gather: all_gather of -1 bytes over 2"}) {
    EXPECT_FALSE(transfer(other)) << other;
  }
}

}  // namespace
}  // namespace flopcast::whatif::planned
