"""The quality report: what is wrong with the data, what training does about it, and the setting that changes that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

EXAMPLES = 3
"""Records shown of each kind of finding."""

Notify = Callable[[str, int, int], None]
"""Called with the progress of the work: what is being done, how much is done, out of how much."""

REFUSES, LEAVES_OUT, KEEPS = "refuses the file", "leaves them out", "keeps them"
_HEADINGS = {
    REFUSES: "training refuses the file because of:",
    LEAVES_OUT: "left out of training:",
    KEEPS: "kept, but worth a look:",
}


@dataclass
class Finding:
    """Something wrong with a number of records."""

    kind: str
    """Its identifier: one of `checks.REASONS`."""
    title: str
    """The same in words."""
    training: str
    """What training does about them: REFUSES, LEAVES_OUT or KEEPS."""
    setting: str = ""
    """The setting that changes that; empty if there is none."""
    count: int = 0
    of: int = 0
    """How many were looked at, where only a sample was."""
    examples: list[tuple[str, int, str]] = field(default_factory=list)
    """The first few: file, line, text."""

    @property
    def left_out(self) -> bool:
        return self.training != KEEPS


@dataclass
class QualityReport:
    """All findings about some data, for a person or a program."""

    nouns: str = "records"
    files: list[tuple[str, str, int]] = field(default_factory=list)
    """Name, how it is read, records in it."""
    notes: list[str] = field(default_factory=list)
    read: int = 0
    left_out: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    """What the task adds: the languages, the classes, …"""
    lines: list[str] = field(default_factory=list)
    """The same in words."""
    findings: list[Finding] = field(default_factory=list)

    @property
    def good(self) -> int:
        return self.read - self.left_out

    @property
    def refused(self) -> bool:
        """Whether training would refuse this data."""
        return any(finding.training == REFUSES for finding in self.findings)

    def share(self, finding: Finding) -> float:
        """The share of the records that were looked at."""
        return min(1.0, finding.count / max(1, finding.of or self.read))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "read": self.read,
            "good": self.good,
            "left_out": self.left_out,
            "refused": self.refused,
            **self.figures,
            "files": [{"file": name, "read_as": about, self.nouns: count} for name, about, count in self.files],
            "notes": self.notes,
            "findings": [
                {
                    "kind": finding.kind,
                    "title": finding.title,
                    "count": finding.count,
                    "share": round(self.share(finding), 6),
                    "training": finding.training,
                    "setting": finding.setting,
                    "examples": [{"file": file, "line": line, "text": text} for file, line, text in finding.examples],
                }
                for finding in self.findings
            ],
        }

    def as_text(self, examples: bool = True) -> str:
        """The report for a person: what was read, what is left out, what to look at."""
        shown = self.files if len(self.files) <= 10 else self.files[:8]
        out = [f"{name}: {about}; {count:,} {self.nouns}" for name, about, count in shown]
        if len(shown) < len(self.files):
            rest = sum(count for _, _, count in self.files[8:])
            out.append(f"… and {len(self.files) - len(shown)} more files; {rest:,} {self.nouns}")
        out += self.notes
        share = f" ({_percent(self.left_out / max(1, self.read)).strip()})" if self.left_out else ""
        out.append(f"{self.read:,} {self.nouns} read: {self.good:,} to learn from, {self.left_out:,} left out{share}")
        out += self.lines
        for training, heading in _HEADINGS.items():
            group = [finding for finding in self.findings if finding.training == training]
            if group:
                out += ["", heading]
            for finding in group:
                of = f", of {finding.of:,} {self.nouns} looked at" if 0 < finding.of < self.good else ""
                change = f"   [--set {finding.setting}]" if finding.setting else ""
                out.append(f"{finding.count:>9,} {_percent(self.share(finding))}  {finding.title}{of}{change}")
                if examples:
                    out += [
                        f"{'':18}{_short(file)}{f':{line}' * bool(line)}  {text}"
                        for file, line, text in finding.examples
                    ]
        if not self.findings:
            out.append("no problems found")
        return "\n".join(out)


def _percent(share: float) -> str:
    return " <0.1%" if 0 < share < 0.0005 else f"{share:>6.1%}"


def _short(path: str, width: int = 40) -> str:
    return path if len(path) <= width else "…" + path[1 - width :]
