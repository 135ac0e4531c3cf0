// Ctrl-C leaves no half files: what is being written lies in "NAME.PID-N.part" beside its final
// place (base/files/output_file.h), and those of this process are removed before it dies of the signal.
#pragma once

#include <filesystem>

namespace flopcast::cli {

/// To be called by main, before any thread is started.
void watch_for_interrupts();
/// Names a folder in which this process writes files.
void clean_on_interrupt(const std::filesystem::path& folder);

}  // namespace flopcast::cli
