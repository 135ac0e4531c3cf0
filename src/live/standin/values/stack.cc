#include "live/standin/values/stack.h"

#include <dlfcn.h>
#include <execinfo.h>

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
  void (*drop_)(void*);
  void (*clear_)();
};

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

void flush_outputs() {
  Python().flush();
  std::fflush(nullptr);
}

}  // namespace flopcast::live
