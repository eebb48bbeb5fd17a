"""The notebooks of the documentation run, and hold what they showed when they last did."""

import ast
import importlib.util
import json
from pathlib import Path

import matplotlib as mpl
import pytest

mpl.use("agg")
DOCS = Path(__file__).parents[1] / "docs"
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))
if not NOTEBOOKS:
    pytest.skip("the documentation is not beside the tests", allow_module_level=True)


def code_cells(path):
    book = json.loads(path.read_text("utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def run(source, names):
    """Run a cell, in the manner of Jupyter: the value of the last expression is what it shows."""
    *body, last = ast.parse(source).body
    if not isinstance(last, ast.Expr) or source.rstrip().endswith(";"):
        body, last = [*body, last], None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_order_and_shows_the_kinds_of_things_it_holds(
    path, tmp_path, monkeypatch
):
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in code_cells(path):
        plt.close("all")
        shown = run("".join(cell["source"]), names)
        # Pictures are shown although they are not values.
        kinds = {kind for output in cell["outputs"] for kind in output["data"]}
        expected = set()
        if shown is not None:
            expected = {"text/html" if hasattr(shown, "_repr_html_") else "text/plain"}
        elif plt.get_fignums():
            expected = {"image/png"}
        assert kinds == expected, f"run `make notebooks`: {cell['source']}"
    plt.close("all")


def test_the_site_shows_text_code_and_outputs(tmp_path):
    if importlib.util.find_spec("latex2mathml") is None:
        pytest.skip("the packages of the documentation are not installed")
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "site_hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    table = "<div>\n<style scoped>\n .x {}\n\n</style>\n<table></table></div>"
    outputs = [
        {"output_type": "execute_result", "data": {"text/html": [table]}},
        {"output_type": "display_data", "data": {"image/png": "QUJD\n"}},
        {"output_type": "execute_result", "data": {"text/plain": ["(1,", " 2)"]}},
        {"output_type": "stream", "name": "stdout", "text": "said"},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": "a = 1\na", "outputs": outputs},
    ]
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    page = hooks.notebook_page(path)
    assert page.startswith("# Title\n\n[Download the notebook](one.ipynb)")
    for part in (
        "\nwords\n", "```py\na = 1\na\n```", "<table></table></div></div>", "base64,QUJD\"",
        "```text\n(1, 2)\n```", "```text\nsaid\n```",
    ):  # fmt: skip
        assert part in page
    assert "<style" not in page
