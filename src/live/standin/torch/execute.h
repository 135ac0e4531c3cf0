// An operator of a GPU, computed by the CPU.
#pragma once

#include <ATen/record_function.h>

#include "live/standin/torch/operator.h"

namespace flopcast::plugin {

/// Runs PyTorch's own kernel, so that its launches are told and take their time, and makes the values on the CPU. Where
/// the CPU cannot, outputs are tainted. Throws what PyTorch's own kernel throws.
/// @param stack the call's arguments; after it, what it returns
void execute(Call& call, Values& stack);

/// Elements up to which it is computed where some are no integers.
std::int64_t most_of_numbers(const Operator& what);

/// Whether all elements are valid that decide what comes out. @param from the first argument that counts
bool reads_only_valid(const Call& call, std::size_t from = 0);
/// Whether what comes out is known, or at least what the call puts somewhere.
bool is_computable(const Call& call);

/// What it computes once more, each time that a graph is launched that it was captured into. Never throws what a kernel
/// throws. @param small whether the CPU computes it where its inputs are valid
void replay(Call& call, Values& outputs, bool small);

/// Runs PyTorch's own kernel alone. All that it writes and returns is tainted, but for what is assumed of it.
void assume(Call& call, Values& stack);

/// Until the end of its life, what this thread does is the plug-in's own work: its operators are not counted, and it takes the
/// program no time.
class OwnWork {
 public:
  OwnWork();
  ~OwnWork();
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  at::DisableRecordFunctionGuard uncounted_;
};

/// Whether this thread runs PyTorch's own kernel only for its launches.
bool only_launches();
/// Until the end of its life, this thread does.
class OnlyLaunches {
 public:
  OnlyLaunches();
  ~OnlyLaunches();
  OnlyLaunches(const OnlyLaunches&) = delete;
  OnlyLaunches& operator=(const OnlyLaunches&) = delete;
};

}  // namespace flopcast::plugin
