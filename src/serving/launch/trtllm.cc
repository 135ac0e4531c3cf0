// TensorRT-LLM: options of tensorrt_llm/commands/serve.py; what they do not have is in the YAML of
// tensorrt_llm/llmapi/llm_args.py that --config names.
#include "base/text/format.h"
#include "serving/launch/words.h"

namespace flopcast::serving {
namespace {

void add_trtllm_layout(const LaunchQuestion& q, Flags& flags, ServingLaunch& launch) {
  const ServingLayout& layout = q.layout();
  flags.add("--tp_size", layout.tp * layout.dp);
  if (layout.pp > 1) flags.add("--pp_size", layout.pp);
  if (q.experts()) flags.add("--ep_size", layout.ep);
  if (layout.dp > 1 && layout.tp > 1) {
    launch.lacks.push_back(fmt::format(
        "tp {} in each of {} attention ranks: TensorRT-LLM gives every chip requests of its own",
        layout.tp, layout.dp));
  }
}

void add_trtllm_sizes(const LaunchQuestion& q, Flags& flags) {
  const EngineSettings& s = q.settings();
  flags.add("--max_batch_size", s.max_requests);
  flags.add("--max_num_tokens", s.batch_tokens);
  if (q.longest > 0) flags.add("--max_seq_len", q.longest);
  flags.add("--kv_cache_free_gpu_memory_fraction", s.memory_share);
  if (s.chunked_prefill) flags.add("--enable_chunked_prefill");
}

std::string cache_yaml(const LaunchQuestion& q) {
  const EngineSettings& s = q.settings();
  std::string text = fmt::format("kv_cache_config:\n  enable_block_reuse: {}\n", s.prefix_cache);
  if (q.deployment.precision.kv_cache == DataType::kFp8) text += "  dtype: fp8\n";
  if (s.block != q.usual.block) text += fmt::format("  tokens_per_block: {}\n", s.block);
  if (s.kv_tokens > 0) text += fmt::format("  max_tokens: {}\n", s.kv_tokens);
  // What is read from the file replaces the whole group, its share included.
  return text + fmt::format("  free_gpu_memory_fraction: {}\n", s.memory_share);
}

std::string attention_yaml(const LaunchQuestion& q) {
  if (q.layout().dp == 1) return "";
  const EngineSettings& s = q.settings();
  std::string text = "enable_attention_dp: true\n";
  if (s.balance_ranks) {
    text += fmt::format(
        "attention_dp_config:\n  enable_balance: true\n  batching_wait_iters: {}\n"
        "  timeout_iters: {}\n",
        s.balance_wait_iterations, s.balance_timeout_iterations);
  }
  return text;
}

std::string schedule_yaml(const EngineSettings& s) {
  std::string text = fmt::format(
      "scheduler_config:\n  capacity_scheduler_policy: {}\n",
      s.capacity == CapacityPolicy::kNoEvict ? "GUARANTEED_NO_EVICT" : "MAX_UTILIZATION");
  if (s.batch_wait_iterations > 0) {
    text += fmt::format("batch_wait_timeout_iters: {}\n", s.batch_wait_iterations);
  }
  if (s.batch_wait_ratio > 0) {
    text += fmt::format("batch_wait_max_tokens_ratio: {}\n", exact_ratio(s.batch_wait_ratio));
  }
  if (!s.chunked_prefill) text += "enable_chunked_prefill: false\n";
  if (!s.overlap) text += "disable_overlap_scheduler: true\n";
  if (s.graphs.empty()) return text + "cuda_graph_config: null\n";
  return text + fmt::format("cuda_graph_config:\n  enable_padding: true\n  batch_sizes: [{}]\n",
                            graph_sizes(s, ", "));
}

std::string drafts_yaml(const Speculation& speculation) {
  switch (speculation.kind) {
    case Speculation::Kind::kNone:
      return "";
    case Speculation::Kind::kMtp:
      return fmt::format(
          "speculative_config:\n  decoding_type: MTP\n  num_nextn_predict_layers: {}\n",
          speculation.drafts);
    case Speculation::Kind::kEagle:
      return fmt::format(
          "speculative_config:\n  decoding_type: Eagle\n  max_draft_len: {}\n"
          "  speculative_model_dir: $DRAFT\n",
          speculation.drafts);
  }
  return "";
}

}  // namespace

void write_trtllm(const LaunchQuestion& q, ServingLaunch& launch) {
  Flags flags("trtllm-serve $MODEL --backend pytorch");
  add_trtllm_layout(q, flags, launch);
  add_trtllm_sizes(q, flags);
  if (q.disaggregated()) {
    flags.add("--server_role", q.role == ServingRole::kPrefill ? "CONTEXT" : "GENERATION");
  }
  launch.file_name = q.disaggregated() ? fmt::format("{}.yaml", name(q.role)) : "serve.yaml";
  flags.add("--config", launch.file_name);
  launch.command = flags.text();
  launch.file = cache_yaml(q) + attention_yaml(q) + schedule_yaml(q.settings()) +
                drafts_yaml(q.settings().speculation);
  if (q.disaggregated()) launch.file += "cache_transceiver_config:\n  backend: DEFAULT\n";
  if (q.nodes() > 1) {
    launch.lacks.push_back(fmt::format(
        "{} nodes: start it under mpirun or srun with trtllm-llmapi-launch", q.nodes()));
  }
}

}  // namespace flopcast::serving
