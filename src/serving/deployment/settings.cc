// What engines do when nothing is said. Each value is the engine's own default on chips of 80 GB and more, of the version
// whose rules are followed; the comment names the file it stands in.
#include <algorithm>

#include "flopcast/serving.h"

namespace flopcast {
namespace {

// Every `by` from `from` to `to`.
void capture_sizes(std::vector<std::int64_t>& sizes, std::int64_t from, std::int64_t to,
                   std::int64_t by) {
  for (std::int64_t size = from; size <= to; size += by) sizes.push_back(size);
}

// vllm/engine/arg_utils.py (get_batch_defaults, of an API server), vllm/config/{cache,scheduler,vllm}.py.
EngineSettings vllm_defaults() {
  EngineSettings settings;
  settings.engine = ServingEngine::kVllm;
  settings.version = "0.19";
  settings.batch_tokens = 8192;  // 2048 on smaller chips
  settings.max_requests = 1024;  // 256 on smaller chips
  settings.block = 16;
  settings.memory_share = 0.9;
  settings.chunked_prefill = settings.prefix_cache = settings.overlap = true;
  // _set_cudagraph_sizes: up to the lesser of 512 and twice max_num_seqs.
  settings.graphs = {1, 2, 4};
  capture_sizes(settings.graphs, 8, 256, 8);
  capture_sizes(settings.graphs, 272, 512, 16);
  return settings;
}

// python/sglang/srt/server_args.py.
EngineSettings sglang_defaults(const ServingLayout& layout) {
  EngineSettings settings;
  settings.engine = ServingEngine::kSglang;
  settings.version = "0.5.9";
  settings.batch_tokens = 8192;  // chunked_prefill_size on chips below 160 GB, 16384 above
  settings.prefill_tokens = 16384;
  settings.max_requests = 2048;  // model_runner.py, where max_running_requests is not given
  settings.block = 1;            // page_size
  settings.memory_share = 0.87;  // mem_fraction_static, as it is worked out for them
  settings.chunked_prefill = settings.prefix_cache = settings.overlap = true;
  if (layout.dp > 1) {
    // With attention data parallelism a rank's share of the chunk, and a bolder estimate.
    settings.batch_tokens = std::max<std::int64_t>(1, settings.batch_tokens / layout.dp);
    settings.conservativeness = 0.3;
  }
  settings.graphs = {1, 2, 4, 8, 12};
  capture_sizes(settings.graphs, 16, 256, 8);
  if (layout.tp * layout.dp >= 4) capture_sizes(settings.graphs, 272, 512, 16);
  return settings;
}

// tensorrt_llm/llmapi/llm_args.py, tensorrt_llm/builder.py (BuildConfig).
EngineSettings trtllm_defaults() {
  EngineSettings settings;
  settings.engine = ServingEngine::kTensorRtLlm;
  settings.version = "1.2";
  settings.batch_tokens = 8192;  // max_num_tokens
  settings.max_requests = 2048;  // max_batch_size
  settings.block = 32;           // tokens_per_block
  settings.memory_share = 0.9;   // free_gpu_memory_fraction, of what the weights leave
  settings.chunked_prefill = false;
  settings.prefix_cache = settings.overlap = true;
  settings.capacity = CapacityPolicy::kNoEvict;
  // CudaGraphConfig with padding, as its benchmarks are run.
  settings.graphs = {1, 2, 4};
  capture_sizes(settings.graphs, 8, 128, 8);
  for (std::int64_t size = 256; size <= 2048; size *= 2) settings.graphs.push_back(size);
  return settings;
}

}  // namespace

EngineSettings engine_defaults(ServingEngine engine, const Model& model,
                               const ServingLayout& layout) {
  (void)model;  // none of them asks
  switch (engine) {
    case ServingEngine::kVllm:
      return vllm_defaults();
    case ServingEngine::kSglang:
      return sglang_defaults(layout);
    case ServingEngine::kTensorRtLlm:
      return trtllm_defaults();
  }
  return {};
}

}  // namespace flopcast
