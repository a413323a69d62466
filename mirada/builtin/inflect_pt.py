"""Portuguese forms: plurals, feminines and conjugation. Persons run eu, (tu), ele, nós, eles; "você" takes ele's."""

from collections.abc import Mapping

Conjugation = Mapping[str, tuple[str, ...]]

_PLURALS = (
    ("vel", "veis"), ("fácil", "fáceis"), ("difícil", "difíceis"), ("útil", "úteis"), ("al", "ais"), ("el", "éis"),
    ("ol", "óis"), ("ul", "uis"), ("il", "is"), ("m", "ns"), ("ês", "eses"), ("r", "res"), ("z", "zes"),
)  # fmt: skip


def plural(word: str) -> str:
    """The regular plural; words in -ão, which go three ways, are spelled out in the tables."""
    for end, new in _PLURALS:
        if word.endswith(end):
            return word.removesuffix(end) + new
    return word + "s"


def feminine(adjective: str) -> str:
    return adjective[:-1] + "a" if adjective.endswith("o") else adjective


_FIRST = {
    "dormir": "durmo", "mentir": "minto", "preferir": "prefiro", "perseguir": "persigo", "ouvir": "ouço",
    "perder": "perco", "servir": "sirvo", "vestir": "visto", "despedir": "despeço", "descobrir": "descubro",
    "pedir": "peço", "sentir": "sinto",
}  # fmt: skip

_WHOLE: dict[str, dict[str, str]] = {
    "ser": {"present": "sou é é somos são", "past": "fui foi foi fomos foram", "imperfect": "era era era éramos eram"},
    "ir": {"present": "vou vai vai vamos vão", "past": "fui foi foi fomos foram", "imperfect": "ia ia ia íamos iam"},
    "estar": {"present": "estou está está estamos estão", "past": "estive esteve esteve estivemos estiveram"},
    "ter": {"present": "tenho tem tem temos têm", "past": "tive teve teve tivemos tiveram",
            "imperfect": "tinha tinha tinha tínhamos tinham"},
    "ver": {"present": "vejo vê vê vemos veem", "past": "vi viu viu vimos viram"},
    "ler": {"present": "leio lê lê lemos leem"},
    "dar": {"present": "dou dá dá damos dão", "past": "dei deu deu demos deram"},
    "querer": {"present": "quero quer quer queremos querem", "past": "quis quis quis quisemos quiseram"},
    "trazer": {"present": "trago traz traz trazemos trazem", "past": "trouxe trouxe trouxe trouxemos trouxeram",
               "future": "trarei trará trará traremos trarão"},
    "fazer": {"present": "faço faz faz fazemos fazem", "past": "fiz fez fez fizemos fizeram",
              "future": "farei fará fará faremos farão"},
    "dizer": {"present": "digo diz diz dizemos dizem", "past": "disse disse disse dissemos disseram",
              "future": "direi dirá dirá diremos dirão"},
    "saber": {"present": "sei sabe sabe sabemos sabem", "past": "soube soube soube soubemos souberam"},
    "poder": {"present": "posso pode pode podemos podem", "past": "pude pôde pôde pudemos puderam"},
    "haver": {"present": "hei há há havemos há", "past": "houve houve houve houvemos houve",
              "imperfect": "havia havia havia havíamos havia", "future": "haverei haverá haverá haveremos haverá"},
    "odiar": {"present": "odeio odeia odeia odiamos odeiam"},
    "sair": {"present": "saio sai sai saímos saem", "past": "saí saiu saiu saímos saíram",
             "imperfect": "saía saía saía saíamos saíam"},
    "cair": {"present": "caio cai cai caímos caem", "past": "caí caiu caiu caímos caíram",
             "imperfect": "caía caía caía caíamos caíam"},
    "construir": {"present": "construo constrói constrói construímos constroem",
                  "past": "construí construiu construiu construímos construíram",
                  "imperfect": "construía construía construía construíamos construíam"},
    "traduzir": {"present": "traduzo traduz traduz traduzimos traduzem"},
    "rir": {"present": "rio ri ri rimos riem"},
    "sorrir": {"present": "sorrio sorri sorri sorrimos sorriem"},
}  # fmt: skip

_ENDINGS = {
    "a": {"present": "o a a amos am", "past": "ei ou ou amos aram", "imperfect": "ava ava ava ávamos avam"},
    "e": {"present": "o e e emos em", "past": "i eu eu emos eram", "imperfect": "ia ia ia íamos iam"},
    "i": {"present": "o e e imos em", "past": "i iu iu imos iram", "imperfect": "ia ia ia íamos iam"},
}
_BEFORE_E = (("c", "qu"), ("g", "gu"), ("ç", "c"))  # fiquei, cheguei, dancei
_BEFORE_O = (("gu", "g"), ("c", "ç"), ("g", "j"))  # sigo, conheço, dirijo


def _respell(stem: str, rules: tuple[tuple[str, str], ...]) -> str:
    for last, new in rules:
        if stem.endswith(last):
            return stem.removesuffix(last) + new
    return stem


def conjugate(verb: str) -> Conjugation:
    """Every form of a verb that the grammar uses: five persons a tense, and "infinitive" and "gerund"."""
    stem, vowel = verb[:-2], verb[-2]
    forms = {tense: [stem + end for end in ends.split()] for tense, ends in _ENDINGS[vowel].items()}
    if vowel == "a":
        forms["past"][0] = _respell(stem, _BEFORE_E) + "ei"
    else:
        forms["present"][0] = _FIRST.get(verb, _respell(stem, _BEFORE_O) + "o")
    forms |= {"infinitive": [verb], "gerund": [f"{stem}{vowel}ndo"]}
    forms["future"] = [verb + end for end in ("ei", "á", "á", "emos", "ão")]
    forms["conditional"] = [verb + end for end in ("ia", "ia", "ia", "íamos", "iam")]
    forms |= {tense: text.split() for tense, text in _WHOLE.get(verb, {}).items()}
    return {tense: tuple(persons) for tense, persons in forms.items()}


_ENCLITIC_VOWEL = {"a": "á", "e": "ê", "i": "i"}


def with_pronoun(infinitive: str, pronoun: str) -> str:
    """An infinitive with o, a, os or as: "comprá-lo", "lê-la", "construí-los", but "segui-los": there the u is mute."""
    hiatus = infinitive.endswith("uir") and infinitive[-4] not in "gq"
    vowel = "í" if hiatus else _ENCLITIC_VOWEL[infinitive[-2]]
    return f"{infinitive[:-2]}{vowel}-l{pronoun}"
