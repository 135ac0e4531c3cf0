// Python's own interface, where the program is one or has it loaded.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <string>

namespace flopcast::live {

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
    run_ = find<void* (*)(const char*, int, void*, void*)>("PyRun_String");
    item_ = find<void* (*)(void*, const char*)>("PyMapping_GetItemString");
    sized_utf8_ = find<const char* (*)(void*, long*)>("PyUnicode_AsUTF8AndSize");
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
  /// What a program leaves in its variable `told`; empty if it fails.
  std::string run(const char* program) {
    if (!there_) return {};
    std::string told;
    void* const variables = dictionary_();
    void* const done = variables ? run_(program, kStatements, variables, variables) : nullptr;
    void* const text = done ? item_(variables, "told") : nullptr;
    long size = 0;
    const char* const bytes = text ? sized_utf8_(text, &size) : nullptr;
    if (bytes) told.assign(bytes, static_cast<std::size_t>(size));
    for (void* object : {text, done, variables}) drop_(object);
    clear_();
    return told;
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
  static constexpr int kStatements = 257;  // Py_file_input
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
  void* (*pack_)(std::ptrdiff_t, ...);
  int (*is_true_)(void*);
  void (*drop_)(void*);
  void (*clear_)();
  void* (*dictionary_)();
  void* (*run_)(const char*, int, void*, void*);
  void* (*item_)(void*, const char*);
  const char* (*sized_utf8_)(void*, long*);
};

}  // namespace flopcast::live
