// What calls and operators take the host, told to every process of a run.
#pragma once

#include <cstdint>

#include "live/wire/record.h"

namespace flopcast::live {

/// Nanoseconds.
struct HostCosts {
  /// More than there are acts.
  static constexpr std::size_t kActs = 64;
  std::uint32_t call[kActs] = {};  ///< by act; 0: what the record says
  /// An operator that the framework's dispatcher passes, with all that lies around it but calls: Python, autograd.
  std::uint32_t per_operator = 0;
  /// A launch outside of operators, beside its call: of compiled code, of Python.
  std::uint32_t outside = 0;

  /// What takes nothing is no call of the program.
  std::uint32_t of(const Record& record) const {
    const std::uint32_t known = call[static_cast<std::size_t>(record.act) % kActs];
    return known > 0 && record.duration_ns > 0 ? known : record.duration_ns;
  }
};

}  // namespace flopcast::live
