#include "trace/kineto/row_shapes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "trace/kineto/testing.h"

namespace flopcast::trace {
namespace {

constexpr PassOver kAllPassOver[] = {PassOver::kNothing, PassOver::kUnused,
                                     PassOver::kUnusedAndPython};

std::string joined_rows(const std::vector<std::string>& rows) {
  std::string text;
  for (const std::string& row : rows) text += row + ",\n";
  return text;
}

std::uint64_t recognised_of(const std::vector<std::string>& rows,
                            PassOver pass_over = PassOver::kUnusedAndPython) {
  RowShapes shapes(pass_over);
  EXPECT_EQ(reading_difference(shapes, pass_over, joined_rows(rows)), "");
  return shapes.recognised();
}

std::string kernel_row(const std::string& name, int stream) {
  return R"({ "ph": "X", "cat": "kernel", "name": ")" + name +
         R"(", "pid": 0, "tid": 7, "ts": 12.5, "dur": 3, "args": {"queued": 0, "stream": )" +
         std::to_string(stream) + R"(, "grid": [1, 2, 3], "note": "a" } })";
}

TEST(RowShapes, ARowOfAShapeThatWasSeenIsRecognised) {
  EXPECT_EQ(recognised_of({kernel_row("a", 7), kernel_row("longer", 20), kernel_row("", 3)}), 2U);
}

TEST(RowShapes, WhatTheCategorySaysIsPartOfTheShape) {
  const std::string head = R"({"ph":"X","cat":")", tail = R"(","name":"a","pid":1})";
  EXPECT_EQ(recognised_of({head + "kernel" + tail, head + "cpu_op" + tail, head + "kernel" + tail,
                           head + "kern" + tail, head + "cpu_op" + tail}),
            2U);
}

TEST(RowShapes, ANumberThatBecomesAStringIsAnotherShape) {
  EXPECT_EQ(recognised_of({R"({"ph":"X","pid":1})", R"({"ph":"X","pid":"1"})",
                           R"({"ph":"X","pid":[1]})", R"({"ph":"X","pid":"2"})"}),
            1U);
}

TEST(RowShapes, NeedlessRowsArePassedOver) {
  const std::string flow = R"({"ph":"f","id":)", rest = R"(,"cat":"ac2g","bp":"e"})";
  EXPECT_EQ(recognised_of({flow + "1" + rest, flow + "2" + rest, flow + "3" + rest}), 2U);
}

TEST(RowShapes, PythonRowsArePassedOverByTheirName) {
  const auto row = [](const std::string& name) {
    return R"({"ph":"X","cat":"python_function","name":")" + name + R"(","pid":1,"args":{}})";
  };
  const std::vector<std::string> rows = {
      row("f"), row("nn.Module: A_0"), row("g"), row("nn.Module: B_1"), row(""), row("h")};
  EXPECT_EQ(recognised_of(rows), 4U);
  EXPECT_EQ(recognised_of(rows, PassOver::kNothing), 5U);
}

TEST(RowShapes, RowsWhoseShapeDoesNotTellAllAreReadTokenByToken) {
  const std::vector<std::string> irregular = {
      R"({"ph":"X","name":"a","args":7})", R"({"ph":"X","name":"a","ph":"M"})",
      R"({"ph":5,"name":"a"})", R"({"name":"f","ph":"X","cat":"python_function","pid":1})"};
  for (const std::string& row : irregular) {
    EXPECT_EQ(recognised_of({row, row, row}), 0U) << row;
  }
}

TEST(RowShapes, ManyShapesCostNoMoreThanTheirReading) {
  RowShapes shapes(PassOver::kUnused);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "{\"key " + std::to_string(i) + "\":1,\"ph\":\"X\"},";
  EXPECT_EQ(reading_difference(shapes, PassOver::kUnused, text + text), "");
  EXPECT_EQ(reading_difference(shapes, PassOver::kUnused, kernel_row("a", 1) + kernel_row("b", 2)),
            "");
  EXPECT_EQ(shapes.recognised(), 1U);
}

TEST(RowShapes, ARowLargerThanAllThatIsKept) {
  const std::string row = "{\"" + std::string(100000, 'k') + "\":1}";
  EXPECT_EQ(recognised_of({row, row, kernel_row("a", 1), kernel_row("b", 1)}), 1U);
}

// --- Random rows -------------------------------------------------------------------------------

template <typename T>
const T& one_of(const std::vector<T>& list) {
  return list[*rc::gen::inRange<std::size_t>(0, list.size())];
}

std::string blank() {
  return one_of<std::string>({"", "", " ", "\n  ", "\t", "                      "});
}

std::string random_value() {
  return one_of<std::string>({"7", "-1", "12.250", "null", "\"\"", "\"X\"", "\"M\"", "\"f\"",
                              "\"cpu_op\"", "\"a name of more than one block\"", "\"q\\\"\\\\\"",
                              "\"nn.Module: A\"", "[1, [2], \"]\"]", "{\"a\": {}}", "NaN"});
}

/// Keys with blanks around them, and places for values.
struct RandomShape {
  std::vector<std::string> heads, arg_heads;
  std::string phase, category, end;

