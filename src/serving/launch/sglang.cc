// SGLang: names of python/sglang/srt/server_args.py, which counts some of them over all attention ranks.
#include "base/text/format.h"
#include "serving/launch/words.h"

namespace flopcast::serving {
namespace {

/// With attention's data parallelism SGLang takes this much of the conservativeness it is told.
constexpr double kConservativenessOfRanks = 0.3;

void add_sglang_layout(const LaunchQuestion& q, Flags& flags) {
  const ServingLayout& layout = q.layout();
  flags.add("--tp-size", layout.tp * layout.dp);
  if (layout.dp > 1) flags.add(fmt::format("--dp-size {} --enable-dp-attention", layout.dp));
  if (q.experts() && layout.ep > 1) flags.add("--ep-size", layout.ep);
  if (layout.pp > 1) flags.add("--pp-size", layout.pp);
  if (q.nodes() > 1) {
    flags.add(
        fmt::format("--nnodes {} --node-rank $NODE_RANK --dist-init-addr $HEAD:5000", q.nodes()));
  }
}

void add_sglang_batches(const LaunchQuestion& q, Flags& flags) {
  const EngineSettings& s = q.settings();
  const std::int64_t ranks = q.layout().dp;
  flags.add("--chunked-prefill-size", s.chunked_prefill ? s.batch_tokens * ranks : -1);
  flags.add("--max-prefill-tokens", s.prefill_tokens);
  flags.add("--max-running-requests", s.max_requests * ranks);
  if (q.longest > 0) flags.add("--context-length", q.longest);
  if (s.mixed_chunks) flags.add("--enable-mixed-chunk");
  if (s.receive_interval > 1) flags.add("--scheduler-recv-interval", s.receive_interval);
  const double told =
      ranks > 1 ? s.conservativeness / kConservativenessOfRanks : s.conservativeness;
  if (s.conservativeness != q.usual.conservativeness) {
    flags.add("--schedule-conservativeness", exact_ratio(told));
  }
  if (!s.prefix_cache) flags.add("--disable-radix-cache");
  if (!s.overlap) flags.add("--disable-overlap-schedule");
  if (s.graphs.empty()) {
    flags.add("--disable-cuda-graph");
  } else if (s.graphs != q.usual.graphs) {
    flags.add("--cuda-graph-bs", graph_sizes(s, " "));
  }
}

void add_sglang_memory(const LaunchQuestion& q, Flags& flags) {
  const EngineSettings& s = q.settings();
  flags.add("--mem-fraction-static", s.memory_share);
  if (s.block != q.usual.block) flags.add("--page-size", s.block);
  if (s.kv_tokens > 0) flags.add("--max-total-tokens", s.kv_tokens);
  if (q.deployment.precision.kv_cache == DataType::kFp8) flags.add("--kv-cache-dtype fp8_e4m3");
}

void add_sglang_drafts(const Speculation& speculation, Flags& flags) {
  if (speculation.kind == Speculation::Kind::kNone) return;
  if (speculation.kind == Speculation::Kind::kMtp) {
    flags.add("--speculative-algorithm NEXTN");
  } else {
    flags.add("--speculative-algorithm EAGLE3 --speculative-draft-model-path $DRAFT");
  }
  flags.add("--speculative-num-steps", speculation.drafts);
  flags.add("--speculative-eagle-topk 1");
  flags.add("--speculative-num-draft-tokens", speculation.drafts + 1);
}

}  // namespace

void write_sglang(const LaunchQuestion& q, ServingLaunch& launch) {
  Flags flags("python -m sglang.launch_server --model-path $MODEL");
  add_sglang_layout(q, flags);
  add_sglang_batches(q, flags);
  add_sglang_memory(q, flags);
  add_sglang_drafts(q.settings().speculation, flags);
  if (q.disaggregated()) flags.add("--disaggregation-mode", name(q.role));
  launch.command = flags.text();
}

}  // namespace flopcast::serving
