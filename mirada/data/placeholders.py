"""What a translation passes on unchanged: numbers, addresses (URLs, e-mails), placeholders (%s, {name}, <b>, &amp;)."""

import re
import unicodedata

ADDRESS = r"""(?i:(?:https?|ftp)://[^\s<>"\x00-\x1f\x7f。，、；：！？（）「」『』【】《》«»“”]+
    | \bwww\.[^\s<>"\x00-\x1f\x7f。，、；：！？（）「」『』【】《》«»“”]+
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"""

# A digit before % means a percentage: "20%d'intérêt" holds no placeholder. A space is no flag here: "20 % de".
PLACEHOLDER = r"""</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>                                 # <b> </a> <br/> <a href="…">
    | &(?:\#\d+|\#[xX][0-9A-Fa-f]+|[A-Za-z][A-Za-z0-9]{1,31});              # &amp; &#39; &#x27;
    | \$?\{\{[^{}\n]*\}\} | \{%[^{}\n]*%\}                                    # {{name}} {{ x | upper }} {% if x %}
    | [$\#%]?\{[\w.\[\]-]*(?:![rsa])?(?::[^{}\s]*)?\}                       # {} {0} {name:.2f} ${x} %{name} #{x}
    | (?<!\d)%[A-Z_]{2,}%                                                   # %NAME%
    | %%
    | (?<!\d)%(?:\(\w+\)|\d+\$)?[-+\#0]*(?:[1-9]\d*|\*)?(?:\.(?:\d+|\*))?   # %s %5.2f %(name)d %1$s
      (?:hh|h|ll|l|j|z|t|L|q)?[diouxXeEfFgGcCrsSaAnp@]
    | (?<!\d)%L?\d+                                                         # %1"""
_ADDRESS, _PLACEHOLDER = (re.compile(pattern, re.VERBOSE) for pattern in (ADDRESS, PLACEHOLDER))

# Spaces join thousands only: three digits after each, at most three before the first.
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?!\d)(?:[.,٫]\d+)?|\d+(?:[.,:'’·٫٬]\d+)*")


def found(text: str) -> dict[str, list[str]]:
    """What a translation should keep of a text, by kind and in order.

    Addresses go first and numbers last, so that the digits of an address or a placeholder are not numbers as well.
    """
    urls: list[str] = []
    placeholders: list[str] = []

    def take_address(match: re.Match[str]) -> str:
        address = without_punctuation(match.group())
        urls.append(address)
        return "…" + match.group()[len(address) :]

    def take_placeholder(match: re.Match[str]) -> str:
        placeholders.append(match.group())
        return "…"

    # What is taken leaves a mark that no number can reach across, and that reads well in <a href="…">.
    text = _PLACEHOLDER.sub(take_placeholder, _ADDRESS.sub(take_address, text))
    return {"number": _NUMBER.findall(text), "url": urls, "placeholder": placeholders}


def without_punctuation(address: str) -> str:
    """The address without what ends the sentence or the parenthesis it stands in."""
    while address[-1:] in set(".,;:!?…'’]}") or (address[-1:] == ")" and address.count(")") > address.count("(")):
        address = address[:-1]
    return address


def key(item: str) -> str:
    """What must be equal: of a number its digits in any script (1,000 is 1.000 elsewhere), else every character."""
    if _NUMBER.fullmatch(item):
        return "".join(str(unicodedata.decimal(character)) for character in item if character.isdecimal())
    return item
