// SPDX-License-Identifier: Apache-2.0
// prckpt: looks into checkpoints, and brings them from and to Paddle. Here are its flags.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include <prdist/core/error.hpp>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>
#include <prdist/strategy/by_name.hpp>
#include <prdist/version.hpp>

#include "commands.hpp"

using namespace prdist;
using namespace prckpt;

namespace {

constexpr int usage_error = 64;

constexpr char const* examples =
    "Looks into checkpoints, and brings them from and to Paddle.\n\n"
    "  prckpt list ckpt                                     which checkpoints a folder has\n"
    "  prckpt verify ckpt/pass-00007                        reads every block of it\n"
    "  prckpt show ckpt --table embedding --key 4815        a row with its state, of the newest\n"
    "  prckpt export ckpt model.npz                         for numpy.load\n"
    "  prckpt from-paddle output/0 ckpt --hidden 400 400 400    then: ctr_dnn --save_dir ckpt --resume\n"
    "  prckpt to-paddle ckpt output/1 --shards 1000 --hidden 400 400 400\n"
    "  prckpt from-v2 output/pass-00012 ckpt --embedding _emb.w0=embedding:16 --variable _fc.w0=fc0.w:416x64\n"
    "  prckpt to-v2 ckpt output/pass-00013\n\n"
    "Where a checkpoint is asked for, a folder of checkpoints means the newest complete one.";

/// Empty when `word` is a command or a flag; otherwise what is wrong with it.
std::string misspelt_command(CLI::App const& app, std::string const& word) {
  std::vector<std::string> known;
  for (auto const* const command : app.get_subcommands([](CLI::App const*) { return true; })) {
    known.push_back(command->get_name());
  }
  if (word.starts_with('-') || std::ranges::find(known, word) != known.end()) return {};
  auto const meant = did_you_mean(word, known);
  return concat("'", word, "' is no command of prckpt: ",
                meant.empty() ? std::string("prckpt --help lists them") : concat("did you mean 'prckpt ", meant, "'?"));
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  // CLI11 would take -5 as 2^64 - 5.
  std::vector<std::string> const strategies(std::begin(strategy_names), std::end(strategy_names));
  CLI::Validator const whole(
      [](std::string const& text) {
        std::uint64_t number = 0;
        return parse_number(text, number) ? std::string() : "'" + text + "' is not a whole number";
      },
      "", "whole number");
  CLI::Validator const positive(
      [](std::string const& text) {
        std::uint64_t number = 0;
        return parse_number(text, number) && number > 0 ? std::string() : "'" + text + "' is not a number from 1 on";
      },
      "", "number from 1 on");
  CLI::App app(examples, "prckpt");
  app.set_version_flag("--version", std::string(version));
  app.require_subcommand(1);

  auto const places = [&](CLI::App& command, char const* from, char const* to = nullptr, char const* what = "") {
    command.add_option(from, s.from)->required();
    if (to != nullptr) command.add_option(to, s.to, what)->required();
  };
  auto const network = [&](CLI::App& command) {
    command.add_option("--hidden", s.hidden, "Sizes of the hidden layers of a CTR-DNN; 400 400 400")->check(positive);
    command.add_option("--slots", s.slots, "Its slots")->check(whole)->capture_default_str();
    command.add_option("--dense-features", s.dense_features, "Its dense features")->check(whole)->capture_default_str();
    command.add_option("--layers", s.layers, "Paddle's names of its layers, in their order; fc0 fc1 ... fc_out");
    command.add_option("--variable", s.variables,
                       "Of any other network: NAME=PART:ROWSxCOLUMNS[:transposed|:classes], for each dense variable");
  };
  auto const numbers = [&](CLI::App& command) {
    command.add_option("--beta1", s.beta1, "Of the Adam rules")->capture_default_str();
    command.add_option("--beta2", s.beta2, "Of the Adam rules")->capture_default_str();
    command.add_option("--initial-g2sum", s.initial_g2sum, "Of the AdaGrad rules")->capture_default_str();
    command.add_option("--rate", s.rate, "learning_rate; a job may give another")->capture_default_str();
    command.add_option("--day", s.day, "Today, as the job counts the days for shrink()")
        ->check(whole)
        ->capture_default_str();
  };

  auto* const list_command = app.add_subcommand("list", "Which checkpoints a folder has");
  places(*list_command, "DIR");
  auto* const verify_command = app.add_subcommand("verify", "Reads every block; 78 when one is damaged");
  places(*verify_command, "DIR|PASS");
  auto* const show_command = app.add_subcommand("show", "What a checkpoint holds");
  places(*show_command, "PASS");
  show_command->add_option("--table", s.tables, "Only this table");
  show_command->add_option("--key", s.keys, "Show the row of this key")->check(whole);
  auto* const export_command = app.add_subcommand("export", "The weights as .npz");
  places(*export_command, "PASS", "FILE", "What numpy.load will read");

  auto* const from_command = app.add_subcommand("from-paddle", "Tables of fleet.save_persistables as a checkpoint");
  places(*from_command, "DIR", "OUT", "Folder for pass-00000");
  from_command
      ->add_option("--rule", s.rule,
                   "The sparse rule of the job that saved: naive, adagrad, adagrad_v2, std_adagrad, adam, shared_adam")
      ->capture_default_str();
  from_command->add_option("--table", s.tables,
                           "Name of the sparse table here, NAME or NAME=NUMBER there; embedding=0");
  from_command->add_option("--dim", s.dim, "1 + embedx_dim; told by the files when it is not given")->check(positive);
  from_command->add_option("--dense-table", s.dense_table, "Number of the dense table; behind the sparse ones")
      ->check(whole);
  from_command->add_flag("--no-dense", s.no_dense, "Sparse tables alone");
  from_command->add_option("--steps", s.steps, "Steps of the dense Adam, which Paddle does not save")->check(whole);
  from_command->add_flag("--weights-only", s.weights_only, "State of optimizers starts anew");
  from_command->add_option("--optimizer", s.optimizer, "With --weights-only: the job's sparse rule");
  from_command->add_option("--dense-optimizer", s.dense_optimizer, "The job's dense rule; adam");
  from_command->add_option("--strategy", s.strategy, "Of the job; tables of geo differ")
      ->check(CLI::IsMember(strategies))
      ->capture_default_str();
  from_command->add_option("--precision", s.precision, "Of the job's rows")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  from_command->add_flag("--statistics", s.statistics, "The job keeps shows, clicks and days");
  numbers(*from_command);
  network(*from_command);

  auto* const to_command =
      app.add_subcommand("to-paddle", "A checkpoint as tables for fleet.load_model and init_server");
  places(*to_command, "PASS", "OUT", "Folder for 000, 001 ...; must not be there");
  to_command->add_option("--shards", s.shards, "shard_num of the job that will load it")
      ->check(positive)
      ->capture_default_str();
  to_command->add_option("--servers", s.servers, "Its servers")->check(positive)->capture_default_str();
  auto* const to_rule = to_command->add_option("--rule", s.rule, "Its sparse rule, when its state is to start anew");
  to_command->add_option("--dense-optimizer", s.dense_optimizer, "Its dense optimizer; adam")
      ->check(CLI::IsMember({"adam", "sgd"}));
  to_command->add_flag("--plain", s.plain, "Text files that are not packed");
  numbers(*to_command);
  network(*to_command);

  auto* const from_v2_command = app.add_subcommand("from-v2", "A pass of Paddle v2 as a checkpoint");
  places(*from_v2_command, "PASS", "OUT", "Folder for pass-00000");
  from_v2_command->add_option("--embedding", s.embeddings, "PARAMETER=TABLE:DIM, a matrix whose rows are ids");
  from_v2_command->add_option("--variable", s.variables, "PARAMETER=PART:ROWSxCOLUMNS[:transposed|:classes]");
  from_v2_command->add_option("--optimizer", s.optimizer, "The job's rule; adam");
  from_v2_command->add_option("--dense-optimizer", s.dense_optimizer, "The job's dense rule; as --optimizer");
  from_v2_command->add_option("--strategy", s.strategy, "Of the job; tables of geo differ")
      ->check(CLI::IsMember(strategies))
      ->capture_default_str();
  from_v2_command->add_option("--precision", s.precision, "Of the job's rows")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  auto* const to_v2_command = app.add_subcommand("to-v2", "A checkpoint as a pass of Paddle v2: the weights");
  places(*to_v2_command, "PASS", "OUT", "Folder, as output/pass-00013; must not be there");
  to_v2_command->add_option("--embedding", s.embeddings, "PARAMETER=TABLE; without it, the table's name");
  to_v2_command->add_option("--variable", s.variables, "PARAMETER=PART:ROWSxCOLUMNS; without it, the part's name");
  to_v2_command->add_option("--rows", s.rows, "Rows of an embedding; up to the largest key")->check(whole);
  if (auto const slip = argc > 1 ? misspelt_command(app, argv[1]) : std::string(); !slip.empty()) {
    std::fprintf(stderr, "%s\n", slip.c_str());
    return usage_error;
  }
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }

  try {
    if (list_command->parsed()) return list(s);
    if (verify_command->parsed()) return verify_all(s);
    if (show_command->parsed()) return show(s);
    if (export_command->parsed()) return export_model(s);
    if (from_command->parsed()) return from_paddle(s);
    if (to_command->parsed()) return to_paddle(s, to_rule->count() != 0);
    if (from_v2_command->parsed()) return from_v2(s);
    return to_v2(s);
  } catch (Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return exit_code(error.code());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "prdist[internal.error] prckpt: %s\n", error.what());
    return 70;
  }
}
