// The functions of toml++: parsing takes a compiler some ten seconds, and no other file has to.
#define TOML_IMPLEMENTATION
#include "base/text/toml.h"
