// Transfers from the network model, on a run of two ranks with one all-reduce of 4,000 bytes.
#include <gtest/gtest.h>

#include <cmath>

#include "flopcast/network/collectives.h"
#include "flopcast/replay.h"
#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

using test::TraceText;

TraceSet run_with(std::string_view operation) {
  TraceText text;
  for (int r = 0; r < 2; ++r) {
    text.rank(r);
    text.step(1, 0, 900);
    text.launch(10, 15, 1).kernel("gemm", 20, r == 0 ? 220 : 280, 7, 1);
    text.launch(30, 35, 2).collective(r == 0 ? 222 : 282, 400, 7, 2, 1, "0", operation);
    text.call("cudaDeviceSynchronize", 80, 405);
  }
  return text.read();
}

CollectiveModel model_of(const char* cluster) {
  const Catalog& catalog = Catalog::builtin();
  Result<CollectiveModel> model = CollectiveModel::make(*catalog.cluster(cluster));
  EXPECT_TRUE(model.ok());
  return std::move(*model);
}

Result<Replay> replayed(const TraceSet& set, const CollectiveModel& model) {
  ReplayOptions options;
  options.network = &model;
  options.network_name = "made";
  return replay(set, options);
}

TEST(NetworkTimes, TransfersAreTheModelsAndWaitsStayTheRuns) {
  const TraceSet set = run_with("allreduce");
  const CollectiveModel model = model_of("2 x dgx-h100");
  const Result<Replay> with = replayed(set, model);
  ASSERT_TRUE(with.ok()) << with.error().text();
  ASSERT_TRUE(with->network.has_value());
  ASSERT_EQ(with->network->operations.size(), 1U);
  const NetworkUse::Operation& operation = with->network->operations[0];
  EXPECT_EQ(operation.name, "all_reduce");
  EXPECT_EQ(operation.collectives, 1U);
  EXPECT_EQ(operation.kept, 0U);
  EXPECT_EQ(operation.recorded, Time::from_us(2 * 118));

  CollectiveQuery query;
  query.size = Bytes{4000};
  query.ranks = {0, 1};
  const double expected_us = model.time(query)->time.value * 1e6;
  for (const CollectiveInstance::Member& m : with->collectives.at(0).members) {
    EXPECT_NEAR(m.replayed_transfer.us(), expected_us, 1e-3);
  }
  EXPECT_NEAR(operation.modelled.us(), 2 * expected_us, 1e-3);
}

TEST(NetworkTimes, UnknownOperationsKeepTheirRecordedTransfer) {
  const TraceSet set = run_with("my_exchange");
  const CollectiveModel model = model_of("2 x dgx-h100");
  const Result<Replay> with = replayed(set, model);
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->network->operations.at(0).kept, 1U);
  EXPECT_EQ(with->network->operations[0].kept_because, "operation unknown");
  EXPECT_EQ(with->collectives.at(0).members.at(0).replayed_transfer, Time::from_us(118));
}

TEST(NetworkTimes, AClusterTooSmallForTheRunIsRefused) {
  const TraceSet set = run_with("allreduce");
  const CollectiveModel model = model_of("1 x h100");
  const Result<Replay> with = replayed(set, model);
  ASSERT_FALSE(with.ok());
  EXPECT_EQ(with.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace flopcast::replaying
