// From results to Python: diagnostics become flopcast.FlopcastError, bytes become str.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>
#include <utility>

#include "flopcast/base.h"

namespace flopcast {

namespace nb = nanobind;

[[noreturn]] inline void raise(const Diagnostic& error) {
  const nb::object type = nb::module_::import_("flopcast._errors").attr("FlopcastError");
  const nb::object value = type(static_cast<int>(error.code), error.where, error.what, error.hint);
  PyErr_SetObject(type.ptr(), value.ptr());
  throw nb::python_error();
}

template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

/// Trace file names need not be UTF-8, nor need what is in them.
inline nb::object text(std::string_view bytes) {
  PyObject* decoded =
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal(decoded);
}

}  // namespace flopcast
