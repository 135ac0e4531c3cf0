#include "whatif/durations/chip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/numeric/sequence_match.h"
#include "flopcast/cost/operators.h"
#include "support/shared_traces.h"
#include "support/trace_text.h"
#include "whatif/change/task_operators.h"

namespace flopcast::whatif {
namespace {

using test::TraceText;
using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kProduct = R"("Input Dims": [[8192, 8192], [8192, 8192]],
                                    "Input type": ["c10::BFloat16", "c10::BFloat16"])";

/// A product of 2 ms, a copy from the host of 1 ms and an addition of 0.4 ms.
TraceSet small_program(const std::string& device) {
  TraceText text;
  text.op("aten::mm", 0, 10, kProduct).launch(2, 6, 1);
  text.op("aten::copy_", 10, 20).call("cudaMemcpyAsync", 12, 16, 2);
  text.op("aten::add", 20, 30).launch(22, 26, 3);
  text.kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32", 10, 2010, 7, 1);
  text.copy("Memcpy HtoD (Pinned -> Device)", 2011, 3011, 7, 2, 1 << 24);
  text.kernel("void at::native::vectorized_elementwise_kernel<4, Add>(int)", 3012, 3412, 7, 3);
  TraceSet set = text.read();
  if (!device.empty()) set.traces.front().devices.push_back({0, device, 132, 0});
  return set;
}
WhatIfAnswer ask(TraceSet set, const char* chip) {
  const Result<WhatIf> whatif = WhatIf::of(std::make_shared<const TraceSet>(std::move(set)));
  WhatIfChanges changes;
  changes.chip = chip;
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text());
  return answer ? *answer : WhatIfAnswer{};
}

