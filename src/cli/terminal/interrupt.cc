#include "cli/terminal/interrupt.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace flopcast::cli {
namespace {

namespace fs = std::filesystem;

std::mutex folders_mutex;
std::atomic<int> waiting_commands{0}, received_signal{0};

std::vector<fs::path>& folders() {
  static auto* list = new std::vector<fs::path>;  // outlives the watching thread
  return *list;
}

void remove_parts() {
  const std::string mine = fmt::format(".{}-", ::getpid());
  const std::lock_guard lock(folders_mutex);
  for (const fs::path& folder : folders()) {
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".part") && name.find(mine) != std::string::npos) {
        fs::remove(entry.path(), ignored);
      }
    }
  }
}

sigset_t deadly_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // nohup and shells that start background jobs ignore some: that stays as it is.
    struct sigaction now = {};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, signal);
  }
  return set;
}

void die_of(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), signal);
}

}  // namespace

Interruptible::Interruptible() { waiting_commands = 1; }
Interruptible::~Interruptible() { waiting_commands = 0; }
bool Interruptible::interrupted() { return received_signal != 0; }
int Interruptible::code() { return 128 + received_signal; }

void watch_for_interrupts() {
  const sigset_t set = deadly_signals();
  // Threads inherit the mask: from here on only the watching thread takes these signals.
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set] {
    int signal = 0;
    if (::sigwait(&set, &signal) != 0) return;
    if (waiting_commands.exchange(0) != 0) {
      received_signal = signal;
      // Who sends one to a process and to its group (timeout) means one.
      const auto told = std::chrono::steady_clock::now();
      do {
        if (::sigwait(&set, &signal) != 0) return;
      } while (std::chrono::steady_clock::now() - told < std::chrono::milliseconds(500));
    }
    remove_parts();
    die_of(signal);
  }).detach();
}

void clean_on_interrupt(const fs::path& folder) {
  const std::lock_guard lock(folders_mutex);
  folders().push_back(folder);
}

}  // namespace flopcast::cli
