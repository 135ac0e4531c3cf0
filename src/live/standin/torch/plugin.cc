// Operators of PyTorch for GPUs, each wrapped: small ones get the values that a GPU would compute, all are told to the
// core. Compiled against the headers of the PyTorch that is installed; loaded by the core when PyTorch first asks for
// a GPU.
#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "live/standin/torch/catalog.h"
#include "live/standin/torch/wrapped.h"
#include "live/standin/values/plugin.h"

namespace flopcast::plugin {
namespace {

/// PyTorch's own.
constexpr std::string_view kOwn = "aten::";

/// PyTorch warns where a kernel takes another's place, which is what is wanted here.
class Silence : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

std::string name_in_library(const c10::OperatorName& name) {
  const std::string plain = name.name.substr(name.name.find("::") + 2);
  return name.overload_name.empty() ? plain : plain + "." + name.overload_name;
}

/// Of one namespace and device. Never destroyed: it would take its kernels back while the program ends.
torch::Library& library_of(const std::string& space, c10::DispatchKey key) {
  static auto* const libraries =
      new std::map<std::pair<std::string, c10::DispatchKey>, torch::Library>;
  return libraries->try_emplace({space, key}, torch::Library::IMPL, space, key, __FILE__, __LINE__)
      .first->second;
}

/// @return whether there is something to wrap
bool wrap(const c10::OperatorName& name, c10::DispatchKey key) {
  const auto handle = c10::Dispatcher::singleton().findSchema(name);
  std::optional<Operator> what = handle ? describe(*handle, key) : std::nullopt;
  if (!what) return false;
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  const std::string space = name.name.substr(0, name.name.find("::"));
  library_of(space, key)
      .impl(name_in_library(name).c_str(),
            torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Wrapped>(std::move(*what))));
  return true;
}

int wrap_all(c10::DispatchKey key) {
  int count = 0;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames())
    if (name.name.starts_with(kOwn) && wrap(name, key)) ++count;
  return count;
}

/// Operators of extensions come with their libraries, at any time: each is wrapped before its first call by a thread. The
/// dispatcher holds its kernel by the place in its table where the other one now is.
void wrap_extension(const at::RecordFunction& call) {
  const std::string_view called = call.name();
  if (called.starts_with(kOwn) || called.find("::") == called.npos) return;
  const auto name = call.operator_name();
  thread_local std::unordered_set<c10::OperatorName> known;
  if (!name || known.count(*name) > 0) return;
  static auto* const lock = new std::mutex;
  static auto* const wrapped = new std::unordered_set<c10::OperatorName>;
  const std::lock_guard guard(*lock);
  try {
    if (wrapped->count(*name) == 0 && !wrap(*name, c10::DispatchKey::CUDA)) return;
  } catch (const std::exception& error) {
    std::fprintf(stderr,
                 "flopcast: warning: of the operator %s only its kernels' names are known: %s\n",
                 toString(*name).c_str(), error.what());
  }
  wrapped->insert(*name);
  known.insert(*name);
}

/// What a profiler would see as a row of the host, in whatever thread: operators, those within operators, and
/// autograd's nodes. Each takes the host time (catalog/live/host.toml).
void count_operators() {
  at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& call) {
                          flopcast_operator_passed();
                          if (call.scope() == at::RecordScope::FUNCTION) wrap_extension(call);
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
