// The verbs of the command line, and what each is made of. CLI11 stays behind the sources.
#pragma once

#include <functional>
#include <string>

#include "cli/console.h"

namespace CLI {
class App;
}

namespace troika::cli {

/// Made once by main and passed to every verb.
struct Context {
  Console& console;
  int exit_code = 0;      ///< Exit code of the program if the verb does not fail.
  std::string command{};  ///< The command line, quoted for a shell.
};

struct Verb {
  CLI::App* app;              ///< Owned by the program's parser.
  std::function<void()> run;  ///< Called after the parser has filled the verb's arguments.
};

/// Each adds its verb to the parser. The source file has the name of the verb.
Verb add_bench(CLI::App& parent, Context& context);
Verb add_bench_comm(CLI::App& bench, Context& context);  // `troika bench comm`
Verb add_bench_sim(CLI::App& bench, Context& context);   // `troika bench sim`
Verb add_config(CLI::App& parent, Context& context);
Verb add_demo(CLI::App& parent, Context& context);
Verb add_doctor(CLI::App& parent, Context& context);
Verb add_eval(CLI::App& parent, Context& context);
Verb add_inspect(CLI::App& parent, Context& context);
Verb add_models(CLI::App& parent, Context& context);
Verb add_plan(CLI::App& parent, Context& context);
Verb add_predict(CLI::App& parent, Context& context);
Verb add_profile(CLI::App& parent, Context& context);
Verb add_simulate(CLI::App& parent, Context& context);
Verb add_train(CLI::App& parent, Context& context);
Verb add_verify(CLI::App& parent, Context& context);

}  // namespace troika::cli
