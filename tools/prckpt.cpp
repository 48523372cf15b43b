// SPDX-License-Identifier: Apache-2.0
// prckpt: looks into checkpoints, and brings them from and to Paddle.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prdist/checkpoint/chain_reader.hpp>
#include <prdist/checkpoint/dense_values.hpp>
#include <prdist/checkpoint/directory.hpp>
#include <prdist/checkpoint/export_npz.hpp>
#include <prdist/checkpoint/paddle_export.hpp>
#include <prdist/checkpoint/paddle_import.hpp>
#include <prdist/checkpoint/row_weights.hpp>
#include <prdist/checkpoint/v2_tables.hpp>
#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/version.hpp>

using namespace prdist;

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

/// What the command line of any command may hold.
struct Settings {
  std::string from, to;
  std::vector<std::string> tables, variables, layers, embeddings;
  std::vector<Key> keys;
  std::string rule = "adam", optimizer, dense_optimizer, strategy = "async", precision = "fp32";
  std::size_t dim = 0, slots = 26, dense_features = 13;
  std::vector<std::size_t> hidden;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint32_t> dense_table;
  std::uint32_t day = 0, shards = 1000, servers = 1;
  std::uint64_t rows = 0;
  float beta1 = 0.9F, beta2 = 0.999F, initial_g2sum = 3, rate = 0.001F;
  bool weights_only = false, no_dense = false, statistics = false, plain = false;
};

