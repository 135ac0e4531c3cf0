// The plug-in for the PyTorch that is installed: compiled against its headers, once a version.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "flopcast/base.h"

namespace flopcast::live {

/// An installed PyTorch.
struct TorchPackage {
  std::filesystem::path folder;  ///< .../site-packages/torch
  std::string version;           ///< "2.15.0+cu132"
  int cuda = 0;  ///< major version that it was built for; 0: it was built without CUDA
};

/// The plug-in for it. Compiled where it is not there yet, into a folder of the user's cache (XDG_CACHE_HOME or
/// ~/.cache, flopcast/torch), which takes half a minute and needs a C++ compiler: CXX, or c++, g++ or clang++ on PATH.
/// Errors: a PyTorch without CUDA, no compiler, a version that it cannot be compiled for.
/// @param sources folder that has its sources at live/standin/torch/
/// @param compiles called before it is compiled
/// @return the library, to be named by FLOPCAST_LIVE_TORCH
Result<std::filesystem::path> torch_plugin(const TorchPackage& torch,
                                           const std::filesystem::path& sources,
                                           const std::function<void()>& compiles = {});

}  // namespace flopcast::live
