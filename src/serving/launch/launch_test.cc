// Launch flags, word by word.
#include "flopcast/serving/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flopcast {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Deployment deployment_of(ServingEngine engine, const char* model, ServingLayout layout,
                         const char* precision, const char* cluster = "dgx-h100") {
  Deployment d{*load_model(model), *Catalog::builtin().cluster(cluster), layout, {}, {}};
  d.precision = *serving_precision(precision, d.model);
  d.settings = engine_defaults(engine, d.model, layout);
  d.settings.batch_tokens = 4096;
  d.settings.max_requests = 256;
  return d;
}

TEST(ServingLaunches, OfVllm) {
  Deployment d = deployment_of(ServingEngine::kVllm, "llama-3-70b", {4, 1, 1, 2}, "fp8");
  const ServingLaunch plain = launch_of(d, ServingRole::kWhole, 8192);
  EXPECT_EQ(plain.command,
            "vllm serve $MODEL --tensor-parallel-size 4 --pipeline-parallel-size 2 "
            "--max-num-batched-tokens 4096 --max-num-seqs 256 --max-model-len 8192 "
            "--gpu-memory-utilization 0.9 --kv-cache-dtype fp8");
  EXPECT_THAT(plain.checkpoint, HasSubstr("llama-3-70b with weights in fp8"));
  EXPECT_THAT(plain.lacks, IsEmpty());
  EXPECT_TRUE(plain.file.empty());

  d.settings.prefix_cache = d.settings.overlap = d.settings.chunked_prefill = false;
  d.settings.chunk_threshold = 512;
  d.settings.block = 32;
  d.settings.kv_tokens = 64000;
  d.settings.graphs = {1, 2, 4};
  d.settings.speculation = {Speculation::Kind::kMtp, 2, 1.7};
  const ServingLaunch changed = launch_of(d, ServingRole::kDecode);
  EXPECT_EQ(changed.command,
            "vllm serve $MODEL --tensor-parallel-size 4 --pipeline-parallel-size 2 "
            "--max-num-batched-tokens 4096 --max-num-seqs 256 --long-prefill-token-threshold 512 "
            "--no-enable-chunked-prefill --no-enable-prefix-caching --no-async-scheduling "
            "--cudagraph-capture-sizes 1 2 4 --gpu-memory-utilization 0.9 --block-size 32 "
            "--num-gpu-blocks-override 2000 --kv-cache-dtype fp8 "
            "--speculative-config '{\"method\": \"mtp\", \"num_speculative_tokens\": 2}' "
            "--kv-transfer-config '{\"kv_connector\": \"NixlConnector\", \"kv_role\": "
            "\"kv_consumer\"}'");
  EXPECT_THAT(changed.lacks, Contains(HasSubstr("1.7 tokens a step")));
}

TEST(ServingLaunches, OfVllmWithExperts) {
  const ServingLaunch all = launch_of(
      deployment_of(ServingEngine::kVllm, "deepseek-v3", {1, 8, 8, 1}, "fp8", "dgx-h200"));
  EXPECT_THAT(all.command, HasSubstr("--tensor-parallel-size 1 --data-parallel-size 8 "
                                     "--enable-expert-parallel"));
  EXPECT_THAT(all.lacks, IsEmpty());
  const ServingLaunch part = launch_of(
      deployment_of(ServingEngine::kVllm, "deepseek-v3", {8, 1, 2, 1}, "fp8", "dgx-h200"));
  EXPECT_THAT(part.lacks, Contains(HasSubstr("ep 2")));
}

