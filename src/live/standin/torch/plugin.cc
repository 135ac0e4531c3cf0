// Operators of PyTorch for GPUs, each wrapped: small ones get the values that a GPU would compute, all are told to the
// core. Compiled against the headers of the PyTorch that is installed; loaded by the core when PyTorch first asks for
// a GPU.
#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "live/standin/torch/catalog.h"
#include "live/standin/torch/wrapped.h"
#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// PyTorch warns where a kernel takes another's place, which is what is wanted here.
class Silence : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

std::string name_in_library(const c10::OperatorName& name) {
  const std::string plain = name.name.substr(name.name.find("::") + 2);
  return name.overload_name.empty() ? plain : plain + "." + name.overload_name;
}

int wrap_all(c10::DispatchKey key) {
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  // Never destroyed: it would take its kernels back while the program ends.
  auto* const library = new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  int count = 0;
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto handle = dispatcher.findSchema(name);
    if (!handle) continue;
    std::optional<Operator> what = describe(*handle, key);
    if (!what) continue;
    library->impl(name_in_library(name).c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                                     std::make_unique<Wrapped>(std::move(*what))));
    ++count;
  }
  return count;
}

/// What a profiler would see as a row of the host, in whatever thread: operators, those within operators, and
/// autograd's nodes. Each takes the host time (catalog/live/host.toml).
void count_operators() {
  at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction&) {
                          flopcast_operator_passed();
                          return std::unique_ptr<at::ObserverContext>();
                        }).scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

/// A range that the program or PyTorch itself names: a step of the profiler or of an optimizer.
struct Range : at::ObserverContext {
  explicit Range(std::string text) : name(std::move(text)) {}
  std::string name;
};

/// Both ends in the thread where it began: one that ends elsewhere (of a future) is none.
void tell_ranges() {
  at::addGlobalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& range) -> std::unique_ptr<at::ObserverContext> {
            auto named = std::make_unique<Range>(range.name());
            flopcast_range(named->name.data(), named->name.size(), true);
            return named;
          },
          [](const at::RecordFunction&, at::ObserverContext* begun) {
            const std::string& name = static_cast<Range*>(begun)->name;
            flopcast_range(name.data(), name.size(), false);
          })
          .scopes({at::RecordScope::USER_SCOPE}));
}

}  // namespace
}  // namespace flopcast::plugin

/// Called by the core. @return operators that are wrapped; -1: compiled for another core
extern "C" __attribute__((visibility("default"))) int flopcast_torch_start() {
  if (flopcast_live_version() != kFlopcastPluginVersion) return -1;
  try {
    flopcast::plugin::count_operators();
    flopcast::plugin::tell_ranges();
    int wrapped = 0;
    for (const c10::DispatchKey key : flopcast::plugin::kKeys)
      wrapped += flopcast::plugin::wrap_all(key);
    return wrapped;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "flopcast: warning: values of tensors are not computed: %s\n",
                 error.what());
    return 0;
  }
}
