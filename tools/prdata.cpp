// SPDX-License-Identifier: Apache-2.0
// prdata: writes click data whose best possible AUC is known.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <string>

#include <prdist/core/error.hpp>
#include <prdist/core/text.hpp>
#include <prdist/data/planted_files.hpp>
#include <prdist/version.hpp>

int main(int argc, char** argv) {
  constexpr int usage_error = 64;
  prdist::PlantedOptions options;
  std::string out;
  // CLI11 would take -5 as 2^64 - 5.
  CLI::Validator const whole_number(
      [](std::string const& text) {
        std::uint64_t number = 0;
        return prdist::parse_number(text, number) ? std::string() : "'" + text + "' is not a whole number";
      },
      "", "whole number");

  CLI::App app(
      "Writes a Criteo-like training and test set from a planted model, the same bytes for the same options.\n"
      "meta.json beside the files tells the best AUC that any model can reach on the test rows.");
  app.option_defaults()->always_capture_default();
  app.set_version_flag("--version", std::string(prdist::version));
  app.add_option("--out", out, "Directory to write to; made when it is not there")->required();
  app.add_option("--rows", options.train_rows, "Training rows")->check(whole_number);
  app.add_option("--test-rows", options.test_rows, "Test rows")->check(whole_number);
  app.add_option("--files", options.files, "Files to spread the training rows over")->check(whole_number);
  app.add_option("--seed", options.seed, "Another seed is another planted model")->check(whole_number);
  app.footer("Example: prdata --out data --rows 100000 --files 4");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }

  bool const show = ::isatty(STDERR_FILENO) == 1;
  auto const progress = [&](std::uint64_t done, std::uint64_t of) {
    if (show)
      std::fprintf(stderr, "\r%3d %% of %llu rows", static_cast<int>(100 * done / of),
                   static_cast<unsigned long long>(of));
  };
  try {
    auto const summary = prdist::write_planted(out, options, progress);
    if (show) std::fputs("\n", stderr);
    std::printf("%s: %llu training rows in %zu files, %llu test rows, %llu distinct ids, best possible AUC %.4f\n",
                out.c_str(), static_cast<unsigned long long>(options.train_rows), options.files,
                static_cast<unsigned long long>(options.test_rows),
                static_cast<unsigned long long>(summary.distinct_train_ids), summary.best_auc);
    return 0;
  } catch (prdist::Error const& error) {
    std::fprintf(stderr, "%s%s\n", show ? "\n" : "", error.what());
    return prdist::exit_code(error.code());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "prdist[internal.error] prdata: %s\n", error.what());
    return 70;
  }
}
