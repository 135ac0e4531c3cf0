// A deployment and its load in words, and what is drawn of a run over time.
#pragma once

#include <string>
#include <vector>

#include "flopcast/question/serve.h"

namespace flopcast::report {

/// Three digits: "94.1 ms".
std::string brief_time(Seconds time);
/// "TP 4", "TP 2, DP 4, EP 8"; "1 chip".
std::string serving_layout_words(const ServingLayout& layout);
/// "4 replicas of TP 4", "2 replicas of TP 4 for prompts and 1 of TP 8 for answers".
std::string fleet_words(const Fleet& fleet);
/// "64 users, 1,024 tokens in and 1,024 out"
std::string load_words(const ServeQuestion& question);
/// "llama-3-70b on 2 x dgx-h100"
std::string serve_title(const ServeQuestion& question);
/// "vllm 0.19, 4 replicas of TP 4 (16 chips), 64 users, ..."
std::string serve_line(const ServeQuestion& question);

/// Means over equal intervals of the run: of all replicas together, and the use of each one's blocks.
struct ServeTimeline {
  double interval_s = 0;
  std::vector<double> decodes, waiting, prompt_tokens_per_s, kv;
  std::vector<std::vector<double>> replica_kv;  ///< share; of the first replicas
};
ServeTimeline serve_timeline(const ServeAnswer& answer);

}  // namespace flopcast::report
