#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "live/engine/pricing/kernels.h"
#include "live/engine/pricing/transfers.h"

namespace flopcast::live {
namespace {

constexpr std::int64_t kMega = 1 << 20;

Transfers on(const std::string& cluster) {
  return std::move(
      *Transfers::make(*Machine::make(*Catalog::builtin().cluster(cluster), Catalog::builtin())));
}

double model_seconds(const std::string& cluster, CollectiveOp op, std::int64_t bytes,
                     std::vector<std::uint32_t> ranks) {
  const auto model = CollectiveModel::make(*Catalog::builtin().cluster(cluster));
  CollectiveQuery query;
  query.op = op;
  query.size = Bytes{static_cast<double>(bytes)};
  query.ranks = std::move(ranks);
  return model->time(query)->time.value;
}

TEST(LiveTransfers, AloneTheyTakeWhatTheModelOfCollectivesSays) {
  for (const std::int64_t bytes : {std::int64_t{8}, 64 * kMega, 1024 * kMega}) {
    Transfers transfers = on("2 x dgx-h100");
    const Transfer what{Collective::kAllReduce, bytes, {0, 1, 2, 3, 8, 9, 10, 11}};
    ASSERT_FALSE(transfers.begin(1, what, Time::from_us(7)));
    const double expected =
        model_seconds("2 x dgx-h100", CollectiveOp::kAllReduce, bytes, {0, 1, 2, 3, 8, 9, 10, 11});
    const double took = (*transfers.next_end() - Time::from_us(7)).seconds();
    EXPECT_NEAR(took / expected, 1.0, 1e-3) << bytes;
  }
}

TEST(LiveTransfers, TwoOverTheSameLinksTakeLonger) {
  Transfers transfers = on("2 x dgx-h100");
  const Transfer what{Collective::kSend, 256 * kMega, {0, 8}};
  ASSERT_FALSE(transfers.begin(1, what, Time{}));
  const Time alone = *transfers.next_end();
  ASSERT_FALSE(transfers.begin(2, what, Time{}));
  EXPECT_GT(transfers.next_end()->seconds(), 1.8 * alone.seconds());
  const auto ended = transfers.advance(*transfers.next_end());
  EXPECT_EQ(ended.size(), 2u);
  EXPECT_FALSE(transfers.next_end());
}

TEST(LiveTransfers, ThoseBesideOneTakeLinksAsIfTheyWereThere) {
  const Transfer what{Collective::kSend, 256 * kMega, {0, 8}, {{0, 8}, {0, 8}}};
  Transfers folded = on("2 x dgx-h100"), whole = on("2 x dgx-h100");
  ASSERT_FALSE(folded.begin(1, what, Time{}));
  for (std::uint64_t one = 1; one < 4; ++one)
    ASSERT_FALSE(whole.begin(one, {Collective::kSend, 256 * kMega, {0, 8}}, Time{}));
  EXPECT_EQ(folded.next_end(), whole.next_end());
  EXPECT_EQ(folded.advance(*folded.next_end()).size(), 1u);  // nobody asks for the others
  EXPECT_FALSE(folded.next_end());
}

TEST(LiveTransfers, ALaterBeginningIsPutBeforeAnEndThatWasForeseen) {
  Transfers transfers = on("2 x dgx-h100");
  const Transfer what{Collective::kSend, 256 * kMega, {0, 8}};
  ASSERT_FALSE(transfers.begin(1, what, Time{}));
  const Time alone = *transfers.next_end();
  const Time half{alone.ps / 2};
  EXPECT_TRUE(transfers.advance(half).empty());
  ASSERT_FALSE(transfers.begin(2, what, half));
  EXPECT_NEAR(transfers.next_end()->seconds() / alone.seconds(), 1.5, 0.05);
}

/// Others can only take links away from it, however its own flows share theirs.
RC_GTEST_PROP(LiveTransfersProperty, NoneTakesLessThanHalfOfWhatItTakesAlone, ()) {
  Transfers transfers = on("2 x dgx-h100");
  std::map<std::uint64_t, Time> least;
  Time now;
  const auto end_by = [&](Time until) {
    for (const auto& [transfer, end] : transfers.advance(until))
      RC_ASSERT(end >= least.at(transfer));
  };
  const auto count = *rc::gen::inRange<std::uint64_t>(2, 12);
  for (std::uint64_t one = 1; one <= count; ++one) {
    const auto op = static_cast<Collective>(*rc::gen::inRange(0, 10));
    std::vector<std::int32_t> ranks = *rc::gen::unique<std::vector<std::int32_t>>(
        *rc::gen::inRange<std::size_t>(2, 10), rc::gen::inRange(0, 16));
    if (op == Collective::kSend || op == Collective::kReceive) ranks.resize(2);
    const Transfer what{op, *rc::gen::inRange<std::int64_t>(1, 64 * kMega), ranks};
    now = now + Time::from_us(*rc::gen::inRange(0, 400));
    end_by(now);
    least[one] = now + Time{transfers.alone(what).ps / 2};
    RC_ASSERT(!transfers.begin(one, what, now));
  }
  while (const std::optional<Time> end = transfers.next_end()) end_by(*end);
}

TEST(LiveTransfers, ARankAloneHasNothingToSend) {
  Transfers transfers = on("dgx-h100");
  ASSERT_FALSE(transfers.begin(1, {Collective::kAllReduce, kMega, {3}}, Time::from_us(5)));
  EXPECT_EQ(transfers.next_end(), Time::from_us(5));
}

KernelPrices prices_of(const std::string& chip) {
  return KernelPrices(std::move(*Machine::of(*Catalog::builtin().chip(chip), Catalog::builtin())));
}

TEST(LiveKernels, KnownSignaturesAreWhatTheCostModelPrices) {
  KernelPrices prices = prices_of("h100");
  const auto model = KernelModel::make(*Catalog::builtin().chip("h100"), Catalog::builtin());
  Gemm gemm;
  gemm.m = 8192;
  gemm.n = 4096;
  gemm.k = 1024;
  EXPECT_EQ(prices.price("gemm bf16 8192 4096 1024 1 aten::mm", 1).ps,
            std::llround(model->time(gemm).time.value * 1e12));
  Attention attention;
  attention.batch = 2;
  attention.query_length = attention.kv_length = 4096;
  attention.heads = 32;
  attention.kv_heads = 8;
  attention.backward = true;
  EXPECT_EQ(prices.price("attention bf16 2 4096 4096 32 8 128 1 1 flash", 1).ps,
            std::llround(model->time(attention).time.value * 1e12));
}

TEST(LiveKernels, PyTorchsOwnAttentionHasItsOwnRate) {
  KernelPrices alone = prices_of("h100");
  KernelPrices slower(std::move(*Machine::of(*Catalog::builtin().chip("h100"), Catalog::builtin())),
                      {}, {0.5, 1});
  const auto call = [](const std::string& kernel) {
    return "operator aten::_flash_attention_forward bf16:1x4096x32x128*3 bf16:1x4096x32x128 1000 " +
           kernel;
  };
  const std::string own = call("_ZN13pytorch_flash16flash_fwd_kernelE"), other = call("fmha_sm90");
  EXPECT_NEAR(static_cast<double>(slower.price(own, 1).ps),
              2.0 * static_cast<double>(alone.price(own, 1).ps), 2);
  EXPECT_EQ(slower.price(other, 1), alone.price(other, 1));
}

TEST(LiveKernels, OneThatOnlyWaitsTakesItsCycles) {
  KernelPrices prices = prices_of("h100");
  EXPECT_NEAR(prices.price("spin 1980000000 spin_kernel", 1).seconds(), 1, 1e-3);
  EXPECT_NEAR(prices.price("spin 198000000 spin_kernel", 1).seconds(), 0.1, 1e-4);
  EXPECT_GT(prices.price("spin 0 spin_kernel", 1), Time{});
  EXPECT_TRUE(prices.unknown().empty());
}

TEST(LiveKernels, NothingIsFreeAndTheUnknownIsCounted) {
  KernelPrices prices = prices_of("h100");
  const Time small = prices.price("kernel mystery", 256);
  const Time large = prices.price("kernel mystery", std::uint64_t{1} << 30);
  EXPECT_GT(small.ps, 0);
  EXPECT_GT(large.ps, 100 * small.ps);
  prices.price("gemm bf16 8192 4096 nonsense", 1);
  EXPECT_EQ(prices.unknown().at("mystery").priced.kernels, 2u);
  EXPECT_EQ(prices.unknown().size(), 2u);
  EXPECT_EQ(prices.by_basis().at("unknown").kernels, 3u);
}

}  // namespace
}  // namespace flopcast::live
