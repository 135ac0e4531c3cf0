#include "live/standin/stacks/stack.h"

#include <execinfo.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "live/standin/stacks/python.h"

namespace flopcast::live {
namespace {

std::string functions() {
  constexpr int kMost = 32, kOwn = 3;
  void* frames[kMost];
  const int count = ::backtrace(frames, kMost);
  char** const names = ::backtrace_symbols(frames, count);
  std::string all;
  for (int i = count - 1; names && i >= kOwn; --i) all += std::string("  ") + names[i] + "\n";
  std::free(names);
  return all;
}

}  // namespace

std::string stack_of_thread() {
  std::string lines = Python().stack();
  return lines.empty() ? functions() : std::move(lines);
}

void flush_outputs() {
  Python().flush();
  std::fflush(nullptr);
}

}  // namespace flopcast::live
