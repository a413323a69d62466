"""Verbs that tell: what a bundle is, which models there are."""

from __future__ import annotations

import json

from mirada.cli.app import Bundle, Json, app


@app.command()
def info(bundle: Bundle, json_: Json = False) -> None:
    """What a bundle is: languages, size, data, scores, how it was trained."""
    from mirada import api

    print(json.dumps(api.info(bundle), indent=2, ensure_ascii=False) if json_ else api.info_text(bundle))


@app.command()
def models(json_: Json = False) -> None:
    """The lineage: every model that can be trained, its year, paper and formula."""
    from mirada.models import lineage

    rows = lineage()
    if json_:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        print(f"{row['name']:<{width}}  {row['year']}  {row['formula']:<31}  {row['paper']}")
