// SPDX-License-Identifier: Apache-2.0
#include "model_config.hpp"

#include <algorithm>
#include <cctype>
#include <prdist/core/suggest.hpp>
#include <prdist/core/text.hpp>
#include <string>
#include <vector>

namespace prdist::gen {

namespace {

class Reader {
 public:
  Reader(Node const& root, Diagnostics& diagnostics) : root_(root), diagnostics_(diagnostics) {}

  ModelConfig read() {
    out_.source = root_.where.source;
    if (root_.kind != Node::Kind::map) {
      diagnostics_.error("PR007", root_.where,
                         concat("a map is expected at the top of config.yaml, not ", kind_name(root_)),
                         "is this the model's config.yaml?");
      return out_;
    }
    bool const job = root_.find("engine") != nullptr || root_.find("submit") != nullptr ||
                     (root_.find("backend") != nullptr && root_.find("cluster_type") != nullptr);
    if (job) {
      // Its keys and passwords would stand in a ConfigMap.
      diagnostics_.error("PR025", {root_.where.source, root_.where.line, root_.where.column, 1, {}},
                         "this looks like a backend.yaml, and not like a model's config.yaml",
                         "give it as the file, and the model's config.yaml behind -m");
      return out_;
    }
    slips(root_, "", {"train", "runner", "phase", "mode"});
    if (auto const* const train = root_.find("train")) {
      slips(*train, "train.", {"trainer"});
      if (auto const* const trainer = train->find("trainer")) {
        slips(*trainer, "train.trainer.", {"threads", "strategy"});
        number(trainer->find("threads"), "train.trainer.threads", out_.threads);
        word(trainer->find("strategy"), "train.trainer.strategy", "sync async half_async geo ssp", out_.strategy);
      }
    }
    if (auto const* const runner = root_.find("runner")) {
      if (runner->kind == Node::Kind::sequence) runner_list(*runner);
      if (runner->kind == Node::Kind::map) runner_map(*runner);
    }
    if (auto const* const phases = root_.find("phase"); phases != nullptr && phases->kind == Node::Kind::sequence) {
      for (auto const& phase : phases->items) {
        Number threads;
        slips(phase, "phase.", {"thread_num"});
        number(phase.find("thread_num"), "phase.thread_num", threads);
        if (threads.given && (!out_.threads.given || threads.value > out_.threads.value)) out_.threads = threads;
      }
    }
    return out_;
  }

 private:
  /// PaddleRec 1.8: a list of runners, of which `mode` names those that run.
  void runner_list(Node const& runners) {
    std::vector<std::string> wanted;
    if (auto const* const mode = root_.find("mode")) {
      if (mode->kind == Node::Kind::scalar) wanted.push_back(mode->text);
      for (auto const& item : mode->items) wanted.push_back(item.text);
    }
    Node const* chosen = nullptr;
    for (auto const& runner : runners.items) {
      auto const* const name = runner.find("name");
      bool const named = name != nullptr && std::find(wanted.begin(), wanted.end(), name->text) != wanted.end();
      if (chosen == nullptr || named) chosen = &runner;
      if (named) break;
    }
    if (chosen == nullptr) return;
    slips(*chosen, "runner.", {"distribute_strategy", "device", "fleet_mode"});
    word(chosen->find("distribute_strategy"), "runner.distribute_strategy", "sync async half_async geo ssp",
         out_.strategy);
    word(chosen->find("device"), "runner.device", "cpu gpu", out_.device);
    word(chosen->find("fleet_mode"), "runner.fleet_mode", "ps pslib collective", out_.fleet_mode);
  }

  /// PaddleRec 2: one runner.
  void runner_map(Node const& runner) {
    slips(runner, "runner.", {"sync_mode", "thread_num", "use_gpu"});
    word(runner.find("sync_mode"), "runner.sync_mode", "async sync half_async geo ssp heter gpubox", out_.strategy);
    number(runner.find("thread_num"), "runner.thread_num", out_.threads);
    if (auto const* const gpu = runner.find("use_gpu"); gpu != nullptr && gpu->kind == Node::Kind::scalar) {
      auto const first =
          gpu->text.empty() ? 'f' : static_cast<char>(std::tolower(static_cast<unsigned char>(gpu->text[0])));
      out_.device = {first == 't' || first == 'y' || first == '1' ? "gpu" : "cpu", true,
                     at(gpu->where, "runner.use_gpu")};
    }
  }

  /// Most keys are the model's own and none of our business; one that is a slip away from a word that is read here,
  /// where that word is missing, was hardly meant to be one of them.
  void slips(Node const& map, std::string const& prefix, std::vector<std::string> const& read) {
    static constexpr std::string_view other_cards[]{"use_xpu", "use_npu", "use_mlu"};  // beside PaddleRec's use_gpu
    for (auto const& [key, value] : map.entries) {
      if (std::ranges::find(read, key.text) != read.end()) continue;
      if (std::ranges::find(other_cards, key.text) != std::end(other_cards)) continue;
      auto const meant = did_you_mean(key.text, read);
      if (meant.empty() || map.find(meant) != nullptr) continue;
      diagnostics_.warning("PR006", at(key.where, prefix + key.text), "unknown key",
                           concat("did you mean '", meant, "'?"));
    }
  }

  void number(Node const* node, std::string const& path, Number& out) {
    if (node == nullptr || node->kind == Node::Kind::null) return;
    std::int64_t value = 0;
    // 016 is fourteen to PyYAML and sixteen to others.
    bool const octal = node->text.size() > 1 && node->text.front() == '0';
    if (node->kind != Node::Kind::scalar || octal || !parse_number(node->text, value)) {
      diagnostics_.error("PR007", at(node->where, path), concat("'", node->text, "' is not a whole number"),
                         "write the number of threads of a trainer");
    } else if (value < 1 || value > 1024) {
      diagnostics_.error("PR010", at(node->where, path), concat(value, " is out of range"),
                         "a number from 1 to 1024 is expected");
    } else {
      out = {value, true, at(node->where, path)};
    }
  }

  void word(Node const* node, std::string const& path, std::string_view choices, Text& out) {
    if (node == nullptr || node->kind == Node::Kind::null) return;
    std::string lower;
    for (auto const c : node->text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    std::vector<std::string> known;
    for (auto rest = choices; !rest.empty();) {
      auto const end = rest.find(' ');
      known.emplace_back(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
    if (std::find(known.begin(), known.end(), lower) != known.end()) {
      out = {lower, true, at(node->where, path)};
      return;
    }
    auto const meant = did_you_mean(node->text, known);
    diagnostics_.error("PR009", at(node->where, path), concat("'", node->text, "' is not known here"),
                       meant.empty() ? concat("one of: ", choices) : concat("did you mean '", meant, "'?"));
  }

  Node const& root_;
  Diagnostics& diagnostics_;
  ModelConfig out_;
};

}  // namespace

ModelConfig read_model_config(Node const& document, Diagnostics& diagnostics) {
  return Reader(document, diagnostics).read();
}

}  // namespace prdist::gen
