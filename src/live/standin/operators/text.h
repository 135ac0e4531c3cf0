// Operators and their tensors as words of a signature, which the engine reads (src/live/engine/pricing/operator_call.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "live/standin/operators/operator.h"

namespace flopcast::live {

/// Tensors of an operator as one word, and where those begin that it tells one by one.
struct TensorsText {
  std::string word;
  std::vector<const void*> places;  ///< of tensors
};

/// "bf16:8x4096,f32:,i64:16~x512*3": type and sizes of each; "~" behind a size along which nothing new lies in
/// memory, "!4096" where so many of its elements are others' as well and counted there, "*3" for three alike; "-": none.
/// Many different ones are told as one of a type with all their elements.
/// @param inputs tensors that begin where one of these does are told as its place among them: "=0"
TensorsText text_of(std::span<const FlopcastTensor> tensors,
                    const std::vector<const void*>& inputs = {});

/// The same of arguments that have names: "q=bf16:8192x32x128,lengths=i32:5@0+8192^5,causal=#1". Behind "@" is what a
/// small tensor of integers holds, where that is valid: first, step and count of each even stretch, with ";".
/// @param extension of an operator that is not PyTorch's: its single numbers count. PyTorch's are seeds, which nobody draws where
/// nothing is dropped, so they may be whatever lay in memory
/// @param looked set where the text hangs on what some tensor holds
TensorsText text_of(std::span<const FlopcastArgument> arguments, bool extension, bool& looked);

}  // namespace flopcast::live
