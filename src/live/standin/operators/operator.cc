// The operators that a thread runs, one within another, and the kernels they launch. Kernels are kept back until
// their operator has ended: only then is known what it wrote. Whatever else the thread says comes after them, so
// they go first, told by what is known until then. Kernels that a graph captures get their signatures in the graph.
#include "live/standin/operators/operator.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "live/standin/link/link.h"
#include "live/standin/operators/text.h"
#include "live/standin/shim/captured.h"
#include "live/standin/shim/stream.h"
#include "live/standin/values/inside.h"
#include "live/standin/values/late.h"
#include "live/standin/values/plugin.h"
#include "live/standin/values/validity.h"

namespace flopcast::live {
namespace {

/// Kernels that are kept at most.
constexpr std::size_t kMostKept = 1024;
/// What is known of one only by its name, of one only by its parameters, as launches tell it, and of attention whose lengths
/// only the operator knows (math/dnn_graph.cc).
constexpr std::string_view kOnlyNamed = "kernel ", kOnlyArguments = "arguments ",
                           kPacked = "packed ";

/// Arguments with names, which a graph tells once more at each of its launches.
class Named {
 public:
  Named(std::span<const FlopcastArgument> arguments, bool extension)
      : arguments_(arguments.begin(), arguments.end()), extension_(extension) {
    for (FlopcastArgument& one : arguments_) {
      if (one.is_number) continue;
      for (const std::int64_t** list : {&one.tensor.sizes, &one.tensor.strides}) {
        lists_.emplace_back(*list, *list + one.tensor.dims);
        *list = lists_.back().data();
      }
    }
  }
  TensorsText text() {
    bool looked = false;
    return text_of(arguments_, extension_, looked);
  }

 private:
  std::vector<FlopcastArgument> arguments_;
  bool extension_;
  std::deque<std::vector<std::int64_t>> lists_;
};

struct Bytes {
  const void* at = nullptr;
  std::size_t count = 0;
};

struct OperatorCall {
  const char* name = nullptr;
  TensorsText inputs;
  std::string outputs = "?";  ///< not known yet
  std::size_t first = 0;      ///< kept kernel since it began
  bool extension = false;
  std::shared_ptr<Named> again = {};  ///< of one that hangs on values, while graphs are captured
  std::vector<Bytes> written = {};    ///< of an extension
  std::string changed = {};           ///< those, as outputs
  std::vector<Work*> captured = {};   ///< kernels that went into a graph
  std::size_t told = 0;               ///< kernels that have its name
};

struct Kept {
  Record record;
  bool told = false;  ///< its signature says its operator
};

/// The kernel's own name where no more than that, or of an extension's no more than its parameters, is known.
std::string_view only_name(std::string_view signature, bool extension) {
  if (signature.starts_with(kOnlyNamed)) return signature.substr(kOnlyNamed.size());
  const bool packed = !extension && signature.starts_with(kPacked);
  if (!packed && (!extension || !signature.starts_with(kOnlyArguments))) return {};
  for (int word = 0; word < (packed ? 10 : 4); ++word)
    signature.remove_prefix(std::min(signature.find(' ') + 1, signature.size()));
  return signature;
}

double threads_of(const Record& record) {
  return static_cast<double>(std::max<std::uint64_t>(1, record.word[0] * record.word[1]));
}

/// What a kernel of an operator is told as, but for the operator's inputs.
struct Part {
  std::string_view kind;
  const char* name = nullptr;
  std::string rest;  ///< outputs, share in thousandths, kernel

  std::string with(const TensorsText& inputs) const {
    return std::string(kind) + ' ' + name + ' ' + inputs.word + ' ' + rest;
  }
};

/// Of one thread.
class Operators final : public Keeper {
 public:
  static Operators& mine() {
    // Never destroyed: threads launch while they end.
    static thread_local Operators* const own = new Operators;
    return *own;
  }

  void begin(OperatorCall call) {
    call.first = kept_.size();
    calls_.push_back(std::move(call));
    if (calls_.size() == 1) Link::get().set_keeper(this);
  }

  void end(std::span<const FlopcastTensor> outputs) {
    if (calls_.empty()) return;
    OperatorCall& call = calls_.back();
    call.outputs = outputs_of(call, outputs);
    tell(call);
    tell_captured(call);
    if (call.extension && call.told > 0) taint(call);
    calls_.pop_back();
    if (!calls_.empty()) return;
    write();
    Link::get().set_keeper(nullptr);
  }

  void captured(Work& work) {
    if (!calls_.empty() && work.record.act == Act::kKernel) calls_.back().captured.push_back(&work);
  }

  bool keep(const Record& record) override {
    const bool work =
        record.act == Act::kKernel || record.act == Act::kCopy || record.act == Act::kFill;
    if (work && (record.flags & kAnswerWanted) == 0 && kept_.size() < kMostKept) {
      kept_.push_back({record});
      return true;
    }
    let_go();
    return false;
  }

  void let_go() override {
    // Looking up a text may itself stand still for a lock.
    if (std::exchange(letting_go_, true)) return;
    for (auto call = calls_.rbegin(); call != calls_.rend(); ++call) {
      tell(*call);
      call->first = 0;
    }
    write();
    letting_go_ = false;
  }

