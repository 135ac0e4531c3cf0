// The made-up traces of examples/make_sample.py: every time in them is known, and every clone has them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/temporary_folder.h"

namespace flopcast::test {

/// A folder with sample_rank0.json.gz to sample_rank7.json.gz: three steps of a simulated training
/// run. Written once, gone when the tests end.
inline const std::filesystem::path& sample_run() {
  static const TemporaryFolder folder;
  static const std::filesystem::path run = [] {
    const auto script =
        std::filesystem::path(__FILE__).parent_path() / "../../examples/make_sample.py";
    const std::filesystem::path to = folder / "sample";
    const std::string command =
        "python3 '" + script.string() + "' '" + to.string() + "' >/dev/null";
    const int status = std::system(command.c_str());
    if (status != 0) ADD_FAILURE() << command << ": " << status;
    return to;
  }();
  return run;
}

}  // namespace flopcast::test
