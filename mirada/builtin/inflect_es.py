"""Spanish forms: plurals, feminines and conjugation. Persons run yo, tú, él, nosotros, ellos."""

from collections.abc import Mapping

Conjugation = Mapping[str, tuple[str, ...]]

_PLAIN = str.maketrans("áéíóú", "aeiou")


def plural(word: str) -> str:
    """The regular plural; nouns that move their accent ("león", "leones") are spelled out in the tables."""
    if word.endswith("z"):
        return word[:-1] + "ces"
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word.endswith("és"):  # inglés, ingleses
        return word[:-2] + "eses"
    return word + "es"


def feminine(adjective: str) -> str:
    if adjective.endswith("o"):
        return adjective[:-1] + "a"
    return adjective + "a" if adjective.endswith("dor") else adjective


# The vowel that a stressed stem takes, and for some -ir verbs the one of "durmió, durmiendo".
_STEMS: dict[str, tuple[str, str]] = {
    "dormir": ("duerm", "durm"), "sonreír": ("sonrí", "sonri"), "reír": ("rí", "ri"), "jugar": ("jueg", ""),
    "mentir": ("mient", "mint"), "probar": ("prueb", ""), "encontrar": ("encuentr", ""), "perder": ("pierd", ""),
    "cerrar": ("cierr", ""), "encender": ("enciend", ""), "querer": ("quier", ""), "entender": ("entiend", ""),
    "recordar": ("recuerd", ""), "resolver": ("resuelv", ""), "preferir": ("prefier", "prefir"),
    "perseguir": ("persigu", "persigu"), "morder": ("muerd", ""), "regar": ("rieg", ""), "mover": ("muev", ""),
    "volver": ("vuelv", ""), "poder": ("pued", "pud"), "pensar": ("piens", ""), "mostrar": ("muestr", ""),
    "contar": ("cuent", ""), "devolver": ("devuelv", ""), "servir": ("sirv", "sirv"), "pedir": ("pid", "pid"),
    "empezar": ("empiez", ""), "soñar": ("sueñ", ""), "despertar": ("despiert", ""), "llover": ("lluev", ""),
    "nevar": ("niev", ""), "volar": ("vuel", ""), "morir": ("muer", "mur"), "tener": ("tien", ""),
    "venir": ("vien", "vin"),
    "decir": ("dic", "dic"), "seguir": ("sigu", "sigu"), "vestir": ("vist", "vist"),
    "despedir": ("despid", "despid"), "acostar": ("acuest", ""), "sentar": ("sient", ""), "almorzar": ("almuerz", ""),
    "doler": ("duel", ""),
}  # fmt: skip

# Strong preterites: the stem, then -e -iste -o -imos -ieron (-eron after j).
_STRONG = {
    "tener": "tuv", "querer": "quis", "poder": "pud", "saber": "sup", "estar": "estuv", "venir": "vin", "hacer": "hic",
    "decir": "dij", "traer": "traj", "conducir": "conduj", "traducir": "traduj", "poner": "pus",
}  # fmt: skip

_FUTURE = {"tener": "tendr", "querer": "querr", "poder": "podr", "saber": "sabr", "venir": "vendr", "hacer": "har",
           "decir": "dir", "haber": "habr", "salir": "saldr", "poner": "pondr"}  # fmt: skip

_FIRST = {
    "conocer": "conozco", "conducir": "conduzco", "traducir": "traduzco", "traer": "traigo", "tener": "tengo",
    "venir": "vengo", "hacer": "hago", "decir": "digo", "salir": "salgo", "poner": "pongo", "saber": "sé", "ver": "veo",
    "dar": "doy", "estar": "estoy", "perseguir": "persigo", "seguir": "sigo", "caer": "caigo",
}  # fmt: skip

_WHOLE: dict[str, dict[str, str]] = {
    "ser": {"present": "soy eres es somos son", "past": "fui fuiste fue fuimos fueron",
            "imperfect": "era eras era éramos eran"},
    "ir": {"present": "voy vas va vamos van", "past": "fui fuiste fue fuimos fueron",
           "imperfect": "iba ibas iba íbamos iban", "gerund": "yendo"},
    "ver": {"past": "vi viste vio vimos vieron", "imperfect": "veía veías veía veíamos veían"},
    "dar": {"past": "di diste dio dimos dieron"},
    "estar": {"present": "estoy estás está estamos están"},
    "reír": {"present": "río ríes ríe reímos ríen", "past": "reí reíste rio reímos rieron"},
    "sonreír": {"present": "sonrío sonríes sonríe sonreímos sonríen",
                "past": "sonreí sonreíste sonrió sonreímos sonrieron"},
    "haber": {"present": "he has hay hemos hay", "imperfect": "había habías había habíamos había"},
    "hacer": {"past": "hice hiciste hizo hicimos hicieron"},
}  # fmt: skip