TEST(ChipOfDevice, AsProfilersNameThem) {
  const auto name = [](const char* device) {
    const auto chip = chip_of_device(device, Catalog::builtin());
    return chip ? chip->name : "";
  };
  EXPECT_EQ(name("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(name("NVIDIA H200"), "h200-sxm");
  EXPECT_EQ(name("Tesla V100-SXM2-32GB"), "v100-sxm2-32g");
  EXPECT_EQ(name("NVIDIA A100-SXM4-80GB"), "a100-sxm-80g");
  EXPECT_EQ(name("AMD Instinct MI300X VF"), "mi300x");
  EXPECT_EQ(name("NVIDIA L4"), "l4");
  for (const char* other : {"NVIDIA L40", "NVIDIA A4000", "NVIDIA H100", "NVIDIA GeForce 256", ""})
    EXPECT_EQ(name(other), "") << other;
}

// The worked example of docs/theory/whatif.md: floors and rates of two classes, and a copy that
// stays.
TEST(OnAnotherChip, ClassByClass) {
  const WhatIfAnswer answer = ask(small_program("NVIDIA H100 80GB HBM3"), "mi300x");
  ASSERT_TRUE(answer.refused.empty());
  const auto part = [&](const char* name) {
    for (const WhatIfPart& one : answer.parts) {
      if (one.part == name) return one.after.seconds() * 1e6;
    }
    return -1.0;
  };
  EXPECT_NEAR(part("gemm"), 2788, 2);
  EXPECT_NEAR(part("copies"), 1000, 0.001);
  EXPECT_NEAR(part("other_kernels"), 288, 0.5);
  EXPECT_LT(answer.band.low, answer.after);
  EXPECT_GT(answer.band.high, answer.after);
  const bool host_told =
      std::any_of(answer.notes.begin(), answer.notes.end(), [](const WhatIfNote& n) {
        return n.what.find("the host, as recorded on h100-sxm") != std::string::npos;
      });
  EXPECT_TRUE(host_told);
}

TEST(OnAnotherChip, TheSameChipChangesNothing) {
  const WhatIfAnswer answer = ask(small_program("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(answer.before, answer.after);
}

TEST(OnAnotherChip, RefusesWithoutTheRecordingsChip) {
  const WhatIfAnswer nameless = ask(small_program(""), "h200");
  ASSERT_THAT(nameless.refused, SizeIs(1));
  EXPECT_THAT(nameless.refused[0].missing, HasSubstr("does not name its GPU"));
  const WhatIfAnswer strange = ask(small_program("Abacus 1"), "h200");
  ASSERT_THAT(strange.refused, SizeIs(1));
  EXPECT_THAT(strange.refused[0].missing, HasSubstr("Abacus 1"));
}

TEST(OnAnotherChip, RefusesKernelsOfWhichNothingIsKnown) {
  TraceText text;
  text.launch(2, 6, 1).kernel("my_kernel", 10, 2010, 7, 1);
  TraceSet set = text.read();
  set.traces.front().devices.push_back({0, "NVIDIA H100 80GB HBM3", 132, 0});
  const WhatIfAnswer answer = ask(std::move(set), "mi300x");
  ASSERT_THAT(answer.refused, SizeIs(1));
  EXPECT_THAT(answer.refused[0].missing, HasSubstr("my_kernel"));
}

TEST(OnAnotherChip, AnUnknownChipIsAMistake) {
  const Result<WhatIf> whatif =
      WhatIf::of(std::make_shared<const TraceSet>(small_program("NVIDIA H100 80GB HBM3")));
  WhatIfChanges changes;
  changes.chip = "h1000";
  const Result<WhatIfAnswer> answer = whatif->ask(changes);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
}

// --- Four models recorded on both chips ------------------------------------------------------------

struct RecordedPair {
  const char* model;
  const char* path;  ///< with {} for the chip
};
constexpr RecordedPair kPairs[] = {
    {"bert", "traces/single_gpu_h100_mi300/{}_gaunernst_bert-small-uncased__1016001.json.gz"},
    {"qwen", "traces/single_gpu_h100_mi300/{}_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"},
    {"vit", "traces/gpu_pairs_h100_mi300/{}_Falconsai_nsfw_image_detection__1016002.json.gz"},
    {"timesformer",
     "traces/gpu_pairs_h100_mi300/{}_facebook_timesformer-base-finetuned-k400__1016002.json.gz"}};

std::filesystem::path path_of(const RecordedPair& pair, const char* chip) {
  return test::shared_path(fmt::format(fmt::runtime(pair.path), chip));
}

TEST(OnAnotherChip, StepsOfModelsRecordedOnBoth) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces/gpu_pairs_h100_mi300");
  for (const RecordedPair& pair : kPairs) {
    const Result<WhatIf> nvidia = WhatIf::open({path_of(pair, "h100")});
    const Result<WhatIf> amd = WhatIf::open({path_of(pair, "mi300")});
    WhatIfChanges to_amd, to_nvidia;
    to_amd.chip = "mi300x";
    to_nvidia.chip = "h100";
    const WhatIfAnswer there = *nvidia->ask(to_amd), back = *amd->ask(to_nvidia);
    EXPECT_NEAR(there.after.seconds() / back.before.seconds(), 1, 0.15) << pair.model;
    EXPECT_NEAR(back.after.seconds() / there.before.seconds(), 1, 0.15) << pair.model;
    EXPECT_LE(there.band.low, back.before) << pair.model;
    EXPECT_GE(there.band.high, back.before) << pair.model;
    EXPECT_LE(back.band.low, there.before) << pair.model;
    EXPECT_GE(back.band.high, there.before) << pair.model;
  }
}

/// Operators that launched something, in the order of their calls, with the time of what they launched.
struct Launched {
  std::uint32_t row = 0, task = 0;  ///< task: the longest
  Time time;
  Time low, high, forecast;
};
std::vector<Launched> launched(const TraceSet& set, const replaying::RankModel& rank,
                               const ChipRatios& ratios) {
  const TaskOperators operators(set, rank);
  std::map<std::uint32_t, Launched> by_row;
  for (std::uint32_t t = 0; t < rank.gpu.size(); ++t) {
    const std::uint32_t call = rank.gpu[t].call;
    if (call == replaying::kNoIndex || rank.calls[call].op == replaying::kNoIndex) continue;
    if (rank.trace->events.category[rank.gpu[t].row] != Category::kKernel) continue;
    Launched& one = by_row[rank.calls[call].op];
    const Time time = rank.gpu[t].end - rank.gpu[t].start;
    const MovedTime moved = ratios.time(operators.kernel(t), Seconds{time.seconds()});
    const auto of = [](Seconds s) { return Time{std::llround(s.value * 1e12)}; };
    one.row = rank.calls[call].op;
    one.time += time;
    one.low += of(moved.low);
    one.high += of(moved.high);
    one.forecast += of(moved.time);
  }
  std::vector<Launched> out;
  for (const auto& [row, one] : by_row) out.push_back(one);
  return out;
}

TEST(OnAnotherChip, BandsHoldTheOperatorsOfModelsRecordedOnBoth) {
  FLOPCAST_SHARED_OR_SKIP(folder, "traces/gpu_pairs_h100_mi300");
  const Catalog& catalog = Catalog::builtin();
  const Chip chips[] = {*catalog.chip("h100"), *catalog.chip("mi300x")};
  const Result<ChipRatios> ratios[] = {ChipRatios::make(chips[0], chips[1], catalog),
                                       ChipRatios::make(chips[1], chips[0], catalog)};
  for (const RecordedPair& pair : kPairs) {
    const Result<TraceSet> sets[] = {read_traces({path_of(pair, "h100")}),
                                     read_traces({path_of(pair, "mi300")})};
    Replay notes;
    std::vector<Launched> sides[2];
    std::vector<std::uint32_t> names[2];
    std::map<std::string_view, std::uint32_t> ids;
    for (int side = 0; side < 2; ++side) {
      const replaying::Recording recording = replaying::make_recording(*sets[side], 1, notes);
      const replaying::RankModel& rank = recording.ranks.front();
      sides[side] = launched(*sets[side], rank, *ratios[side]);
      for (const Launched& one : sides[side]) {
        const std::string_view name = sets[side]->strings[rank.trace->events.name[one.row]];
        names[side].push_back(
            ids.try_emplace(name, static_cast<std::uint32_t>(ids.size())).first->second);
      }
    }
    std::size_t held[2] = {0, 0};
    const auto matched = match_sequences(names[0], names[1]);
    ASSERT_GE(matched.size(), 50U) << pair.model;
    for (const auto& match : matched) {
      const Launched& a = sides[0][match.first];
      const Launched& b = sides[1][match.second];
      held[0] += a.low <= b.time && b.time <= a.high ? 1 : 0;
      held[1] += b.low <= a.time && a.time <= b.high ? 1 : 0;
    }
    for (const std::size_t count : held) {
      EXPECT_GE(static_cast<double>(count), 0.8 * static_cast<double>(matched.size()))
          << pair.model;
    }
  }
}

}  // namespace
}  // namespace flopcast::whatif
