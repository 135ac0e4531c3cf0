#include "live/standin/values/stack.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace flopcast::live {
namespace {

/// Functions of the stable interface of Python, where the program is one or has it loaded.
class Python {
 public:
  /// Takes the lock of the interpreter for as long as it lives.
  Python() {
    const auto initialized = find<int (*)()>("Py_IsInitialized");
    ensure_ = find<int (*)()>("PyGILState_Ensure");
    release_ = find<void (*)(int)>("PyGILState_Release");
    import_ = find<void* (*)(const char*)>("PyImport_ImportModule");
    attribute_ = find<void* (*)(void*, const char*)>("PyObject_GetAttrString");
    call_ = find<void* (*)(void*, void*)>("PyObject_CallObject");
    text_ = find<void* (*)(const char*)>("PyUnicode_FromString");
    join_ = find<void* (*)(void*, void*)>("PyUnicode_Join");
    utf8_ = find<const char* (*)(void*)>("PyUnicode_AsUTF8");
    drop_ = find<void (*)(void*)>("Py_DecRef");
    clear_ = find<void (*)()>("PyErr_Clear");
    dictionary_ = find<void* (*)()>("PyDict_New");
    item_ = find<void* (*)(void*, const char*)>("PyDict_GetItemString");
    pack_ = find<void* (*)(std::ptrdiff_t, ...)>("PyTuple_Pack");
    is_true_ = find<int (*)(void*)>("PyObject_IsTrue");
    there_ = initialized && all_there_ && initialized() != 0;
    if (there_) state_ = ensure_();
  }
  ~Python() {
    if (there_) release_(state_);
  }
  Python(const Python&) = delete;
  Python& operator=(const Python&) = delete;

  std::string stack() {
    if (!there_) return {};
    std::string all;
    void* const lines = call("traceback", "format_stack");
    void* const nothing = text_("");
    void* const joined = lines && nothing ? join_(nothing, lines) : nullptr;
    const char* const bytes = joined ? utf8_(joined) : nullptr;
    if (bytes) all = bytes;
    for (void* object : {lines, nothing, joined}) drop_(object);
    clear_();
    return all;
  }
  /// Calls a function without arguments that this text defines. @return what it answers
  bool ask(const char* definition, const char* name, bool otherwise) {
    if (!there_) return otherwise;
    static void* const names = dictionary_();
    static void* function = nullptr;
    if (!function) {
      void* const module = import_("builtins");
      void* const run = module ? attribute_(module, "exec") : nullptr;
      void* const text = text_(definition);
      void* const arguments = run && text && names ? pack_(2, text, names) : nullptr;
      void* const done = arguments ? call_(run, arguments) : nullptr;
      function = done ? item_(names, name) : nullptr;
      for (void* object : {module, run, text, arguments, done}) drop_(object);
    }
    void* const answer = function ? call_(function, nullptr) : nullptr;
    const int truth = answer ? is_true_(answer) : -1;
    drop_(answer);
    clear_();
    return truth < 0 ? otherwise : truth > 0;
  }
  void flush() {
    if (!there_) return;
    for (const char* name : {"stdout", "stderr"}) {
      void* const module = import_("sys");
      void* const stream = module ? attribute_(module, name) : nullptr;
      void* const function = stream ? attribute_(stream, "flush") : nullptr;
      void* const done = function ? call_(function, nullptr) : nullptr;
      for (void* object : {module, stream, function, done}) drop_(object);
      clear_();
    }
  }

 private:
  template <typename Function>
  Function find(const char* name) {
    void* const found = ::dlsym(RTLD_DEFAULT, name);
    all_there_ = all_there_ && found;
    return reinterpret_cast<Function>(found);
  }
  void* call(const char* module_name, const char* name) {
    void* const module = import_(module_name);
    void* const function = module ? attribute_(module, name) : nullptr;
    void* const result = function ? call_(function, nullptr) : nullptr;
    drop_(module);
    drop_(function);
    return result;
  }

  bool all_there_ = true, there_ = false;
  int state_ = 0;
  int (*ensure_)();
  void (*release_)(int);
  void* (*import_)(const char*);
  void* (*attribute_)(void*, const char*);
  void* (*call_)(void*, void*);
  void* (*text_)(const char*);
  void* (*join_)(void*, void*);
  const char* (*utf8_)(void*);
  void* (*dictionary_)();
  void* (*item_)(void*, const char*);
  void* (*pack_)(std::ptrdiff_t, ...);
  int (*is_true_)(void*);
  void (*drop_)(void*);
  void (*clear_)();
};

/// A comprehension belongs to the function that it stands in. What a function is like is looked at once.
constexpr const char* kLooksForFinite = R"(
import dis, math, os, sys

_known = {}

def _compares_with_itself(code):
    last = None
    for step in dis.get_instructions(code):
        if step.opname == 'COMPARE_OP' and str(step.argval).strip('bool()') in ('==', '!=') and last:
            if last[0] == last[1]:
                return True
        if isinstance(step.argval, tuple):
            last = step.argval
        elif step.opname.startswith('LOAD_'):
            last = (last[1] if last else None, (step.opname, step.argval))
        else:
            last = None
    return False

def _looks(code):
    names = [code.co_name, *code.co_names]
    texts = [c.lower().lstrip('+-') for c in code.co_consts if isinstance(c, str)]
    numbers = [c for c in code.co_consts if isinstance(c, float)]
    return (
        any(w in n.lower() for n in names for w in ('isnan', 'isinf', 'isfinite', 'overflow'))
        or any(n.lower() in ('inf', 'nan', 'infinity') for n in (*names, *texts))
        or any(not math.isfinite(n) for n in numbers)
        or _compares_with_itself(code)
    )

def looks():
    frame = sys._getframe(1)
    torch = os.path.dirname(sys.modules['torch'].__file__) + os.sep if 'torch' in sys.modules else None
    while frame and torch and frame.f_code.co_filename.startswith(torch):
        frame = frame.f_back
    while frame:
        code = frame.f_code
        if code not in _known:
            _known[code] = _looks(code)
        if _known[code]:
            return True
        if not code.co_name.startswith('<') or code.co_name == '<module>':
            return False
        frame = frame.f_back
    return True
)";

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

bool reader_looks_for_finite() { return Python().ask(kLooksForFinite, "looks", true); }

void flush_outputs() {
  Python().flush();
  std::fflush(nullptr);
}

}  // namespace flopcast::live
