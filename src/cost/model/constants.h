// Floor 2, private to the kernel model: its constants, catalog/cost/constants.toml.
#pragma once

#include <string>
#include <string_view>

#include "flopcast/base.h"

namespace flopcast::cost {

/// The file has what each is.
struct KernelConstants {
  double per_fold = 0;  ///< [moved]
};
/// From the text of such a file. Errors name the constant that is missing, no number, or without a source.
Result<KernelConstants> parse_kernel_constants(std::string_view text, const std::string& where);
/// The catalogue's, read once.
const KernelConstants& kernel_constants();

}  // namespace flopcast::cost
