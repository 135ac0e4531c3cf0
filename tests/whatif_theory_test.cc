// The worked example of docs/theory/whatif.md, "Scaling, the network, stragglers, the host".
#include <gtest/gtest.h>

#include <memory>

#include "flopcast/whatif.h"
#include "support/trace_text.h"

namespace flopcast {
namespace {

using test::us;

/// Three ranks, two steps of a matrix product and an all-reduce, all launched early. Products take
/// 100, 100 and 140 us, transfers 20.
WhatIf three_ranks() {
  test::TraceText text;
  for (int rank = 0; rank < 3; ++rank) {
    text.rank(rank).step(1, 0, 5).step(2, 5, 10);
    const double product = rank == 2 ? 140 : 100;
    for (int step = 0; step < 2; ++step) {
      const double call = 5.0 * step, start = 10 + 160.0 * step;
      const std::int64_t id = 10 + 2 * step;
      text.launch(call + 1, call + 2, id).launch(call + 3, call + 4, id + 1);
      text.kernel("gemm", start, start + product, 7, id);
      text.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  start + product, start + 160, 7, id + 1,
                  R"("Collective name": "allreduce", "dtype": "Float", "Process Group Name": "0",
                     "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 3,
                     "Process Group Ranks": "[0, 1, 2]", "Seq": )" +
                      std::to_string(step + 1));
    }
  }
  return std::move(*WhatIf::of(std::make_shared<const TraceSet>(text.read())));
}

/// The second step, which begins where the first one's GPU work ends.
WhatIfAnswer ask(WhatIfChanges changes) {
  changes.steps = {"ProfilerStep#2"};
  return *three_ranks().ask(changes);
}

TEST(WhatIfTheory, StepIsTheLongestProductAndTheTransfer) {
  const WhatIfAnswer answer = ask({});
  EXPECT_EQ(answer.before, us(160));
  EXPECT_EQ(answer.after, us(160));
}

TEST(WhatIfTheory, HalfOfTheProductsIsNotHalfOfTheStep) {
  WhatIfChanges changes;
  changes.scale = {{"kernel:gemm", 0.5}};
  EXPECT_EQ(ask(changes).after, us(90));
}

TEST(WhatIfTheory, StragglerTakesAsLongAsItsEquals) {
  WhatIfChanges changes;
  changes.remove = {"straggler:2"};
  EXPECT_EQ(ask(changes).after, us(120));
}

TEST(WhatIfTheory, TransfersAreScaledAndWaitingIsNot) {
  WhatIfChanges changes;
  changes.scale = {{"collective:all_reduce", 0.5}};
  EXPECT_EQ(ask(changes).after, us(150));
}

TEST(WhatIfTheory, CausesShareAGain) {
  WhatIfChanges changes;
  changes.remove = {"straggler:2"};
  changes.scale = {{"kernel:gemm", 0.5}};
  const WhatIfAnswer answer = ask(changes);
  EXPECT_EQ(answer.after, us(70));
  ASSERT_EQ(answer.causes.size(), 2u);
  EXPECT_EQ(answer.causes[0].change, "remove straggler:2");
  EXPECT_EQ(answer.causes[0].forwards, us(-40));
  EXPECT_EQ(answer.causes[0].backwards, us(-20));
  EXPECT_EQ(answer.causes[1].forwards, us(-50));
  EXPECT_EQ(answer.causes[1].backwards, us(-50));
}

}  // namespace
}  // namespace flopcast
