#include "live/engine/account/kernel_name.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace flopcast::live {

std::string kernel_name(std::string_view name) {
  const std::string whole(name);
  if (!name.starts_with("_Z")) return whole;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(whole.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : whole;
}

}  // namespace flopcast::live
