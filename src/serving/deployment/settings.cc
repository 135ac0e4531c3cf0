// What engines do when nothing is said. Each value is the engine's own default, of the newest version whose rules are
// followed and of earlier ones where these differ; the comment names the file it stands in. Whether host work overlaps is
// not told apart by versions: what it takes was fitted over all of them (docs/validation/serving.md).
#include <algorithm>
#include <array>

#include "base/text/numbers.h"
#include "flopcast/serving.h"

namespace flopcast {
namespace {

// Every `by` from `from` to `to`.
void capture_sizes(std::vector<std::int64_t>& sizes, std::int64_t from, std::int64_t to,
                   std::int64_t by) {
  for (std::int64_t size = from; size <= to; size += by) sizes.push_back(size);
}

/// "0.10.2" as numbers; missing ones are 0. Empty, or no version: as new as can be.
std::array<int, 3> numbers_of(std::string_view version) {
  std::array<int, 3> numbers{};
  for (int& number : numbers) {
    if (const auto value = take_whole<int>(version)) {
      number = *value;
    } else if (&number == numbers.data()) {
      return {1 << 20, 0, 0};
    }
    if (!version.starts_with('.')) break;
    version.remove_prefix(1);
  }
  return numbers;
}

bool before(std::string_view version, std::array<int, 3> other) {
  return numbers_of(version) < other;
}

// vllm/engine/arg_utils.py (get_batch_defaults, of an API server), vllm/config/{cache,scheduler,vllm}.py.
constexpr double kGiB = 1073741824.0;
double gib_of(const Chip* chip) { return chip == nullptr ? 80 : chip->hbm_capacity.value / kGiB; }

/// Chips that vLLM takes for large ones: 70 GiB and more, but for A100.
bool is_large_for_vllm(const Chip* chip) {
  constexpr double kLarge = 70;
  return chip == nullptr || (gib_of(chip) >= kLarge && chip->architecture != "ampere");
}

EngineSettings vllm_defaults(std::string_view version, const Chip* chip) {
  EngineSettings settings;
  settings.engine = ServingEngine::kVllm;
  settings.version = "0.19";
  settings.batch_tokens = is_large_for_vllm(chip) ? 8192 : 2048;
  settings.max_requests = is_large_for_vllm(chip) ? 1024 : 256;
  settings.block = 16;
  settings.memory_share = 0.9;
  settings.chunked_prefill = settings.prefix_cache = settings.overlap = true;
  // _set_cudagraph_sizes: up to the lesser of 512 and twice max_num_seqs.
  settings.graphs = {1, 2, 4};
  capture_sizes(settings.graphs, 8, 256, 8);
  capture_sizes(settings.graphs, 272, 512, 16);
  if (version.empty()) return settings;
  // vllm/config/cache.py of 0.20.0; vllm/engine/arg_utils.py of 0.28.0.
  constexpr double kVeryLarge = 160;
  if (!before(version, {0, 20, 0})) settings.memory_share = 0.92;
  if (!before(version, {0, 28, 0}) && gib_of(chip) >= kVeryLarge) settings.batch_tokens = 16384;
  return settings;
}

// python/sglang/srt/server_args.py.
/// What SGLang takes by the memory of a chip: tokens of a chunk; the largest captured batch, of few and of more chips.
struct SglangTier {
  double below_gib;
  std::int64_t chunk, graph_few, graph_many;
};
constexpr std::array kSglangTiers = {
    SglangTier{20, 2048, 8, 8},       SglangTier{35, 2048, 24, 80},
    SglangTier{60, 4096, 32, 160},    SglangTier{160, 8192, 256, 512},
    SglangTier{1e9, 16384, 512, 512},
};

EngineSettings sglang_defaults(const ServingLayout& layout, const Chip* chip) {
  const SglangTier& tier = *std::ranges::find_if(
      kSglangTiers, [gib = gib_of(chip)](const SglangTier& one) { return gib < one.below_gib; });
  EngineSettings settings;
  settings.engine = ServingEngine::kSglang;
  settings.version = "0.5.9";
  settings.batch_tokens = tier.chunk;  // chunked_prefill_size
  settings.prefill_tokens = 16384;
  settings.max_requests = 2048;  // model_runner.py, where max_running_requests is not given
  settings.block = 1;            // page_size
  settings.memory_share =
      0.87;  // mem_fraction_static, as it is worked out on chips of 80 GB and more
  settings.chunked_prefill = settings.prefix_cache = settings.overlap = true;
  if (layout.dp > 1) {
    // With attention data parallelism a rank's share of the chunk, and a bolder estimate.
    settings.batch_tokens = std::max<std::int64_t>(1, settings.batch_tokens / layout.dp);
    settings.conservativeness = 0.3;
  }
  settings.graphs = {1, 2, 4, 8, 12};
  capture_sizes(settings.graphs, 16, 256, 8);
  capture_sizes(settings.graphs, 272, 512, 16);
  const std::int64_t most = layout.tp * layout.dp >= 4 ? tier.graph_many : tier.graph_few;
  std::erase_if(settings.graphs, [most](std::int64_t size) { return size > most; });
  return settings;
}

// tensorrt_llm/llmapi/llm_args.py, tensorrt_llm/builder.py (BuildConfig).
EngineSettings trtllm_defaults(std::string_view version) {
  EngineSettings settings;
  settings.engine = ServingEngine::kTensorRtLlm;
  settings.version = "1.3";
  settings.batch_tokens = 8192;  // max_num_tokens
  settings.max_requests = 2048;  // max_batch_size
  settings.block = 32;           // tokens_per_block
  settings.memory_share = 0.9;   // free_gpu_memory_fraction, of what the weights leave
  // docs/source/features/long-sequence.md: chunked context is the default behind 1.2; before it was not.
  settings.chunked_prefill = !before(version, {1, 3, 0});
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
                               const ServingLayout& layout, std::string_view version,
                               const Chip* chip) {
  (void)model;  // none of them asks
  EngineSettings settings;
  switch (engine) {
    case ServingEngine::kVllm:
      settings = vllm_defaults(version, chip);
      break;
    case ServingEngine::kSglang:
      settings = sglang_defaults(layout, chip);
      break;
    case ServingEngine::kTensorRtLlm:
      settings = trtllm_defaults(version);
      break;
  }
  if (!version.empty()) settings.version = version;
  return settings;
}

}  // namespace flopcast
