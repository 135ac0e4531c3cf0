// What scripts run, without running them.
#include "parallel/shell/shell.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flopcast::parallel {
namespace {

using Words = std::vector<std::string>;

/// The words of the last command.
Words last(std::string_view text, const ShellInput& input = {}) {
  const ShellRun run = run_shell(text, input);
  EXPECT_FALSE(run.commands.empty()) << text;
  return run.commands.empty() ? Words{} : run.commands.back();
}

TEST(Shell, Quotes) {
  EXPECT_EQ(last(R"(a 'b c' "d e" f\ g h"i"'j')"), (Words{"a", "b c", "d e", "f g", "hij"}));
  EXPECT_EQ(last("A='x  y'\nrun $A \"$A\""), (Words{"run", "x", "y", "x  y"}));
  EXPECT_EQ(last(R"(A=b; run '$A' "\$A" "\n" $'a\nb')"), (Words{"run", "$A", "$A", "\\n", "a\nb"}));
}

TEST(Shell, CommentsAndContinuations) {
  EXPECT_EQ(last("run a \\\n  b # c 'd\n"), (Words{"run", "a", "b"}));
  EXPECT_EQ(last("run a#b \\\r\n c\r\n"), (Words{"run", "a#b", "c"}));
}

TEST(Shell, Variables) {
  EXPECT_EQ(last("A=4\nrun ${A}x ${B:-5} ${C-} ${A:+y} ${#A}"),
            (Words{"run", "4x", "5", "y", "1"}));
  EXPECT_EQ(last("A=x.tar.gz; run ${A%.gz} ${A%%.*} ${A#*.} ${A##*.} ${A/tar/zip} ${A^^}"),
            (Words{"run", "x.tar", "x", "tar.gz", "gz", "x.zip.gz", "X.TAR.GZ"}));
  EXPECT_EQ(last("A=1; B=${C:=2}; A+=3; run $A $B $C"), (Words{"run", "13", "2", "2"}));
  EXPECT_EQ(last("export A=1 B='2 3'; run $A \"$B\""), (Words{"run", "1", "2 3"}));
}

TEST(Shell, Arrays) {
  EXPECT_EQ(
      last(
          "A=(a 'b c' # d )\n e)\nA+=(f)\nrun ${A[@]} \"${A[@]}\" \"${A[*]}\" ${A[1]} ${#A[@]} $A"),
      (Words{"run", "a", "b", "c", "e", "f", "a", "b c", "e", "f", "a b c e f", "b", "c", "4",
             "a"}));
}

TEST(Shell, Arithmetic) {
  EXPECT_EQ(
      last("A=6\nrun $((A*2)) $(( $A / 4 )) $((2**3-1)) $((A>5 ? 1 : 0)) $((-7 % 3)) $((1<<4|1))"),
      (Words{"run", "12", "1", "7", "1", "-1", "17"}));
  // What overflows or divides by zero is unknown, and ends.
  EXPECT_TRUE(has_unknown(last("run $((9223372036854775807 + 1))")[1]));
  EXPECT_TRUE(has_unknown(last("run $((1 / 0))")[1]));
}

TEST(Shell, Branches) {
  const std::string script =
      "if [ $A = 1 ]; then B=one; elif [[ $A == t* && ! -z $A ]]; then B=two; else B=more; fi; run "
      "$B";
  EXPECT_EQ(last("A=1;" + script)[1], "one");
  EXPECT_EQ(last("A=ten;" + script)[1], "two");
  EXPECT_EQ(last("A=9;" + script)[1], "more");
  EXPECT_EQ(last("A=3; (( A > 2 )) && run yes || run no")[1], "yes");
  EXPECT_EQ(last("case a.sh in b) run b;; *.sh|c) run script;; esac")[1], "script");
  EXPECT_EQ(last("for i in 1 2; do A=\"$A$i\"; done; run ${A#?}").size(), 2u);
  EXPECT_EQ(last("f() { run $2 $#; }; f a b")[1], "b");
}

TEST(Shell, WhatNobodyKnowsKeepsItsName) {
  const ShellRun run =
      run_shell("A=$1\nB=$((A * 2))\nif [ $A = 3 ]; then C=4; fi\nrun $B $(date) $C", {});
  ASSERT_EQ(run.commands.size(), 1u);
  const Words& words = run.commands[0];
  EXPECT_EQ(unknown_in(words[1]), "1");
  EXPECT_EQ(readable(words[2]), "$(date)");
  EXPECT_EQ(readable(words[3]), "$C");
  ASSERT_EQ(run.undecided.size(), 1u);
  EXPECT_EQ(run.undecided[0], "$A = 3");
  ShellInput input;
  input.arguments = {"3"};
  EXPECT_EQ(last("A=$1\nB=$((A * 2))\nif [ $A = 3 ]; then C=4; fi\nrun $B $C", input),
            (Words{"run", "6", "4"}));
}

TEST(Shell, HereDocuments) {
  const ShellRun run =
      run_shell("A=2\ncat <<EOT > $A.json\n{ \"a\": $A }\nEOT\ncat > b <<'X'\n$A\nX\n", {});
  ASSERT_EQ(run.files.size(), 2u);
  EXPECT_EQ(run.files[0].name, "2.json");
  EXPECT_EQ(run.files[0].text, "{ \"a\": 2 }\n");
  EXPECT_EQ(run.files[1].text, "$A\n");
}

TEST(Shell, ShellsInShells) {
  EXPECT_EQ(last("A=1; B=\"run \\$A x\"; eval $B"), (Words{"run", "1", "x"}));
  EXPECT_EQ(last("A=1; srun -N 2 bash -c \"run $A \\$B\" | tee log").front(), "tee");
  EXPECT_EQ(run_shell("srun -N 2 bash -c \"run 1\" | tee log", {}).commands[0],
            (Words{"run", "1"}));
  EXPECT_EQ(last("cat > j.sh <<E\nrun 5\nE\nsbatch j.sh"), (Words{"run", "5"}));
}

TEST(Shell, PlaceholdersAreUnknown) {
  EXPECT_EQ(readable(last("run --data <PATH TO DATA> --fp16")[2]), "$<PATH TO DATA>");
  EXPECT_EQ(last("run <in >out"), (Words{"run"}));
}

TEST(Shell, WorkIsBounded) {
  for (const char* text : {"A=x; while true; do A=$A$A$A$A; done; run", "f() { f; f; }; f",
                           "A='eval \"$A\"'; eval \"$A\"",
                           "A=(a b c d e f g h); for i in ${A[@]}; do for j in ${A[@]}; do "
                           "A+=(${A[@]}); done; done"}) {
    const ShellRun run = run_shell(text, {});
    EXPECT_LE(run.commands.size(), 20'000u) << text;
  }
  EXPECT_FALSE(run_shell("A=x; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do A=$A$A$A$A; done", {})
                   .complete);
  std::string deep;
  for (int i = 0; i < 5000; ++i) deep += "$(( (";
  EXPECT_TRUE(run_shell("run " + deep, {}).commands.size() <= 1);
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += "if true; then ";
  (void)run_shell(nested, {});
}

TEST(Shell, WrongScriptsEnd) {
  for (const char* text :
       {"if", "fi",  "case", "case x in", "for", "for x", "((", "${",  "$(",   "`",      "'", "\"",
        "<<", "a=(", "[[",   "function",  "f(",  "{",     "(",  "| |", "&& x", "esac;;", "!"}) {
    (void)run_shell(text, {});
  }
  EXPECT_EQ(last("fi; run 1 ) } done"), (Words{"run", "1"}));
}

}  // namespace
}  // namespace flopcast::parallel
