// What servers are started with: any text is some servers, or an error; of what is read every number is one.
#include <cstdint>
#include <string_view>

#include "flopcast/serving/servers.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto servers = flopcast::read_servers(text, "fuzz");
  if (!servers) return 0;
  flopcast::test::check(!servers->empty());
  for (const flopcast::LaunchedServer& server : *servers) {
    const bool sound = server.layout.tp > 0 && server.layout.dp > 0 && server.layout.ep > 0 &&
                       server.layout.pp > 0 && server.replicas >= 0 && server.longest >= 0;
    flopcast::test::check(sound);
  }
  return 0;
}
