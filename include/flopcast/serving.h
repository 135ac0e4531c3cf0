// Floor 5: LLM inference as engines schedule it: what runs, on which chips, under whose rules.
//
//   Deployment d{load_model("llama-3-70b"), Catalog::builtin().cluster("2 x dgx-h100"), ...};
//   d.layout.tp = 4, d.settings = engine_defaults(ServingEngine::kVllm, ...);
//   IterationModel     one iteration of the engine            flopcast/serving/iteration.h
//   ServingMemory      what is left for keys and values       flopcast/serving/memory.h
//   Replica            an engine's queue, blocks and batches  flopcast/serving/replica.h
//   simulate           many of them behind a router           flopcast/serving/fleet.h
//   search_fleets      the cheapest that meets an objective   flopcast/serving/search.h
//
// Time is an integer everywhere behind the prices of an iteration: same input, same bytes out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/cost.h"
#include "flopcast/hardware.h"
#include "flopcast/workload.h"

namespace flopcast {

/// Whose rules of scheduling.
enum class ServingEngine : std::uint8_t { kVllm, kSglang, kTensorRtLlm };
std::string_view name(ServingEngine engine);  ///< "vllm", "sglang", "trtllm"
/// by the names above; also "tensorrt-llm"
std::optional<ServingEngine> parse_serving_engine(std::string_view text);

/// What values are stored and multiplied in. Checkpoints of 4 bits often keep attention in 16.
struct ServingPrecision {
  GemmType attention = GemmType::kBf16;  ///< linear layers of attention
  GemmType dense = GemmType::kBf16;      ///< of feed-forwards that every token passes
  GemmType experts = GemmType::kBf16;    ///< of routed experts
  DataType kv_cache = DataType::kBf16;   ///< keys and values, or the latent of both
  DataType head = DataType::kBf16;       ///< output matrix and embedding
  bool operator==(const ServingPrecision&) const = default;
};
/// "bf16", "fp8" (blocks where the model's checkpoint has them), "fp4", "int4": as checkpoints of that name store this
/// model; "stored": see stored_precision. Errors (kUsage): no such name; stored_precision's.
Result<ServingPrecision> serving_precision(std::string_view text, const Model& model);
/// What serving_precision calls the model's own checkpoint: "stored", or "bf16" where it is in 16 bits.
std::string_view own_precision(const Model& model);
/// As the model's own checkpoint stores it (Model::stored): 16 bits where it says nothing. Keys and values are those that the
/// checkpoint names, else of 16 bits, as engines have them. Errors (kUsage): stored in a way that is not priced.
Result<ServingPrecision> stored_precision(const Model& model);

/// How one replica is cut. A pipeline stage has tp x dp chips, which share out the experts: ep ways,
/// each expert over tp x dp / ep chips.
struct ServingLayout {
  unsigned tp = 1;  ///< tensor-parallel chips of attention
  unsigned dp = 1;  ///< attention's data-parallel ranks, each with requests of its own
  unsigned ep = 1;  ///< chips the experts are shared out over
  unsigned pp = 1;  ///< pipeline stages
  unsigned chips() const { return tp * dp * pp; }      ///< of a replica
  unsigned expert_tp() const { return tp * dp / ep; }  ///< chips of one expert
  bool operator==(const ServingLayout&) const = default;
};

/// Drafts that a large model checks in one pass.
struct Speculation {
  /// Who drafts: layers of the model's own (MTP), or a small head on its hidden states (EAGLE).
  enum class Kind : std::uint8_t { kNone, kMtp, kEagle };
  Kind kind = Kind::kNone;
  unsigned drafts = 0;  ///< tokens drafted in a step
  double accepted = 1;  ///< mean tokens a step brings, the model's own included: 1 to drafts + 1
  bool operator==(const Speculation&) const = default;
};

/// When TensorRT-LLM admits a request: only if prompt and full answer fit, or while blocks last.
enum class CapacityPolicy : std::uint8_t { kNoEvict, kMaxUtilisation };

/// An engine and its settings. Names in comments are the engines' own.
struct EngineSettings {
  ServingEngine engine = ServingEngine::kVllm;
  std::string version;  ///< whose defaults these are: "0.19"
  /// tokens of one iteration: vLLM max_num_batched_tokens, TensorRT-LLM max_num_tokens, SGLang
  /// chunked_prefill_size
  std::int64_t batch_tokens = 8192;
  std::int64_t prefill_tokens = 16384;  ///< SGLang max_prefill_tokens: prompts admitted at once
  std::int64_t max_requests = 1024;     ///< max_num_seqs, max_running_requests, max_batch_size
  std::int64_t block = 16;              ///< tokens of a block of keys and values
  std::int64_t kv_tokens = 0;           ///< room for keys and values; 0: ServingMemory's
  double memory_share = 0.9;            ///< of a chip's memory that the engine takes
  bool chunked_prefill = true;          ///< a prompt may be cut to fill an iteration
  std::int64_t chunk_threshold = 0;     ///< vLLM long_prefill_token_threshold; 0: none
  bool prefix_cache = true;             ///< keys and values of known prompts are taken again
  bool overlap = true;               ///< host work runs beside the step before (async scheduling)
  std::vector<std::int64_t> graphs;  ///< captured batch sizes, rising; empty: none
  bool mixed_chunks = false;         ///< SGLang enable-mixed-chunk: decodes beside prefills
  unsigned receive_interval = 1;     ///< SGLang scheduler-recv-interval
  double conservativeness = 1;       ///< SGLang schedule-conservativeness
  CapacityPolicy capacity = CapacityPolicy::kNoEvict;  ///< TensorRT-LLM
  unsigned batch_wait_iterations = 0;                  ///< TensorRT-LLM batch_wait_timeout_iters
  double batch_wait_ratio = 0;                         ///< TensorRT-LLM batch_wait_max_tokens_ratio
  bool balance_ranks = false;               ///< TensorRT-LLM attention_dp_config.enable_balance
  unsigned balance_wait_iterations = 0;     ///< its batching_wait_iters
  unsigned balance_timeout_iterations = 0;  ///< its timeout_iters
  Speculation speculation;
  bool operator==(const EngineSettings&) const = default;
};
/// What the engine does when nothing is said, for this model and layout. @param version "1.2": its release, by whose
/// defaults; empty: the newest whose rules are followed @param chip by whose memory engines choose; null: one of 80 GB
EngineSettings engine_defaults(ServingEngine engine, const Model& model,
                               const ServingLayout& layout, std::string_view version = {},
                               const Chip* chip = nullptr);

/// One replica: a model on chips under an engine's rules.
struct Deployment {
  Model model;
  Cluster cluster;  ///< the replica takes the first layout.chips() chips of it
  ServingLayout layout;
  ServingPrecision precision;
  EngineSettings settings;
};
/// Every reason why it cannot run, memory left out: degrees that do not divide heads or experts,
/// more chips than there are, types the chip lacks. Hints name values that work. Empty: it can.
std::vector<Diagnostic> deployment_problems(const Deployment& deployment);

}  // namespace flopcast