 private:
  /// Of an extension's: what it changes, and what it returns besides.
  static std::string outputs_of(OperatorCall& call, std::span<const FlopcastTensor> outputs) {
    if (!call.extension) return text_of(outputs, call.inputs.places).word;
    std::vector<FlopcastTensor> fresh;
    for (const FlopcastTensor& one : outputs) {
      const bool known = std::any_of(call.written.begin(), call.written.end(),
                                     [&one](const Bytes& w) { return w.at == one.data; });
      if (known) continue;
      fresh.push_back(one);
      if (one.data) call.written.push_back({one.data, static_cast<std::size_t>(one.bytes)});
    }
    const std::string returned = text_of(fresh, call.inputs.places).word;
    if (call.changed.empty()) return returned;
    return fresh.empty() ? call.changed : call.changed + ',' + returned;
  }

  void tell(OperatorCall& call) {
    std::vector<Record*> kernels;
    for (std::size_t i = call.first; i < kept_.size(); ++i) {
      if (std::exchange(kept_[i].told, true) || kept_[i].record.act != Act::kKernel) continue;
      kernels.push_back(&kept_[i].record);
    }
    tell(call, kernels);
  }

  /// Gives its kernels their signatures. Where a library call with a signature of its own is among them, that
  /// is the operator's work, and the others only prepare or finish it ("beside"). @return what each is told as
  static std::vector<std::optional<Part>> tell(OperatorCall& call,
                                               const std::vector<Record*>& kernels) {
    Link& link = Link::get();
    double threads = 0;
    bool library = false;
    for (const Record* const record : kernels) {
      const bool named = !only_name(link.text(record->signature), call.extension).empty();
      if (named) threads += threads_of(*record);
      library = library || !named;
    }
    std::vector<std::optional<Part>> parts;
    for (Record* const record : kernels) {
      parts.emplace_back();
      const std::string_view kernel = only_name(link.text(record->signature), call.extension);
      if (kernel.empty()) continue;
      const int share = static_cast<int>(threads_of(*record) / threads * 1000 + 0.5);
      parts.back() = Part{library ? "beside" : "operator", call.name,
                          call.outputs + ' ' + std::to_string(std::max(1, share)) + ' '};
      parts.back()->rest += kernel;
      record->signature = link.number(parts.back()->with(call.inputs));
      ++call.told;
    }
    return parts;
  }

  /// The same of kernels of a graph. What hangs on values is told by those that are there when it is launched.
  static void tell_captured(OperatorCall& call) {
    std::vector<Record*> kernels;
    for (Work* const work : call.captured) kernels.push_back(&work->record);
    const std::vector<std::optional<Part>> parts = tell(call, kernels);
    for (std::size_t i = 0; call.again && i < parts.size(); ++i) {
      if (!parts[i]) continue;
      call.captured[i]->signature = [part = *parts[i], again = call.again] {
        return Link::get().number(part.with(again->text()));
      };
    }
  }

  /// What kernels may have written of which only the operator is known.
  static void taint(const OperatorCall& call) {
    const auto all = [written = call.written] {
      for (const Bytes& one : written) {
        overwrite_bytes(one.at, one.count);
        Validity::get().taint(one.at, one.count);
      }
    };
    if (call.captured.empty()) return all();
    Effect& effect = call.captured.back()->effect;
    effect = [before = std::move(effect), all] {
      if (before) before();
      all();
    };
  }

  void write() {
    for (const Kept& one : kept_) Link::get().write(one.record);
    kept_.clear();
  }

  std::vector<OperatorCall> calls_;
  std::vector<Kept> kept_;
  bool letting_go_ = false;
};

/// A profiler sees the same operators, by a clock of its own.
void show_profiler() {
  if (Watcher* const profiler = watcher.load(std::memory_order_acquire)) profiler->looked();
}

}  // namespace

void operator_captured(Work& work) { Operators::mine().captured(work); }

}  // namespace flopcast::live

using namespace flopcast::live;

void flopcast_operator_begin(const char* name, const FlopcastTensor* inputs, std::size_t count) {
  show_profiler();
  Operators::mine().begin({name, text_of({inputs, count})});
}

void flopcast_named_operator_begin(const char* name, const FlopcastArgument* arguments,
                                   std::size_t count) {
  show_profiler();
  bool looked = false;
  const std::span<const FlopcastArgument> all(arguments, count);
  const bool extension = !std::string_view(name).starts_with("aten::");
  OperatorCall call{name, text_of(all, extension, looked)};
  call.extension = extension;
  if (looked && flopcast_live_capturing()) call.again = std::make_shared<Named>(all, extension);
  std::size_t tensors = 0;
  for (const FlopcastArgument& one : all) {
    if (!one.is_number && one.written && one.tensor.data) {
      call.written.push_back({one.tensor.data, static_cast<std::size_t>(one.tensor.bytes)});
      call.changed += (call.changed.empty() ? "=" : ",=") + std::to_string(tensors);
    }
    if (!one.is_number) ++tensors;
  }
  Operators::mine().begin(std::move(call));
}

void flopcast_operator_end(const FlopcastTensor* outputs, std::size_t count) {
  Operators::mine().end({outputs, count});
  show_profiler();
}

void flopcast_range(const char* name, std::size_t length, bool begins) {
  if (!own_speaker || !own_speaker->ring) return;  // a thread in real time
  Record mark;
  mark.act = Act::kMark;
  mark.signature = Link::get().number({name, length});
  mark.word[0] = begins ? 1 : 0;
  Link::get().say(mark);
}

void flopcast_operator_passed() { Link::get().spend_on_operator(); }
