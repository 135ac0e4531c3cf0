#include <fmt/format.h>
#include <gtest/gtest.h>

#include "flopcast/trace.h"
#include "flopcast/whatif/model.h"
#include "support/shared_traces.h"

namespace flopcast {
namespace {

struct Modelled {
  TraceSet set;
  replaying::Recording recording;
  TraceModel model;
};

Modelled model_of(Result<TraceSet> read) {
  EXPECT_TRUE(read.ok()) << read.error().text();
  Modelled m{std::move(*read), {}, {}};
  Replay notes;
  m.recording = replaying::make_recording(m.set, 1, notes);
  m.model = make_trace_model(m.set, m.recording);
  return m;
}

/// Writes a made-up recording of one rank, kernel by kernel.
class MadeUp {
 public:
  /// A host operator of this thread, around the launches that follow until close().
  void open(const std::string& name, int thread, int number, bool gradient) {
    open_ = fmt::format(
        R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":1,"tid":{},"ts":{},"dur":DUR,"args":{{)"
        R"("Sequence number":{},"Fwd thread id":{},"Input Dims":[[4,4]]}}}},)",
        name, thread, now_, number, gradient ? 1 : 0);
    thread_ = thread;
    began_ = now_++;
  }
  void close() {
    const std::string length = std::to_string(++now_ - began_);
    open_.replace(open_.find("DUR"), 3, length);
    rows_ += open_;
    ++now_;
  }
  void kernel(const std::string& name, int us = 5, int stream = 7) {
    gpu_ = std::max(gpu_, now_ + 3);
    rows_ += fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{},"ts":{},)"
        R"("dur":2,"args":{{"correlation":{}}}}},)",
        thread_, now_, ++correlation_);
    rows_ += fmt::format(
        R"({{"ph":"X","cat":"kernel","name":"{}","pid":0,"tid":{},"ts":{},"dur":{},"args":{{)"
        R"("correlation":{},"stream":{},"device":0,"grid":[8,1,1],"block":[128,1,1]}}}},)",
        name, stream, gpu_, us, correlation_, stream);
    gpu_ += us + 1;
    now_ += 3;
  }
  /// A row of Python's around everything since `from`.
  void module(const std::string& name, int from) {
    rows_ += fmt::format(
        R"({{"ph":"X","cat":"python_function","name":"nn.Module: {}","pid":1,"tid":1,"ts":{},"dur":{}}},)",
        name, from, now_ - from);
  }
  int now() const { return now_; }
  void wait(int us) { now_ += us; }
  std::string text() const {
    return "{\"traceEvents\":[" + rows_ +
           R"({"ph":"X","cat":"Trace","name":"window","pid":"Spans","tid":"x","ts":0,"dur":1}]})";
  }
  TraceSet read() const {
    Result<TraceSet> set = read_trace_text(text());
    EXPECT_TRUE(set.ok());
    return std::move(*set);
  }

 private:
  std::string rows_, open_;
  int now_ = 100, gpu_ = 0, began_ = 0, thread_ = 1, correlation_ = 0;
};

/// Two layers of two kernels-with-products each, an embedding and a head; forward and backward.
enum class Drift { kNone, kKernels, kOperators };  ///< what differs from layer to layer

void make_step(MadeUp& run, int& number, int layers, Drift drift) {
  std::vector<std::pair<std::string, int>> made;
  const auto forward = [&](const std::string& kernel) {
    run.open(drift == Drift::kOperators ? "aten::" + kernel : "aten::op", 1, number, false);
    run.kernel(kernel);
    run.close();
    made.emplace_back(kernel, number++);
  };
  forward("embed");
  for (int layer = 0; layer < layers; ++layer) {
    forward("norm");
    forward("gemm_qkv");
    forward(drift != Drift::kNone && layer > 0 ? fmt::format("gemm_{}", layer) : "gemm_out");
    forward("add");
  }
  forward("gemm_head");
  run.wait(100);
  for (auto it = made.rbegin(); it != made.rend(); ++it) {
    run.open("autograd::engine::evaluate_function: X", 2, it->second, true);
    run.kernel(it->first + "_backward");
    run.close();
  }
  run.wait(100);
}

