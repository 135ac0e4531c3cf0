// What a framework's plug-in says of its operators: kernels launched between begin and end belong to that operator, and
// its tensors have their sizes and types. Plug-ins compile this header, so it needs nothing but the C++ library.
#pragma once

#include <cstddef>
#include <cstdint>

/// A tensor as an operator sees it. Arrays are the caller's, and live as long as the call they are given to.
struct FlopcastTensor {
  const void* data;                     ///< null if it has no elements
  std::int64_t bytes;                   ///< from `data` to the end of its last element
  std::int32_t type;                    ///< c10::ScalarType
  std::int32_t dims;                    ///< length of `sizes` and `strides`
  const std::int64_t *sizes, *strides;  ///< in elements
};

/// An argument that is told by its name, as operators of extensions have them: a tensor, or a number.
struct FlopcastArgument {
  const char* name;  ///< as the operator's schema has it: kept by address, so it must stay as it is
  bool is_number;    ///< else it is a tensor
  double number;     ///< integers and truth values as well
  bool written;      ///< what the tensor holds is changed
  FlopcastTensor tensor;
};

#if defined(__GNUC__)
#define FLOPCAST_PLUGIN_API extern "C" __attribute__((visibility("default")))
#endif

/// An operator begins in this thread. Operators nest; an end belongs to the innermost begin.
/// @param name as the dispatcher has it, "aten::add.Tensor": kept by address, so it must stay as it is
/// @param inputs all tensors among its arguments, in order; those of lists one by one. Copied where it is kept
FLOPCAST_PLUGIN_API void flopcast_operator_begin(const char* name, const FlopcastTensor* inputs,
                                                 std::size_t count);
/// The same with names and numbers. What small tensors of integers hold is told, too, where it is valid: lengths of sequences. If
/// it is not PyTorch's own, what its kernels of unknown parameters may have written is tainted when it ends.
FLOPCAST_PLUGIN_API void flopcast_named_operator_begin(const char* name,
                                                       const FlopcastArgument* arguments,
                                                       std::size_t count);
/// @param outputs all tensors that it returns, in order; none where it failed
FLOPCAST_PLUGIN_API void flopcast_operator_end(const FlopcastTensor* outputs, std::size_t count);

/// A range of the program's own, "ProfilerStep#3" or "Optimizer.step#SGD.step", begins or ends in this thread. It takes no
/// time. @param name of `length` bytes
FLOPCAST_PLUGIN_API void flopcast_range(const char* name, std::size_t length, bool begins);

/// The framework's dispatcher has passed an operator of this thread, whatever it launches: the host's time of one.
FLOPCAST_PLUGIN_API void flopcast_operator_passed();
