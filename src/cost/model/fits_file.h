// Fits as TOML text: catalog/kernels/*.toml and what `flopcast calibrate kernels` writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cost/model/fits.h"

namespace flopcast::cost {

std::string fits_toml(const Fits& fits);
/// Errors name the line: no TOML, a class without a field it needs, numbers out of range, text of
/// the wrong length.
Result<std::shared_ptr<const Fits>> parse_fits(std::string_view text, const std::string& where);

}  // namespace flopcast::cost
