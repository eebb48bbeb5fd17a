import gzip
import io
import warnings

import numpy as np
import pytest

import epluribus as epl

Z = np.array([[1, 1, 2], [2, 3, 3], [1, 1, 1], [4, 4, 2]])
REF = np.asarray(epl.Draws(Z))


def check(path, **options):
    draws = epl.Draws(path, **options)
    np.testing.assert_array_equal(np.asarray(draws), REF)
    return draws


TEXTS = {
    "comma": "1,1,2\n2,3,3\n1,1,1\n4,4,2\n",
    "semicolon": "1;1;2\n2;3;3\n1;1;1\n4;4;2",
    "tab": "1\t1\t2\r\n2\t3\t3\r\n1\t1\t1\r\n4\t4\t2\r\n",
    "space": "1 1 2\n2  3 3\n 1 1 1\n4 4 2\n\n",
    "floats": "1.0,1.0,2.0\n2,3,3\n1,1,1\n4,4,2\n",
    "bom": "\ufeff1,1,2\n2,3,3\n1,1,1\n4,4,2\n",
    "words": "a,a,b\nb,c,c\na,a,a\nd,d,b\n",
}
NAMED = ["x,y,z\n1,1,2\n2,3,3\n1,1,1\n4,4,2\n", "x,y,z\na,a,b\nb,c,c\na,a,a\nd,d,b\n"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text(text, tmp_path):
    path = tmp_path / "draws.csv"
    path.write_bytes(text.encode())
    assert check(path).items is None


@pytest.mark.parametrize("text", NAMED)
def test_text_with_names(text, tmp_path):
    path = tmp_path / "draws.txt"
    path.write_text(text)
    assert check(str(path)).items == ("x", "y", "z")


def test_npy(tmp_path):
    np.save(tmp_path / "z.npy", Z)
    check(tmp_path / "z.npy")


STREAM = io.BytesIO()
np.save(STREAM, np.zeros((3, 4), int))
NPY = STREAM.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", b"", "The file .* is empty"),
        ("ragged.csv", b"1,2\n1,2,3\n", "line 1 has 2 cells and line 2 has 3"),
        ("missing.csv", b"1,NA\n1,\n", "all labels of '1' are missing"),
        ("half.csv", b"1,2\n1,1.5\n", "draw 1, item 1 .* 1.5, which is not an integer"),
        ("draws.xlsx", b"PK", "must be one of csv, .* its name ends in '.xlsx'"),
        ("broken.npy", b"junk", "could not be read as NumPy data"),
        ("broken.nc", b"junk", "broken.nc' could not be read as netCDF"),
        ("broken.rds", b"junk", "could not be read as R data"),
        ("bytes.csv", b"\xff\xfe1,\x00", "could not be read as text"),
        ("cut.csv.gz", gzip.compress(b"1,2\n")[:-4], "could not be read as text"),
        ("quote.csv", b'a,b\n"0,1\n1,1\n', "quote.csv' has a quote that does not end, in line 2"),
        ("cell.csv", b'a,b\n"0"x,1\n1,1\n', "cell.csv' has a bad cell in line 2"),
        ("chain.csv", b"chain,a,b\n1,1,1\n,1,2\n", "must have a chain; that of draw 1 is missing"),
        ("words.csv", b"x,y\n5,c\n4.9,c\n", "integers or words; line 3, cell 1 has '4.9'"),
        ("large.csv", b"9007199254740992.0,1.0\n1.0,1.0\n", r"below 2\^53 where some"),
        ("comma.csv", b"1,0;2,0\n1,0;1,0\n", "decimal points; the line '1,0;2,0'"),
        ("comma.csv", b"a;b\n1,0;2,0\n", "decimal points; the line '1,0;2,0'"),
        ("comma.csv", b"1,0 2,0\n1,0 1,0\n", "decimal points; the line '1,0 2,0'"),
        ("header.csv", b'"ann","bob","cy"\n', "has a header but no rows"),
        ("z.npy", NPY.replace(b"}", b"("), "z.npy' could not be read as NumPy data"),
        ("z.npy", NPY + bytes(8), "its header speaks of 224 bytes, and it has 232"),
    ],
)
def test_bad_files_are_refused_in_words(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        epl.Draws(path)


@pytest.mark.parametrize("path", [[], 3, None, ["draws.csv", 3]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(TypeError, match=r"'path' must be a path, or a list of paths; got "):
        epl.read_draws(path)


@pytest.mark.parametrize(
    ("rows", "doubted"),
    [("0,1,2\n2,1,0\n", 1), ("0,1\n1,0\n", 0), ("0,1,2\n", 0), ("0,1,2\n2,2,0\n", 0)],
)
def test_a_table_in_which_every_item_is_alone_is_doubted(rows, doubted, tmp_path):
    path = tmp_path / "draws.csv"
    path.write_text(rows)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        epl.read_draws(path)
    assert sum("items is alone in every draw" in str(one.message) for one in seen) == doubted
