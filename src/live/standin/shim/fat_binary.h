// Code for several chips in one, as programs register it.
#pragma once

#include <optional>

namespace flopcast::live {

/// What a chip runs of a fat binary: the version that its code was compiled for, and that of the code itself, as 10 times
/// the major and the minor. Both 0: it holds nothing for that chip.
struct CodeVersions {
  int assembly = 0, binary = 0;
};

/// @param wrapper what __cudaRegisterFatBinary gets. @return none if it is not in the known form
std::optional<CodeVersions> versions_for(const void* wrapper, int chip);

/// Whether code begins as a fat binary or what is around one.
bool is_fat_binary(const void* code);

}  // namespace flopcast::live
