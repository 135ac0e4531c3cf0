// YAML that starts servers: Kubernetes' deployments and sets, Dynamo's graphs, llm-d's values, options of an engine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text/yaml.h"
#include "serving/servers/commands.h"

namespace flopcast::serving {

/// A server of a deployment, before its flags are read.
struct DeployedServer {
  ServerCommand command;
  std::int64_t replicas = 0;  ///< 0: not told
  ServingRole role = ServingRole::kWhole;
  std::map<std::string, std::string, std::less<>> files;
};

/// Whether a text is YAML of a kind that is read here, by its keys alone.
bool looks_like_deployment(std::string_view text);
/// The servers of all documents. @param others what else they start that serves models
std::vector<DeployedServer> deployed_servers(const std::vector<YamlFile>& documents,
                                             std::vector<std::string>& others);

}  // namespace flopcast::serving
