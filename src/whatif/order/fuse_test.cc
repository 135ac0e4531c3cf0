#include "whatif/order/fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "whatif/testing.h"

namespace flopcast::whatif {
namespace {

using namespace replaying;
using test::TraceText;
using test::us;
using testing::HasSubstr;

std::optional<Diagnostic> fuse(ChangedRun& run, const std::string& pattern) {
  const Fuse asked{*Pattern::make(pattern, "--add")};
  return add_fusion(run, {asked, "add fuse:" + pattern}, asked);
}

/// A product, three kernels of 22 us that each work on what the one before wrote, and one of 2 us.
/// With shapes, if any: 1 MB read and written by each.
TraceText chain(const std::string& args = "") {
  TraceText text;
  text.step(1, 0, 100);
  text.op("aten::mm", 0, 10).launch(2, 6, 1).kernel("gemm", 20, 120, 7, 1);
  for (int i = 0; i < 3; ++i) {
    text.op("aten::mul", 10 * (i + 1), 10 * (i + 2), args).launch(12 + 10 * i, 16 + 10 * i, 2 + i);
    text.kernel("elementwise_mul", 120 + 22 * i, 142 + 22 * i, 7, 2 + i);
  }
  text.op("aten::fill_", 50, 60).launch(52, 56, 9).kernel("fill", 186, 188, 7, 9);
  return text;
}

TEST(WhatIfFusion, NeighboursBecomeOne) {
  ChangedRun run = run_of(chain().read());
  ASSERT_FALSE(fuse(run, "elementwise"));
  ASSERT_TRUE(run.refused.empty());
  const Durations::Rank& rank = run.durations.ranks[0];
  // What the quickest kernel takes, 2 us, is paid once: 2 + 3 x 20.
  EXPECT_EQ(rank.gpu, (std::vector<Time>{us(100), us(62), us(0), us(0), us(2)}));
  Time host;
  for (const Time piece : rank.piece[0]) host += piece;
  for (const Time gap : rank.gap[0]) host += gap;
  EXPECT_EQ(host, us(60 - 2 * 10));  // two operators are gone, with their launches
}

TEST(WhatIfFusion, WhatIsWrittenBetweenThemStaysOnTheChip) {
  ChangedRun run =
      run_of(chain(R"("Input Dims": [[512, 1024]], "Input type": ["c10::BFloat16"])").read());
  ASSERT_FALSE(fuse(run, "elementwise"));
  // Three times 1 MB in and out become one: a third of 60 us, and the 2.
  EXPECT_EQ(run.durations.ranks[0].gpu[1], us(22));
}

TEST(WhatIfFusion, WhatWaitsForAnotherStreamBeginsAnew) {
  TraceText text = chain();
  text.kernel("other", 100, 140, 8, 20).op("aten::x", 60, 70).launch(62, 64, 20);
  TraceSet set = text.read();
  ChangedRun run = run_of(std::move(set));
  auto changed = std::make_shared<Recording>(*run.recording);
  std::vector<std::uint32_t> kernels;  // elementwise_mul, by start
  const Events& events = run.set->traces[0].events;
  for (std::uint32_t t = 0; t < changed->ranks[0].gpu.size(); ++t) {
    if (run.set->strings[events.name[changed->ranks[0].gpu[t].row]] == "elementwise_mul")
      kernels.push_back(t);
  }
  ASSERT_EQ(kernels.size(), 3U);
  GpuEdge edge;
  edge.source = kernels[0] == 0 ? 1 : 0;
  edge.target = kernels[1];
  changed->cross_stream[0].edges.push_back(edge);
  run.recording = changed;
  ASSERT_FALSE(fuse(run, "elementwise"));
  EXPECT_EQ(run.durations.ranks[0].gpu[kernels[0]], us(22));
  EXPECT_EQ(run.durations.ranks[0].gpu[kernels[1]], us(42));
  EXPECT_EQ(run.durations.ranks[0].gpu[kernels[2]], us(0));
}

TEST(WhatIfFusion, WithoutNeighboursThereIsNothingToFuse) {
  ChangedRun run = run_of(chain().read());
  ASSERT_FALSE(fuse(run, "gemm|fill"));
  ASSERT_EQ(run.refused.size(), 1U);
  EXPECT_THAT(run.refused[0].missing, HasSubstr("neighbours"));
}

}  // namespace
}  // namespace flopcast::whatif
