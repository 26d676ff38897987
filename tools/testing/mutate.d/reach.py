# SPDX-License-Identifier: GPL-2.0
"""The map of tools/testing/coverage: which tests reach which lines of the driver.

It is a JSON file in the cache. A summary of it is in the repository, see Kept.

	commit, date
	tests	TEST or TEST@CASE...: {seconds, bad: results that are bad}
	files	name: {sha, lines: {line: [function, [test, ...]]}}

Lines are those with the begin of a basic block. Those of init and exit code are reached by all
tests that load the driver.
"""

import hashlib
import json
import os
import pathlib
import re
import subprocess

REPO = pathlib.Path(__file__).resolve().parent.parent.parent.parent


# Tests that run as a whole when they begin: the case that fails if any of them does, and its seconds
WHOLE, WHOLE_SECONDS = {"unit.sh": "complete"}, 5


def map_file():
    """Where the map is"""
    return pathlib.Path(os.environ["IPOIB_VM_CACHE"]) / "coverage/map.json"


def kept_file():
    """Where the summary is"""
    return pathlib.Path(__file__).resolve().parent / "reached"


def git(*command):
    """The output of git in the repository, or nothing"""
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", REPO, *command],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def digest(file):
    """The sha of a file of the repository, or nothing"""
    path = REPO / file
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def unchanged(diff, last):
    """{line: line before}, up to the last line of a file, of lines that a diff without context
    leaves as they were"""
    hunks = re.findall(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", diff, re.M)
    found, line, shift = {}, 1, 0
    for old, removed, new, added in hunks + [("", "", str(last + 1), "0")]:
        removed, added = int(removed or 1), int(added or 1)
        # A hunk that only removes has the line before it.
        begin = int(new) + (added == 0 and old != "")
        found.update({number: number - shift for number in range(line, begin)})
        line, shift = begin + added, shift + added - removed
    return found


class Map:
    """What is in the file"""

    def __init__(self, content):
        self.content = content
        self.commit, self.tests = content["commit"], content["tests"]
        self.files = content["files"]
        self.fresh = {file: of["sha"] == digest(file) for file, of in self.files.items()}
        self.moved = {}

    @classmethod
    def load(cls):
        """The map, or None if there is none"""
        file = map_file()
        return cls(json.loads(file.read_text())) if file.exists() else None

    def lines(self, file):
        """{line: (function, tests)}"""
        of = self.files.get(file, {"lines": {}})
        return {int(line): tuple(words) for line, words in of["lines"].items()}

    def before(self, file, line):
        """The line of the map for a line of the file; 0 if it has changed since, or if git does not
        have the commit of the map"""
        if self.fresh.get(file):
            return line
        if file not in self.moved:
            diff = git("diff", "-U0", "--no-color", "--no-ext-diff", self.commit, "--", file)
            last = len((REPO / file).read_text().splitlines())
            self.moved[file] = unchanged(diff, last) if diff else {}
        return self.moved[file].get(line, 0)

    def seconds(self, test):
        """How long a test takes, or None"""
        return WHOLE_SECONDS if test in WHOLE else self.tests.get(test, {}).get("seconds")

    def at(self, file, first, last, function=""):
        """Tests that reach the lines from first to last: those of the blocks that begin there,
        or else of the one that begins last before, in the function if one is named"""
        lines = {line: tests for line, (of, tests) in self.lines(file).items()
                 if not function or of == function}
        begun = [line for line in lines if first <= line <= last]
        if not begun:
            begun = sorted(line for line in lines if line < first)[-1:]
        return set().union(*(lines[line] for line in begun)) if begun else None

    def of_uses(self, name, depth=3):
        """Tests that reach a line with the name of what has no block of its own: a macro, a
        variable, a function that is part of its callers. Macros that use it count by their uses"""
        found, word = set(), re.compile(rf"\b{re.escape(name)}\b")
        for path in sorted(REPO.glob("*.[ch]")) + sorted(REPO.glob("*/*.[ch]")):
            file = str(path.relative_to(REPO))
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if not word.search(line) or re.match(r"\s*(/?\*|//)", line):
                    continue
                macro = re.match(r"#\s*define\s+(\w+)", line)
                if macro and macro[1] != name and depth:
                    found |= self.of_uses(macro[1], depth - 1)
                elif line[:1] in " \t" and self.before(file, number):
                    number = self.before(file, number)
                    found |= self.at(file, number, number) or set()
        return found

    def of_fault(self, fault):
        """Tests that reach a fault; None if that is not known. Sets, the first of which are to
        be preferred: those that reach a block that begins in the statement, and those that reach
        the block before, in which the statement may begin. If these lines have changed since, those
        that reach the function. What has no blocks of its own counts by its uses, or else by
        its file, and the unit tests may reach it."""
        file, function = fault["file"], fault["function"]
        first, last = int(fault["first"]), int(fault["last"])
        lines = self.lines(file)
        own = [tests for of, tests in lines.values() if of == function]
        if not own:
            found = self.of_uses(function)
            if found or not lines:
                return [found | set(WHOLE)] if found else None
        first, last = self.before(file, first), self.before(file, last)
        if own and first and last:
            found = [self.at(file, first, last, function), self.at(file, first, first - 1, function)]
            if found != [None, None]:
                return [found[0] or set(), (found[1] or set()) - (found[0] or set())]
        if own:
            return [set().union(*own)]
        return [set(WHOLE).union(*(tests for _, tests in lines.values()))]


# Tests of a line in the summary, and tests of a function
KEPT_LINE, KEPT_FUNCTION = 3, 12


class Kept:
    """The summary: some tests of each function, for machines without a map

    A text file: "NUMBER SECONDS TEST" or "NUMBER SECONDS TEST@CASE..." for each test or part of
    one, then "FILE FUNCTION NUMBER..." for each function."""

    def __init__(self, text):
        self.tests, self.functions, names = {}, {}, {}
        for line in text.splitlines():
            words = line.split()
            if not line or line.startswith("#"):
                continue
            if words[0].isdigit():
                names[words[0]] = words[2]
                self.tests[words[2]] = int(words[1])
            else:
                self.functions[words[0], words[1]] = {names[word] for word in words[2:]}

    @classmethod
    def load(cls):
        """The summary, or None if there is none"""
        return cls(kept_file().read_text()) if kept_file().exists() else None

    def seconds(self, test):
        """How long a test takes"""
        return self.tests[test]

    def of_fault(self, fault):
        """Tests of the function of a fault; of what is no function, of the functions that have its
        name, and the unit tests. None if there are none."""
        file, name = fault["file"], fault["function"]
        own = self.functions.get((file, name))
        if own:
            return [own]
        found = set().union(*(self.functions.get(user, set()) for user in users(name)))
        return [found | set(WHOLE)] if found else None


def users(name):
    """Functions with a name in their code: pairs of file and function"""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for path in sorted(REPO.glob("*.[ch]")) + sorted(REPO.glob("*/*.[ch]")):
        function = ""
        for line in path.read_text().splitlines():
            head = re.match(r"[a-z][\w\s*]*?\b(\w+)\(", line)
            if head and not line.endswith(";"):
                function = head[1]
            elif function and line[:1] in " \t" and word.search(line):
                yield str(path.relative_to(REPO)), function


def chosen(lines, seconds):
    """Tests of a function with @lines: {line: tests}. Each line has KEPT_LINE of its tests, if it has
    as many, and the whole takes little time."""
    need = {line: min(KEPT_LINE, len(tests)) for line, tests in lines.items()}
    taken = []

    def gain(test):
        return sum(1 for line, tests in lines.items() if need[line] and test in tests) / seconds(test)

    while any(need.values()) and len(taken) < KEPT_FUNCTION:
        left = set().union(*(lines[line] for line in need if need[line])) - set(taken)
        best = min(left, key=lambda test: (-gain(test), test))
        taken.append(best)
        for line, tests in lines.items():
            need[line] -= bool(need[line] and best in tests)
    return taken


def summary(cover):
    """The text of the summary of a map"""
    functions = {}
    for file in sorted(cover.files):
        for line, (function, tests) in cover.lines(file).items():
            if tests and function:
                functions.setdefault((file, function), {})[line] = set(tests)
    taken = {key: chosen(lines, lambda test: max(1, cover.seconds(test)))
             for key, lines in functions.items()}
    numbers = {test: number for number, test in
               enumerate(sorted(set().union(*taken.values())), 1)}
    yield "# Tests of each function, for mutate --sample without a map, see tools/testing/coverage."
    yield f"# Written by coverage --keep, of {cover.commit[:12]}."
    for test, number in numbers.items():
        yield f"{number} {max(1, cover.seconds(test))} {test}"
    for (file, function), tests in sorted(taken.items()):
        yield f"{file} {function} {' '.join(map(str, sorted(numbers[test] for test in tests)))}"
