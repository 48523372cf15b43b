// SPDX-License-Identifier: Apache-2.0
#include "result.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "figures.hpp"

namespace ctr_dnn {

void write_result(Settings const& settings, std::string_view how, std::string const& workers, double examples,
                  double seconds, double test_auc) {
  log(Level::info, "test AUC ", rounded(test_auc, 4));
  if (settings.result.empty()) return;
  std::ofstream file(settings.result);
  file << boost::json::serialize(boost::json::object{{"how", concat(how, workers)},
                                                     {"model", settings.model},
                                                     {"threads", settings.threads.threads},
                                                     {"examples", examples},
                                                     {"seconds", seconds},
                                                     {"examples_per_second", examples / seconds},
                                                     {"auc", test_auc}})
       << '\n';
  if (!file.flush()) throw Error(Errc::data_file, "cannot write ", settings.result);
}

int compare(std::vector<std::string> const& files) {
  auto const read = [](std::string const& path) {
    std::ifstream file(path);
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    boost::system::error_code error;
    auto const value = boost::json::parse(text, error);
    if (!file || error || !value.is_object()) throw Error(Errc::data_file, path, " is not a result of this program");
    return value.get_object();
  };
  auto const number = [](boost::json::object const& object, char const* name) {
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_number() ? value->to_number<double>() : 0.0;
  };
  auto const word = [](boost::json::object const& object, char const* name) {
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string("?");
  };
  std::printf("\n%-34s %12s %8s\n", "", "examples/s", "AUC");
  for (std::size_t i = 1; i < files.size(); ++i) {
    auto const result = read(files[i]);
    std::printf("%-34s %12.0f %8.4f\n", concat(word(result, "model"), ", ", word(result, "how")).c_str(),
                number(result, "examples_per_second"), number(result, "auc"));
  }
  std::printf("%-34s %12s %8.4f\n", "possible", "", number(read(files.front()), "best_auc"));
  return 0;
}

}  // namespace ctr_dnn