const ModelUnit* unit_of(const ModelStage& stage, Pass pass, UnitPart part) {
  for (const ModelUnit& unit : stage.units) {
    if (unit.pass == pass && unit.part == part) return &unit;
  }
  return nullptr;
}

// The worked example of docs/theory/whatif.md: two layers, two microbatches.
TEST(TraceModel, TwoLayersTwoMicrobatches) {
  MadeUp run;
  int number = 1;
  make_step(run, number, 2, Drift::kNone);
  make_step(run, number, 2, Drift::kNone);
  const Modelled m = model_of(run.read());
  EXPECT_EQ(m.model.layers, 2U) << m.model.layer_evidence;
  EXPECT_EQ(m.model.microbatches, 2U);
  EXPECT_EQ(m.model.layer_evidence, "repeat of 4 kernels, 2 times");
  ASSERT_EQ(m.model.stages.size(), 1U);
  const ModelStage& stage = m.model.stages[0];
  EXPECT_EQ(stage.order, (std::vector<std::string>{"F0", "B0", "F1", "B1"}));
  const ModelUnit* forward = unit_of(stage, Pass::kForward, UnitPart::kLayer);
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->segments.size(), 4U);  // two layers of two microbatches
  ASSERT_EQ(forward->kernels.size(), 4U);
  EXPECT_EQ(m.set.strings[forward->kernels[0].name], "norm");
  EXPECT_EQ(forward->kernels[0].duration, Time::from_us(5));
  EXPECT_EQ(forward->kernels[0].launch, Time::from_us(2));
  EXPECT_EQ(forward->kernels[0].tasks.size(), 4U);
  const ModelUnit* backward = unit_of(stage, Pass::kBackward, UnitPart::kLayer);
  ASSERT_NE(backward, nullptr);
  EXPECT_EQ(backward->segments.size(), 4U);
  EXPECT_EQ(m.set.strings[backward->kernels[0].name], "add_backward");
  std::vector<std::uint32_t> layers;
  for (const std::uint32_t s : backward->segments) layers.push_back(stage.segments[s].layer);
  EXPECT_EQ(layers, (std::vector<std::uint32_t>{1, 0, 1, 0}));
  ASSERT_NE(unit_of(stage, Pass::kForward, UnitPart::kBefore), nullptr);
  ASSERT_NE(unit_of(stage, Pass::kBackward, UnitPart::kAfter), nullptr);
}

TEST(TraceModel, SegmentsOfAThreadFollowEachOtherWithoutAHole) {
  MadeUp run;
  int number = 1;
  for (int i = 0; i < 3; ++i) make_step(run, number, 3, Drift::kNone);
  const Modelled m = model_of(run.read());
  const ModelStage& stage = m.model.stages.at(0);
  std::vector<std::uint32_t> next(m.recording.ranks[0].threads.size(), 0);
  std::vector<bool> placed(m.recording.ranks[0].gpu.size(), false);
  for (const ModelSegment& segment : stage.segments) {
    EXPECT_EQ(segment.first_piece, next[segment.thread]);
    next[segment.thread] = segment.last_piece;
    const std::size_t kernels = stage.units[segment.unit].kernels.size();
    EXPECT_EQ(segment.tasks.size(), kernels);
    for (const std::uint32_t task : segment.tasks) {
      EXPECT_FALSE(placed[task]);
      placed[task] = true;
      const auto& call = m.recording.ranks[0].calls[m.recording.ranks[0].gpu[task].call];
      EXPECT_GE(call.first_piece, segment.first_piece);
      EXPECT_LT(call.last_piece, segment.last_piece);
    }
  }
  for (std::size_t t = 0; t < next.size(); ++t) {
    EXPECT_EQ(next[t], m.recording.ranks[0].threads[t].pieces.size());
  }
  EXPECT_EQ(std::count(placed.begin(), placed.end(), false), 0);
}

TEST(TraceModel, ALossThatIsReadIsNoPass) {
  MadeUp run;
  int number = 1;
  for (int i = 0; i < 3; ++i) {
    make_step(run, number, 2, Drift::kNone);
    run.open("aten::mean", 1, number, false);  // it carries the number of what comes next
    run.kernel("reduce");
    run.close();
    run.wait(50);
    run.open("aten::_fused_adam_", 1, -1, false);
    run.kernel("multi_tensor_apply_kernel<Adam>");
    run.close();
    run.wait(50);
  }
  const Modelled m = model_of(run.read());
  EXPECT_EQ(m.model.layers, 2U) << m.model.layer_evidence;
  EXPECT_EQ(m.model.microbatches, 1U);
  EXPECT_EQ(m.model.stages.at(0).steps, 3U);  // steps that nobody marked end with their optimizer
}

