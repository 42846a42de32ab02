#!/usr/bin/env python3
"""The style rules that a machine can hold, as an ordinary test.

tidy_test.py --root DIR     prints PATH:LINE: RULE: what is wrong; exit code 1 when anything is
tidy_test.py --self-test    each rule must flag its own small bad example, and nothing in a good one

Standard library only. Comments and literals of C++ are blanked before a rule looks for code, so that a text that
mentions a banned call is no call.
"""
import argparse
import bisect
import collections
import pathlib
import re
import sys
import tempfile

MAX_FUNCTION_LINES = 70
WARN_FILE_LINES = 450
MAX_FILE_LINES = 500
MAX_COLUMNS = 120

CODE_FOLDERS = ("harness", "fakes", "sut", "scenarios", "reports")
CPP = (".h", ".cc", ".cpp", ".c")
TEXT = CPP + (".py", ".sh", ".bash", ".cmake", ".js", ".css")
TEXT_NAMES = ("CMakeLists.txt", "dev", "run", ".clang-format", ".clang-tidy", ".gitignore")
WIDE = (".md", ".json", ".plan", ".toml")  # prose, tables and data: any line width
SKIPPED_FOLDERS = re.compile(r"^(\.(?!ci$).*|build.*|halfsent-runs|node_modules|dist|__pycache__)$")

# Who may include whom: folder -> folders whose headers it may include. What has no row may not include any.
LAYERS = {
    "harness/core": (),
    "harness/contract": ("harness/core",),
    "harness/explore": ("harness/core",),
    "harness/scenario": ("harness/core",),
    "harness/intercept": ("harness/core",),
    "harness/process": ("harness/core", "harness/intercept"),
    "fakes": ("harness/core", "harness/scenario"),
    "harness/world": ("harness/core", "harness/scenario", "harness/intercept", "harness/process", "fakes"),
    "reports": ("harness/core", "harness/contract", "harness/explore"),
    "harness/cli": ("harness/core", "harness/contract", "harness/explore", "harness/scenario", "harness/intercept",
                    "harness/process", "harness/world", "fakes", "reports"),
}
# Reference systems stand alone: they are what a user would write, so they may use nothing of the harness.
STANDALONE = ("sut", "scenarios")

# Pure folders: values in, values out. Their tests may touch files.
PURE = ("harness/core", "harness/contract", "harness/explore")
IMPURE_HEADER = re.compile(r"<((unistd|fcntl|signal|poll|(sys|linux)/[\w/]+)\.h|thread|boost/asio.*)>")

BANNED = {
    "sleep": r"(?<![\w.>])(?:::|std::)?(?:u|nano)?sleep\s*\(|\bsleep_(?:for|until)\b",
    "rand": r"(?<![\w.>])(?:std::)?s?rand\s*\(|\brandom_device\b",
    "system": r"(?<![\w.>:])(?:::|std::)?system\s*\(",
    "clock": r"\b(?:system|steady|high_resolution)_clock\b|(?<![\w.>])(?:std::|::)?time\s*\(\s*(?:nullptr|NULL|0)\s*\)",
}
# Where the real thing is needed: (path, name in BANNED) -> reason. A line that is not needed any more is flagged.
ALLOWED = {
    ("harness/cli/bench_main.cc", "clock"): "measures real time, and only prints it",
    ("harness/cli/progress.cc", "clock"): "a bar on a terminal for a person; no history sees it",
    ("harness/cli/stored_run.cc", "clock"): "the date in a run folder's name; decides nothing",
    ("harness/process/init.cc", "sleep"): "no event tells when the kernel has given back a pid",
    ("harness/process/sandbox_test.cc", "clock"): "how soon a world dies with its harness is a claim about real time",
    ("harness/world/test_program.cc", "sleep"): "it is a worker under test, whose sleeps are virtual",
}

Problem = collections.namedtuple("Problem", "path line rule text")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


LITERALS = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)


def code_of(text):
    """C++ with comments, literals and preprocessor lines turned to blanks; every line stays on its line."""
    return DIRECTIVE.sub(blank, LITERALS.sub(blank, text))


SCOPE = re.compile(r"^(?:inline\s+)?(?:namespace|extern)\b|^(?:typedef\s+)?(?:class|struct|union|enum)\b")
TEMPLATE = re.compile(r"^template\s*<[^{}]*?>\s*(?=class|struct|union)")
LABELS = re.compile(r"(?:\s|(?:public|private|protected)\s*:)*")
FUNCTION_END = re.compile(r"\)\s*(?:const|noexcept|override|final|mutable|&|->[^{}]*|\s)*$")


def is_scope(head):
    """Whether the brace after `head` opens a namespace or a type, whose contents are declarations again."""
    head = TEMPLATE.sub("", " ".join(head.split()))
    return bool(SCOPE.match(head)) and not FUNCTION_END.search(head)


