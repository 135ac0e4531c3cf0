#include "serving/servers/deployments.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text/names.h"

namespace flopcast::serving {
namespace {

using yaml_value = nlohmann::ordered_json;

/// What stands around a container.
struct Around {
  std::int64_t replicas = 0;
  ServingRole role = ServingRole::kWhole;
  std::string model;        ///< llm-d: of the values
  std::int64_t tensor = 0;  ///< llm-d: parallelism.tensor
};

std::string text_of(const yaml_value& mapping, const char* key) {
  const auto found = mapping.find(key);
  return found != mapping.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number_of(const yaml_value& mapping, const char* key) {
  const auto found = mapping.find(key);
  constexpr std::int64_t kMostReplicas = 1'000'000;
  if (found == mapping.end() || !found->is_number_integer()) return 0;
  return std::clamp<std::int64_t>(found->get<std::int64_t>(), 0, kMostReplicas);
}

/// Items of `command` and `args`: a list, or one text.
void add_words(const yaml_value& mapping, const char* key, std::vector<std::string>& words) {
  const auto found = mapping.find(key);
  if (found == mapping.end()) return;
  const yaml_value list = found->is_array() ? *found : yaml_value::array({*found});
  for (const yaml_value& item : list) {
    if (item.is_string()) words.push_back(item.get<std::string>());
    if (item.is_number()) words.push_back(item.dump());
    if (item.is_boolean()) words.emplace_back(item.get<bool>() ? "true" : "false");
  }
}

std::map<std::string, std::string, std::less<>> environment_of(const yaml_value& container) {
  std::map<std::string, std::string, std::less<>> variables;
  const auto list = container.find("env");
  if (list == container.end() || !list->is_array()) return variables;
  for (const yaml_value& item : *list) {
    if (!item.is_object()) continue;
    const std::string name = text_of(item, "name");
    const auto value = item.find("value");
    if (name.empty() || value == item.end()) continue;
    variables[name] = value->is_string() ? value->get<std::string>() : value->dump();
  }
  return variables;
}

/// "$(NAME)", as Kubernetes puts variables into arguments.
std::string with_variables(std::string word,
                           const std::map<std::string, std::string, std::less<>>& variables) {
  for (const auto& [name, value] : variables) {
    const std::string mark = "$(" + name + ")";
    for (std::size_t at = word.find(mark); at != std::string::npos;
         at = word.find(mark, at + value.size())) {
      word.replace(at, mark.size(), value);
    }
  }
  return word;
}

bool is_command_key(std::string_view key) {
  // Keys under which lists of words are no command: probes and hooks.
  constexpr std::array<std::string_view, 6> kOthers = {
      "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "initContainers", "router"};
  return std::ranges::find(kOthers, key) == kOthers.end();
}

ServingRole role_in(std::string_view key, ServingRole otherwise) {
  const std::string name = name_key(key);
  if (name == "prefill") return ServingRole::kPrefill;
  return name == "decode" ? ServingRole::kDecode : otherwise;
}

/// Whether a flag of these words says what Dynamo's workers are told so.
bool has_word(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

class DeploymentReader {
 public:
  explicit DeploymentReader(std::vector<std::string>& others) : others_(others) {}

  void visit(const yaml_value& value, Around around) {
    if (value.is_array()) {
      for (const yaml_value& item : value) visit(item, around);
      return;
    }
    if (!value.is_object()) return;
    look_around(value, around);
    if (value.contains("args") || value.contains("command") || value.contains("modelCommand")) {
      read_container(value, around);
    }
    for (const auto& [key, inner] : value.items()) {
      if (key == "args" || key == "command" || !is_command_key(key)) continue;
      Around within = around;
      within.role = role_in(key, around.role);
      visit(inner, within);
    }
  }

  std::vector<DeployedServer> servers;

 private:
  static void look_around(const yaml_value& mapping, Around& around) {
    if (const std::int64_t count = number_of(mapping, "replicas"); count > 0) {
      around.replicas = count;
    }
    around.role = role_in(text_of(mapping, "subComponentType"), around.role);
    const auto artifacts = mapping.find("modelArtifacts");
    if (artifacts != mapping.end() && artifacts->is_object()) {
      around.model = text_of(*artifacts, "name");
      const std::string uri = text_of(*artifacts, "uri");
      if (around.model.empty() && uri.starts_with("hf://")) around.model = uri.substr(5);
    }
    const auto parallelism = mapping.find("parallelism");
    if (parallelism != mapping.end() && parallelism->is_object()) {
      around.tensor = number_of(*parallelism, "tensor");
    }
  }

  void read_container(const yaml_value& container, const Around& around) {
    const auto variables = environment_of(container);
    std::vector<std::string> words;
    if (text_of(container, "modelCommand") == "vllmServe") {
      words = {"vllm", "serve", around.model};
      if (around.tensor > 0) {
        words.emplace_back("--tensor-parallel-size");
        words.push_back(std::to_string(around.tensor));
      }
    }
    add_words(container, "command", words);
    add_words(container, "args", words);
    for (std::string& word : words) word = with_variables(std::move(word), variables);
    StartedServers started;
    find_servers(words, text_of(container, "image"), variables, started);
    others_.insert(others_.end(), started.others.begin(), started.others.end());
    for (ServerCommand& command : started.commands) {
      DeployedServer server{std::move(command), around.replicas, around.role, started.files};
      if (has_word(server.command.words, "--is-prefill-worker")) {
        server.role = ServingRole::kPrefill;
      }
      servers.push_back(std::move(server));
    }
  }

  std::vector<std::string>& others_;
};

/// Keys that options files of one engine alone have.
struct OptionsKey {
  std::string_view key;
  ServingEngine engine;
};
constexpr std::array kOptionsKeys = {
    OptionsKey{"kv_cache_config", ServingEngine::kTensorRtLlm},
    OptionsKey{"cuda_graph_config", ServingEngine::kTensorRtLlm},
    OptionsKey{"enable_attention_dp", ServingEngine::kTensorRtLlm},
    OptionsKey{"attention_dp_config", ServingEngine::kTensorRtLlm},
    OptionsKey{"moe_expert_parallel_size", ServingEngine::kTensorRtLlm},
    OptionsKey{"disable_overlap_scheduler", ServingEngine::kTensorRtLlm},
    OptionsKey{"model-path", ServingEngine::kSglang},
    OptionsKey{"mem-fraction-static", ServingEngine::kSglang},
    OptionsKey{"chunked-prefill-size", ServingEngine::kSglang},
    OptionsKey{"tensor-parallel-size", ServingEngine::kVllm},
    OptionsKey{"gpu-memory-utilization", ServingEngine::kVllm},
    OptionsKey{"max-num-seqs", ServingEngine::kVllm},
    OptionsKey{"max-model-len", ServingEngine::kVllm},
};

/// The engine whose options a mapping is; the first key that tells.
const OptionsKey* options_key(const yaml_value& mapping) {
  for (const OptionsKey& known : kOptionsKeys) {
    if (mapping.contains(std::string(known.key))) return &known;
  }
  return nullptr;
}

/// Workers of `trtllm-serve disaggregated`: its YAML has a mapping of each kind.
bool add_disaggregated(const yaml_value& root, std::vector<DeployedServer>& out) {
  bool found = false;
  for (const auto& [key, role] : {std::pair{"context_servers", ServingRole::kPrefill},
                                  std::pair{"generation_servers", ServingRole::kDecode}}) {
    const auto servers = root.find(key);
    if (servers == root.end() || !servers->is_object()) continue;
    found = true;
    yaml_value options = yaml_value::object();
    for (const auto& [name, value] : root.items()) {
      if (name == "model" || name == "backend") options[name] = value;
    }
    options.update(*servers);
    DeployedServer server{
        {ServingEngine::kTensorRtLlm, "trtllm-serve disaggregated", "", false, {}},
        number_of(*servers, "num_instances"),
        role,
        {}};
    server.command.words = {"--config", "options"};
    server.files["options"] = options.dump();
    out.push_back(std::move(server));
  }
  return found;
}

}  // namespace

bool looks_like_deployment(std::string_view text) {
  const auto has_key = [&](std::string_view key) {
    for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      // At the front of a line, but for its indentation.
      const std::size_t before = at == 0 ? text.npos : text.find_last_not_of(" -", at - 1);
      const bool begins = before == text.npos || text[before] == '\n';
      const std::string_view rest = text.substr(at + key.size());
      if (begins && rest.starts_with(':') &&
          (rest.size() == 1 || std::isspace(static_cast<unsigned char>(rest[1])) != 0)) {
        return true;
      }
    }
    return false;
  };
  if (has_key("apiVersion") || has_key("modelArtifacts")) return true;
  if (has_key("context_servers") || has_key("generation_servers") || has_key("services"))
    return true;
  return std::ranges::any_of(kOptionsKeys,
                             [&](const OptionsKey& known) { return has_key(known.key); });
}

std::vector<DeployedServer> deployed_servers(const std::vector<YamlFile>& documents,
                                             std::vector<std::string>& others) {
  DeploymentReader reader(others);
  for (const YamlFile& document : documents) {
    if (!document.root.is_object()) continue;
    if (add_disaggregated(document.root, reader.servers)) continue;
    const bool deploys = document.root.contains("apiVersion") || document.root.contains("kind");
    const OptionsKey* key = deploys ? nullptr : options_key(document.root);
    if (key == nullptr) {
      reader.visit(document.root, {});
      continue;
    }
    constexpr std::array<std::string_view, 3> kPrograms = {"vllm serve", "sglang", "trtllm-serve"};
    DeployedServer server{
        {key->engine,
         std::string(kPrograms[static_cast<std::size_t>(key->engine)]) + " --config",
         "",
         false,
         {}},
        0,
        ServingRole::kWhole,
        {}};
    server.command.words = {"--config", "options"};
    server.files["options"] = document.root.dump();
    reader.servers.push_back(std::move(server));
  }
  return std::move(reader.servers);
}

}  // namespace flopcast::serving
