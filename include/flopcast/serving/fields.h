// Floor 5: every setting of an engine by its name in questions, JSON and files: the fields of EngineSettings.
// Writers and readers go through the one list, so that what is written can be read back.
#pragma once

#include "flopcast/serving.h"

namespace flopcast {

/// Calls visit(name, field) for each setting but the engine, its version and its drafts, which a question names by
/// themselves; `settings` is an EngineSettings or a const one.
template <typename Settings, typename Visit>
void visit_engine_settings(Settings& settings, Visit&& visit) {
  visit("batch_tokens", settings.batch_tokens);
  visit("prefill_tokens", settings.prefill_tokens);
  visit("max_requests", settings.max_requests);
  visit("block", settings.block);
  visit("kv_tokens", settings.kv_tokens);
  visit("memory_share", settings.memory_share);
  visit("chunked_prefill", settings.chunked_prefill);
  visit("chunk_threshold", settings.chunk_threshold);
  visit("prefix_cache", settings.prefix_cache);
  visit("overlap", settings.overlap);
  visit("graphs", settings.graphs);
  visit("mixed_chunks", settings.mixed_chunks);
  visit("receive_interval", settings.receive_interval);
  visit("conservativeness", settings.conservativeness);
  visit("capacity", settings.capacity);
  visit("batch_wait_iterations", settings.batch_wait_iterations);
  visit("batch_wait_ratio", settings.batch_wait_ratio);
  visit("balance_ranks", settings.balance_ranks);
  visit("balance_wait_iterations", settings.balance_wait_iterations);
  visit("balance_timeout_iterations", settings.balance_timeout_iterations);
}

}  // namespace flopcast