def is_function(head):
    """Whether the brace after `head` opens a function or a lambda, and not a table of values."""
    if "(" not in head:
        return False
    flat, before = re.sub(r"operator\s*[=!<>]+", "", head), None
    while flat != before:
        before, flat = flat, re.sub(r"\([^()]*\)|<[^<>]*>", "", flat)
    return "=" not in flat or re.search(r"=\s*\[", flat) is not None


def functions(code):
    """Yields (first line, last line, name) of each function body in `code`. Lambdas belong to their function."""
    line_starts = [0] + [m.end() for m in re.finditer("\n", code)]
    start, position = 0, 0  # `start`: where the declaration that is being read begins
    brace = re.compile(r"[{};]")
    while (found := brace.search(code, position)) is not None:
        position = found.end()
        head = code[start:found.start()]
        inside_parentheses = head.count("(") > head.count(")")
        if found.group() == ";" or found.group() == "}":
            start = start if inside_parentheses else position
            continue
        if not inside_parentheses and is_scope(head):
            start = position
            continue
        end = closing(code, found.start())
        position = end + 1
        after = re.compile(r"\s*(.?)").match(code, position).group(1)
        if inside_parentheses or (after and after in ",{"):
            continue  # a default argument, or a member initialised with braces: the declaration goes on
        if is_function(head):
            first = start + LABELS.match(head).end()
            name = re.search(r"([\w:~]+(?:\s*operator\s*\S+)?)\s*\(", head)
            yield (bisect.bisect_right(line_starts, first), bisect.bisect_right(line_starts, end),
                   name.group(1) if name else "function")
        start = position


def closing(code, opening):
    depth = 0
    for found in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.start()
    return len(code) - 1


def folder_of(path):
    """The layer a path belongs to: "harness/core", "fakes"; "" for the root."""
    parts = path.split("/")
    if parts[0] == "harness":
        return "/".join(parts[:2]) if len(parts) > 2 else "harness"
    return parts[0] if len(parts) > 1 else ""


# Spelled in pieces, so that this file passes its own test.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|HA" r"CK)\b")
HOST_PATH = re.compile(r"(?<![\w.\-{}<>()])(?:/wo" r"rk/|/ro" r"ot/|/tmp/build" r"-)")


def check_text(path, text):
    wide = path.endswith(WIDE)
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield Problem(path, number, "tab", "a tab; indent with spaces")
        if line != line.rstrip():
            yield Problem(path, number, "trailing-space", "white space at the end of the line")
        if len(line) > MAX_COLUMNS and not wide:
            yield Problem(path, number, "line-width", f"{len(line)} columns, {MAX_COLUMNS} are allowed")
        if UNFINISHED.search(line):
            yield Problem(path, number, "unfinished", f"'{UNFINISHED.search(line).group()}': do it, or write an issue")
        if HOST_PATH.search(line):
            yield Problem(path, number, "host-path", "an absolute path of one machine")


def check_includes(path, text):
    folder = folder_of(path)
    for number, line in enumerate(text.split("\n"), 1):
        system = re.match(r"\s*#\s*include\s*(<[^>]+>)", line)
        if system and folder in PURE and not path.endswith("_test.cc") and IMPURE_HEADER.match(system.group(1)):
            yield Problem(path, number, "pure", f"{folder} does no I/O, so it has no use for {system.group(1)}")
        own = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
        if not own or (folder in STANDALONE and not own.group(1).startswith(CODE_FOLDERS)):
            continue
        target = folder_of(own.group(1))
        if own.group(1).split("/")[0] not in CODE_FOLDERS:
            yield Problem(path, number, "include-path", f'write "{own.group(1)}" from the root of the project')
        elif folder in STANDALONE and target != folder:
            yield Problem(path, number, "include-direction", f"{folder} may use nothing of {target}")
        elif path.endswith("_test.cc") and target in LAYERS:
            pass  # a test may bring together what it compares
        elif folder not in STANDALONE and target != folder and target not in LAYERS.get(folder, ()):
            yield Problem(path, number, "include-direction", f"{folder} may not include {target} (LAYERS in this test)")


def check_cpp(path, text, allowed, used):
    code = code_of(text)
    for first, last, name in functions(code):
        if last - first + 1 > MAX_FUNCTION_LINES:
            yield Problem(path, first, "function-length",
                          f"{name} has {last - first + 1} lines, {MAX_FUNCTION_LINES} are allowed")
    if folder_of(path) in STANDALONE:
        return  # reference systems sleep and read clocks: they are ordinary programs
    for name, pattern in BANNED.items():
        for found in re.finditer(pattern, code):
            used.add((path, name))
            if (path, name) not in allowed:
                line = code.count("\n", 0, found.start()) + 1
                call = " ".join(found.group().split())
                yield Problem(path, line, "banned-call", f"'{call}': not repeatable (ALLOWED in this test)")


