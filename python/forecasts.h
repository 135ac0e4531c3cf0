// The parts of the native module beside traces and replay.
#pragma once

#include <nanobind/nanobind.h>

namespace flopcast {

void define_network(nanobind::module_& module);
void define_cost(nanobind::module_& module);
void define_analytic(nanobind::module_& module);
void define_plan(nanobind::module_& module);
void define_runs(nanobind::module_& module);
void define_mapping(nanobind::module_& module);
void define_whatif(nanobind::module_& module);
void define_serving(nanobind::module_& module);
void define_serving_plan(nanobind::module_& module);

}  // namespace flopcast