TEST(TraceModel, TheSameModelSeveralTimesOverHasItsLayersOnce) {
  MadeUp run;
  run.open("ProfilerStep#1", 1, -1, false);  // as files of 2021 have it
  for (int token = 0; token < 3; ++token) {
    run.kernel(fmt::format("embed_{}", token));
    for (int layer = 0; layer < 5; ++layer) {
      for (const char* name : {"norm", "gemm_qkv", "gemm_out", "add"}) run.kernel(name);
    }
    run.kernel("gemm_head");
  }
  run.close();
  const Modelled m = model_of(run.read());
  EXPECT_EQ(m.model.layers, 5U) << m.model.layer_evidence;
  EXPECT_EQ(m.model.layer_evidence, "repeat of 4 kernels, 5 times; the whole 3 times over");
}

TEST(TraceModel, ModulesTellLayersThatDoNotRepeat) {
  MadeUp run;
  run.open("ProfilerStep#1", 1, -1, false);
  run.kernel("embed");
  for (int block = 0; block < 3; ++block) {
    const int from = run.now();
    for (int i = 0; i <= block; ++i) run.kernel(fmt::format("gemm_{}_{}", block, i));
    run.module(fmt::format("Block_{}", block), from);
    run.wait(1);
  }
  run.kernel("gemm_head");
  run.close();
  const Modelled m = model_of(run.read());
  EXPECT_EQ(m.model.layers, 3U) << m.model.layer_evidence;
  EXPECT_TRUE(m.model.layer_evidence.starts_with("3 modules Block")) << m.model.layer_evidence;
  std::vector<std::size_t> sizes;
  for (const ModelSegment& segment : m.model.stages.at(0).segments) {
    if (segment.layer != replaying::kNoIndex) sizes.push_back(segment.tasks.size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 2, 3}));
}

TEST(TraceModel, LayersThatDifferAreRefusedWithTheReason) {
  MadeUp run;
  int number = 1;
  make_step(run, number, 3, Drift::kOperators);
  const Modelled m = model_of(run.read());
  EXPECT_EQ(m.model.layers, 0U);
  EXPECT_EQ(m.model.layer_evidence, "no repeat of kernels that could be layers");
  EXPECT_NE(unit_of(m.model.stages.at(0), Pass::kForward, UnitPart::kWhole), nullptr);
}

TEST(TraceModel, LayersOfOtherKernelsAreToldByTheirOperators) {
  MadeUp run;
  int number = 1;
  make_step(run, number, 3, Drift::kKernels);
  const Modelled m = model_of(run.read());
  EXPECT_EQ(m.model.layers, 3U);
  EXPECT_EQ(m.model.layer_evidence, "repeat of 4 kernels by operator, 3 times");
}

TEST(TraceModel, AnEmptyRecordingHasNone) {
  const Modelled m = model_of(read_trace_text(
      R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]})"));
  EXPECT_EQ(m.model.layers, 0U);
  EXPECT_EQ(m.model.layer_evidence, "no forward pass was found");
  EXPECT_FALSE(m.model.has_host);
}

