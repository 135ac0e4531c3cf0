// One of PyTorch's operators for GPUs, and a call of it.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/version.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "live/standin/torch/tensors.h"

namespace flopcast::plugin {

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 9
using Kernel = c10::KernelFunction;
#else
using Kernel = c10::SafeKernelFunction;
#endif
using Values = std::vector<c10::IValue>;  ///< a stack, as the dispatcher has it
struct Call;

/// Values that an operator returns, computed on the CPU. @param arguments as the CPU sees them
/// @param outputs what PyTorch's own kernel returned; empty if it failed
using Emulation = Values (*)(const Call&, const Values& arguments, const Values& outputs);
/// Gives outputs of tainted inputs the values that are assumed for them, in place.
using Policy = void (*)(const Call&, Values& outputs);

/// What is known of an operator before it is called.
struct Operator {
  struct Argument {
    std::string name;  ///< where the operator is told by names
    bool read = true;  ///< its elements decide what comes out
    bool written = false;
    int unread_if =
        -1;  ///< an argument: if it is true, or the number 0, elements of this one decide nothing
  };

  std::string name;        ///< "aten::add.Tensor"
  bool extension = false;  ///< not PyTorch's own: told, and otherwise left alone
  bool by_names = false;   ///< told with its arguments' names, and with what small ones hold
  c10::DispatchKey on_cpu = c10::DispatchKey::CPU;  ///< who computes the same there
  std::optional<Kernel> original;
  std::vector<Argument> arguments;
  std::vector<int> same_as;  ///< by return: the argument that is returned, -1: none
  int generator = -1;        ///< argument of that kind
  int placed = -1;           ///< argument whose numbers it puts into elements of the first one
  bool random = false;
  std::size_t scratch = SIZE_MAX;  ///< returns from this one on are notes of the kernel's own
  bool left_alone = false;         ///< only told of: it moves bytes by calls that the core sees
  bool shape_by_data = false;
  bool makes_memory = false;      ///< with nothing in it
  bool executable = false;        ///< the CPU can compute it
  Emulation emulation = nullptr;  ///< where the CPU has no kernel of its own
  Policy policy = nullptr;
};

/// A call of an operator.
struct Call {
  const Operator& what;
  const c10::OperatorHandle& handle;
  c10::DispatchKeySet keys;
  Values arguments;
  c10::Device device{c10::kCUDA, 0};  ///< of its first tensor that a GPU has
  bool plain = true;  ///< all its tensors are strided memory, or parts that are, of GPUs or the CPU
  bool sparse = false;                     ///< some are sparse
  std::optional<std::uint64_t> seed = {};  ///< of its random numbers
};

}  // namespace flopcast::plugin
