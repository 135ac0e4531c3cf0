// catalog/collectives/constants.toml: every constant is there, with a source.
#include "network/fit/constants.h"

#include <gtest/gtest.h>

#include <string>

#include "catalog_files.h"

namespace flopcast::network {
namespace {

TEST(FitConstants, OfTheCatalogueAreWhole) {
  const std::string text(catalog_data::collectives_constants_toml());
  const auto read = parse_fit_constants(text, "c.toml");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_GT(fit_constants().shape, 0);
  EXPECT_NEAR(fit_constants().same_library(), 0.034, 1e-9);
  EXPECT_LT(
      fit_constants().any_system + fit_constants().same_fabric + fit_constants().same_generation,
      1);
  EXPECT_LT(fit_constants().unmeasured_pcie[0].low, 0);
  EXPECT_GT(fit_constants().unmeasured_nvlink[3].high, 0);
}

TEST(FitConstants, OneThatIsMissingOrWithoutSourceIsNamed) {
  const std::string good(catalog_data::collectives_constants_toml());
  const auto with = [&good](std::string_view from, std::string_view to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    const auto read = parse_fit_constants(text, "c.toml");
    return read ? std::string() : read.error().text();
  };
  EXPECT_EQ(with("shape = 0.64", "shape = 0.6"), "");
  EXPECT_NE(with("shape = 0.64", "shapes = 0.64").find("[kinship] shape"), std::string::npos);
  EXPECT_NE(with("shape = 0.64", "shape = \"0.64\"").find("[kinship] shape"), std::string::npos);
  EXPECT_NE(with("source = \"repeats\"", "source = \"hearsay\"").find("[band] repeat"),
            std::string::npos);
  EXPECT_NE(with("nvlink = [[-0.4, 0.5], ", "nvlink = [").find("nvlink"), std::string::npos);
  EXPECT_NE(with("nvlink = [[-0.4, 0.5]", "nvlink = [[0.4, 0.5]").find("nvlink"),
            std::string::npos);
}

}  // namespace
}  // namespace flopcast::network
