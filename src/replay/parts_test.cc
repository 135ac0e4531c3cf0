#include "flopcast/replay/parts.h"

#include <gtest/gtest.h>

#include "flopcast/replay/recording.h"
#include "support/trace_text.h"

namespace flopcast::replaying {
namespace {

TEST(ReplayParts, EveryGpuTaskHasItsPart) {
  test::TraceText text;
  for (int r = 0; r < 2; ++r) {
    text.rank(r).op("aten::mm", 0, 20).launch(5, 10, 1).kernel("sm80_gemm_128x64", 20, 60, 7, 1);
    text.launch(30, 35, 2).collective(70, 100, 20, 2, 0);
    text.call("cudaMemcpyAsync", 40, 45, 3).copy("Memcpy DtoD", 70, 80, 7, 3, 1 << 20);
    text.launch(50, 55, 4).kernel("vectorized_elementwise_kernel", 110, 120, 7, 4);
    text.call("cudaDeviceSynchronize", 60, 125);
  }
  const TraceSet set = text.read();
  Replay notes;
  const Recording rec = make_recording(set, 1, notes);
  const Parts parts(set, rec);
  EXPECT_EQ(parts.find(Parts::kHost), Parts::kHostPart);
  EXPECT_EQ(parts.find("attention"), kNoIndex);
  for (std::uint32_t r = 0; r < 2; ++r) {
    for (std::uint32_t t = 0; t < rec.ranks[r].gpu.size(); ++t) {
      const std::string_view name =
          set.strings[rec.ranks[r].trace->events.name[rec.ranks[r].gpu[t].row]];
      const std::string& part = parts.names()[parts.of_gpu(r, t)];
      if (name.starts_with("sm80")) {
        EXPECT_EQ(part, "gemm");
      }
      if (name.starts_with("nccl")) {
        EXPECT_EQ(part, "all_reduce");
      }
      if (name.starts_with("Memcpy")) {
        EXPECT_EQ(part, "copies");
      }
      if (name.starts_with("vectorized")) {
        EXPECT_EQ(part, "other_kernels");
      }
    }
  }
}

}  // namespace
}  // namespace flopcast::replaying
