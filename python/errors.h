// From results to Python: diagnostics become flopcast.FlopcastError, bytes become str.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "flopcast/base.h"

namespace flopcast {

namespace nb = nanobind;

[[noreturn]] inline void raise(const Diagnostic& error) {
  const nb::object type = nb::module_::import_("flopcast._errors").attr("FlopcastError");
  const Diagnostic said = error.shown();  // what it quotes need not be UTF-8
  const nb::object value = type(static_cast<int>(said.code), said.where, said.what, said.hint);
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

/// What a name was parsed to. Raises where it is none. @param help the command that lists them
template <typename T>
T known(std::optional<T> value, const char* what, const std::string& given, const char* help) {
  if (value) return *value;
  raise({ErrorCode::kUsage, what, "unknown name '" + given + "'", std::string("see ") + help});
}

/// Trace file names need not be UTF-8, nor need what is in them.
inline nb::str text(std::string_view bytes) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(decoded);
}

}  // namespace flopcast
