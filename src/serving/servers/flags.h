// Flags of servers: how they stand in commands, and what catalog/serving/servers.toml says of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/serving/servers.h"

namespace flopcast::serving {

/// A flag of a command, or a key of an options file.
struct ServerFlag {
  std::string name;                 ///< without dashes, '-' for '_'
  std::vector<std::string> values;  ///< words up to the next flag
  bool from_file = false;           ///< a key
  std::string text() const;         ///< as it was written
};
/// The flags among these words, and the words before the first.
std::vector<ServerFlag> server_flags(const std::vector<std::string>& words,
                                     std::vector<std::string>& before);

enum class FlagKind : std::uint8_t { kUsed, kWithoutMeaning, kUnmodelled, kUnknown };
struct FlagMeaning {
  FlagKind kind = FlagKind::kUnknown;
  std::string_view words;  ///< of used ones what they become, of those not modelled what is taken
};
/// @param dynamo a worker of Dynamo, which takes flags of its own too
FlagMeaning flag_meaning(ServingEngine engine, std::string_view name, bool dynamo);

}  // namespace flopcast::serving
