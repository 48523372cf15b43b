#include <prdist/launch/report_json.hpp>

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

using namespace prdist;
namespace json = boost::json;

TEST(ReportJson, HoldsEverythingTheTableDoes) {
  JobReport report;
  report.job_id = "nightly";
  report.pod_name = "abcdef";
  report.outcome = Outcome::failed;
  report.exit_code = 7;
  report.seconds = 3.5;
  report.first_failure = 1;
  report.restarts = 2;
  report.members = {{{JobRole::server, 0}, 101, Ending{0, SIGTERM, false}, 3.5, true, "log/serverlog.0"},
                    {{JobRole::trainer, 0}, 102, Ending{7, 0, false}, 3.25, false, "log/a \"b\"\n"},
                    {{JobRole::trainer, 1}, 103, {}, 0, false, "log/workerlog.1"}};
  EXPECT_EQ(json::parse(json::serialize(to_json(report))), json::parse(R"({
    "job_id": "nightly", "pod": "abcdef", "outcome": "failed", "exit_code": 7, "seconds": 3.5, "restarts": 2,
    "first_failure": 1,
    "cause": "trainer 0 ended with exit code 7 after 3.2 s: see log/a \"b\"\n",
    "members": [
      {"rank": 0, "role": "server", "index": 0, "pid": 101, "exit_code": null, "signal": "SIGTERM",
       "stopped": true, "seconds": 3.5, "log": "log/serverlog.0"},
      {"rank": 1, "role": "trainer", "index": 0, "pid": 102, "exit_code": 7, "signal": null,
       "stopped": false, "seconds": 3.25, "log": "log/a \"b\"\n"},
      {"rank": 2, "role": "trainer", "index": 1, "pid": 103, "exit_code": null, "signal": null,
       "stopped": false, "seconds": 0.0, "log": "log/workerlog.1"}]})"));
}

TEST(ReportJson, AJobThatWasAskedToStopHasNoFailure) {
  JobReport report;
  report.outcome = Outcome::failed;
  report.stopped_in_order = true;
  report.exit_code = 143;
  report.first_failure = 0;
  report.members = {{{JobRole::trainer, 0}, 102, Ending{143, 0, false}, 3.25, false, "log/workerlog.0"}};
  auto const object = to_json(report);
  EXPECT_EQ(object.at("outcome").as_string(), "interrupted");
  EXPECT_TRUE(object.at("first_failure").is_null());
  EXPECT_TRUE(object.at("cause").as_string().starts_with("a process of the job was asked to stop, and the job has"));
}

TEST(ReportJson, OfASuccessHasNoFailureAndNoCause) {
  auto const object = to_json(JobReport{});
  EXPECT_TRUE(object.at("first_failure").is_null());
  EXPECT_TRUE(object.at("cause").is_null());
  EXPECT_EQ(object.at("outcome").as_string(), "succeeded");
}

TEST(ReportJson, NamesWhatFellInAJobThatSucceeded) {
  JobReport report;
  EXPECT_FALSE(to_json(report).contains("fallen"));
  report.fallen = {{{JobRole::trainer, 2}, 104, Ending{0, SIGKILL, false}, 1.5, false, "log/workerlog.2"}};
  EXPECT_EQ(to_json(report).at("fallen"), json::parse(R"([
      {"role": "trainer", "index": 2, "pid": 104, "exit_code": null, "signal": "SIGKILL", "stopped": false,
       "seconds": 1.5, "log": "log/workerlog.2"}])"));
}
