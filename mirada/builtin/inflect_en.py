"""English forms: plurals, a or an, and conjugation. Persons run I, you, he, we, they, as in the other languages."""

from collections.abc import Mapping

Conjugation = Mapping[str, tuple[str, ...]]

_IRREGULAR = """sleep slept, run ran, sing sang, swim swam, read read, write wrote, eat ate, drink drank, buy bought,
    sell sold, bring brought, find found, lose lost, break broke, drive drove, see saw, know knew, have had, cut cut,
    understand understood, forget forgot, teach taught, speak spoke, bite bit, feed fed, draw drew, send sent, hide hid,
    keep kept, steal stole, build built, wear wore, go went, leave left, say said, think thought, tell told, give gave,
    lend lent, show showed, come came, make made, do did, get got, dream dreamed, fall fell, fly flew, win won,
    spend spent, meet met, pay paid, wake woke, feel felt, grow grew, throw threw, choose chose, lie lied, put put,
    catch caught, sit sat, stand stood, hear heard, take took, begin began, die died, set set, fight fought, hang hung,
    dig dug, ride rode, become became"""
_PAST = dict(pair.split() for pair in _IRREGULAR.split(","))
_PARTICIPLES = {"know": "known", "see": "seen", "take": "taken", "become": "become", "wear": "worn"}
_DOUBLED = frozenset(
    ("run", "swim", "cut", "forget", "prefer", "stop", "get", "put", "sit", "win", "begin", "hug", "set", "dig", "plan")
)
_SILENT_H_AND_CO = ("hour", "honest", "heir")
_CONSONANT_SOUND = ("uni", "use", "usu", "one", "eu")


def plural(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")


def takes_an(word: str) -> bool:
    """Whether "a" becomes "an" before this word."""
    word = word.lower()
    if word.startswith(_SILENT_H_AND_CO):
        return True
    return word[0] in "aeiou" and not word.startswith(_CONSONANT_SOUND)


def _gerund(verb: str) -> str:
    if verb in _DOUBLED:
        return verb + verb[-1] + "ing"
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + "ing"


def _past(verb: str) -> str:
    if verb in _PAST:
        return _PAST[verb]
    if verb in _DOUBLED:
        return verb + verb[-1] + "ed"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


_MORE = ("fun", "scared", "tired", "drunk")


def comparative(adjective: str) -> str:
    """ "taller", "easier", "more difficult"."""
    if adjective in ("shy", "narrow"):
        return adjective + "er"
    if adjective.endswith("y"):
        return adjective[:-1] + "ier"
    vowels = sum(
        here in "aeiou" and before not in "aeiou" for before, here in zip(" " + adjective, adjective, strict=False)
    )
    if vowels - adjective.endswith("e") > 1 or adjective in _MORE:
        return "more " + adjective
    if adjective.endswith("e"):
        return adjective + "r"
    double = adjective in ("big", "sad", "wet", "hot")
    return adjective + (adjective[-1] if double else "") + "er"


def conjugate(verb: str) -> Conjugation:
    """Every form of a verb that the grammar uses: five persons a tense, and "infinitive" and "gerund"."""
    if verb in ("can", "must"):
        past = {"can": "could", "must": "had to"}[verb]
        return {"infinitive": (verb,), "present": (verb,) * 5, "past": (past,) * 5}
    if verb == "be":
        forms = {
            "present": "am are is are are",
            "past": "was were was were were",
            "infinitive": "be",
            "gerund": "being",
        }
        return {tense: tuple(text.split()) for tense, text in forms.items()}
    third = {"have": "has", "go": "goes", "do": "does"}.get(verb, plural(verb))
    return {
        "infinitive": (verb,),
        "gerund": (_gerund(verb),),
        "present": (verb, verb, third, verb, verb),
        "past": (_past(verb),) * 5,
        "participle": (_PARTICIPLES.get(verb, _past(verb)),),
    }
