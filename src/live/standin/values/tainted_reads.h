// Reads of bytes that nobody computed: the run's report has their number, and where the first was.
#pragma once

#include <cstddef>

namespace flopcast::live {

/// The program has read back so many of them. Keeps the first stack; ends the process of a strict run.
void count_tainted_read(std::size_t bytes);
/// A value was assumed that has to be there for the program to go on.
void count_assumed();

}  // namespace flopcast::live
