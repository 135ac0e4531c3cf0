// nlohmann/json.hpp for precompiled headers, without the literal "..."_json: GCC would compile the whole parser that
// it calls for every unit that takes such a header, though nobody uses it (a second each). A template is left alone.
#pragma once

#define JSON_USE_GLOBAL_UDLS 0
#define _json(text, size)                  \
  _no_json_literal(text, size);            \
  template <typename = void>               \
  nlohmann::json json_of_text(text, size)
#include <nlohmann/json.hpp>
#undef _json
