#include "live/standin/nccl/caller.h"

#include <string_view>
#include <unordered_map>

#include "live/standin/clock/who.h"

namespace flopcast::live {
namespace {

using Object = void;

/// Functions of Python's interface, where the program is one or has it loaded.
struct Frames {
  int (*initialized)() = python_function<int()>("Py_IsInitialized");
  int (*finalizing)() = python_function<int()>("_Py_IsFinalizing");
  int (*finalizing_now)() = python_function<int()>("Py_IsFinalizing");  // from 3.13 on
  int (*ensure)() = python_function<int()>("PyGILState_Ensure");
  void (*release)(int) = python_function<void(int)>("PyGILState_Release");
  Object* (*current)() = python_function<Object*()>("PyEval_GetFrame");
  Object* (*back)(Object*) = python_function<Object*(Object*)>("PyFrame_GetBack");
  Object* (*code)(Object*) = python_function<Object*(Object*)>("PyFrame_GetCode");
  int (*line)(Object*) = python_function<int(Object*)>("PyFrame_GetLineNumber");
  Object* (*attribute)(Object*, const char*) =
      python_function<Object*(Object*, const char*)>("PyObject_GetAttrString");
  const char* (*utf8)(Object*) = python_function<const char*(Object*)>("PyUnicode_AsUTF8");
  void (*keep)(Object*) = python_function<void(Object*)>("Py_IncRef");
  void (*drop)(Object*) = python_function<void(Object*)>("Py_DecRef");
  void (*clear)() = python_function<void()>("PyErr_Clear");

  bool usable() const {
    const bool all = initialized && ensure && release && current && back && code && line &&
                     attribute && utf8 && keep && drop && clear;
    const bool ends =
        (finalizing && finalizing() != 0) || (finalizing_now && finalizing_now() != 0);
    return all && initialized() != 0 && !ends;
  }
};

struct File {
  std::string name;
  bool of_torch = false;
};

/// Without the folders that all programs share.
File file_of(std::string_view path) {
  File file;
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.find(folder);
    if (at == path.npos) continue;
    file.name = path.substr(at + folder.size());
    file.of_torch = file.name.starts_with("torch/");
    return file;
  }
  file.name = path.substr(path.rfind('/') + 1);
  file.of_torch = path.starts_with('<') || file.name == "contextlib.py";
  return file;
}

/// Under the interpreter's lock. A frame's code stays as long as this knows it.
const File& known_file(const Frames& python, Object* frame) {
  static auto* const files = new std::unordered_map<Object*, File>;
  Object* const code = python.code(frame);
  const auto [found, is_new] = files->try_emplace(code);
  if (!is_new) {
    python.drop(code);
    return found->second;
  }
  Object* const path = python.attribute(code, "co_filename");
  const char* const text = path ? python.utf8(path) : nullptr;
  if (text) found->second = file_of(text);
  python.clear();
  if (path) python.drop(path);
  return found->second;
}

std::string line_of(const Frames& python) {
  std::string innermost;
  Object* frame = python.current();
  if (frame) python.keep(frame);
  while (frame) {
    const File& file = known_file(python, frame);
    const bool wanted = !file.of_torch;
    std::string here;
    if (wanted || innermost.empty()) here = file.name + ':' + std::to_string(python.line(frame));
    if (innermost.empty()) innermost = here;
    Object* const caller = wanted ? nullptr : python.back(frame);
    python.drop(frame);
    if (wanted) return here;
    frame = caller;
  }
  return innermost;
}

}  // namespace

std::string calling_line() {
  static const Frames python;
  if (!python.usable()) return {};
  const int state = python.ensure();
  std::string line = line_of(python);
  python.release(state);
  return line;
}

}  // namespace flopcast::live
