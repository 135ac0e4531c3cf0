#include "live/standin/values/loader.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace flopcast::live {
namespace {

void warn(const char* path, const char* why) {
  std::fprintf(stderr, "flopcast: warning: %s: %s; no values are computed for GPUs\n", path, why);
}

void load_from(const char* path) {
  void* const plugin = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!plugin) return warn(path, ::dlerror());
  const auto start = reinterpret_cast<int (*)()>(::dlsym(plugin, "flopcast_torch_start"));
  const int operators = start ? start() : -1;
  if (operators < 0) return warn(path, "was made for another version of flopcast");
  if (operators == 0) warn(path, "finds no operators for GPUs");
}

}  // namespace

void load_plugin() {
  static std::atomic<bool> over{false};
  if (over.load(std::memory_order_acquire)) return;
  const char* const path = std::getenv("FLOPCAST_LIVE_TORCH");
  const bool wanted = path && *path;
  // A program may use the runtime before it loads PyTorch, or without it.
  if (wanted && !::dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD)) return;
  static std::mutex once;
  const std::lock_guard guard(once);
  if (over.exchange(true, std::memory_order_acq_rel)) return;
  if (wanted) load_from(path);
}

}  // namespace flopcast::live
