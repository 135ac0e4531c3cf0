// The operators that a thread runs, one within another, and the kernels they launch. Kernels are kept back until
// their operator has ended: only then is known what it wrote. Whatever else the thread says comes after them, so
// they go first, told by what is known until then.
#include "live/standin/operators/operator.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "live/standin/link/link.h"
#include "live/standin/operators/text.h"
#include "live/standin/shim/stream.h"

namespace flopcast::live {
namespace {

/// Kernels that are kept at most.
constexpr std::size_t kMostKept = 1024;
/// What is known of one only by its name, as launches tell it.
constexpr std::string_view kOnlyNamed = "kernel ";

struct OperatorCall {
  const char* name = nullptr;
  TensorsText inputs;
  std::string outputs = "?";  ///< not known yet
  std::size_t first = 0;      ///< kept kernel since it began
};

struct Kept {
  Record record;
  bool told = false;  ///< its signature says its operator
};

/// Of one thread.
class Operators final : public Keeper {
 public:
  static Operators& mine() {
    // Never destroyed: threads launch while they end.
    static thread_local Operators* const own = new Operators;
    return *own;
  }

  void begin(const char* name, std::span<const FlopcastTensor> inputs) {
    calls_.push_back({name, text_of(inputs), "?", kept_.size()});
    if (calls_.size() == 1) Link::get().set_keeper(this);
  }

  void end(std::span<const FlopcastTensor> outputs) {
    if (calls_.empty()) return;
    calls_.back().outputs = text_of(outputs, calls_.back().inputs.places).word;
    tell(calls_.back());
    calls_.pop_back();
    if (!calls_.empty()) return;
    write();
    Link::get().set_keeper(nullptr);
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
  /// Gives its kernels their signatures. Where a library call with a signature of its own is among them, that
  /// is the operator's work, and the others only prepare or finish it ("beside").
  void tell(const OperatorCall& call) {
    Link& link = Link::get();
    double threads = 0;
    bool library = false;
    for (std::size_t i = call.first; i < kept_.size(); ++i) {
      const Record& record = kept_[i].record;
      if (kept_[i].told || record.act != Act::kKernel) continue;
      const bool named = link.text(record.signature).starts_with(kOnlyNamed);
      if (named) threads += threads_of(record);
      library = library || !named;
    }
    for (std::size_t i = call.first; i < kept_.size(); ++i) {
      Record& record = kept_[i].record;
      if (kept_[i].told || record.act != Act::kKernel) continue;
      kept_[i].told = true;
      const std::string_view kernel = link.text(record.signature);
      if (!kernel.starts_with(kOnlyNamed)) continue;
      record.signature = number(call, library ? "beside" : "operator", threads_of(record) / threads,
                                kernel.substr(kOnlyNamed.size()));
    }
  }

  /// A signature for the kernel: its share of what the operator moves, in thousandths.
  static std::uint32_t number(const OperatorCall& call, std::string_view kind, double share,
                              std::string_view kernel) {
    const std::string thousandths =
        std::to_string(std::max(1, static_cast<int>(share * 1000 + 0.5)));
    const std::string_view words[] = {call.name, call.inputs.word, call.outputs, thousandths,
                                      kernel};
    std::string text(kind);
    for (const std::string_view word : words) {
      text += ' ';
      text += word;
    }
    return Link::get().number(text);
  }

  static double threads_of(const Record& record) {
    return static_cast<double>(std::max<std::uint64_t>(1, record.word[0] * record.word[1]));
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
}  // namespace flopcast::live

using namespace flopcast::live;

void flopcast_operator_begin(const char* name, const FlopcastTensor* inputs, std::size_t count) {
  show_profiler();
  Operators::mine().begin(name, {inputs, count});
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
