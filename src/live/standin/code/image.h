// Code for a GPU as programs hand it over: which kernels and variables are in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flopcast::live {

struct ImageKernel {
  std::string name;
  int registers = 0, shared = 0, max_threads = 0;  ///< 0: the image does not say
  std::vector<std::size_t> parameters = {};        ///< sizes, in order
};
struct ImageVariable {
  std::string name;
  std::size_t bytes = 0;
};
struct Image {
  std::vector<ImageKernel> kernels;
  std::vector<ImageVariable> variables;
  bool complete = false;  ///< nothing else is in it
  std::size_t bytes = 0;  ///< of a cubin; 0: not known
};

/// Reads a cubin (ELF), PTX, or what make_image wrote; of other formats, such as a compressed fat binary, nothing is known.
/// @param code without a length, as the driver takes it. @return none if it is no code at all
std::optional<Image> read_image(const void* code);
/// An image of kernels of which only the names are known. A module of it has any kernel that is asked for.
std::string make_image(const std::vector<std::string>& kernels);

}  // namespace flopcast::live
