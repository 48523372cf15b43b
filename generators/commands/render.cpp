// SPDX-License-Identifier: Apache-2.0
// render and check: the way from files to a manifest, printed or written as files.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <prdist/core/text.hpp>
#include <set>

#include "commands.hpp"

namespace prdist::gen {

SourcePtr read_source(std::string const& name, std::istream& in) {
  if (name == "-") {
    return std::make_shared<Source const>(Source{"<stdin>", {std::istreambuf_iterator<char>(in), {}}});
  }
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) throw IoError(concat(name, ": is a folder, not a file"));
  std::ifstream file(name, std::ios::binary);
  if (!file) throw IoError(concat(name, ": cannot be read: ", std::strerror(errno)));
  std::string text{std::istreambuf_iterator<char>(file), {}};
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

/// Whole or not at all: beside its place first, then renamed.
void write_file(std::filesystem::path const& path, File const& file, bool force) {
  std::error_code error;
  if (!force && std::filesystem::exists(path, error)) {
    throw IoError(concat(path.native(), ": is there already; --force replaces it"));
  }
  auto const partial = path.native() + ".partial";
  {
    std::ofstream stream(partial, std::ios::binary | std::ios::trunc);
    stream << file.text;
    stream.flush();
    if (!stream) throw IoError(concat(partial, ": cannot be written: ", std::strerror(errno)));
  }
  if (file.executable) {
    using std::filesystem::perms;
    std::filesystem::permissions(partial, perms::owner_exec | perms::group_exec | perms::others_exec,
                                 std::filesystem::perm_options::add, error);
  }
  std::filesystem::rename(partial, path, error);
  if (error) throw IoError(concat(path.native(), ": cannot be written: ", error.message()));
}

int write_files(Context& context, std::vector<std::pair<Job, std::vector<File>>> const& rendered) {
  auto const& invocation = context.invocation;
  std::filesystem::path const directory = invocation.directory;
  std::error_code error;
  for (auto const& [job, files] : rendered) {
    // One job's files stand in the folder itself; several jobs get a folder each.
    auto const folder = rendered.size() == 1 ? directory : directory / job.spec.job_name.value;
    std::filesystem::create_directories(folder, error);
    if (error) throw IoError(concat(folder.native(), ": cannot be made: ", error.message()));
    if (!invocation.force) {
      for (auto const& file : files) {
        if (std::filesystem::exists(folder / file.name, error)) {
          throw IoError(concat((folder / file.name).native(), ": is there already; --force replaces it"));
        }
      }
    }
    for (auto const& file : files) write_file(folder / file.name, file, invocation.force);
    context.diagnostics.note(
        concat(files.size(), files.size() == 1 ? " file" : " files", " written to ", folder.native()));
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
  std::vector<std::pair<Job, std::vector<File>>> rendered;
  rendered.reserve(jobs.size());
  for (auto const& job : jobs) {
    rendered.emplace_back(job, render(job, invocation.options, renderer, context.diagnostics));
  }
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
