#include <nanobind/nanobind.h>

#include "flopcast/version.h"

namespace nb = nanobind;

// NOLINTNEXTLINE(performance-unnecessary-value-param): the macro fixes the parameter's type.
NB_MODULE(_native, module) {
  module.doc() = "Native part of the flopcast package.";
  module.attr("__version__") = nb::str(flopcast::kVersion.data(), flopcast::kVersion.size());
}
