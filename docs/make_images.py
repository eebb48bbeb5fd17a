"""Makes the pictures of docs/plots.md and docs/tutorial.md by running their code, and the gallery.

    python docs/make_images.py             # both pages, a minute
    python docs/make_images.py plots       # one page
    python docs/make_images.py --gallery   # docs/gallery.md and its thumbnails, from the pictures there are

The figure that a block of code leaves is saved as the picture that follows the block. The gallery has a card
for every picture of docs/plots.md: a new plot that is shown there is in the gallery after the next run.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
from PIL import Image

FOLDER = Path(__file__).resolve().parent
PAGES = ("plots", "tutorial")
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```$(?:\s*^!\[(?P<words>[^]]*)\]\((?P<image>[^)]*)\))?", re.M | re.S
)
LARGEST = 150_000  # bytes
THUMBNAIL = (360, 240)  # pixels; shown at half that size on most screens

HEAD = """\
---
hide: [toc]
---

# Gallery

Every function of `epl.plots`, with the line that makes the picture. A click on a picture leads to the page
[Plots](plots.md), where it is shown in full, with the data behind it; [the reference](api/plots.md) has all
arguments. This page is made from that one: `python docs/make_images.py --gallery`.

<div class="grid cards gallery" markdown>

"""


def run_page(name: str) -> None:
    """Run the code of a page from top to bottom and save its pictures; other files it writes are dropped."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in BLOCK.finditer((FOLDER / f"{name}.md").read_text("utf-8")):
            run_block(block, name, names)


def run_block(block: re.Match[str], name: str, names: dict[str, Any]) -> None:
    """Run one block of a page, and save the figure it leaves if a picture follows."""
    exec(compile(block["code"], f"{name}.md", "exec"), names)  # noqa: S102
    if block["image"] is None:
        return
    path = FOLDER / block["image"]
    path.parent.mkdir(exist_ok=True, parents=True)
    plt.savefig(path, dpi=100)
    with Image.open(path) as picture:
        picture.convert("RGB").save(path, optimize=True)
    plt.close("all")
    size = path.stat().st_size
    print(f"{path.name:28} {size:>8,} bytes")
    if size > LARGEST:
        raise SystemExit(f"{path.name} must have at most {LARGEST:,} bytes; got {size:,}.")


def cards() -> list[tuple[str, str, str, str]]:
    """For every picture of docs/plots.md: its heading, its file, its words, and the lines that plot."""
    text, found = (FOLDER / "plots.md").read_text("utf-8"), []
    for block in BLOCK.finditer(text):
        if block["image"] is not None:
            heading = re.findall(r"^## (.+)$", text[: block.start()], re.M)[-1]
            words = " ".join(block["words"].split())
            found.append((heading, block["image"], words, plotting_lines(block["code"])))
    return found


def plotting_lines(code: str) -> str:
    """The statements of a block that call a plot, without the data that they are given."""
    statements = re.split(r"\n(?=\S)", code.strip())
    # A closing bracket at the left margin belongs to the statement before it.
    whole = [""]
    for statement in statements:
        if statement[0] in ")]}":
            whole[-1] += "\n" + statement
        else:
            whole.append(statement)
    return "\n".join(lines for lines in whole if "epl.plots." in lines)


def gallery() -> str:
    """The text of docs/gallery.md."""
    text = HEAD
    for heading, image, words, code in cards():
        anchor = re.sub(r"\s+", "-", heading.lower())
        # An item of a list that holds a picture, a heading and a block of code is a card of the theme.
        lines = [
            f"[![{words}]({thumbnail(image)})](plots.md#{anchor})",
            f"**[{heading}](plots.md#{anchor})**",
            f"```py\n{code}\n```",
        ]
        block = "\n\n".join(lines).replace("\n", "\n    ")
        text += "-   " + re.sub(r" +$", "", block, flags=re.M) + "\n\n"
    return text + "</div>\n"


def thumbnail(image: str) -> str:
    """Where the small picture of a picture is."""
    return f"images/thumbnails/{Path(image).name}"


def make_gallery() -> None:
    """Write docs/gallery.md and the small pictures."""
    (FOLDER / "images" / "thumbnails").mkdir(exist_ok=True)
    for _, image, _, _ in cards():
        with Image.open(FOLDER / image) as full:
            small = full.convert("RGB")
        small.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
        # All have one size, white around them, so that cards line up.
        paper = Image.new("RGB", THUMBNAIL, "white")
        paper.paste(small, tuple((a - b) // 2 for a, b in zip(THUMBNAIL, small.size, strict=True)))
        paper.quantize(128).save(FOLDER / thumbnail(image), optimize=True)
    (FOLDER / "gallery.md").write_text(gallery(), "utf-8")
    print(f"gallery.md {len(cards()):>17} pictures")


def main(words: list[str]) -> None:
    """Make what the command line asks for."""
    unknown = set(words) - {"--gallery", *PAGES}
    if unknown:
        raise SystemExit(f"The words are {', '.join(PAGES)} and --gallery; got {sorted(unknown)}.")
    pages = [name for name in PAGES if name in words] or ([] if words else list(PAGES))
    for name in pages:
        run_page(name)
    if "plots" in pages or "--gallery" in words:
        make_gallery()


if __name__ == "__main__":
    main(sys.argv[1:])
