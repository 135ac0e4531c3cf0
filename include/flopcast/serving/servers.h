// Floor 5: what servers are started with, read as those who start them write it: scripts and commands of vLLM, SGLang and
// TensorRT-LLM, their YAML, and Kubernetes' (deployments, Dynamo's graphs, llm-d's values).
//
//   read_servers("vllm serve Qwen/Qwen3-32B -tp 4", "run.sh")   one server: engine, model, layout, settings
//
// Every flag is of one of four kinds, by catalog/serving/servers.toml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flopcast/base.h"
#include "flopcast/serving.h"
#include "flopcast/serving/launch.h"

namespace flopcast {

/// Flags by what becomes of them, as they were written.
struct LaunchedFlags {
  std::vector<std::string> used;             ///< "--tensor-parallel-size 2"
  std::vector<std::string> without_meaning;  ///< known, and of no matter for time and memory
  std::vector<std::string> unmodelled;       ///< "--cpu-offload-gb 8: weights stay on the chip"
  std::vector<std::string> unknown;          ///< that nobody knows
  bool operator==(const LaunchedFlags&) const = default;
};

/// A server as its command says; what it does not say is the engine's own.
struct LaunchedServer {
  ServingEngine engine = ServingEngine::kVllm;  ///< whose command it is
  std::string program;                          ///< "vllm serve"
  std::string version;                          ///< "0.10.2", of its image; empty: not told
  std::string model;                            ///< as named there; empty: not told
  ServingRole role = ServingRole::kWhole;       ///< prompts, answers or both
  bool follows = false;                         ///< a further node of a server that spans several
  std::int64_t replicas = 0;                    ///< of a deployment; 0: not told
  ServingLayout layout;                         ///< of a replica
  /// vLLM's data-parallel ranks are servers of their own unless the model has experts
  bool ranks_need_experts = false;
  std::string precision, kv_cache;  ///< "fp8"; empty: the checkpoint's
  std::int64_t longest = 0;         ///< tokens of a request; 0: as the model has it
  std::string draft_kind;           ///< "mtp", "eagle"; empty: nothing is drafted
  std::int64_t drafts = 0;          ///< tokens of a step
  std::vector<std::pair<std::string, std::string>> settings;  ///< of EngineSettings, by name
  LaunchedFlags flags;
  std::vector<std::string> notes;  ///< what was taken where the text leaves it open
};

/// What belongs to a text besides itself.
struct ServerSite {
  std::filesystem::path folder;  ///< where files lie that it names
  std::string arguments;         ///< of a script, as a shell takes them: "TP=4 8B"
};
/// Whether a text may start a server: it names one, or is YAML of one.
bool names_server(std::string_view text);
/// The servers that a text starts. Errors (kBadInput): none, with what it starts instead; a value that is none, or that
/// the text leaves to its caller, by its flag; YAML that is none, with its line.
Result<std::vector<LaunchedServer>> read_servers(std::string_view text, const std::string& where,
                                                 const ServerSite& site = {});

/// A flag of a server that is known: for documents.
struct KnownServerFlag {
  std::string_view name;     ///< without dashes
  std::string_view becomes;  ///< the setting; what is taken instead; empty: without meaning
  bool used = false;         ///< else not modelled, or without meaning
};
/// All of an engine's, sorted: used, not modelled, without meaning.
std::vector<KnownServerFlag> known_server_flags(ServingEngine engine);

}  // namespace flopcast
