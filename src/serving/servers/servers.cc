// From a text to the servers that it starts: which kind of text it is, and what its servers mean together.
#include "flopcast/serving/servers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/files/read_file.h"
#include "serving/servers/deployments.h"

namespace flopcast {

using namespace serving;  // the room's own names

namespace {

/// What a text starts, before flags are read.
Result<std::vector<DeployedServer>> find_all(std::string_view text, const std::string& where,
                                             const ServerSite& site, StartedServers& started) {
  if (looks_like_deployment(text)) {
    const Result<std::vector<YamlFile>> documents = parse_yaml_documents(text, where);
    if (documents) return deployed_servers(*documents, started.others);
    if (!has_server_word(text)) return documents.error();
  }
  find_servers_in_script(text, site.arguments, started);
  std::vector<DeployedServer> found;
  for (ServerCommand& command : started.commands) {
    found.push_back({std::move(command), 0, ServingRole::kWhole, started.files});
  }
  return found;
}

Diagnostic nothing_started(const std::string& where, const StartedServers& started) {
  const std::string what = started.others.empty() ? "starts no server that is known"
                                                  : fmt::format("starts {}, which is not modelled",
                                                                fmt::join(started.others, ", "));
  return {ErrorCode::kBadInput, where, what,
          "vllm serve, sglang.launch_server, trtllm-serve, a deployment of these, or a question as "
          "docs/reference/serve-files.md has it"};
}

/// A file that a command names: written by the script, or beside the text.
FileText files_of(const DeployedServer& server, const ServerSite& site) {
  return [&server, &site](const std::string& name) -> std::optional<std::string> {
    const auto base = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
    for (const auto& [written, text] : server.files) {
      if (written == name || base(written) == base(name)) return text;
    }
    if (name.empty() || name.find('\0') != std::string::npos || site.folder.empty()) {
      return std::nullopt;
    }
    Result<std::string> text = read_file(site.folder / name);
    if (!text) text = read_file(site.folder / base(name));
    return text ? std::optional(std::move(*text)) : std::nullopt;
  };
}

/// Beside servers of prompts, those of whom nothing is said make the answers.
void settle_roles(std::vector<LaunchedServer>& servers) {
  const auto is = [](ServingRole role) {
    return [role](const LaunchedServer& server) { return server.role == role; };
  };
  const bool prompts = std::ranges::any_of(servers, is(ServingRole::kPrefill));
  const bool answers = std::ranges::any_of(servers, is(ServingRole::kDecode));
  if (prompts == answers) return;
  for (LaunchedServer& server : servers) {
    if (server.role != ServingRole::kWhole) continue;
    server.role = prompts ? ServingRole::kDecode : ServingRole::kPrefill;
  }
}

}  // namespace

bool names_server(std::string_view text) {
  return has_server_word(text) || looks_like_deployment(text);
}

Result<std::vector<LaunchedServer>> read_servers(std::string_view text, const std::string& where,
                                                 const ServerSite& site) {
  StartedServers started;
  const Result<std::vector<DeployedServer>> found = find_all(text, where, site, started);
  if (!found) return found.error();
  if (found->empty()) return nothing_started(where, started);
  std::vector<LaunchedServer> servers;
  for (const DeployedServer& one : *found) {
    Result<LaunchedServer> server = read_server(one.command, where, files_of(one, site));
    if (!server) return server.error();
    if (one.replicas > 0) {
      server->replicas = std::max<std::int64_t>(server->replicas, 1) * one.replicas;
    }
    if (server->role == ServingRole::kWhole) server->role = one.role;
    servers.push_back(std::move(*server));
  }
  // Commands of further nodes are of the same server.
  const bool leads = std::ranges::any_of(servers, [](const auto& one) { return !one.follows; });
  if (leads) std::erase_if(servers, [](const LaunchedServer& one) { return one.follows; });
  servers.front().notes.insert(servers.front().notes.end(), started.notes.begin(),
                               started.notes.end());
  settle_roles(servers);
  return servers;
}

}  // namespace flopcast