std::string utc_now() {
  auto const now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string mebibytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

bool is_pass(std::string const& path) {
  std::error_code failed;
  return std::filesystem::exists(path + "/manifest.json", failed) || std::filesystem::exists(path + "/done", failed);
}

/// A folder that must be there.
std::string const& folder(std::string const& path) {
  std::error_code failed;
  if (!std::filesystem::is_directory(path, failed)) {
    throw Error(Errc::checkpoint_missing, path, ", is no folder: check the path");
  }
  return path;
}

/// `path` itself, or the newest in it.
Checkpoint chosen(std::string const& path) {
  if (is_pass(folder(path))) return open_checkpoint(path);
  if (auto newest = latest(path)) return std::move(*newest);
  throw Error(Errc::checkpoint_missing, path, ", has no complete checkpoint: save one first, or check the path");
}

/// A line that is drawn again and again, on terminals only.
class Shown {
 public:
  ~Shown() {
    if (drawn_) std::fputs("\n", stderr);
  }
  void operator()(std::string const& what, std::uint64_t rows) {
    if (::isatty(STDERR_FILENO) != 1) return;
    std::fprintf(stderr, "\r%s: %llu rows", what.c_str(), static_cast<unsigned long long>(rows));
    drawn_ = true;
  }

 private:
  bool drawn_ = false;
};

void say(std::string const& line) {
  std::printf("%s\n", line.c_str());
}

std::string summary(Checkpoint const& checkpoint) {
  auto const& manifest = checkpoint.manifest;
  std::uint64_t rows = 0, bytes = 0;
  std::string names;
  for (auto const& table : manifest.tables) {
    rows += table.rows;
    names += concat(names.empty() ? "" : ", ", name_of(table.spec));
  }
  for (auto const& part : manifest.parts) bytes += part.bytes;
  return concat(pass_name(manifest.pass), "  ",
                manifest.base ? concat("changes since ", pass_name(manifest.base->pass)) : std::string("full"),
                ", step ", manifest.step, ", tables ", names, ", ", rows, " rows, ", mebibytes(bytes), ", ",
                manifest.servers, manifest.servers == 1 ? " server" : " servers", ", ", manifest.trainers.size(),
                " workers' places, ", manifest.created);
}

int list(Settings const& settings) {
  auto const names = detail::names_in(folder(settings.from));
  std::size_t complete = 0;
  for (auto const& name : names) {
    if (detail::is_temporary(name)) say(concat(name, "  being written, or left by a save that did not end"));
    if (!detail::pass_of(name)) continue;
    try {
      auto const chain = chain_of(open_checkpoint(concat(settings.from, '/', name)));
      say(concat(summary(chain.back()), ", complete"));
      ++complete;
    } catch (Error const& error) {
      say(concat(name, "  cannot be loaded: ", error.what()));
    }
  }
  if (complete != 0) return 0;
  throw Error(Errc::checkpoint_missing, settings.from,
              ", has no complete checkpoint: save one first, or check the path");
}

/// Every block is read, also behind a damaged one: how much is lost is what one wants to know.
bool verified(std::string const& path) {
  try {
    auto const checkpoint = open_checkpoint(path);
    std::uint64_t blocks = 0, rows = 0, bytes = 0, damaged = 0;
    Shown shown;
    for (auto const& part : checkpoint.manifest.parts) {
      auto const reader = checkpoint.read(part);
      RowBlock block;
      bytes += part.bytes;
      for (auto const& entry : reader.blocks()) {
        try {
          reader.read(entry, block);
        } catch (Error const& error) {
          std::fprintf(stderr, "%s\n", error.what());
          ++damaged;
        }
        ++blocks;
        if (entry.kind == BlockKind::rows) rows += entry.count;
        shown(concat(path, '/', part.name), rows);
      }
    }
    (void)chain_of(checkpoint);
    if (damaged == 0) {
      say(concat(path, ": ", checkpoint.manifest.parts.size(), " parts, ", blocks, " blocks, ", rows, " rows, ",
                 mebibytes(bytes), ", all good"));
      return true;
    }
    say(concat(path, ": ", damaged, " of ", blocks, " blocks are damaged"));
  } catch (Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return false;
}

int verify_all(Settings const& settings) {
  if (is_pass(folder(settings.from))) return verified(settings.from) ? 0 : exit_code(Errc::checkpoint_damaged);
  auto const passes = passes_in(settings.from);
  if (passes.empty()) {
    throw Error(Errc::checkpoint_missing, settings.from, ", has no checkpoint: check the path");
  }
  bool good = true;
  for (auto const pass : passes) good = verified(concat(settings.from, '/', pass_name(pass))) && good;
  return good ? 0 : exit_code(Errc::checkpoint_damaged);
}

template <class Numbers>
std::string joined(Numbers const& numbers, std::size_t most = 64) {
  std::string text;
  std::size_t shown = 0;
  for (auto const number : numbers) {
    if (shown++ == most) return concat(text, " ... (", numbers.size(), ')');
    text += concat(' ', number);
  }
  return text;
}

void show_rows(ChainReader const& rows, SparseSpec const& spec, std::vector<Key> const& keys) {
  RowLayout const layout(spec);
  auto const id = table_id(spec.name);
  for (auto const key : keys) {
    bool found = false;
    rows.for_each([&](TableId table, std::uint32_t shard) { return table == id && shard == shard_of(hash_key(key)); },
                  [&](RowBlock const& block) {
                    check_shape(spec.name, block, layout.bytes());
                    for (std::size_t i = 0; i < block.keys.size(); ++i) {
                      if (block.keys[i] != key) continue;
                      found = true;
                      auto const* const row = block.rows.data() + i * block.row_bytes;
                      std::vector<float> numbers(spec.dim);
                      read_weights(spec, row, numbers.data());
                      say(concat("  key ", key, ":", joined(numbers)));
                      numbers.resize(layout.state_bytes / sizeof(float));
                      std::memcpy(numbers.data(), row + layout.weight_bytes, layout.state_bytes);
                      if (!numbers.empty())
                        say(concat("    state of ", name_of(spec.optimizer), ':', joined(numbers, 256)));
                      if (!spec.statistics.kept) continue;
                      RowStatistics known;
                      std::memcpy(&known, row + layout.weight_bytes + layout.state_bytes, sizeof known);
                      say(concat("    show ", known.show, ", click ", known.click, ", day ", known.day));
                    }
                  });
    if (!found) say(concat("  key ", key, ": has no row"));
  }
}

int show(Settings const& settings) {
  auto const chain = chain_of(chosen(settings.from));
  auto const& manifest = chain.back().manifest;
  say(summary(chain.back()));
  ChainReader const rows(chain);
  bool found = settings.tables.empty();
  for (auto const& table : manifest.tables) {
    auto const& name = name_of(table.spec);
    if (!settings.tables.empty() && std::ranges::find(settings.tables, name) == settings.tables.end()) continue;
    found = true;
    say(concat(name, "  ", table.rows, " rows, ", mebibytes(table.bytes), "\n  ", to_json(table.spec)));
    if (auto const* const spec = std::get_if<SparseSpec>(&table.spec)) show_rows(rows, *spec, settings.keys);
    auto const* const spec = std::get_if<DenseSpec>(&table.spec);
    if (spec == nullptr) continue;
    auto const weights = read_dense(rows, *spec).columns[0];
    std::size_t at = 0;
    for (auto const& part : spec->parts) {
      say(concat("  ", part.name, " (", part.size, "):", joined(std::span(weights).subspan(at, part.size), 6)));
      at += part.size;
    }
  }
  if (found) return 0;
  throw Error(Errc::table_unknown, chain.back().path, ", has no table '", settings.tables.front(),
              "': see `prckpt show` without --table");
}

int export_model(Settings const& settings) {
  auto const chain = chain_of(chosen(settings.from));
  export_npz(chain, settings.to);
  say(concat(settings.to, ": ", chain.back().path, ", step ", chain.back().manifest.step));
  return 0;
}

/// NAME=REST; without '=' the rest is empty.
std::pair<std::string, std::string> at_sign(std::string const& text, char sign) {
  auto const found = text.find(sign);
  return {text.substr(0, found), found == text.npos ? std::string() : text.substr(found + 1)};
}

/// NAME=PART:ROWSxCOLUMNS[:transposed|:classes]; PART - for none.
PaddleVariable variable_of(std::string const& text) {
  auto const wrong = [&] {
    return Error(Errc::config_invalid, "--variable '", text,
                 "': give NAME=PART:ROWSxCOLUMNS, and :transposed or :classes behind it where needed; PART - leaves "
                 "it out");
  };
  PaddleVariable variable;
  auto const [name, rest] = at_sign(text, '=');
  auto const [part, shape_and_form] = at_sign(rest, ':');
  auto const [shape, form] = at_sign(shape_and_form, ':');
  auto const [rows, columns] = at_sign(shape, 'x');
  variable.name = name;
  if (part != "-") variable.part = part;
  if (name.empty() || part.empty() || !parse_number(rows, variable.rows)) throw wrong();
  if (!columns.empty() && !parse_number(columns, variable.columns)) throw wrong();
  if (form == "transposed")
    variable.form = PaddleVariable::Form::transposed;
  else if (form == "classes")
    variable.form = PaddleVariable::Form::two_classes;
  else if (!form.empty())
    throw wrong();
  return variable;
}

/// Those of --variable, or of the network that --hidden and its kin describe.
std::vector<PaddleVariable> variables_of(Settings const& settings, std::size_t dim) {
  std::vector<PaddleVariable> variables;
  for (auto const& text : settings.variables) variables.push_back(variable_of(text));
  if (!variables.empty()) return variables;
  std::vector<std::size_t> sizes{settings.slots * dim + settings.dense_features};
  auto const usual = std::vector<std::size_t>{400, 400, 400};
  auto const& hidden = settings.hidden.empty() ? usual : settings.hidden;
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  return fully_connected_variables(sizes, settings.layers.empty() ? usual_layer_names(sizes.size()) : settings.layers);
}

struct NamedRule {
  PaddleRule rule;
  bool has_equal = true;
};

NamedRule rule_of(std::string const& name) {
  for (auto const rule :
       {PaddleRule::naive, PaddleRule::adagrad, PaddleRule::std_adagrad, PaddleRule::adam, PaddleRule::shared_adam}) {
    if (name == name_of(rule)) return {rule};
  }
  if (name == "SparseNaiveSGDRule") return {PaddleRule::naive};
  if (name == "SparseAdaGradSGDRule") return {PaddleRule::adagrad};
  if (name == "StdAdaGradSGDRule") return {PaddleRule::std_adagrad};
  if (name == "SparseAdamSGDRule") return {PaddleRule::adam};
  if (name == "SparseSharedAdamSGDRule") return {PaddleRule::shared_adam};
  if (name == "adagrad_v2" || name == "SparseAdaGradV2SGDRule") return {PaddleRule::adagrad, false};
  throw Error(Errc::config_invalid, "--rule '", name,
              "': give naive, adagrad, adagrad_v2, std_adagrad, adam or shared_adam, or Paddle's name of its class");
}

template <std::size_t index = 0>
Optimizer optimizer_named(std::string const& flag, std::string const& name) {
  if constexpr (index == std::variant_size_v<UpdateRule>) {
    throw Error(Errc::config_invalid, flag, " '", name, "' is no update rule: see docs/optimizers.md");
  } else {
    using Rule = std::variant_alternative_t<index, UpdateRule>;
    return name == Rule::name ? Optimizer(Rule{}) : optimizer_named<index + 1>(flag, name);
  }
}

Precision precision_of(std::string const& name) {
  return name == "bf16" ? Precision::bf16 : name == "fp16" ? Precision::fp16 : Precision::fp32;
}

PaddleNumbers numbers_of(Settings const& settings) {
  return {
      .rate = settings.rate, .initial_g2sum = settings.initial_g2sum, .beta1 = settings.beta1, .beta2 = settings.beta2};
}

/// What a job with geo declares: its tables add, and workers keep the state.
template <class Spec>
void make_geo(Settings const& settings, Spec& spec) {
  if (settings.strategy != "geo") return;
  spec.apply = ApplyRule::add;
  spec.optimizer = adding;
}

int from_paddle(Settings const& settings) {
  (void)folder(settings.from);
  auto const rule = rule_of(settings.rule);
  auto const geo = settings.strategy == "geo";
  auto const anew = settings.weights_only || geo;
  if (!anew && !rule.has_equal) {
    throw Error(Errc::config_contradiction, "--rule ", settings.rule,
                " has no equal here, it divides by the sum of all steps: take the weights alone with --weights-only, "
                "and go on with --optimizer row_adagrad or another");
  }
  if (!anew && !settings.optimizer.empty()) {
    throw Error(Errc::config_contradiction, "--optimizer ", settings.optimizer,
                " is for --weights-only: with its state, a table goes on as ", name_of(equal_of(rule.rule)));
  }
  PaddleImport import{.created = utc_now()};
  auto const names = settings.tables.empty() ? std::vector<std::string>{"embedding"} : settings.tables;
  std::size_t dim = 0;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    auto const [name, place] = at_sign(names[i], '=');
    auto number = i;
    if (!place.empty() && !parse_number(place, number)) {
      throw Error(Errc::config_invalid, "--table '", names[i], "': give NAME or NAME=NUMBER of Paddle's table");
    }
    PaddleImport::Sparse table{.folder = paddle_table_folder(settings.from, number),
                               .rule = rule.rule,
                               .weights_alone = anew,
                               .day = settings.day};
    table.spec.name = name;
    table.spec.dim = settings.dim != 0 ? settings.dim : 1 + paddle_embedx_dim(folder(table.folder), rule.rule);
    table.spec.optimizer = anew && !settings.optimizer.empty() ? optimizer_named("--optimizer", settings.optimizer)
                                                               : equal_of(rule.rule, numbers_of(settings));
    table.spec.precision = precision_of(settings.precision);
    table.spec.statistics.kept = settings.statistics;
    make_geo(settings, table.spec);
    dim = table.spec.dim;
    import.sparse.push_back(std::move(table));
  }
  if (!settings.no_dense) {
    PaddleImport::Dense table{
        .folder =
            paddle_table_folder(settings.from, settings.dense_table.value_or(static_cast<std::uint32_t>(names.size()))),
        .variables = variables_of(settings, dim),
        .weights_alone = anew,
        .steps = settings.steps};
    table.spec.name = "dense";
    table.spec.parts = parts_of(table.variables);
    // What the files hold is what they were trained with, as far as it can be told.
    table.spec.optimizer = settings.dense_optimizer.empty()
                               ? Optimizer(Adam{settings.rate})
                               : optimizer_named("--dense-optimizer", settings.dense_optimizer);
    make_geo(settings, table.spec);
    import.dense.push_back(std::move(table));
  }
  Imported imported;
  {
    Shown shown;
    imported =
        import_paddle(import, settings.to, [&](std::string const& table, std::uint64_t rows) { shown(table, rows); });
  }
  for (auto const& note : imported.notes) say(note);
  say(concat(imported.checkpoint.path, ": ", summary(imported.checkpoint)));
  return 0;
}

int to_paddle(Settings const& settings, bool rule_given) {
  auto const chain = chain_of(chosen(settings.from));
  std::size_t dim = 0;
  bool dense = false;
  for (auto const& table : chain.back().manifest.tables) {
    if (auto const* const spec = std::get_if<SparseSpec>(&table.spec)) dim = spec->dim;
    dense = dense || std::holds_alternative<DenseSpec>(table.spec);
  }
  PaddleExport to{.shards = settings.shards,
                  .servers = settings.servers,
                  .packed = !settings.plain,
                  .numbers = numbers_of(settings),
                  .dense_moments = settings.dense_optimizer != "sgd",
                  .day = settings.day};
  if (rule_given) to.rule = rule_of(settings.rule).rule;
  if (dense) to.variables = variables_of(settings, dim);
  std::vector<std::string> notes;
  {
    Shown shown;
    notes = export_paddle(chain, settings.to, to,
                          [&](std::string const& table, std::uint64_t rows) { shown(table, rows); });
  }
  for (auto const& note : notes) say(note);
  say(concat(settings.to, ": from ", chain.back().path, ", for shard_num ", settings.shards));
  return 0;
}

int from_v2(Settings const& settings) {
  V2Import import{.created = utc_now()};
  auto const sparse =
      settings.optimizer.empty() ? Optimizer(Adam{}) : optimizer_named("--optimizer", settings.optimizer);
  for (auto const& text : settings.embeddings) {
    auto const [parameter, rest] = at_sign(text, '=');
    auto const [name, dim] = at_sign(rest, ':');
    V2Import::Sparse table{.parameter = parameter};
    table.spec.name = name;
    table.spec.optimizer = sparse;
    table.spec.precision = precision_of(settings.precision);
    make_geo(settings, table.spec);
    if (parameter.empty() || name.empty() || !parse_number(dim, table.spec.dim)) {
      throw Error(Errc::config_invalid, "--embedding '", text, "': give PARAMETER=TABLE:DIM");
    }
    import.sparse.push_back(std::move(table));
  }
  for (auto const& text : settings.variables) import.variables.push_back(variable_of(text));
  if (!import.variables.empty()) {
    DenseSpec spec{.name = "dense", .parts = parts_of(import.variables)};
    spec.optimizer =
        settings.dense_optimizer.empty() ? sparse : optimizer_named("--dense-optimizer", settings.dense_optimizer);
    make_geo(settings, spec);
    import.dense = std::move(spec);
  }
  if (import.sparse.empty() && !import.dense) {
    throw Error(
        Errc::config_missing, settings.from,
        ", nothing of it is named: give --embedding PARAMETER=TABLE:DIM, --variable PARAMETER=PART:ROWSxCOLUMNS");
  }
  auto const checkpoint = import_v2(folder(settings.from), import, settings.to);
  say(concat(checkpoint.path, ": ", summary(checkpoint)));
  return 0;
}

int to_v2(Settings const& settings) {
  auto const chain = chain_of(chosen(settings.from));
  V2Export to{.rows = settings.rows};
  for (auto const& text : settings.embeddings) {
    auto const [parameter, table] = at_sign(text, '=');
    if (parameter.empty() || table.empty()) {
      throw Error(Errc::config_invalid, "--embedding '", text, "': give PARAMETER=TABLE");
    }
    to.parameters[at_sign(table, ':').first] = parameter;
  }
  for (auto const& text : settings.variables) to.variables.push_back(variable_of(text));
  export_v2(chain, settings.to, to);
  say(concat(settings.to, ": from ", chain.back().path));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  // CLI11 would take -5 as 2^64 - 5.
  CLI::Validator const whole(
      [](std::string const& text) {
        std::uint64_t number = 0;
        return parse_number(text, number) ? std::string() : "'" + text + "' is not a whole number";
      },
      "", "whole number");
  CLI::App app(examples, "prckpt");
  app.set_version_flag("--version", std::string(version));
  app.require_subcommand(1);

  auto const places = [&](CLI::App& command, char const* from, char const* to = nullptr, char const* what = "") {
    command.add_option(from, s.from)->required();
    if (to != nullptr) command.add_option(to, s.to, what)->required();
  };
  auto const network = [&](CLI::App& command) {
    command.add_option("--hidden", s.hidden, "Sizes of the hidden layers of a CTR-DNN; 400 400 400")->check(whole);
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
  from_command->add_option("--dim", s.dim, "1 + embedx_dim; told by the files when it is not given")->check(whole);
  from_command->add_option("--dense-table", s.dense_table, "Number of the dense table; behind the sparse ones")
      ->check(whole);
  from_command->add_flag("--no-dense", s.no_dense, "Sparse tables alone");
  from_command->add_option("--steps", s.steps, "Steps of the dense Adam, which Paddle does not save")->check(whole);
  from_command->add_flag("--weights-only", s.weights_only, "State of optimizers starts anew");
  from_command->add_option("--optimizer", s.optimizer, "With --weights-only: the job's sparse rule");
  from_command->add_option("--dense-optimizer", s.dense_optimizer, "The job's dense rule; adam");
  from_command->add_option("--strategy", s.strategy, "geo, when the job trains so: its tables differ")
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
      ->check(whole)
      ->capture_default_str();
  to_command->add_option("--servers", s.servers, "Its servers")->check(whole)->capture_default_str();
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
  from_v2_command->add_option("--strategy", s.strategy, "geo, when the job trains so")->capture_default_str();
  from_v2_command->add_option("--precision", s.precision, "Of the job's rows")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  auto* const to_v2_command = app.add_subcommand("to-v2", "A checkpoint as a pass of Paddle v2: the weights");
  places(*to_v2_command, "PASS", "OUT", "Folder, as output/pass-00013; must not be there");
  to_v2_command->add_option("--embedding", s.embeddings, "PARAMETER=TABLE; without it, the table's name");
  to_v2_command->add_option("--variable", s.variables, "PARAMETER=PART:ROWSxCOLUMNS; without it, the part's name");
  to_v2_command->add_option("--rows", s.rows, "Rows of an embedding; up to the largest key")->check(whole);
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