  std::string row() const {
    std::string text = "{";
    for (std::size_t i = 0; i < heads.size(); ++i) {
      if (i > 0) text += ",";
      text += heads[i];
      text += value_of(heads[i]);
    }
    return text + end;
  }

 private:
  std::string value_of(const std::string& head) const {
    if (head.find("\"ph\"") != std::string::npos) return phase;
    if (head.find("\"cat\"") != std::string::npos) return category;
    if (head.find("\"args\"") == std::string::npos) return random_value();
    std::string text = "{";
    for (std::size_t i = 0; i < arg_heads.size(); ++i) {
      text += (i > 0 ? "," : "") + arg_heads[i] + random_value();
    }
    return text + "}";
  }
};

std::vector<std::string> random_heads(const std::vector<std::string>& keys, int most) {
  std::vector<std::string> heads(*rc::gen::inRange<std::size_t>(0, most));
  for (std::string& head : heads) {
    head = blank() + "\"" + one_of(keys) + "\"" + blank() + ":" + blank();
  }
  return heads;
}

RandomShape random_shape() {
  RandomShape shape;
  shape.heads =
      random_heads({"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args", "bp"}, 9);
  if (*rc::gen::inRange(0, 3) == 0) {  // as profilers write them
    const std::vector<std::string> first = {"\"ph\":", "\"cat\": ", " \"name\": "};
    shape.heads.insert(shape.heads.begin(), first.begin(), first.end());
  }
  shape.arg_heads = random_heads({"stream", "grid", "correlation", "name", "unknown", "cbid"}, 6);
  shape.phase = one_of<std::string>({"\"X\"", "\"X\"", "\"X\"", "\"f\"", "\"C\"", "3"});
  shape.category = one_of<std::string>({"\"kernel\"", "\"python_function\"", "\"ac2g\"", "\"\""});
  shape.end = blank() + "}" + blank();
  return shape;
}

std::string random_rows(const std::vector<RandomShape>& shapes) {
  std::string text;
  const auto count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) text += one_of(shapes).row() + ",";
  return text;
}

void damage(std::string& text) {
  static const std::string kBytes(
      "\"{}[],:\\ \n\x00\xff"
      "0eN",
      15);
  const auto changes = *rc::gen::inRange(0, 4);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto place = *rc::gen::inRange<std::size_t>(0, text.size());
    const char byte = kBytes[*rc::gen::inRange<std::size_t>(0, kBytes.size())];
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[place] = byte;
        break;
      case 1:
        text.insert(place, 1, byte);
        break;
      default:
        text.erase(place, 1);
    }
  }
}

RC_GTEST_PROP(RowShapes, ReadAsTokenByTokenWhateverTheText, ()) {
  std::vector<RandomShape> kinds(*rc::gen::inRange<std::size_t>(1, 4));
  for (RandomShape& kind : kinds) kind = random_shape();
  const PassOver pass_over = kAllPassOver[*rc::gen::inRange(0, 3)];
  RowShapes shapes(pass_over);
  const std::string good = random_rows(kinds);
  RC_ASSERT(reading_difference(shapes, pass_over, good) == "");
  for (int i = 0; i < 4; ++i) {  // shapes that were learned, then rows cut off or damaged
    std::string text = random_rows(kinds);
    damage(text);
    text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
    RC_ASSERT(reading_difference(shapes, pass_over, text) == "");
  }
  RC_CLASSIFY(shapes.recognised() > 0, "some were recognised");
}

}  // namespace
}  // namespace flopcast::trace
