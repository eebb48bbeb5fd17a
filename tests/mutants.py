"""Mutation testing: change the code in one place, and see whether the tests notice.

python tests/mutants.py                   # 400 mutants of all rooms, at random: half an hour on two cores
python tests/mutants.py --only ball       # those of one room
python tests/mutants.py --number 0        # all of them: hours

The mutations are those of cosmic-ray, one for each operator; numbers grow by 1. A mutant lives in a fork of
one process in which the kernels are loaded already, so that it takes no longer than the tests it fails. Not
mutated, since no test could notice: type annotations, stubs of overloads, decorators, `strict` of zip,
constants at the top of a module that only tune speed or memory (private, in capitals), and the statements and
functions of `TUNING`. Exit code 1 if fewer than 85% are noticed.
"""

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import os
import random
import sys
import time
from pathlib import Path

import cosmic_ray.plugins
import pytest
import tqdm
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "epluribus"
GOAL = 0.85
ARGUMENTS = "tests/test_odd_arguments.py"  # run for every mutant
PAGES = "tests/test_docs.py::test_a_page_shows_what_its_code_makes"  # what is printed
ROOMS = {
    "partition": (["partition.py", "_integers.py"], ["tests/test_partition.py", "tests/draws"]),
    "losses": (["losses/*.py"], ["tests/losses/test_losses.py", "tests/draws/test_expected.py"]),
    "draws": (["draws/*.py"], ["tests/draws", "tests/readers/test_files.py", f"{PAGES}[missing]"]),
    "search": (["search/*.py"], ["tests/search"]),
    "ball": (["uncertainty/_ball.py"], ["tests/uncertainty/test_ball.py", f"{PAGES}[reading]"]),
    "error": (
        ["uncertainty/_error.py", "diagnostics/agreement.py", "diagnostics/series.py"],
        ["tests/uncertainty/test_error.py", "tests/test_diagnostics.py"],
    ),
}
"""Files to change, and the tests that should notice, besides the examples in the changed file itself."""
TUNING = {
    *("tolerance", "margin", "limit", "needed", "block", "step", "work", "slices", "slots"),
    *("tables_pay", "check_memory", "_check_memory", "_hash_multipliers"),
}
"""Names and functions that give a tolerance, a size of memory, or another way of doing the same work."""
# One replacement for each operator: the others are noticed or missed together with it.
OPERATORS = [
    f"core/{name}"
    for name in (
        *("ReplaceBinaryOperator_Add_Sub", "ReplaceBinaryOperator_Sub_Add"),
        *("ReplaceBinaryOperator_Mul_Div", "ReplaceBinaryOperator_Div_Mul"),
        *("ReplaceBinaryOperator_FloorDiv_Mul", "ReplaceBinaryOperator_Pow_Mul"),
        *("ReplaceBinaryOperator_BitAnd_BitOr", "ReplaceBinaryOperator_BitOr_BitAnd"),
        *("ReplaceComparisonOperator_Eq_NotEq", "ReplaceComparisonOperator_NotEq_Eq"),
        *("ReplaceComparisonOperator_Lt_LtE", "ReplaceComparisonOperator_LtE_Lt"),
        *("ReplaceComparisonOperator_Gt_GtE", "ReplaceComparisonOperator_GtE_Gt"),
        *("ReplaceComparisonOperator_Lt_Gt", "ReplaceComparisonOperator_Gt_Lt"),
        *("ReplaceComparisonOperator_Is_IsNot", "ReplaceComparisonOperator_IsNot_Is"),
        *("ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_Not"),
        *("ReplaceUnaryOperator_Delete_Invert", "AddNot", "ReplaceTrueWithFalse"),
        *("ReplaceFalseWithTrue", "ReplaceAndWithOr", "ReplaceOrWithAnd"),
        *("ReplaceBreakWithContinue", "ReplaceContinueWithBreak", "NumberReplacer"),
        "ZeroIterationForLoop",
    )
]


def name_of(node):
    """The name that a statement assigns to, or the function that an expression calls."""
    named = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "func", None)
    return getattr(named, "id", "")


