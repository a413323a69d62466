"""The frame of the report's page: its head, its style and its sections. No script, nothing from outside."""

from __future__ import annotations

from collections.abc import Sequence

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load for the page: nothing."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1c2127; --soft: #5b6470; --line: #dfdbd1; --accent: #0b5c8a;
  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #b5508c;
  --s4: #c98a00; --s5: #4a9fd8; --s6: #6a51a3; --s7: #7f7f7f;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --card: #1b1f25; --ink: #e7e6e2; --soft: #a0a8b2; --line: #343b44; --accent: #76bdea;
    --s0: #4aa8e0; --s1: #ff8a4c; --s2: #35c79c; --s3: #e48fc0;
    --s4: #f0bd4a; --s5: #9bd3f5; --s6: #b7a3e8; --s7: #b0b0b0;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 76rem; padding: 2.5rem clamp(1rem, 4vw, 3rem) 4rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { font-size: clamp(1.7rem, 4.5vw, 2.6rem); line-height: 1.15; letter-spacing: -0.02em; margin: 0 0 1rem; }
h2 { font-size: 1.35rem; line-height: 1.25; letter-spacing: -0.01em; margin: 0 0 .6rem; }
p, blockquote, dl { max-width: 46rem; }
.beside p:first-child { margin-top: 0; }
.lead { font-size: 1.15rem; }
.caution { color: var(--soft); }
nav { border-block: 1px solid var(--line); margin: 1.8rem 0 0; padding: .5rem 0; font-size: .9rem; }
nav a { color: var(--accent); display: inline-block; margin-right: 1.2rem; padding: .2rem 0; text-decoration: none; }
nav a:hover, nav a:focus { text-decoration: underline; }
section { padding-top: 2.6rem; }
.tiles { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(12.5rem, 1fr)); list-style: none;
  margin: 1.6rem 0 0; padding: 0; }
.tiles li { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; display: flex;
  flex-direction: column; gap: .1rem; padding: .8rem 1rem; }
.tiles li > span:first-child { color: var(--soft); font-size: .85rem; }
.tiles b { font-size: 1.35rem; font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.model i { border-radius: 50%; display: inline-block; height: .65em; margin-right: .5em; width: .65em; }
.beside { align-items: start; display: grid; gap: 1.2rem 2rem; grid-template-columns: minmax(0, 29rem) minmax(0, 1fr); }
figure { margin: 0 0 1.2rem; }
figcaption { margin-top: .3rem; color: var(--soft); font-size: .88rem; }
.chart { display: block; height: auto; width: 100%; }
.chart text { font-family: inherit !important; }
.scroll { overflow-x: auto; }
.scroll td:not(.text) { white-space: nowrap; }
.scroll .text { min-width: 18rem; }
.scroll th:first-child { background: var(--paper); left: 0; position: sticky; }
table { border-collapse: collapse; font-size: .93rem; font-variant-numeric: tabular-nums; }
caption { color: var(--soft); font-size: .88rem; padding-bottom: .4rem; text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: right; vertical-align: top; }
thead th { border-bottom: 2px solid var(--ink); color: var(--soft); font-size: .82rem; font-weight: 500;
  vertical-align: bottom; }
th:first-child { padding-left: 0; text-align: left; }
tbody th { font-weight: 500; white-space: nowrap; }
.best { font-weight: 700; }
.text, .sample td { text-align: left; }
.samples { align-items: start; display: grid; gap: 1.6rem 2.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 31rem), 1fr)); }
.sample { width: 100%; }
.sample th { width: 12.5rem; }
.sample td { overflow-wrap: anywhere; padding-right: 0; }
.sample tr:nth-child(-n + 2) > * { font-style: italic; }
.sample tr:nth-child(-n + 2) th { color: var(--soft); font-weight: 400; }
.right { color: var(--s2); font-weight: 700; }
.wrong { color: var(--s1); font-weight: 700; }
tbody th.beside-models { color: var(--soft); font-style: italic; font-weight: 400; }
.confusion caption { font-size: 1rem; }
.confusion td { --share: 0%; background: color-mix(in srgb, var(--tint) calc(var(--share) * .45), transparent); }
.confusion .hit { --tint: var(--s0); }
.confusion .miss { --tint: var(--s1); }
blockquote { border-left: .25rem solid var(--accent); font-size: 1.1rem; margin: 1rem 0; padding: .1rem 1rem; }
.looks { align-items: start; display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); }
dl div { border-bottom: 1px solid var(--line); display: grid; gap: 0 1rem; grid-template-columns: 11rem 1fr;
  padding: .35rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
footer { border-top: 1px solid var(--line); color: var(--soft); font-size: .85rem; margin-top: 3rem;
  padding-top: 1rem; }
@media (max-width: 62rem) { .beside { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 40rem) {
  dl div { grid-template-columns: 1fr; }
  .sample th, .sample td { border: 0; display: block; padding: 0; text-align: left; width: auto; }
  .sample th { color: var(--soft); font-size: .82rem; }
  .sample td { border-bottom: 1px solid var(--line); padding: 0 0 .4rem; margin-bottom: .4rem; }
}
@media print { nav { display: none; } section { break-inside: avoid; } .scroll { overflow: visible; } }
"""


def page(title: str, opening: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """A whole page of HTML that is escaped already: `sections` are ids, titles and bodies."""
    links = "".join(f'<a href="#{name}">{head}</a>' for name, head, _ in sections)
    bodies = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{head}</h2>\n{body}</section>'
        for name, head, body in sections
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{title}</h1>
{opening}
</header>
<nav aria-label="Sections">{links}</nav>
<main>
{bodies}
</main>
<footer>Written by mirada compare. All figures are in report.json beside this page; the models are in models.</footer>
</body>
</html>
"""