def check_length(path, text, warnings):
    lines = text.count("\n")
    if lines > MAX_FILE_LINES:
        yield Problem(path, lines, "file-length", f"{lines} lines, {MAX_FILE_LINES} are allowed")
    elif lines > WARN_FILE_LINES:
        warnings.append(f"{path}: warning: {lines} lines; {MAX_FILE_LINES} is the limit")


def check_listed(files):
    """Every source is named in a CMake file of its folder or above; every header is included by somebody."""
    included = set()
    for path, text in files.items():
        if path.endswith(CPP):
            included.update(re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE))
    named = {}
    for path, text in files.items():
        if path.endswith("CMakeLists.txt") or path.endswith(".cmake"):
            folder = path.rpartition("/")[0]
            named.setdefault(folder, set()).update(re.split(r'[\s()"]+', re.sub(r"#[^\n]*", "", text)))
    for path in sorted(files):
        if path.split("/")[0] not in ("harness", "fakes", "reports"):
            continue
        if path.endswith((".cc", ".cpp")) and not is_named(path, named):
            yield Problem(path, 1, "not-built", "no CMakeLists.txt of its folder or above names it")
        if path.endswith(".h") and path not in included:
            yield Problem(path, 1, "dead-header", "nobody includes it")


def is_named(path, named):
    folder, _, rest = path.rpartition("/")
    while True:
        words = named.get(folder, set())
        if rest in words or any(word.endswith("}/" + rest) for word in words):
            return True
        if not folder:
            return False
        folder, _, last = folder.rpartition("/")
        rest = f"{last}/{rest}"


def read_tree(root):
    files = {}
    stack = [root]
    while stack:
        for entry in sorted(stack.pop().iterdir()):
            if entry.is_symlink():
                continue
            if entry.is_dir():
                if not SKIPPED_FOLDERS.match(entry.name):
                    stack.append(entry)
            elif entry.name in TEXT_NAMES or entry.name.endswith(TEXT + WIDE):
                files[entry.relative_to(root).as_posix()] = entry.read_bytes().decode("utf-8", "replace")
    return files


def check_tree(root, allowed):
    files = read_tree(pathlib.Path(root))
    problems, warnings, used = [], [], set()
    for path in sorted(files):
        text = files[path]
        problems += check_text(path, text)
        if path.endswith(CPP + (".py",)):
            problems += check_length(path, text, warnings)
        if path.endswith(CPP):
            problems += check_includes(path, text)
            problems += check_cpp(path, text, allowed, used)
    problems += check_listed(files)
    for path, name in sorted(set(allowed) - used):
        problems.append(Problem(path, 1, "stale-allowance", f"no '{name}' in it any more: take it out of ALLOWED"))
    return problems, warnings, files


def body(lines):
    return "int f(int a) {\n" + "  ++a;\n" * (lines - 3) + "  return a;\n}\n"


# rule -> examples: files of a small tree in which that rule, and no other, must speak.
CMAKE = {"harness/core/CMakeLists.txt": "halfsent_library(NAME core SOURCES a.cc)\n"}
LONG_CONSTRUCTOR = "namespace n {\nA::A(int a)\n    : a_{a},\n      b_{a} {\n" + "  ++a;\n" * 68 + "}\n}\n"
LONG_METHOD = "class A final : public B<int(int)> {\n public:\n  " + body(71).replace("\n", "\n  ").rstrip() + "\n};\n"
LONG_TABLE = "constexpr int kTable[] = {\n" + "    1,\n" * 80 + "};\n"
LONG_NAMESPACE_LAMBDA = "const auto f = [](int a) {\n" + "  ++a;\n" * 70 + "};\n"
LONG_STRUCT = "template <class T>\nstruct S {\n public:\n" + body(70) + "  T a;\n" * 80 + "};\n"
LONG_LAMBDA = "int f(O o = {}) {\n  auto g = [&](int a) {\n" + "    ++a;\n" * 68 + "  };\n}\n"


def core(text):
    return {"harness/core/a.cc": text, **CMAKE}


