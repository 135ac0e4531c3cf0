#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <iostream>
#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/terminal/interrupt.h"

namespace {

// Columns come and go, and pages that the system takes back are zeroed again: keep those of arrays that
// are not large, and some at the top.
void keep_pages() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_pages();
  flopcast::cli::watch_for_interrupts();
  flopcast::cli::Io io{std::cout, std::cerr, ::isatty(STDERR_FILENO) == 1,
                       flopcast::cli::terminal_width()};
  return flopcast::cli::run(std::vector<std::string>(argv + 1, argv + argc), io);
}
