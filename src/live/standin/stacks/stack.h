// Where a thread of the program is: lines of Python if it runs Python, else functions.
#pragma once

#include <string>

namespace flopcast::live {

/// Outermost first, a line each; the frames of a debugger that does not know more than names. Takes Python's lock: call it
/// with no lock held that a thread of Python may wait for.
std::string stack_of_thread();
/// Whether the line of Python that this thread is at lies in a function that looks for numbers that are not finite, or lies
/// in none: code that would end, or skip a step, over a NaN. It is seen by what the function names ("isfinite", "inf") and
/// by numbers that it compares with themselves. Lines of PyTorch do not count.
bool reader_looks_for_finite();
/// What the program has printed so far goes out, also what Python keeps.
void flush_outputs();

}  // namespace flopcast::live
