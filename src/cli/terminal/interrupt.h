// Ctrl-C leaves no half files: where the disk knows no files without a name, what is being written lies in
// "NAME.PID-N.part" beside its final place (base/files/output_file.h), and those of this process are removed before it
// dies of the signal.
#pragma once

#include <filesystem>

namespace flopcast::cli {

/// To be called by main, before any thread is started.
void watch_for_interrupts();
/// Names a folder in which this process writes files.
void clean_on_interrupt(const std::filesystem::path& folder);

/// While one of these is there, the first Ctrl-C (or request to end) is left to the command, which ends what it has
/// started and returns code(); a second one is as ever.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

  static bool interrupted();
  /// 128 + the signal, as shells say it.
  static int code();
};

}  // namespace flopcast::cli
