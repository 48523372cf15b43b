// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <algorithm>
#include <cctype>
#include <prdist/core/text.hpp>

namespace prdist::gen {

namespace {

bool lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool digit(char c) {
  return c >= '0' && c <= '9';
}
bool letter(char c) {
  return lower(c) || (c >= 'A' && c <= 'Z');
}

std::string label_fault_at(std::string_view text, std::size_t longest) {
  if (text.empty()) return "is empty";
  if (text.size() > longest) return concat("has ", text.size(), " characters; ", longest, " is the most");
  for (auto const c : text) {
    if (!lower(c) && !digit(c) && c != '-') {
      return "has a character that is not a lower-case letter, a digit or '-'";
    }
  }
  if (text.front() == '-' || text.back() == '-') return "begins or ends with '-'";
  return {};
}

bool hex(char c) {
  return digit(c) || (c >= 'a' && c <= 'f');
}

/// One part of an image's path: lower case and digits, parted by '.', '_', '__' or dashes, one kind at a time.
bool image_component(std::string_view text) {
  auto const word = [](char c) { return lower(c) || digit(c); };
  if (text.empty() || !word(text.front()) || !word(text.back())) return false;
  for (std::size_t i = 0; i < text.size();) {
    if (word(text[i])) {
      ++i;
      continue;
    }
    auto const begin = i;
    while (!word(text[i])) ++i;  // the last character is one
    auto const parting = text.substr(begin, i - begin);
    bool const dashes = parting.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && parting != "." && parting != "_" && parting != "__") return false;
  }
  return true;
}

/// host or host:port, the host's labels parted by dots.
bool image_registry(std::string_view text) {
  auto const colon = text.find(':');
  if (colon != std::string_view::npos) {
    auto const port = text.substr(colon + 1);
    if (port.empty() || port.size() > 5 || !std::all_of(port.begin(), port.end(), digit)) return false;
  }
  auto const end = [](char c) { return letter(c) || digit(c); };
  for (auto rest = text.substr(0, colon);;) {
    auto const dot = rest.find('.');
    auto const label = rest.substr(0, dot);
    if (label.empty() || !end(label.front()) || !end(label.back()) ||
        !std::all_of(label.begin(), label.end(), [&](char c) { return end(c) || c == '-'; })) {
      return false;
    }
    if (dot == std::string_view::npos) return true;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string label_fault(std::string_view text) {
  if (auto fault = label_fault_at(text, 63); !fault.empty()) return fault;
  if (digit(text.front())) return "begins with a digit, which a service's name may not";
  return {};
}

std::string dns_label_fault(std::string_view text) {
  return label_fault_at(text, 63);
}

std::string label_from(std::string_view text) {
  std::string out;
  for (auto const c : text) {
    if (letter(c) || digit(c)) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && !lower(out.front())) out.erase(0, 1);
  if (out.size() > 40) out.resize(40);  // leaves room for roles and indexes behind it
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

std::string subdomain_fault(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text.size() > 253) return concat("has ", text.size(), " characters; 253 is the most");
  for (auto rest = text;;) {
    auto const dot = rest.find('.');
    if (auto fault = label_fault_at(rest.substr(0, dot), 253); !fault.empty()) return fault;
    if (dot == std::string_view::npos) return {};
    rest.remove_prefix(dot + 1);
  }
}

bool env_name(std::string_view text) {
  return !text.empty() && text.size() <= 256 && !digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return letter(c) || digit(c) || c == '_'; });
}

bool qualified_name(std::string_view text) {
  if (auto const slash = text.find('/'); slash != std::string_view::npos) {
    if (!subdomain_fault(text.substr(0, slash)).empty()) return false;
    text.remove_prefix(slash + 1);
  }
  auto const end = [](char c) { return letter(c) || digit(c); };
  return !text.empty() && text.size() <= 63 && end(text.front()) && end(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return end(c) || c == '-' || c == '_' || c == '.'; });
}

bool label_value(std::string_view text) {
  return text.empty() || (qualified_name(text) && text.find('/') == std::string_view::npos);
}

bool data_key(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text != "." && !text.starts_with("..") &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return letter(c) || digit(c) || c == '-' || c == '_' || c == '.'; });
}

