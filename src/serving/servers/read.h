// One server from the words of its command.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/serving/servers.h"
#include "serving/servers/flags.h"

namespace flopcast::serving {

/// A command that starts a server.
struct ServerCommand {
  ServingEngine engine = ServingEngine::kVllm;
  std::string program;             ///< "vllm serve"
  std::string version;             ///< of its image; empty: not told
  bool dynamo = false;             ///< a worker of Dynamo
  std::vector<std::string> words;  ///< behind the program
};

/// The text of a file that a command names; nothing where it is not at hand.
using FileText = std::function<std::optional<std::string>(const std::string& name)>;

/// What has been read of a server, by what it becomes: "tp", "@speculative".
class TakenFlags {
 public:
  const std::vector<std::string>* find(std::string_view target) const;
  /// The last value; nothing where the flag was not given.
  std::optional<std::string> value(std::string_view target) const;
  bool has(std::string_view target) const { return find(target) != nullptr; }
  /// As a whole number; `otherwise` where it was not given.
  std::int64_t whole(std::string_view target, std::int64_t otherwise) const;

  std::map<std::string, std::vector<std::string>, std::less<>> values;
};

/// "8192", and as vLLM takes it: "8k" (1,000s), "8K" (1,024s), also with decimals.
std::optional<std::int64_t> counted_value(std::string_view text);

/// The server of a command, with what its files say.
Result<LaunchedServer> read_server(const ServerCommand& command, const std::string& where,
                                   const FileText& files);
/// Keys of an options file as flags: mappings joined by dots. Errors: of YAML.
Result<std::vector<ServerFlag>> option_flags(std::string_view yaml, const std::string& where);

/// What flags mean together, by engine. Things that are not modelled are added to the server's.
void finish_vllm(const TakenFlags& taken, LaunchedServer& server);
void finish_sglang(const TakenFlags& taken, LaunchedServer& server);
void finish_trtllm(const TakenFlags& taken, LaunchedServer& server);

/// Sizes of graphs that are told, as a setting; nothing captured where `sizes` is empty.
void set_graphs(const std::vector<std::string>& sizes, LaunchedServer& server);
/// The engine's own sizes up to this one.
void cut_graphs(std::int64_t most, LaunchedServer& server);
/// Parts that all engines have: types, roles, drafts.
void set_types(const TakenFlags& taken, LaunchedServer& server);
void set_drafts(std::string_view method, std::int64_t drafts, bool own_draft,
                LaunchedServer& server);
void set_role(std::string_view text, LaunchedServer& server);

}  // namespace flopcast::serving
