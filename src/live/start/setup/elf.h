// What a shared library defines and wants: as much of ELF as that takes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::live {

struct DynamicSymbol {
  std::string name;
  std::string version;   ///< node of the version; empty: none
  bool defined = false;  ///< else it is wanted
  bool weak = false;     ///< wanted, but the library loads without it
};

/// The dynamic symbols of a library of this kind of machine. Errors: a file that is no such library, or ends too
/// early.
Result<std::vector<DynamicSymbol>> dynamic_symbols(const std::filesystem::path& library);
/// The same of a library in memory.
/// @param library names it in errors
Result<std::vector<DynamicSymbol>> dynamic_symbols(std::span<const char> bytes,
                                                   const std::filesystem::path& library);

}  // namespace flopcast::live
