// Any bytes are a table or one error; every field can be asked for.
#include <cstddef>
#include <cstdint>

#include "base/text/csv_table.h"
#include "support/fuzz_target.h"

FUZZ_TARGET(data, size) {
  const auto table =
      flopcast::CsvTable::parse(std::string(reinterpret_cast<const char*>(data), size), "input");
  if (!table) return 0;
  std::size_t numbers = 0;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    for (std::size_t column = 0; column < table->columns().size(); ++column) {
      numbers += table->number(row, column).ok() ? 1 : 0;
    }
  }
  return numbers <= size ? 0 : -1;
}
