// Floor 2: fitted kernel times, as calibrations write and models read them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "flopcast/base.h"

namespace flopcast {

namespace cost {
struct Fits;
}
/// What a calibration found; immutable, cheap to copy.
class KernelFit {
 public:
  /// the library's own
  explicit KernelFit(std::shared_ptr<const cost::Fits> fits) : fits_(std::move(fits)) {}
  /// What `flopcast calibrate kernels` wrote; `where` names it in errors. Errors: is none.
  static Result<KernelFit> parse(std::string_view text, const std::string& where);
  /// As catalog/kernels/*.toml. Reading it back gives the same times, and the same text again.
  std::string toml() const;
  const std::string& chip() const;                   ///< name of the chip it was measured on
  const cost::Fits& fits() const { return *fits_; }  ///< the library's own
  std::shared_ptr<const cost::Fits> shared() const { return fits_; }  ///< the library's own

 private:
  std::shared_ptr<const cost::Fits> fits_;
};

}  // namespace flopcast
