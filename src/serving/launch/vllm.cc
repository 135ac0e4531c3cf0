// vLLM: names of vllm/engine/arg_utils.py and vllm/config/*.py.
#include "serving/launch/words.h"

namespace flopcast::serving {
namespace {

void add_vllm_layout(const LaunchQuestion& q, Flags& flags, ServingLaunch& launch) {
  const ServingLayout& layout = q.layout();
  flags.add("--tensor-parallel-size", layout.tp);
  if (layout.pp > 1) flags.add("--pipeline-parallel-size", layout.pp);
  if (layout.dp > 1) flags.add("--data-parallel-size", layout.dp);
  const unsigned stage = layout.tp * layout.dp;
  if (q.experts() && layout.ep > 1) {
    flags.add("--enable-expert-parallel");
    if (layout.ep != stage) {
      launch.lacks.push_back(fmt::format(
          "ep {}: vLLM shares experts out over all {} chips or over none", layout.ep, stage));
    }
  }
  if (q.nodes() > 1) flags.add("--distributed-executor-backend ray");
}

void add_vllm_batches(const LaunchQuestion& q, Flags& flags) {
  const EngineSettings& s = q.settings();
  flags.add("--max-num-batched-tokens", s.batch_tokens);
  flags.add("--max-num-seqs", s.max_requests);
  if (q.longest > 0) flags.add("--max-model-len", q.longest);
  if (s.chunk_threshold != q.usual.chunk_threshold) {
    flags.add("--long-prefill-token-threshold", s.chunk_threshold);
  }
  if (s.chunked_prefill != q.usual.chunked_prefill) {
    flags.add(s.chunked_prefill ? "--enable-chunked-prefill" : "--no-enable-chunked-prefill");
  }
  if (s.prefix_cache != q.usual.prefix_cache) {
    flags.add(s.prefix_cache ? "--enable-prefix-caching" : "--no-enable-prefix-caching");
  }
  if (s.overlap != q.usual.overlap) {
    flags.add(s.overlap ? "--async-scheduling" : "--no-async-scheduling");
  }
  if (s.graphs.empty()) {
    flags.add("--enforce-eager");
  } else if (s.graphs != q.usual.graphs) {
    flags.add("--cudagraph-capture-sizes", graph_sizes(s, " "));
  }
}

void add_vllm_memory(const LaunchQuestion& q, Flags& flags) {
  const EngineSettings& s = q.settings();
  flags.add("--gpu-memory-utilization", s.memory_share);
  if (s.block != q.usual.block) flags.add("--block-size", s.block);
  if (s.kv_tokens > 0) flags.add("--num-gpu-blocks-override", s.kv_tokens / s.block);
  if (q.deployment.precision.kv_cache == DataType::kFp8) flags.add("--kv-cache-dtype fp8");
}

void add_vllm_drafts(const Speculation& speculation, Flags& flags) {
  if (speculation.kind == Speculation::Kind::kNone) return;
  const bool mtp = speculation.kind == Speculation::Kind::kMtp;
  flags.add(fmt::format(
      "--speculative-config '{{\"method\": \"{}\"{}, "
      "\"num_speculative_tokens\": {}}}'",
      mtp ? "mtp" : "eagle3", mtp ? "" : ", \"model\": \"'$DRAFT'\"", speculation.drafts));
}

}  // namespace

void write_vllm(const LaunchQuestion& q, ServingLaunch& launch) {
  Flags flags("vllm serve $MODEL");
  add_vllm_layout(q, flags, launch);
  add_vllm_batches(q, flags);
  add_vllm_memory(q, flags);
  add_vllm_drafts(q.settings().speculation, flags);
  if (q.disaggregated()) {
    flags.add(fmt::format(
        "--kv-transfer-config '{{\"kv_connector\": \"NixlConnector\", \"kv_role\": \"{}\"}}'",
        q.role == ServingRole::kPrefill ? "kv_producer" : "kv_consumer"));
  }
  launch.command = flags.text();
}

}  // namespace flopcast::serving
