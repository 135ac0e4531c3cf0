// Writes the figures of the paper as CSV files, by Flopcast's public headers alone.
//
//   figures FOLDER [published|repaired|none|DEFECT,...]
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "flopcast/analytic_paper.h"

namespace {

int fail(const flopcast::Diagnostic& error) {
  std::fprintf(stderr, "figures: %s\n", error.text().c_str());
  return static_cast<int>(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: figures FOLDER [published|repaired|none|DEFECT,...]\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const auto defects = flopcast::parse_paper_defects(argc > 2 ? argv[2] : "published");
  if (!defects) return fail(defects.error());
  for (const flopcast::PaperFigure& figure : flopcast::paper_figures()) {
    const auto cells = flopcast::paper_figure_cells(figure.name, *defects);
    if (!cells) return fail(cells.error());
    const auto results = flopcast::paper_study(*cells);
    if (!results) return fail(results.error());
    const auto path = folder / ("figure" + std::string(figure.name) + ".csv");
    std::ofstream file(path, std::ios::binary);
    file << flopcast::paper_csv(*cells, *results);
    if (!file.flush()) {
      return fail({flopcast::ErrorCode::kBadInput, path.string(), "cannot be written",
                   "check that the folder is there"});
    }
    std::printf("%-40s %s\n", path.string().c_str(), std::string(figure.shows).c_str());
  }
  return 0;
}
