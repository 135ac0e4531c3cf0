// Fits as files.
#include "flopcast/cost/kernel_fit.h"

#include "base/files/read_file.h"
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

Result<KernelFit> KernelFit::read(const std::filesystem::path& path) {
  const Result<std::string> text = read_file(path, "give a file of flopcast calibrate kernels");
  if (!text) return text.error();
  return parse(*text, path.string());
}

}  // namespace flopcast
