// What a chip of a replica keeps. Each engine reckons its share of the memory in a way of its own:
//   vLLM          share x visible - weights - peak of activations - what is outside PyTorch
//                 (vllm/v1/worker/gpu_worker.py, determine_available_memory)
//   SGLang        share x visible - weights: activations and graphs live in the rest
//                 (sglang/srt/model_executor/model_runner.py, profile_max_num_token)
//   TensorRT-LLM  share x (visible - weights - peak of activations)
//                 (tensorrt_llm/_torch/pyexecutor/_util.py, KvCacheCreator)
#include "flopcast/serving/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "serving/iteration/constants.h"
#include "serving/iteration/work.h"

namespace flopcast {

using namespace serving;  // the room's own names

namespace {

/// A request of this length must fit, or nothing would ever run.
constexpr std::int64_t kShortest = 256;
/// Requests of this length share the room where each keeps something of its own (states, windows).
constexpr double kUsualContext = 1024;

double real(std::int64_t n) { return static_cast<double>(n); }

/// Bytes alive at once while one layer runs on `tokens` tokens.
double layer_activations(const Deployment& d, const StageWork& work, double tokens) {
  double widest = 0;
  for (const LinearWork& w : work.linears) widest = std::max(widest, real(w.in + w.out));
  double bytes = tokens * 2 * (3 * real(work.hidden) + widest);
  for (const ExpertWork& w : work.experts) {
    const double rows = w.rows(tokens * d.layout.dp);
    const double inner = w.matrices() * real(w.intermediate) / real(w.tensor_parallel);
    // Engines cut more copies than this into pieces (vLLM: VLLM_FUSED_MOE_CHUNK_SIZE tokens).
    const double most = 32768 * real(w.top_k);
    bytes = std::max(bytes, std::min(rows, most) * 2 * (real(w.hidden) + inner));
  }
  return bytes;
}

/// Logits of a full batch while it is sampled: in 32 bits, their copy, and what sorting them needs.
double sampling_bytes(const Deployment& d, const StageWork& work) {
  if (!work.has_head) return 0;
  const double rows = real(std::min<std::int64_t>(d.settings.max_requests, 1024));
  return rows * real(d.model.vocab) * 4 * 3;
}

double graph_bytes(const Deployment& d, const StageWork& work) {
  if (d.settings.graphs.empty()) return 0;
  // Captured graphs share a pool: the largest's activations, and nodes of every size.
  constexpr double kPerKernel = 4096, kKernels = 12;
  return layer_activations(d, work, real(d.settings.graphs.back())) +
         real(static_cast<std::int64_t>(d.settings.graphs.size())) * work.layers * kKernels *
             kPerKernel;
}

void fill_room(const Deployment& d, ServingMemory& m) {
  const double share = d.settings.memory_share, visible = m.capacity.value;
  const double held = m.weights.value + m.drafts.value;
  m.usable = Bytes{visible * share};
  switch (d.settings.engine) {
    case ServingEngine::kSglang:
      m.kv = Bytes{visible * share - held};
      break;
    case ServingEngine::kTensorRtLlm:
      m.kv = Bytes{(visible - held - m.activations.value - m.graphs.value) * share};
      break;
    case ServingEngine::kVllm:
      // Graphs are captured after the room is reckoned, beside it.
      m.kv = Bytes{visible * share - held - m.activations.value};
      break;
  }
}

/// Requests that are there at once where each has `kUsualContext` tokens.
double usual_requests(const Deployment& d, const ServingMemory& m) {
  const double each = m.kv_per_request + kUsualContext * m.kv_per_token;
  return std::min(real(d.settings.max_requests), m.kv.value / std::max(each, 1.0));
}

void fill_blocks(const Deployment& d, ServingMemory& m) {
  const double reserved = usual_requests(d, m) * m.kv_per_request;
  const double block = std::max(m.kv_per_token, 1e-3) * real(d.settings.block);
  constexpr double kMost = 1e12;
  m.blocks = static_cast<std::int64_t>(std::clamp((m.kv.value - reserved) / block, 0.0, kMost));
  m.tokens = m.blocks * d.settings.block;
  if (d.settings.kv_tokens <= 0) return;
  m.blocks = d.settings.kv_tokens / d.settings.block;
  m.tokens = m.blocks * d.settings.block;
  m.kv = Bytes{reserved + real(m.tokens) * m.kv_per_token};
}

ServingMemory reckon(const Deployment& d) {
  const StageWork work = stage_work(d), draft = draft_work(d);
  const Constants c = constants_for(d.cluster, d.settings.engine);
  ServingMemory m;
  m.capacity = Bytes{d.cluster.chip.hbm_capacity.value * c.visible_share};
  m.weights = Bytes{work.weight_bytes};
  m.drafts = Bytes{draft.weight_bytes};
  m.activations = Bytes{layer_activations(d, work, real(d.settings.batch_tokens)) +
                        sampling_bytes(d, work) + c.context_bytes};
  m.graphs = Bytes{graph_bytes(d, work)};
  m.kv_per_token = work.attention.kept_per_token + draft.attention.kept_per_token;
  m.kv_per_request = work.attention.kept_per_request + draft.attention.kept_per_request;
  fill_room(d, m);
  fill_blocks(d, m);
  return m;
}

bool holds_a_request(const Deployment& d, const ServingMemory& m) {
  const double shortest = kShortest * m.kv_per_token + m.kv_per_request;
  if (m.tokens < kShortest && m.kv_per_token > 0) return false;
  return m.kv.value >= shortest && (m.kv_per_token > 0 || m.kv.value > 0) &&
         m.capacity.value > m.weights.value + m.activations.value && d.settings.block > 0;
}

std::string layout_text(const ServingLayout& l) {
  std::string text = fmt::format("tp {}", l.tp);
  if (l.dp > 1) text += fmt::format(" dp {}", l.dp);
  if (l.ep > 1) text += fmt::format(" ep {}", l.ep);
  if (l.pp > 1) text += fmt::format(" pp {}", l.pp);
  return text;
}

/// The layout of fewest chips that holds the model, as text; empty: none on this cluster.
std::string smallest_layout(const Deployment& deployment) {
  Deployment d = deployment;
  const unsigned chips = d.cluster.chips();
  for (unsigned n = 1; n <= std::min(chips, 4096U); n *= 2) {
    for (unsigned pp = 1; pp <= n; pp *= 2) {
      d.layout = {.tp = n / pp, .dp = 1, .ep = 1, .pp = pp};
      if (deployment.layout.ep > 1) d.layout.ep = d.layout.tp;
      if (!deployment_problems(d).empty()) continue;
      if (holds_a_request(d, reckon(d))) return layout_text(d.layout);
    }
  }
  return {};
}

}  // namespace

Result<ServingMemory> serving_memory(const Deployment& deployment) {
  const std::vector<Diagnostic> problems = deployment_problems(deployment);
  if (!problems.empty()) return problems.front();
  const ServingMemory m = reckon(deployment);
  if (holds_a_request(deployment, m)) return m;
  const std::string fits = smallest_layout(deployment);
  constexpr double kGb = 1e9;
  return Diagnostic{
      ErrorCode::kTooLarge,
      fmt::format("{} on {} ({})", deployment.model.name, deployment.cluster.name,
                  layout_text(deployment.layout)),
      fmt::format(
          "weights of {:.1f} GB and {:.1f} GB beside them leave no room for keys and values "
          "in {:.1f} GB of a chip",
          (m.weights.value + m.drafts.value) / kGb, m.activations.value / kGb,
          m.usable.value / kGb),
      fits.empty() ? "nothing on this cluster holds it: more chips, or fewer bits"
                   : fmt::format("{} fits", fits)};
}

}  // namespace flopcast