std::string normal_path(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    auto const slash = text.find('/');
    auto const part = text.substr(0, slash);
    if (!part.empty() && part != ".") out += concat('/', part);
    if (slash == std::string_view::npos) break;
    text.remove_prefix(slash + 1);
  }
  return out.empty() ? "/" : out;
}

std::string mount_fault(std::string_view text) {
  if (text.empty() || text.front() != '/') return "is not an absolute path";
  if (text.size() > 4096) return "is longer than 4096 characters";
  if (text.find(':') != std::string_view::npos) return "has a ':', which a mount may not";
  for (auto rest = text.substr(1);;) {
    auto const slash = rest.find('/');
    if (rest.substr(0, slash) == "..") return "has a '..' in it";
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  for (auto const c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "has a control character in it";
  }
  return {};
}

std::string folder_fault(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text == "." || text == "..") return concat("is '", text, "', which names another folder");
  if (text.size() > 255) return concat("has ", text.size(), " characters; 255 is the most");
  for (auto const c : text) {
    if (c == '/') return "has a '/' in it";
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "has a control character in it";
  }
  return {};
}

std::string host_fault(std::string_view text) {
  auto host = text;
  if (auto const sign = host.find('@'); sign != std::string_view::npos) {
    auto const user = host.substr(0, sign);
    if (user.empty() || user.front() == '-' || !std::all_of(user.begin(), user.end(), [](char c) {
          return letter(c) || digit(c) || c == '-' || c == '_' || c == '.';
        })) {
      return "has a user's name that is not letters, digits, '-', '_' and '.'";
    }
    host.remove_prefix(sign + 1);
  }
  if (host.empty()) return "is empty";
  if (host.front() == '-') return "begins with '-': programs would take it for an option";
  if (host.size() > 253) return "is longer than 253 characters";
  if (!std::all_of(host.begin(), host.end(), [](char c) {
        return letter(c) || digit(c) || c == '-' || c == '.' || c == ':' || c == '[' || c == ']' || c == '_';
      })) {
    return "has a character that no host name has";
  }
  return {};
}

std::string image_fault(std::string_view text) {
  if (text.empty()) return "is empty";
  auto rest = text;
  if (auto const sign = rest.find('@'); sign != std::string_view::npos) {
    auto const digest = rest.substr(sign + 1);
    if (!digest.starts_with("sha256:") || digest.size() != 71 ||
        !std::all_of(digest.begin() + 7, digest.end(), [](char c) { return hex(c); })) {
      return "has a digest that is not sha256: and 64 hexadecimal digits";
    }
    rest = rest.substr(0, sign);
  }
  auto const slash = rest.rfind('/');
  if (auto const colon = rest.rfind(':');
      colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    auto const tag = rest.substr(colon + 1);
    auto const word = [](char c) { return letter(c) || digit(c) || c == '_'; };
    if (tag.empty() || tag.size() > 128 || !word(tag.front()) ||
        !std::all_of(tag.begin(), tag.end(), [&](char c) { return word(c) || c == '.' || c == '-'; })) {
      return concat("has a tag ('", tag, "') that is not letters, digits, '_', '.' and '-'");
    }
    rest = rest.substr(0, colon);
  }
  if (rest.size() > 255) return "is longer than 255 characters";
  bool first = true;
  for (;; first = false) {
    auto const end = rest.find('/');
    auto const part = rest.substr(0, end);
    bool const registry = first && end != std::string_view::npos &&
                          (part.find_first_of(".:") != std::string_view::npos || part == "localhost");
    if (registry) {
      if (!image_registry(part)) return concat("names the registry '", part, "', which is no host and port");
    } else if (!image_component(part)) {
      auto const upper = std::any_of(part.begin(), part.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
      return upper ? concat("has upper-case letters in '", part, "'")
                   : concat("has a part ('", part, "') that is not lower-case letters, digits, '.', '_' and '-'");
    }
    if (end == std::string_view::npos) return {};
    rest.remove_prefix(end + 1);
  }
}

std::string image_tag(std::string_view text) {
  if (auto const sign = text.find('@'); sign != std::string_view::npos) return std::string(text.substr(sign + 1));
  auto const slash = text.rfind('/');
  auto const colon = text.rfind(':');
  if (colon == std::string_view::npos || (slash != std::string_view::npos && colon < slash)) return {};
  return std::string(text.substr(colon + 1));
}

}  // namespace prdist::gen
