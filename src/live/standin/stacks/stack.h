// Where a thread of the program is: lines of Python if it runs Python, else functions.
#pragma once

#include <string>

namespace flopcast::live {

/// Outermost first, a line each; the frames of a debugger that does not know more than names. Takes Python's lock: call it
/// with no lock held that a thread of Python may wait for.
std::string stack_of_thread();
/// What the program has printed so far goes out, also what Python keeps.
void flush_outputs();

}  // namespace flopcast::live