BAD = {
    "function-length": [core(body(71)), core("TEST(A, B) {\n" + "  f();\n" * 70 + "}\n"), core(LONG_CONSTRUCTOR),
                        core(LONG_METHOD), core(LONG_LAMBDA), core(LONG_NAMESPACE_LAMBDA),
                        core("int f(int a = g(1)) {\n" + "  ++a;\n" * 70 + "}\n")],
    "file-length": [core("int a;\n" * 501), {"sut/a.py": "a = 1\n" * 501}],
    "line-width": [core("int a;" + " " * 110 + "int b;\n")],
    "tab": [core("\tint a;\n")],
    "trailing-space": [core("int a; \n"), {"dev": "true \n"}],
    "unfinished": [core("// TO" + "DO: all\n"), {"CMakeLists.txt": "# FIX" + "ME\n"}],
    "host-path": [core('auto a = "/wo' + 'rk/main";\n'), {"dev": "cd /ro" + "ot/x\n"},
                  {"README.md": "in `/tmp/build" + "-x`\n"}],
    "include-direction": [
        core('#include "fakes/a.h"\n'), core('#include "harness/contract/judge.h"\n'),
        {"harness/process/a.h": '#include "harness/scenario/b.h"\n', "harness/process/CMakeLists.txt": "a.cc\n",
         "harness/process/a.cc": '#include "harness/process/a.h"\n'},
        {"harness/world/a.cc": '#include "reports/a.h"\n', "harness/world/CMakeLists.txt": "a.cc\n"},
        {"sut/x/a.cc": '#include "harness/core/a.h"\n'}],
    "include-path": [core('#include "a.h"\n')],
    "pure": [core("#include <unistd.h>\n"), core("#include <boost/asio/io_context.hpp>\n")],
    "banned-call": [core(f"void f() {{ {call}; }}\n") for call in (
        "sleep(1)", "::usleep(1)", "std::this_thread::sleep_for(d)", "rand()", "std::rand()", "std::random_device d",
        "system(c)", "std::system(c)", "std::chrono::system_clock::now()", "using c = std::chrono::steady_clock",
        "time(nullptr)")],
    "not-built": [{"fakes/a.cc": "int a;\n", "fakes/CMakeLists.txt": "# a.cc\nb.cc\n"}],
    "stale-allowance": [core("int a;\n")],
    "dead-header": [{"reports/a.h": "#pragma once\n"}],
}
GOOD = {
    **core(body(70) + LONG_TABLE + LONG_STRUCT + """
// sleep(1), /* rand() */ /proc/<pid>/ro""" + """ot/x
const char* a = "sleep(1) // rand()";
const char* b = R"(system("x") { {)";
int c = 1'000'000 + '{' + '\\'' + '"';
void g() { a.sleep(1); operating_system(2); b->time(nullptr); }
struct stat get();
enum class E : unsigned { a, b };
"""),
    "harness/cli/a.cc": '#include "reports/a.h"\n#include "harness/core/a.h"\n#include <unistd.h>\n',
    "harness/cli/CMakeLists.txt": "add_executable(halfsent ${HERE}/a.cc)\n",
    "harness/core/a.h": "#pragma once\n", "reports/a.h": '#pragma once\n#include "harness/explore/b.h"\n',
    "harness/explore/b.h": "#pragma once\n",
    "harness/world/a.cc": "void f() { sleep(1); }\n", "harness/world/CMakeLists.txt": "a.cc\n",
    "sut/x/worker.cc": '#include "own.h"\nvoid f() { sleep(1); }\n',
    "sut/x/worker.py": "import time\ntime.sleep(1)\npath = 'a/wo" + "rk/b'\n",
    "README.md": "| a | " + "b" * 200 + " |\n",
    "build/a.cc": "\t\n", "build-asan/b.cc": "\t\n", ".git/c.py": "\t\n",
}


def problems_of(tree, allowed):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in tree.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check_tree(folder, allowed)[0]


def self_test():
    failures = 0
    for rule, trees in BAD.items():
        for index, tree in enumerate(trees, 1):
            stale = {("harness/core/a.cc", "clock"): ""} if rule == "stale-allowance" else {}
            flagged = {p.rule for p in problems_of(tree, stale)}
            if flagged != {rule}:
                failures += 1
                print(f"{rule}, bad example {index}: flagged {sorted(flagged) or 'nothing'}")
    for problem in problems_of(GOOD, {("harness/world/a.cc", "sleep"): ""}):
        failures += 1
        print(f"good example: {problem}")
    source = pathlib.Path(__file__).read_text()
    for rule in sorted(set(re.findall(r'Problem\(path, \w+, "([\w-]+)"', source)) - set(BAD)):
        failures += 1
        print(f"{rule}: has no bad example")
    print(f"tidy self-test: {sum(map(len, BAD.values()))} bad examples of {len(BAD)} rules, {failures} failures")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if options.root is None:
        parser.error("--root DIR or --self-test")
    problems, warnings, files = check_tree(options.root, ALLOWED)
    for warning in warnings:
        print(warning)
    for problem in problems:
        print(f"{problem.path}:{problem.line}: {problem.rule}: {problem.text}")
    sources = sum(path.endswith(CPP) for path in files)
    print(f"tidy: {len(problems)} problems in {len(files)} files, {sources} of them C++")
    if sources == 0:
        print(f"tidy: no C++ below {options.root}: wrong --root?")
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
