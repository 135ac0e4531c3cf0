// Which words of a script or of a container start a server.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serving/servers/read.h"

namespace flopcast::serving {

/// What a text runs: servers, and what else it names that serves models.
struct StartedServers {
  std::vector<ServerCommand> commands;
  std::vector<std::string> others;                        ///< "text-generation-launcher"
  std::vector<std::string> notes;                         ///< conditions that were taken as false
  std::map<std::string, std::string, std::less<>> files;  ///< that the script writes
};

/// Names by which texts name servers.
bool has_server_word(std::string_view text);
/// Adds the servers of a command's words: also of scripts among them ("bash -c '...'"). @param image of its container;
/// empty: none @param variables that it finds set
void find_servers(const std::vector<std::string>& words, std::string_view image,
                  const std::map<std::string, std::string, std::less<>>& variables,
                  StartedServers& out, int depth = 0);
/// Of a script.
void find_servers_in_script(std::string_view text, std::string_view arguments, StartedServers& out);

}  // namespace flopcast::serving
