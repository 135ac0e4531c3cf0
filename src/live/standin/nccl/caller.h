// Which line of a Python program makes a call.
#pragma once

#include <string>

namespace flopcast::live {

/// "train.py:41": the innermost line of this thread outside of PyTorch, else the innermost; empty where no Python runs.
/// Takes the lock of the interpreter, as PyTorch's own flight recorder does at such calls.
std::string calling_line();

}  // namespace flopcast::live