// Steps written by `flopcast estimate --engine graph --trace-out`: a task a pass, one chip a stage.
TEST(TraceModel, PlannedStepsHaveStagesAndPassesButNoLayers) {
  const auto row = [](int rank, const char* name, int stream, int start) {
    return fmt::format(R"({{"ph":"X","cat":"kernel","name":"{}","pid":{},"tid":{},"ts":{},"dur":5,)"
                       R"("args":{{"device":0,"stream":{},"rank":{}}}}},)",
                       name, rank * 100'000'000, stream, start, stream, rank);
  };
  std::string rows;
  int now = 0;
  for (const char* name : {"forward m0", "forward m1", "backward m0", "backward m1"}) {
    rows += row(0, name, 0, now += 10);
  }
  rows += row(0, "send forward m0", 1, 15);
  rows += row(0, "send forward m1", 1, 25);
  now = 20;
  for (const char* name : {"forward m0", "backward m0", "forward m1", "backward m1"}) {
    rows += row(1, name, 0, now += 10);
  }
  rows += row(1, "send backward m0", 1, 45);
  rows += row(1, "optimizer", 0, now + 10);
  rows.pop_back();
  const Modelled m = model_of(
      read_trace_text(R"({"distributedInfo":{"world_size":2},"traceEvents":[)" + rows + "]}"));
  EXPECT_EQ(m.model.pp, 2U);
  EXPECT_EQ(m.model.microbatches, 2U);
  EXPECT_EQ(m.model.schedule, "1f1b");
  EXPECT_EQ(m.model.layers, 0U);
  ASSERT_EQ(m.model.stages.size(), 2U);
  EXPECT_EQ(m.model.stages[1].order, (std::vector<std::string>{"F0", "B0", "F1", "B1"}));
  const ModelUnit* forward = unit_of(m.model.stages[0], Pass::kForward, UnitPart::kWhole);
  ASSERT_NE(forward, nullptr);
  EXPECT_EQ(forward->segments.size(), 2U);
}

/// What is known of recorded runs, from those who published them or from their configuration.
struct Known {
  const char* path;
  std::uint32_t layers;  ///< 0: must be refused
  std::uint32_t tp, dp;
};

class RecordedModels : public testing::TestWithParam<Known> {};

TEST_P(RecordedModels, LayersAreRightOrRefused) {
  const Known& known = GetParam();
  FLOPCAST_SHARED_OR_SKIP(path, std::string("traces/") + known.path);
  const Modelled m = model_of(read_traces({path}));
  EXPECT_EQ(m.model.layers, known.layers) << m.model.layer_evidence;
  EXPECT_FALSE(m.model.layer_evidence.empty());
  EXPECT_EQ(m.model.tp, known.tp);
  EXPECT_EQ(m.model.dp, known.dp);
}

INSTANTIATE_TEST_SUITE_P(
    Sets, RecordedModels,
    testing::Values(
        Known{"megatron_tp8_a100", 40, 8, 1},
        Known{"single_gpu_h100_mi300/h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 24, 1, 1},
        Known{"single_gpu_h100_mi300/mi300_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 24, 1, 1},
        Known{"single_gpu_h100_mi300/h100_gaunernst_bert-small-uncased__1016001.json.gz", 4, 1, 1},
        Known{"single_gpu_h100_mi300/mi300_gaunernst_bert-small-uncased__1016001.json.gz", 4, 1, 1},
        Known{"gpu_pairs_h100_mi300/h100_Falconsai_nsfw_image_detection__1016002.json.gz", 12, 1,
              1},
        Known{"gpu_pairs_h100_mi300/mi300_Falconsai_nsfw_image_detection__1016002.json.gz", 12, 1,
              1},
        Known{
            "gpu_pairs_h100_mi300/mi300_facebook_timesformer-base-finetuned-k400__1016002.json.gz",
            12, 1, 1},
        Known{"graph_decode_8xh200", 61, 1, 1}, Known{"decode_kernels_8xh200/run1", 61, 1, 1},
        Known{"nanogpt_8xh100", 0, 1, 8}, Known{"dlrm_8xv100_kineto_et", 0, 1, 8},
        Known{"resnet50_1xv100/num_workers_0.json.gz", 0, 1, 1},
        Known{"cuda_sync_small/alexnet_a100.json.gz", 0, 1, 1},
        Known{"odd_derived/truncated_gzip.json.gz", 0, 1, 1},
        Known{"odd_real/sampled_rank0_of_128.json.gz", 0, 1, 1},
        Known{"odd_real/mi210_gpu_only.json.gz", 0, 1, 1},
        Known{"odd_real/cpu_only_rank34_of_300.json.gz", 0, 1, 1}));

TEST(TraceModel, OddFilesDoNoHarm) {
  for (const char* folder : {"odd_real", "odd_derived"}) {
    FLOPCAST_SHARED_OR_SKIP(path, std::string("traces/") + folder);
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      Result<TraceSet> set = read_traces({entry.path()});
      if (!set) continue;
      const Modelled m = model_of(std::move(set));
      EXPECT_FALSE(m.model.layer_evidence.empty()) << entry.path();
    }
  }
}

}  // namespace
}  // namespace flopcast
