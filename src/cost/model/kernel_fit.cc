// Fits as files.
#include "flopcast/cost/kernel_fit.h"

#include "cost/model/fits_file.h"

namespace flopcast {

using namespace cost;  // the room's own names

std::string KernelFit::toml() const { return fits_toml(*fits_); }
const std::string& KernelFit::chip() const { return fits_->chip; }

Result<KernelFit> KernelFit::parse(std::string_view text, const std::string& where) {
  Result<std::shared_ptr<const Fits>> fits = parse_fits(text, where);
  if (!fits) return fits.error();
  return KernelFit(std::move(*fits));
}

}  // namespace flopcast
