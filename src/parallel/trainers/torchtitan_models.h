// torchtitan's own registries (catalog/launch/torchtitan-models.toml): which model a name and a flavor are, and what a
// configuration of --module and --config starts with.
#pragma once

#include <string>
#include <string_view>

#include "flopcast/workload.h"
#include "parallel/launch/text.h"

namespace flopcast::parallel {

/// The model of a name and a flavor ("llama3", "8B"). Errors: none that is known, with the flavors there are;
/// one that is no language model.
Result<Model> titan_model(std::string_view name, std::string_view flavor, const std::string& where);

/// The first of its names and flavors whose model has this shape, whatever it is called.
struct TitanName {
  std::string name, flavor;  ///< "llama3", "70B"; empty: it has no such model
};
TitanName titan_name(const Model& model);

/// What torchtitan's --module and --config say, as settings; the flavor is "model.flavor". Error: one that is
/// not known, with those there are.
Result<LaunchSettings> titan_config(std::string_view module, std::string_view config,
                                    const std::string& where);

}  // namespace flopcast::parallel
