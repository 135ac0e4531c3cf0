// The machines of `flopcast run --hosts`: which of them this is, where they meet, and what lets them in.
#pragma once

#include <optional>
#include <string>

#include "cli/run/program.h"
#include "flopcast/live.h"

namespace flopcast::cli {

/// In the environment: the secret that all machines of a run were given.
inline constexpr const char* kToken = "FLOPCAST_TOKEN";

/// From flags, and what the launcher says that has started this command on each machine. Where the first machine was given no secret,
/// it makes one. Errors: nothing tells which machine this is, where they meet, or the secret of the first; a launcher that has
/// started more or fewer.
Result<LiveMachines> machines_of(const LiveProgram& program);
/// What to start on the other machines; of the first one.
std::string others_wanted(const LiveMachines& machines);

}  // namespace flopcast::cli
