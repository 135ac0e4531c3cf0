// flopcast schema: what is in an answer, as JSON Schema.
#include <memory>

#include "cli/terminal/command.h"
#include "flopcast/report/schema.h"

namespace flopcast::cli {
namespace {

struct SchemaCommand {
  std::string answer;
  bool json = false;
};

int run_schema(Io& io, const SchemaCommand& command) {
  if (command.answer.empty()) {
    return print(io, command.json ? all_answers_schema() : answer_list_text());
  }
  const Result<const Answer*> answer = find_answer(command.answer);
  return answer ? print(io, answer_schema(**answer)) : fail(io, answer.error());
}

}  // namespace

void add_schema(CLI::App& app, Action& action) {
  CLI::App* schema = app.add_subcommand(
      "schema",
      "What is in an answer: every field of its JSON with unit and meaning, as JSON Schema");
  const auto command = std::make_shared<SchemaCommand>();
  schema
      ->add_option("ANSWER", command->answer,
                   "An answer or a command (estimate, \"net time\"); all are listed if left out")
      ->type_name("");
  schema->add_flag("--json", command->json, "Without ANSWER: all of them as one document");
  set_example(*schema, "flopcast schema estimate");
  schema->callback(
      [command, &action] { action = [command](Io& io) { return run_schema(io, *command); }; });
}

}  // namespace flopcast::cli
