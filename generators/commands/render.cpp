// SPDX-License-Identifier: Apache-2.0
// render and check: the way from files to a manifest, printed or written as files.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <prdist/core/text.hpp>
#include <set>

#include "../names.hpp"
#include "commands.hpp"

namespace prdist::gen {

namespace {

/// A byte more than any reader takes, so that it notices; a device or a pipe without an end costs no more.
std::string bounded(std::istream& in) {
  auto const most = ReadOptions{}.max_bytes + 1;
  std::string text;
  char piece[16'384];
  while (text.size() < most && in) {
    in.read(piece, static_cast<std::streamsize>(std::min(sizeof piece, most - text.size())));
    text.append(piece, static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

}  // namespace

SourcePtr read_source(std::string const& name, std::istream& in) {
  if (name == "-") return std::make_shared<Source const>(Source{"<stdin>", bounded(in)});
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) throw IoError(concat(name, ": is a folder, not a file"));
  std::ifstream file(name, std::ios::binary);
  if (!file) throw IoError(concat(name, ": cannot be read: ", std::strerror(errno)));
  auto text = bounded(file);
  if (file.bad()) throw IoError(concat(name, ": cannot be read"));
  return std::make_shared<Source const>(Source{name, std::move(text)});
}

std::vector<Job> load_all(Context& context) {
  auto const& invocation = context.invocation;
  SourcePtr const config = invocation.config.empty() ? nullptr : read_source(invocation.config, context.in);
  std::vector<Job> jobs;
  std::set<std::string> names;
  for (auto const& name : invocation.words) {
    auto job = load(read_source(name, context.in), config, invocation.options, context.diagnostics);
    if (!job) continue;
    auto const key = concat(job->spec.name_space.value, '/', job->spec.job_name.value);
    if (!job->spec.job_name.value.empty() && !names.insert(key).second) {
      context.diagnostics.error("PR023", job->spec.job_name.where, "another file of this run has a job of this name",
                                "give each job its own name");
    }
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

std::string manifest(std::vector<File> const& files) {
  std::string out;
  for (auto const& file : files) {
    auto const begin = file.text.find_first_not_of('\n');
    if (begin == std::string::npos) continue;
    if (file.text.compare(begin, 4, "---\n") != 0) out += "---\n";
    out += file.text.substr(begin);
  }
  return out;
}

namespace {

[[noreturn]] void cannot_write(std::string const& path, int cause) {
  throw IoError(concat(path, ": cannot be written: ", std::strerror(cause)));
}

}  // namespace

void write_file(std::filesystem::path const& path, File const& file) {
  auto const partial = path.native() + ".partial";
  ::unlink(partial.c_str());
  auto const mode = static_cast<mode_t>(file.executable ? 0777 : 0666);
  int const descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (descriptor < 0) cannot_write(partial, errno);
  int fault = 0;
  for (std::string_view rest = file.text; !rest.empty() && fault == 0;) {
    auto const written = ::write(descriptor, rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fault = errno;
    }
  }
  if (::close(descriptor) != 0 && fault == 0) fault = errno;
  if (fault == 0 && std::rename(partial.c_str(), path.c_str()) != 0) fault = errno;
  if (fault != 0) {
    ::unlink(partial.c_str());
    cannot_write(path.native(), fault);
  }
}

namespace {

using Rendered = std::pair<Job, std::vector<File>>;

/// The folder of each job, in order: DIR itself for one job, one below it for each of several. Nothing when a name
/// would lead elsewhere, or two jobs to one place.
std::vector<std::filesystem::path> folders(Context& context, std::vector<Rendered> const& rendered) {
  std::filesystem::path const directory = context.invocation.directory;
  if (rendered.size() == 1) return {directory};
  std::vector<std::filesystem::path> all;
  for (auto const& [job, files] : rendered) {
    auto const& name = job.spec.job_name;
    auto const where = name.where.source ? name.where : Where{job.spec.source, 0, 0, 1, "job_name"};
    if (auto const fault = folder_fault(name.value); !fault.empty()) {
      context.diagnostics.error("PR011", where, concat("several jobs get a folder each, and the name ", fault),
                                "write a job_name of letters, digits, '-', '_' and '.'");
    } else if (std::find(all.begin(), all.end(), directory / name.value) != all.end()) {
      context.diagnostics.error("PR023", where,
                                concat("another job of this run is written to ", (directory / name.value).native()),
                                "give each job its own name, or call prgen once for each with another -O");
    } else {
      all.push_back(directory / name.value);
    }
  }
  return all.size() == rendered.size() ? all : std::vector<std::filesystem::path>{};
}

/// All of it is looked at before anything is written.
int write_files(Context& context, std::vector<Rendered> const& rendered) {
  auto const& invocation = context.invocation;
  if (invocation.error_on_warning && context.diagnostics.warned()) return exit_invalid;
  auto const places = folders(context, rendered);
  if (places.empty()) return exit_invalid;
  std::error_code error;
  for (std::size_t i = 0; i < places.size() && !invocation.force; ++i) {
    for (auto const& file : rendered[i].second) {
      auto const path = places[i] / file.name;
      if (std::filesystem::exists(std::filesystem::symlink_status(path, error))) {
        throw IoError(concat(path.native(), ": is there already; --force replaces it"));
      }
    }
  }
  for (auto const& folder : places) {
    std::filesystem::create_directories(folder, error);
    if (error) throw IoError(concat(folder.native(), ": cannot be made: ", error.message()));
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto const& files = rendered[i].second;
    for (auto const& file : files) write_file(places[i] / file.name, file);
    context.diagnostics.note(
        concat(files.size(), files.size() == 1 ? " file" : " files", " written to ", places[i].native()));
  }
  return exit_ok;
}

}  // namespace

int check_command(Context& context) {
  static_cast<void>(load_all(context));
  return context.diagnostics.failed() ? exit_invalid : exit_ok;
}

int render_command(Context& context) {
  auto const& invocation = context.invocation;
  auto const jobs = load_all(context);
  if (context.diagnostics.failed()) return exit_invalid;
  Renderer renderer(template_folder(invocation.options.template_dir));
  std::vector<Rendered> rendered;
  rendered.reserve(jobs.size());
  for (auto const& job : jobs) {
    rendered.emplace_back(job, render(job, invocation.options, renderer, context.diagnostics));
  }
  if (context.diagnostics.failed()) return exit_invalid;  // a target has rules of its own
  if (invocation.output == "files") return write_files(context, rendered);
  auto list = Json::array();
  for (auto const& [job, files] : rendered) {
    bool const objects = files.size() == 1 && files.front().yaml;
    if (files.size() > 1) {
      context.diagnostics.error({}, {job.spec.source, 0, 0, 1, {}},
                                concat("a job for ", job.target, " is ", files.size(), " files"),
                                "write them by -o files -O DIR");
      return exit_usage;
    }
    if (!objects && (invocation.output == "json" || rendered.size() > 1)) {
      context.diagnostics.error({}, {job.spec.source, 0, 0, 1, {}},
                                concat("a job for ", job.target, " is a script, not a list of objects"),
                                "write it by -o files -O DIR, or print it alone with -o yaml");
      return exit_usage;
    }
    if (invocation.output == "json") {
      for (auto& document : documents_of(files.front().text)) list.push_back(std::move(document));
    } else {
      context.out += objects ? manifest(files) : files.front().text;
    }
  }
  if (invocation.output == "json") {
    context.out = Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", list}}.dump(2) + '\n';
  }
  return exit_ok;
}

}  // namespace prdist::gen