_ENDINGS = {
    "a": {"present": "o as a amos an", "past": "é aste ó amos aron", "imperfect": "aba abas aba ábamos aban"},
    "e": {"present": "o es e emos en", "past": "í iste ió imos ieron", "imperfect": "ía ías ía íamos ían"},
    "i": {"present": "o es e imos en", "past": "í iste ió imos ieron", "imperfect": "ía ías ía íamos ían"},
}  # fmt: skip


def _present(verb: str, stem: str, ends: list[str]) -> tuple[str, ...]:
    strong = _STEMS.get(verb, (stem, ""))[0]
    if verb.endswith("uir") and not verb.endswith("guir"):  # construyo, construimos
        strong = stem + "y"
    forms = [strong + ends[0], strong + ends[1], strong + ends[2], stem + ends[3], strong + ends[4]]
    if verb.endswith(("fiar", "viar")):  # fotografío, envío
        forms = [
            f[: -len(e)].removesuffix("i") + "í" + e if n != 3 else f
            for n, (f, e) in enumerate(zip(forms, ends, strict=True))
        ]
    if verb.endswith(("cer", "cir")) and verb not in _FIRST:
        forms[0] = stem[:-1] + "zco"
    if verb.endswith(("ger", "gir")):
        forms[0] = strong[:-1] + "jo"
    forms[0] = _FIRST.get(verb, forms[0])
    return tuple(forms)


def _past(verb: str, stem: str, ends: list[str]) -> tuple[str, ...]:
    if verb in _STRONG:
        strong = _STRONG[verb]
        third = "eron" if strong.endswith("j") else "ieron"
        return tuple(strong + end for end in ("e", "iste", "o", "imos", third))
    forms = [stem + end for end in ends]
    if verb.endswith("ar"):  # busqué, jugué, organicé
        for last, soft in (("c", "qu"), ("g", "gu"), ("z", "c")):
            if stem.endswith(last):
                forms[0] = stem[:-1] + soft + "é"
    weak = _STEMS.get(verb, ("", ""))[1]
    if weak:
        forms[2], forms[4] = weak + "ió", weak + "ieron"
    if stem.endswith(("a", "e", "o", "u")) and not verb.endswith(("ar", "guir")):  # leyó, construyó
        forms[2], forms[4] = stem + "yó", stem + "yeron"
        if not verb.endswith("uir"):
            forms[1], forms[3] = stem + "íste", stem + "ímos"
    return tuple(forms)


def _gerund(verb: str, stem: str) -> str:
    if verb.endswith("ar"):
        return stem + "ando"
    weak = _STEMS.get(verb, ("", ""))[1]
    if weak:
        return weak + "endo" if weak.endswith("i") else weak + "iendo"
    return stem + ("yendo" if stem.endswith(("a", "e", "o", "u")) and not verb.endswith("guir") else "iendo")


def conjugate(verb: str) -> Conjugation:
    """Every form of a verb that the grammar uses: five persons a tense, and "infinitive" and "gerund"."""
    stem, vowel = verb[:-2], verb[-2].translate(_PLAIN)
    ends = {tense: text.split() for tense, text in _ENDINGS[vowel].items()}
    future = _FUTURE.get(verb, verb.replace("ír", "ir"))
    forms = {
        "infinitive": (verb,),
        "gerund": (_gerund(verb, stem),),
        "present": _present(verb, stem, ends["present"]),
        "past": _past(verb, stem, ends["past"]),
        "imperfect": tuple(stem + end for end in ends["imperfect"]),
        "future": tuple(future + end for end in ("é", "ás", "á", "emos", "án")),
        "conditional": tuple(future + end for end in ("ía", "ías", "ía", "íamos", "ían")),
    }
    forms |= {tense: tuple(text.split()) for tense, text in _WHOLE.get(verb, {}).items()}
    return forms


_ENCLITIC = {"ando": "ándo", "endo": "éndo"}  # the stress stays where it was: comprando, comprándolo


def with_pronoun(form: str, pronoun: str) -> str:
    """An infinitive or gerund with a pronoun at its end."""
    return (form if form.endswith("r") else form[:-4] + _ENCLITIC[form[-4:]]) + pronoun
