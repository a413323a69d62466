"""Portuguese forms: plurals, feminines and conjugation. Persons run eu, (tu), ele, nós, eles; "você" takes ele's."""

from collections.abc import Mapping

Conjugation = Mapping[str, tuple[str, ...]]


def plural(word: str) -> str:
    """The regular plural; words in -ão, which go three ways, are spelled out in the tables."""
    for end, new in (
        ("al", "ais"),
        ("el", "éis"),
        ("ol", "óis"),
        ("ul", "uis"),
        ("ável", "áveis"),
        ("m", "ns"),
        ("ês", "eses"),
    ):
        if word.endswith(end) and not word.endswith(("ável", "ível", "óvel")):
            return word[: -len(end)] + new
    if word.endswith(("ável", "ível", "óvel")):
        return word[:-1].removesuffix("e") + "eis"
    if word.endswith("il"):
        return word[:-2] + ("is" if word not in ("difícil", "fácil", "útil") else "eis")
    if word.endswith(("r", "z", "s")):
        return word + "es"
    return word + "s"


def feminine(adjective: str) -> str:
    return adjective[:-1] + "a" if adjective.endswith("o") else adjective


def conjugate(verb: str) -> Conjugation:
    return {"infinitive": (verb,)}
