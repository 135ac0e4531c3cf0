// Floor 5: how the fleet that was forecast is started: flags of vLLM, SGLang and TensorRT-LLM.
//
//   for (const ServingLaunch& one : fleet_launches(fleet)) ... one.command
//
// Only what means the forecast is written: a setting that no flag says is told in `lacks`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flopcast/serving/fleet.h"

namespace flopcast {

/// What a replica does in its fleet.
enum class ServingRole : std::uint8_t {
  kWhole,    ///< prompts and answers
  kPrefill,  ///< prompts alone
  kDecode,   ///< answers alone
};
std::string_view name(ServingRole role);  ///< "prefill and decode", "prefill", "decode"

/// How replicas alike are started.
struct ServingLaunch {
  ServingRole role = ServingRole::kWhole;  ///< of each of them
  unsigned replicas = 1;                   ///< how many times the command is run
  std::string checkpoint;                  ///< the weights that $MODEL is to name, in words
  std::string command;                     ///< one line of a shell, for one replica
  std::string file_name;           ///< of `file`, as the command names it; empty: there is none
  std::string file;                ///< YAML that the command reads (TensorRT-LLM)
  std::vector<std::string> lacks;  ///< what of the forecast no flag says, in words
};
/// Of one replica. Settings that are the engine's own defaults are left out, save those that size it.
/// @param longest tokens of the longest request, prompt and answer; 0: not told
ServingLaunch launch_of(const Deployment& deployment, ServingRole role = ServingRole::kWhole,
                        std::int64_t longest = 0);
/// Of every pool: one, or two where prompts are computed apart. See launch_of.
std::vector<ServingLaunch> fleet_launches(const Fleet& fleet, std::int64_t longest = 0);

}  // namespace flopcast
