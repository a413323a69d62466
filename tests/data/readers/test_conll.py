"""Tagged text: which columns, what is a comment, damaged lines, and files that are something else."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirada.data.readers.conll import MAX_WORDS, Conll
from mirada.data.records import Record
from mirada.errors import UsageError
from tests.data.readers import PACKERS, any_text, fault, packed, write

CONLLU = """\
# newdoc
# text = dámelo # ya
1-2\tdámelo\t_\t_\t_\t_\t_\t_\t_\t_
1\tda\tdar\tVERB\tvm\tMood=Imp\t0\troot\t_\t_
2\tmelo\tyo\tPRON\tpp\t_\t1\tobj\t_\t_
2.1\tnada\t_\t_\t_\t_\t_\t_\t_\t_
3\t#\t#\tSYM\tfz\t_\t1\tpunct\t_\t_

# text = No
1\tNo\tno\tINTJ\ti\t_\t0\troot\t_\t_
"""


def read(tmp_path: Path, content: str, *columns: str) -> list[tuple[str, str, int, str]]:
    """Words and tags with spaces between, the line, and the problem."""
    reader = Conll(write(tmp_path / "data.conll", content), columns)
    found = list(reader)
    assert found == list(reader)
    assert all(sentence.file == reader.path for sentence in found)
    assert all(len(set(map(len, sentence.fields))) == 1 for sentence in found)
    return [(" ".join(one.fields[0]), " ".join(one.fields[1]), one.line, one.problem) for one in found]


def message_of(tmp_path: Path, content: str, *columns: str) -> str:
    path = write(tmp_path / "data.conll", content)
    message = fault(lambda: Conll(path, columns))
    assert str(path) in message
    return message


# --- cells and columns ---


@packed
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_words_and_tags(tmp_path: Path, pack: Callable[[bytes], bytes], end: str, mark: str) -> None:
    content = f"{mark}El\tDET\nperro\tNOUN\n\n\nYa\tADV".replace("\n", end)
    path = write(tmp_path / "data", pack(content.encode()))
    assert list(Conll(path)) == [
        Record((("El", "perro"), ("DET", "NOUN")), str(path), 1),
        Record((("Ya",), ("ADV",)), str(path), 5),
    ]


@pytest.mark.parametrize(
    ("content", "columns", "expected", "about"),
    [
        ("a\tx\tA\n", (), ("a", "A"), "tab between cells, words in column 1 and tags in column 3 of 3"),
        ("a  x   A \n", (), ("a", "A"), "spaces between cells, words in column 1 and tags in column 3 of 3"),
        ("a\tx\tA\n", ("2", "1"), ("x", "a"), "tab between cells, words in column 2 and tags in column 1 of 3"),
        ("New York \tA\n", (), ("New York", "A"), "tab between cells, words in column 1 and tags in column 2 of 2"),
        (
            "a\u00a0b\u3000 A\n",
            (),
            ("a\u00a0b\u3000", "A"),
            "spaces between cells, words in column 1 and tags in column 2 of 2",
        ),
    ],
)
def test_columns(tmp_path: Path, content: str, columns: tuple[str, ...], expected: tuple[str, str], about: str) -> None:
    assert read(tmp_path, content, *columns) == [(*expected, 1, "")]
    assert Conll(tmp_path / "data.conll", columns).about == f"tagged text, {about}"


def test_one_tab_among_the_first_lines_is_enough(tmp_path: Path) -> None:
    tabbed = "b c\tB\n\n"
    assert read(tmp_path, "a A\n\n" * 200 + tabbed)[-2:] == [("a", "A", 399, ""), ("", "", 401, "tab")]
    assert read(tmp_path, "a A\n\n" * 199 + tabbed * 200)[-1] == ("b c", "B", 797, "")
    assert read(tmp_path, "a b\tA\nc d\tB\n")[0][:2] == ("a b c d", "A B")
    assert read(tmp_path, "a A\n\t\nb B\n") == [("a", "A", 1, ""), ("b", "B", 3, "")]


def test_blank_lines_and_documents_end_sentences(tmp_path: Path) -> None:
    content = "-DOCSTART- -X- O\n\na x A\n-DOCSTART-\nb x B\n   \nc x C\n\n\n"
    assert read(tmp_path, content) == [("a", "A", 3, ""), ("b", "B", 5, ""), ("c", "C", 7, "")]


def test_conllu(tmp_path: Path) -> None:
    assert read(tmp_path, CONLLU) == [("da melo #", "VERB PRON SYM", 4, ""), ("No", "INTJ", 10, "")]
    assert Conll(tmp_path / "data.conll").about == "CoNLL-U, words in FORM and tags in UPOS"
    assert read(tmp_path, CONLLU, "Lemma", "5")[0][:2] == ("dar yo #", "vm pp fz")
    assert read(tmp_path, CONLLU, "form", "feats")[0] == ("da melo #", "Mood=Imp _ _", 4, "")


def test_an_underscore_where_conllu_wants_a_tag_is_none(tmp_path: Path) -> None:
    assert read(tmp_path, CONLLU.replace("PRON", "_"))[0] == ("da #", "VERB SYM", 4, "no_tag")
    assert read(tmp_path, "a\t_\n") == [("a", "_", 1, "")]


def test_ten_columns_without_numbers_are_not_conllu(tmp_path: Path) -> None:
    plain = "\t".join("abcdefghij") + "\n"
    assert read(tmp_path, plain) == [("a", "j", 1, "")]


# --- comments ---


@pytest.mark.parametrize("gap", ["\t", " "])
def test_the_word_hash_is_a_word(tmp_path: Path, gap: str) -> None:
    content = f"# text = a # b\n#{gap}SYM\na{gap}A\n\n# sent_id = 2\n\n#{gap}SYM\n"
    assert read(tmp_path, content) == [("# a", "SYM A", 2, ""), ("#", "SYM", 7, "")]
    assert read(tmp_path, f"#{gap}SYM\n") == [("#", "SYM", 1, "")]


def test_what_looks_like_a_comment_inside_of_a_sentence_is_not_lost_in_silence(tmp_path: Path) -> None:
    assert read(tmp_path, "a x A\n# SYM\nb x B\n") == [("a b", "A B", 1, "cell_count")]
    assert read(tmp_path, "a x A\nb x B\n\n#b\n") == [("a b", "A B", 1, ""), ("", "", 4, "cell_count")]


# --- damaged lines ---


@pytest.mark.parametrize(
    ("bad", "problem"),
    [("c", "cell_count"), ("c\tC\tC", "cell_count"), ("c\t", "no_tag"), ("c\t ", "no_tag"), ("\tC", "no_word")],
)
def test_damaged_lines_are_problems_of_their_sentence(tmp_path: Path, bad: str, problem: str) -> None:
    content = f"a\tA\n\nb\tB\n{bad}\nd\tD\n\ne\tE\n"
    assert read(tmp_path, content) == [("a", "A", 1, ""), ("b d", "B D", 3, problem), ("e", "E", 7, "")]
    assert read(tmp_path, f"{bad}\n\n" + "a\tA\n" * 3) == [("", "", 1, problem), ("a a a", "A A A", 3, "")]


def test_sentences_without_end_are_problems_within_bounded_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "data", "a\tA\n" * MAX_WORDS + "\n" + "a\tA\n" * 10 * MAX_WORDS + "\nb\tB\n")
    first, second, third = Conll(path)
    assert (len(first.fields[0]), first.problem) == (MAX_WORDS, "")
    assert (len(second.fields[0]), second.problem, second.line) == (MAX_WORDS, "too_long", MAX_WORDS + 2)
    assert third.fields[0] == ("b",)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path / "data", b"a\tA\n\nni\xf1o\tB\n\nb\tB\n")
    assert ", line 3: not UTF-8" in fault(lambda: Conll(path))
    assert [sentence.problem for sentence in Conll(path, lenient=True)] == ["", "invalid_bytes", ""]


def test_memory_stays_flat(tmp_path: Path) -> None:
    path = write(tmp_path / "data", (f"{'palabra' * 50}\tETIQUETA\n" * 10 + "\n") * 500)
    tracemalloc.start()
    reader = Conll(path)
    assert [sum(1 for _ in reader) for _ in range(2)] == [500, 500]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 8


# --- what is refused ---


def test_text_without_tags_is_refused(tmp_path: Path) -> None:
    message = message_of(tmp_path, "El\nperro\n\x1b\n")
    assert "does not look like tagged text: none of its lines has a second column; the first is 'El'" in message
    assert "write a word, a tab and its tag on each line" in message
    assert "none of the first 1,000 lines has" in message_of(tmp_path, "a\n" * 1000 + "b\tB\n")
    assert read(tmp_path, "a\n" * 10 + "b\tB\n" * 11)[0][3] == "cell_count"
    prose = "El perro duerme.\nYa\nNo lo sé\nLa mesa es de madera .\nUna frase\n"
    assert "its lines have different numbers of cells" in message_of(tmp_path, prose)
    assert "different numbers of cells" in message_of(tmp_path, "a\n" * 11 + "b\tB\n" * 10)


def test_a_file_without_anything_is_left_to_later_checks(tmp_path: Path) -> None:
    assert read(tmp_path, "") == read(tmp_path, "\n \n\t\n", "1", "2") == []


def test_columns_that_are_not_there_are_named(tmp_path: Path) -> None:
    assert "has no column 3; it has 2" in message_of(tmp_path, "a A\n", "1", "3")
    assert "has no column 0" in message_of(tmp_path, "a A\n", "0", "1")
    path = write(tmp_path / "data.conll", "a A\n")
    assert "have no names, so there is no 'ner'; choose by number: --columns 1,2" in fault(
        lambda: Conll(path, ("1", "ner")), UsageError
    )
    assert "--columns 2: names 1, but there must be two" in fault(lambda: Conll(path, ("2",)), UsageError)
    assert "names 3" in fault(lambda: Conll(path, ("1", "2", "3")), UsageError)
    path = write(tmp_path / "data.conllu", CONLLU)
    message = fault(lambda: Conll(path, ("form", "upso")), UsageError)
    assert "CoNLL-U has no column 'upso' (is 'upos' meant?); it has id, form, lemma" in message
    assert "no such file" in fault(lambda: Conll(tmp_path / "none"))


# --- any text ---

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r\t")
TABBED = st.text(LETTERS, min_size=1, max_size=8).filter(lambda text: text.strip(" ") == text)
SPACED = TABBED.filter(lambda text: " " not in text)


@any_text
@given(data=st.data(), gap=st.sampled_from("\t "), end=st.sampled_from(["\n", "\r\n"]), pack=st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, gap: str, end: str, pack: bool
) -> None:
    cell = TABBED if gap == "\t" else SPACED
    word = cell.filter(lambda text: text != "-DOCSTART-")
    sentences = data.draw(st.lists(st.lists(st.tuples(word, cell), min_size=1, max_size=5), max_size=5))
    # The byte order mark lets words begin with that character too.
    content = "\ufeff" + "".join(
        "".join(f"{one}{gap}{tag}{end}" for one, tag in sentence) + end for sentence in sentences
    )
    path = write(tmp_path_factory.getbasetemp() / "any.conll", PACKERS[pack](content.encode()))
    found = list(Conll(path))
    assert [list(zip(*one.fields, strict=True)) for one in found] == sentences
    assert not any(one.problem for one in found)
