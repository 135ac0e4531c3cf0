#include "published/subramanian/operators.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "published/subramanian/layer.h"

namespace flopcast::published {
namespace {

const PaperDefects kPublished = PaperDefects::published();
const PaperDefects kRepaired = PaperDefects::repaired();

LayerShape shape_of_model(const char* name, std::int64_t microbatch, std::int64_t tp1,
                          std::int64_t tp2) {
  const PaperModel m = *paper_model(name);
  return {.sequence = m.sequence,
          .embed = m.embed,
          .heads = m.heads,
          .hidden = m.hidden,
          .microbatch = microbatch,
          .tp1 = tp1,
          .tp2 = tp2,
          .panels = 8};
}

LayerSums sums_of(PaperStrategy strategy, const LayerShape& shape, const PaperDefects& defects) {
  return layer_sums(layer_operators(strategy, shape, 8, defects));
}

TEST(PaperOperators, Gpt1THasATrillionParameters) {
  const LayerSums sums =
      sums_of(PaperStrategy::k1d, shape_of_model("gpt3_1T", 1, 1, 1), kPublished);
  EXPECT_EQ(sums.weights / 2 * 128, 1006.665728e9);
}

RC_GTEST_PROP(PaperOperators, WeightsAndActivationsHaveTheirClosedForm, ()) {
  const auto tp1 = *rc::gen::element<std::int64_t>(1, 2, 4, 8, 16, 32);
  const auto tp2 = *rc::gen::element<std::int64_t>(1, 2, 4, 8, 16);
  const auto n1 = static_cast<double>(tp1);
  const auto n2 = static_cast<double>(tp2);
  const LayerShape shape = shape_of_model("gpt3_1T", 1, tp1, tp2);
  const LayerShape flat = shape_of_model("gpt3_1T", 1, tp1, 1);
  const double e = 25600;
  const double l = 2048;
  const auto weights = [](PaperStrategy strategy, const LayerShape& s, const PaperDefects& d) {
    return sums_of(strategy, s, d).weights / 2;
  };
  // Weights in elements, activations in bytes; h heads, f = 4e, one sample.
  const double h = 160;
  const auto stored = [](PaperStrategy strategy, const LayerShape& s, const PaperDefects& d) {
    return sums_of(strategy, s, d).activations;
  };
  RC_ASSERT(stored(PaperStrategy::k1d, flat, kPublished) == l * e * (4 + 36 / n1) + 4 * h * l / n1);
  RC_ASSERT(stored(PaperStrategy::k2d, shape, kPublished) ==
            l * e / n2 * (4 + 36 / n1) + 4 * h * l / (n1 * n2));
  RC_ASSERT(stored(PaperStrategy::kSumma, shape, kPublished) ==
            (36 * l * e + 4 * l * l + 4 * h * l) / (n1 * n2));
  RC_ASSERT(stored(PaperStrategy::kSumma, shape, kRepaired) ==
            (40 * l * e + 4 * h * l) / (n1 * n2));
  RC_ASSERT(weights(PaperStrategy::k1d, flat, kPublished) == 12 * e * e / n1 + 4 * e / n1 + 6 * e);
  RC_ASSERT(weights(PaperStrategy::k2d, shape, kPublished) == 12 * e * e / n1 + 5 * e / n1 + 5 * e);
  RC_ASSERT(weights(PaperStrategy::kSumma, shape, kPublished) ==
            12 * e * e / (n1 * n2) + 6 * e / n1 + 4 * l / n1);
  RC_ASSERT(weights(PaperStrategy::kSumma, shape, kRepaired) ==
            12 * e * e / (n1 * n2) + 6 * e / n1 + 4 * e / n1);
}

// The counts of a matrix product of b rows, e -> f, outputs cut: 2bef flops forward, twice as many
// backward, up to the last additions.
TEST(PaperOperators, AMatrixProductCountsItsMultiplyAdds) {
  const Layer layer = layer_operators(PaperStrategy::k1d, shape_of_model("gpt3", 1, 4, 1), 8, {});
  const double rows = 2048;
  const double in = 12288;
  const double out = 49152 / 4.0;
  EXPECT_EQ(layer[0].name, "fc1");
  EXPECT_EQ(layer[0].forward.flops, rows * out * (2 * in - 1));
  EXPECT_EQ(layer[0].backward.flops, rows * in * (2 * out - 1) + in * out * (2 * rows - 1));
  EXPECT_EQ(layer[0].forward.bytes, 2 * (rows * in + rows * out + in * out));
  EXPECT_EQ(layer[0].forward.transfer_count, 0);
  ASSERT_EQ(layer[0].backward.transfer_count, 1);
  EXPECT_EQ(layer[0].backward.transfers[0].bytes, 2 * rows * in);
}

TEST(PaperOperators, OneGpuCommunicatesNothing) {
  for (const auto strategy : {PaperStrategy::k1d, PaperStrategy::k2d, PaperStrategy::kSumma}) {
    for (const Operator& op :
         layer_operators(strategy, shape_of_model("vit_era5", 4, 1, 1), 8, kPublished)) {
      EXPECT_EQ(op.forward.transfer_count + op.backward.transfer_count, 0) << op.name;
    }
  }
}

// Defect "biases-1d": the same layer by two routes costs the same only without it.
TEST(PaperOperators, OneRowOf2dIs1dButForReplicatedBiases) {
  const LayerShape shape = shape_of_model("gpt3_1T", 2, 8, 1);
  PaperDefects cut = kPublished;
  cut.replicated_biases_1d = false;
  const auto flops = [&](PaperStrategy strategy, const PaperDefects& defects) {
    return sums_of(strategy, shape, defects).flops;
  };
  EXPECT_GT(flops(PaperStrategy::k1d, kPublished), flops(PaperStrategy::k2d, kPublished));
  EXPECT_EQ(flops(PaperStrategy::k1d, cut), flops(PaperStrategy::k2d, cut));
}

// Each rank of a group keeps its share of the layer's flops: nothing is counted twice or lost. The
// biases that 1-D replicates are left out.
RC_GTEST_PROP(PaperOperators, RanksShareTheFlops, ()) {
  PaperDefects defects = kRepaired;
  defects.replicated_biases_1d = false;
  const auto tp1 = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  const auto tp2 = *rc::gen::element<std::int64_t>(1, 2, 4, 8);
  const auto strategy = *rc::gen::element(PaperStrategy::k2d, PaperStrategy::kSumma);
  const double whole = sums_of(strategy, shape_of_model("gpt3", 4, 1, 1), defects).flops;
  const double part = sums_of(strategy, shape_of_model("gpt3", 4, tp1, tp2), defects).flops;
  const auto ranks = static_cast<double>(tp1 * tp2);
  RC_ASSERT(std::abs(part * ranks / whole - 1) < 1e-3);
}

}  // namespace
}  // namespace flopcast::published