def lines_left_alone(source):
    """Lines, or spans within lines, in which a mutation would change nothing that a test can see."""
    spans = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            arguments = [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]
            arguments += [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
            spans += [one.annotation for one in arguments if one.annotation is not None]
            spans += [node.returns] if node.returns is not None else []
            spans += node.decorator_list
            is_stub = any(getattr(one, "id", "") == "overload" for one in node.decorator_list)
            if is_stub or node.name in TUNING:
                spans.append(node)
        elif isinstance(node, ast.ClassDef):
            spans += node.decorator_list
            if any(getattr(one, "id", "") == "Protocol" for one in node.bases):
                spans.append(node)
        elif isinstance(node, ast.AnnAssign):
            spans.append(node.annotation)
        elif name_of(node) in TUNING or getattr(node, "arg", "") == "strict":
            spans.append(node)
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            name = name_of(node)
            if name.startswith("_") and name.isupper():
                spans.append(node)
    return list(map(span_of, spans))


def products(source):
    """Spans of products: elsewhere a star marks arguments, and is no operator."""
    nodes = ast.walk(ast.parse(source))
    return [span_of(one) for one in nodes if isinstance(getattr(one, "op", None), ast.Mult)]


def span_of(node):
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def within(begin, end, spans):
    return any(low <= begin and end <= high for low, high in spans)


def mutants_of(path):
    """(path, operator, occurrence, line) of everything that can be changed in a file."""
    source = path.read_text("utf-8")
    alone, stars = lines_left_alone(source), products(source)
    tree = get_ast(source)
    for name in OPERATORS:
        operator = cosmic_ray.plugins.get_operator(name)()
        places = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
        for occurrence, (begin, end) in enumerate(places):
            is_star = "_Mul_" in name and not within(begin, end, stars)
            falls = name == "core/NumberReplacer" and occurrence % 2  # cosmic-ray adds 1, then -1
            if not (is_star or falls or within(begin, end, alone)):
                yield path, name, occurrence, begin[0]


def warm_up():
    """Load or compile the kernels that the tests use, once for all mutants."""
    import numpy as np

    import epluribus as epl

    z = np.random.default_rng(0).integers(3, size=(300, 12))
    draws = epl.Draws(z)
    for name in ("vi", "nid"):
        epl.minimize(draws, name, rng=0)
        epl.search.exact(z[:, :5], name)


def run_tests(tests):
    """The exit code of pytest: 0 if all pass, 1 if not."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow"]
    return int(pytest.main([*options, *(str(ROOT / one) for one in (*tests, ARGUMENTS))]))


def run_mutant(path, name, occurrence, tests):
    """Import the package with the mutant in it and run the tests."""
    operator = cosmic_ray.plugins.get_operator(name)()
    code = mutate_code(path.read_text("utf-8"), operator, occurrence)
    module = ".".join(["epluribus", *path.relative_to(SOURCE).with_suffix("").parts])
    module = module.removesuffix(".__init__")

    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, fullname, _path=None, _target=None):
            if fullname != module:
                return None
            spec = importlib.util.spec_from_file_location(fullname, path)
            spec.loader.get_code = lambda _: compile(code, str(path), "exec")
            return spec

    for loaded in list(sys.modules):
        if loaded.partition(".")[0] == "epluribus" and not loaded.startswith("epluribus._kernels"):
            del sys.modules[loaded]
    sys.meta_path.insert(0, Finder())
    # Before pytest, which would import files of its arguments unchanged.
    importlib.import_module(module)
    return run_tests([path.relative_to(ROOT), *tests])


def start(work, *arguments):
    """A child that does the work and exits with its code."""
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            code = work(*arguments)
        finally:
            os._exit(code)
    return pid


def check_rooms(rooms):
    """Without a mutant all tests pass; else every mutant would look as if it had been noticed."""
    for room in rooms:
        _, status = os.waitpid(start(run_tests, ROOMS[room][1]), 0)
        if code := os.waitstatus_to_exitcode(status):
            sys.exit(f"The tests of '{room}' must pass as the code is; exit code {code}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=ROOMS, action="append")
    parser.add_argument("--number", type=int, default=400, help="mutants in all; 0 for every one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--patience", type=float, default=300.0, help="seconds until a mutant hangs"
    )
    args = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    work = [
        (room, mutant)
        for room in args.only or ROOMS
        for pattern in ROOMS[room][0]
        for path in sorted(SOURCE.glob(pattern))
        for mutant in mutants_of(path)
    ]
    total = len(work)
    random.Random(args.seed).shuffle(work)
    work = work[: args.number or total]
    warm_up()
    check_rooms(args.only or ROOMS)
    print(f"{len(work)} of {total} mutants", flush=True)
    bar = tqdm.tqdm(total=len(work), leave=False, disable=None)
    noticed = dict.fromkeys(ROOMS, 0)
    tried = dict.fromkeys(ROOMS, 0)
    running = {}
    while work or running:
        while work and len(running) < args.jobs:
            room, mutant = work.pop()
            pid = start(run_mutant, *mutant[:3], ROOMS[room][1])
            running[pid] = room, mutant, time.monotonic()
        time.sleep(0.05)
        for pid, (room, mutant, began) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if not done and time.monotonic() - began < args.patience:
                continue
            if not done:  # an endless loop is noticed too
                os.kill(pid, 9)
                os.waitpid(pid, 0)
            del running[pid]
            tried[room] += 1
            bar.update()
            if done and os.waitstatus_to_exitcode(status) == 0:
                path, name, _, line = mutant
                bar.write(f"missed: {path.relative_to(ROOT)}:{line} {name}")
            else:
                noticed[room] += 1
    bar.close()
    for room, number in tried.items():
        if number:
            print(f"{room:10s} {noticed[room]:4d} of {number:4d} noticed")
    score = sum(noticed.values()) / max(1, sum(tried.values()))
    print(f"score: {100 * score:.1f}%")
    return int(score < GOAL)


if __name__ == "__main__":
    sys.exit(main())
