// SPDX-License-Identifier: Apache-2.0
#include "check_values.hpp"

#include <cmath>
#include <prdist/core/text.hpp>
#include <set>

#include "names.hpp"
#include "quantity.hpp"

namespace prdist::gen {

void missing(JobSpec const& job, std::string const& path, std::string const& what, std::string const& help,
             Diagnostics& diagnostics) {
  if (diagnostics.mentions(path)) return;  // it is there, and something else is wrong with it
  auto where = at(path.starts_with("submit.") && job.submit.line != 0 ? job.submit : job.root, path);
  where.length = 1;
  diagnostics.error("PR008", where, concat("is missing: ", what), help);
}

void check_label(Text const& text, Diagnostics& diagnostics, std::string (*fault_of)(std::string_view)) {
  if (!text.given) return;
  auto const fault = fault_of(text.value);
  if (fault.empty()) return;
  auto const better = label_from(text.value);
  diagnostics.error(
      "PR011", text.where, concat("'", text.value, "' is not a name that Kubernetes takes: it ", fault),
      better.empty() ? "begin with a lower-case letter; then letters, digits and '-'" : concat("write ", better));
}

void check_folder(Text const& text, Diagnostics& diagnostics) {
  if (!text.given) return;
  if (auto const fault = folder_fault(text.value); !fault.empty()) {
    diagnostics.error("PR011", text.where, concat("a job's name becomes a folder's, and this one ", fault),
                      "write letters, digits, '-', '_' and '.'");
  }
}

void check_quantity(Text const& text, bool bytes, Diagnostics& diagnostics) {
  if (!text.given) return;
  auto const amount = parse_quantity(text.value);
  if (!amount) {
    auto const meant = quantity_meant(text.value);
    diagnostics.error("PR012", text.where, concat("'", text.value, "' is not a quantity"),
                      meant.empty() ? (bytes ? "write a number and Ki, Mi, Gi or Ti, for example 4Gi"
                                             : "write cores (2) or thousandths of one (500m)")
                                    : concat("write ", meant));
  } else if (*amount <= 0) {
    diagnostics.error("PR012", text.where, concat("'", text.value, "' is not more than nothing"),
                      bytes ? "write for example 4Gi" : "write for example 2");
  } else if (*amount > (bytes ? 9.2e18L : 1e6L)) {
    diagnostics.error("PR012", text.where, concat("'", text.value, "' is more than any machine has"),
                      bytes ? "write for example 4Gi" : "write for example 2");
  } else if (bytes && std::floor(*amount) != *amount) {
    bool const milli = text.value.ends_with('m');
    auto const digits = milli ? text.value.substr(0, text.value.size() - 1) : text.value;
    diagnostics.error("PR029", text.where,
                      milli ? concat("'", text.value, "' is ", digits, " thousandths of a byte")
                            : concat("'", text.value, "' is not a whole number of bytes"),
                      milli ? concat("write ", digits, "Mi if megabytes are meant") : "write for example 4Gi");
  } else if (bytes && *amount < 1024.0L * 1024) {
    bool const bare = text.value.find_first_not_of("0123456789") == std::string::npos;
    diagnostics.error(
        "PR029", text.where,
        concat("'", text.value, "' is ", static_cast<std::int64_t>(*amount), " bytes, less than a megabyte"),
        bare ? concat("write ", text.value, "Gi or ", text.value, "Mi if that is meant") : "write for example 4Gi");
  }
}

void check_image(Text const& text, Diagnostics& diagnostics) {
  if (!text.given) return;
  if (auto const fault = image_fault(text.value); !fault.empty()) {
    diagnostics.error("PR013", text.where, concat("'", text.value, "' is not an image: it ", fault),
                      "write registry/name:tag, for example hub.example.com/team/ctr:1.0");
    return;
  }
  auto const tag = image_tag(text.value);
  if (tag.empty() || tag == "latest") {
    diagnostics.warning("PR019", text.where,
                        concat("the image has ", tag.empty() ? "no tag" : "the tag 'latest'",
                               ": pods of one job may run different programs"),
                        "name a version, or a digest behind @");
  }
}

void check_mount(Text const& text, Diagnostics& diagnostics) {
  check_path(text, diagnostics);
  if (text.given && mount_fault(text.value).empty() && normal_path(text.value) == "/") {
    diagnostics.error("PR021", text.where, concat("'", text.value, "' is the root, where the image itself lies"),
                      "write a folder, for example /data");
  }
}

void check_path(Text const& text, Diagnostics& diagnostics) {
  if (!text.given) return;
  if (auto const fault = mount_fault(text.value); !fault.empty()) {
    diagnostics.error("PR021", text.where, concat("'", text.value, "' ", fault), "write a path that begins with '/'");
  }
}

void check_hosts(JobSpec const& job, Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (auto const& host : job.hosts.items) {
    if (auto const fault = host_fault(host.value); !fault.empty()) {
      diagnostics.error("PR028", host.where, concat("'", host.value, "' is not a host: it ", fault),
                        "write a name or an address, for example 10.0.0.4");
    } else if (!seen.insert(host.value).second) {
      diagnostics.error("PR028", host.where, concat("'", host.value, "' stands in the list twice"),
                        "write it once, and slots for more than one process on it");
    }
  }
  if (job.hosts.given && job.hosts.items.empty()) {
    diagnostics.error("PR028", job.hosts.where, "the list of hosts is empty", "name them, or take the key away");
  }
}

void check_ports(JobSpec const& job, bool needs_root_below_1024, Diagnostics& diagnostics, std::int64_t on_one_host) {
  auto const last = job.port.value + on_one_host * (job.ports_num.value + job.ports_num_for_sparse.value) - 1;
  if (last > 65535) {
    diagnostics.error("PR015", job.port.where,
                      concat("ports ", job.port.value, " to ", last, " are needed; 65535 is the last"), "begin lower");
  } else if (needs_root_below_1024 && job.port.value < 1024) {
    diagnostics.error("PR015", job.port.where,
                      concat("port ", job.port.value, " needs root, and pods do not run as root"),
                      "take one from 1024 upwards, for example 30240");
  }
}

}  // namespace prdist::gen
