// Floor 7: a launch configuration beside the machine and the model that somebody names.
#pragma once

#include <string>

#include "flopcast/analytic.h"
#include "flopcast/base.h"
#include "flopcast/hardware.h"
#include "flopcast/parallel/files.h"

namespace flopcast {

/// What a script learns where it is launched on all chips of the cluster.
/// @param arguments its command line: "TP=4 8B"
LaunchSite launch_site(const Cluster& cluster, std::string arguments = {});

/// The model of this name; without a name, the one that the launch configuration tells whole, or names.
/// Errors: load_model's; neither a name nor a file that tells one; one that is not built in, by its name.
Result<Model> model_of(const std::string& name, const PlanFile* from);

/// Notes under what is assumed where the file trains another model than this one.
void compare_model(PlanFile& file, const Model& model);

/// Takes the profile that the file's launcher behaves as where the options name none, and notes it.
void take_software(PlanFile& file, TrainingOptions& options);

}  // namespace flopcast
