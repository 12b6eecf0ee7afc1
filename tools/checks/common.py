"""What the checks share: the list of source files, reports, and how a self test shows that a check can fail.

A check is a function from the source tree's root to a list of problems, each "file:line: what is wrong". The script's
exit status is 1 when there are any. Not here: the rules themselves.
"""
import os
import sys
import tempfile

SKIPPED = {".git", "build", "carry", "__pycache__", ".cache", ".venv"}
C_FAMILY = (".cpp", ".h", ".hpp", ".c", ".cuh", ".hip")


def files(root, suffixes=None):
    """Paths of all files of the tree, relative to root, sorted; with one of `suffixes` where given."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(set(names) - SKIPPED):
            if suffixes is None or name.endswith(suffixes):
                found.append(os.path.relpath(os.path.join(folder, name), root))
    return found


def read(root, path):
    """The text of a file; None for one that is not text."""
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")


def report(name, problems, examined):
    """Prints the problems and returns the exit status. A check that saw nothing has failed."""
    for problem in problems:
        print(problem)
    if not examined:
        print(f"{name}: nothing was examined")
        return 1
    print(f"{name}: {len(problems)} problem(s) in {examined} file(s)")
    return 1 if problems else 0


def root_from_arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.dirname(os.path.dirname(here))


def expect(name, tree, check, wanted):
    """Runs `check` on a tree {path: text} and compares the starts of its problems with `wanted`, in order."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full) or root, exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        problems, _ = check(root)
    if len(problems) != len(wanted) or not all(p.startswith(w) for p, w in zip(problems, wanted)):
        print(f"self test '{name}': wanted {wanted}, found {problems}")
        return False
    return True


def main(name, check, self_test):
    """The command line of a check: no argument examines the project, --self-test examines the check."""
    if sys.argv[1:] == ["--self-test"]:
        passed = self_test()
        print(f"{name}: self test {'passed' if passed else 'failed'}")
        return 0 if passed else 1
    problems, examined = check(root_from_arguments())
    return report(name, problems, examined)