TEST(ServingLaunches, OfSglang) {
  Deployment d =
      deployment_of(ServingEngine::kSglang, "deepseek-v3", {2, 8, 16, 1}, "fp8", "2 x dgx-h200");
  d.settings.mixed_chunks = true;
  d.settings.receive_interval = 10;
  const ServingLaunch launch = launch_of(d, ServingRole::kPrefill);
  // SGLang tells all ranks' tokens and requests, and takes 0.3 of the conservativeness it is told.
  EXPECT_THAT(launch.command,
              HasSubstr("python -m sglang.launch_server --model-path $MODEL --tp-size 16 "
                        "--dp-size 8 --enable-dp-attention --ep-size 16 --nnodes 2 "
                        "--node-rank $NODE_RANK --dist-init-addr $HEAD:5000 "
                        "--chunked-prefill-size 32768 --max-prefill-tokens 16384 "
                        "--max-running-requests 2048 --enable-mixed-chunk "
                        "--scheduler-recv-interval 10 --mem-fraction-static 0.87"));
  EXPECT_THAT(launch.command, HasSubstr("--disaggregation-mode prefill"));
  EXPECT_THAT(launch.command, Not(HasSubstr("conservativeness")));
  d.settings.conservativeness = 0.6;
  EXPECT_THAT(launch_of(d).command, HasSubstr("--schedule-conservativeness 2 "));
}

TEST(ServingLaunches, OfTensorRtLlm) {
  Deployment d =
      deployment_of(ServingEngine::kTensorRtLlm, "deepseek-v3", {1, 8, 8, 1}, "fp8", "dgx-h200");
  d.settings.graphs = {1, 2, 4, 8};
  d.settings.balance_ranks = true;
  d.settings.balance_wait_iterations = 10;
  d.settings.balance_timeout_iterations = 50;
  d.settings.batch_wait_iterations = 20;
  d.precision.kv_cache = DataType::kFp8;
  const ServingLaunch launch = launch_of(d);
  EXPECT_EQ(
      launch.command,
      "trtllm-serve $MODEL --backend pytorch --tp_size 8 --ep_size 8 --max_batch_size 256 "
      "--max_num_tokens 4096 --kv_cache_free_gpu_memory_fraction 0.9 --enable_chunked_prefill "
      "--config serve.yaml");
  EXPECT_EQ(launch.file,
            "kv_cache_config:\n"
            "  enable_block_reuse: true\n"
            "  dtype: fp8\n"
            "  free_gpu_memory_fraction: 0.9\n"
            "enable_attention_dp: true\n"
            "attention_dp_config:\n"
            "  enable_balance: true\n"
            "  batching_wait_iters: 10\n"
            "  timeout_iters: 50\n"
            "scheduler_config:\n"
            "  capacity_scheduler_policy: GUARANTEED_NO_EVICT\n"
            "batch_wait_timeout_iters: 20\n"
            "cuda_graph_config:\n"
            "  enable_padding: true\n"
            "  batch_sizes: [1, 2, 4, 8]\n");
  EXPECT_THAT(launch.lacks, IsEmpty());
  // Chunks are the default of releases behind 1.2: not to cut is said where they would.
  d.settings.chunked_prefill = false;
  EXPECT_THAT(launch_of(d).command, Not(HasSubstr("chunked")));
  EXPECT_THAT(launch_of(d).file, HasSubstr("enable_chunked_prefill: false\n"));
  d.layout = {2, 4, 8, 1};
  EXPECT_THAT(launch_of(d).lacks, Contains(HasSubstr("tp 2 in each of 4 attention ranks")));
}

TEST(ServingLaunches, OfEveryPool) {
  Fleet fleet;
  fleet.pool = {deployment_of(ServingEngine::kVllm, "llama-3-70b", {8, 1, 1, 1}, "bf16"), 3, {}};
  ASSERT_EQ(fleet_launches(fleet).size(), 1U);
  EXPECT_EQ(fleet_launches(fleet)[0].role, ServingRole::kWhole);
  fleet.decode =
      ReplicaPool{deployment_of(ServingEngine::kVllm, "llama-3-70b", {4, 1, 1, 1}, "bf16"), 2, {}};
  const auto both = fleet_launches(fleet);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].role, ServingRole::kPrefill);
  EXPECT_EQ(both[0].replicas, 3U);
  EXPECT_THAT(both[0].command, HasSubstr("\"kv_role\": \"kv_producer\""));
  EXPECT_EQ(both[1].role, ServingRole::kDecode);
  EXPECT_EQ(both[1].replicas, 2U);
  EXPECT_THAT(both[1].command, HasSubstr("--tensor-parallel-size 4 "));
}

}  // namespace
}  // namespace flopcast
