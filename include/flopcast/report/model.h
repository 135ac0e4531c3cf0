// Floor 8: the models and dataflow workloads that are known by name, or read from files, as text and
// JSON.
#pragma once

#include <span>
#include <string>

#include "flopcast/workload.h"
#include "flopcast/workload/dataflow.h"

namespace flopcast {

/// A line each: sizes of the models, then of the workloads. What there is none of is left out.
std::string model_list_text(std::span<const Model> models,
                            std::span<const DataflowWorkload> workloads);
/// Everything of them as one document; docs/reference/json.md names every field.
std::string model_list_json(std::span<const Model> models,
                            std::span<const DataflowWorkload> workloads);

/// Shape, parameters and kinds of layers of one model.
std::string model_text(const Model& model);
/// Kernels of one workload and how often they run.
std::string workload_text(const DataflowWorkload& workload);

}  // namespace flopcast
