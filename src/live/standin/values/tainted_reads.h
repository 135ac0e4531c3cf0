// Reads of bytes that nobody computed: the run's report has their number, and where the first was.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flopcast::live {

/// The program has read back so many of them. The first of the run is told on standard error. Keeps the first stack; ends the process of a strict run.
void count_tainted_read(std::size_t bytes);
/// What tainted numbers are read as, of how many bytes each, and how many are read; 0: the thread reads none such.
struct NumbersRead {
  std::uint64_t bits = 0;
  std::size_t width = 0, count = 0;
};
NumbersRead numbers_read();
/// Where values end: the first such work is kept.
bool origin_wanted();
void not_computed(const char* what, const char* why);
/// A value was assumed that has to be there for the program to go on.
void count_assumed();

}  // namespace flopcast::live
