// The plug-in for the PyTorch that is installed: compiled against its headers, once a version.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "flopcast/base.h"

namespace flopcast::live {

/// An installed PyTorch.
struct TorchPackage {
  std::filesystem::path folder;  ///< .../site-packages/torch
  std::string version;           ///< "2.15.0+cu132"
  int cuda = 0;  ///< major version that it was built for; 0: it was built without CUDA
};

/// The one that this interpreter would import; none if there is none. Errors: a program that cannot be started.
/// @param python a program on PATH, or a path
Result<std::optional<TorchPackage>> find_torch(const std::string& python);

/// The plug-in for it. Compiled where it is not there yet, into a folder of the user's cache (XDG_CACHE_HOME or
/// ~/.cache, flopcast/torch), which takes half a minute and needs a C++ compiler: CXX, or c++, g++ or clang++ on PATH.
/// Errors: a PyTorch without CUDA, no compiler, a version that it cannot be compiled for.
/// @param sources folder that has its sources at live/torch/
/// @return the library, to be named by FLOPCAST_LIVE_TORCH
Result<std::filesystem::path> torch_plugin(const TorchPackage& torch,
                                           const std::filesystem::path& sources);

/// The plug-in for the PyTorch of a command: that of the interpreter it begins with, else of python3 on PATH. Empty where
/// there is no interpreter or no PyTorch with CUDA.
Result<std::string> torch_plugin_of(const std::vector<std::string>& command,
                                    const std::filesystem::path& sources);

}  // namespace flopcast::live
