"""Greedy search, beam search and sampling in one loop, for any `contracts.Generator`.

n sentences still open    W hypotheses kept a sentence    C candidates a sentence    R = n · W rows
"""

from __future__ import annotations

from collections.abc import Generator as Loop
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from pydantic import Field, model_validator
from torch import Tensor

from mirada.config import Section
from mirada.contracts import BOS, EOS, PAD, Batch, Generator, State
from mirada.parts import next_step

NEVER = float("-inf")


class DecodeConfig(Section):
    """How a text is chosen from a model's probabilities."""

    beam: int = Field(5, ge=1, le=256)
    """Hypotheses kept at each step; 1 is greedy."""
    n_best: int = Field(1, ge=1, le=256)
    """Number of hypotheses to return."""
    length_penalty: float = Field(1.0, ge=0, le=10)
    """α in score = log p / length^α: 0 favours short translations, 1 ranks by the mean per token."""
    max_ratio: float = Field(3.0, gt=0, le=1000)
    """Maximum tokens of a translation, as a multiple of the source's, plus 20; never more than the model's limit."""
    sample: bool = False
    """Sample from the probabilities instead of using beam search."""
    temperature: float = Field(1.0, ge=0.01, le=100)
    """Sample from p^(1/temperature): below 1 favours likely tokens. To always take the likeliest, use beam=1."""
    top_k: int = Field(0, ge=0)
    """Sample only from the k likeliest tokens; 0 means all."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sample only from the likeliest tokens with this total probability."""
    seed: int = Field(0, ge=0, lt=2**63)
    """Random seed: the same sentence and seed give the same sample, whatever else is in the batch."""
    split: bool | None = None
    """Translate each sentence of a text separately, and sentences longer than most of the training set in clauses if
    that is more likely; false gives the model the whole text. Default: depends on whether the model was trained on
    single sentences or longer texts."""
    spelling: bool = True
    """Correct misspelt words of the source, if the training set covers nearly all words of the language."""
    words: bool = False
    """Compute the probability of each word of a translation."""
    recover: bool = True
    """Repeat the search if a translation repeats itself, reaches the length limit or has lost a number, address,
    placeholder or other span, and use a hypothesis without that fault."""

    @model_validator(mode="after")
    def _n_best_fits(self) -> DecodeConfig:
        if self.n_best > self.beam and not self.sample:
            raise ValueError(f"n_best={self.n_best} needs a beam of {self.n_best} or more; it is {self.beam}")
        return self

    @property
    def width(self) -> int:
        """W, the hypotheses that are followed at the same time."""
        return self.n_best if self.sample else self.beam


@dataclass(frozen=True)
class Hypothesis:
    """A generated sequence. `tokens` has the forced prefix, but neither BOS nor EOS."""

    tokens: list[int]
    log_probability: float  # of the tokens after the prefix, EOS included
    score: float  # log_probability / length^α
    complete: bool  # False when the length limit forced the end
    attention: Tensor | None = None  # [T, L, H, S]: the weights when each token after the prefix, and EOS, was chosen


@dataclass
class _Beams:
    """The open hypotheses of n sentences."""

    sentences: list[int]  # n, their numbers in the batch
    scores: Tensor  # [n, W] log probabilities so far; −∞ marks an empty place
    tokens: Tensor  # [n, W, t] after the prefix
    attention: Tensor | None  # [n, W, t, L, H, S]


def decode(
    generator: Generator,
    batch: Batch,
    config: DecodeConfig,
    limits: Sequence[int],
    *,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """The best `n_best` hypotheses of every sentence, best first.

    `batch.target` is BOS and a forced prefix; `limits` is the most tokens, EOS included, that may follow it in each
    sentence. A hypothesis ends when EOS is among the W best candidates of its sentence. A sentence is done at its
    limit, or when W hypotheses have ended and no open one has a better average so far than the worst of the best W.
    """
    loop = decode_steps(generator, batch, config, limits, attention=attention)
    while True:
        try:
            next(loop)
        except StopIteration as end:
            found: list[list[Hypothesis]] = end.value
            return found


@torch.inference_mode()
def decode_steps(
    generator: Generator,
    batch: Batch,
    config: DecodeConfig,
    limits: Sequence[int],
    *,
    attention: bool = False,
) -> Loop[Tensor, None, list[list[Hypothesis]]]:
    """`decode` step by step: yields the tokens [n, W] that continue the open hypotheses, and returns the result.

    With W = 1 these are the tokens of the text, which can be shown while it is generated.
    """
    width, device = config.width, batch.source.device
    finished: list[list[Hypothesis]] = [[] for _ in range(batch.size)]
    prefixes = batch.target[:, 1:].tolist()
    scores = torch.full((batch.size, width), NEVER, device=device)  # float32 whatever the logits are
    scores[:, : width if config.sample else 1] = 0.0  # a search must not start with W copies of one hypothesis
    nothing = torch.zeros(batch.size, width, 0, dtype=torch.long, device=device)
    beams = _Beams(list(range(batch.size)), scores, nothing, None)
    sampler = _Sampler(config, batch.size, device) if config.sample else None

    never = torch.tensor([PAD, BOS], device=device)
    step = generator.start(batch, attention=attention)
    copies = torch.arange(batch.size, device=device).repeat_interleave(width)  # [B·W]
    logits, state = step.logits.index_select(0, copies), _rows(step.state, copies, batch.size)
    weights = step.attention.index_select(0, copies) if step.attention is not None else None
    for length in range(1, max(limits, default=0) + 1):
        at_limit = torch.tensor([limits[sentence] <= length for sentence in beams.sentences], device=device)
        log_p = logits.to(scores.dtype).log_softmax(-1).index_fill_(1, never, NEVER)  # [R, V]
        candidates = sampler.draw(log_p, beams) if sampler else _best(log_p, beams.scores)
        scores, parents, tokens = _end(candidates, log_p[:, EOS], beams.scores, at_limit)
        forced = at_limit.unsqueeze(1).expand(-1, width)  # [n, W] the limit ends it, and not its best continuation
        if at_limit.any():
            forced = forced & ((candidates[2] if sampler else log_p.argmax(-1).view(-1, width)) != EOS)
        _keep_finished(finished, beams, scores, parents, tokens, weights, forced, prefixes, config)
        best_open = scores.masked_fill(tokens == EOS, NEVER).amax(1) / length**config.length_penalty  # [n]
        done = [
            _done(finished[sentence], best, config)
            for sentence, best in zip(beams.sentences, best_open.tolist(), strict=True)
        ]
        open_ = ~(at_limit | torch.tensor(done, device=device))
        if not open_.any():
            break
        rows, chosen = _continue(beams, scores, parents, tokens, open_, weights)
        yield chosen.view(-1, width)
        next_step()
        step = generator.step(chosen, _rows(state, rows, len(logits)))
        logits, state, weights = step
    # A model whose logits are NaN finishes nothing: then there is only the prefix, and it is not complete.
    return [
        sorted(ended, key=lambda h: -h.score)[: config.n_best] or [Hypothesis(prefix, NEVER, NEVER, complete=False)]
        for ended, prefix in zip(finished, prefixes, strict=True)
    ]


def _rows(state: State, rows: Tensor, before: int) -> State:
    """The given rows of a state that has `before`; the state itself, uncopied, when they are all, in their order."""
    return state if torch.equal(rows, torch.arange(before, device=rows.device)) else state.select(rows)


def _done(ended: list[Hypothesis], best_open: float, config: DecodeConfig) -> bool:
    """Whether a sentence needs no more steps."""
    if len(ended) < config.width:
        return False
    return config.sample or sorted((h.score for h in ended), reverse=True)[config.width - 1] >= best_open


Candidates = tuple[Tensor, Tensor, Tensor]
"""Candidates of each sentence, best first: log probabilities, parents (0 … W−1) and tokens, each [n, C]."""


def _best(log_p: Tensor, scores: Tensor) -> Candidates:
    """The 2W likeliest continuations of each sentence: at most W of them end, so at least W continue."""
    n, width = scores.shape
    each = min(2 * width, log_p.shape[-1])
    top, ids = log_p.topk(each)  # [R, C']
    grown = (scores.view(-1, 1) + top).view(n, -1)  # [n, W·C']
    values, places = grown.topk(min(2 * width, grown.shape[1]))
    return values, places // each, ids.view(n, -1).gather(1, places)


def _end(candidates: Candidates, end: Tensor, scores: Tensor, at_limit: Tensor) -> Candidates:
    """The candidates where a sentence at its limit can only end: `end` [R] is the log probability of EOS."""
    if not at_limit.any():
        return candidates
    values, parents, tokens = (part.clone() for part in candidates)
    n, width = scores.shape
    ending = scores + end.view(n, width)
    values[at_limit] = NEVER
    values[at_limit, :width] = ending[at_limit]
    parents[at_limit, :width] = torch.arange(width, device=scores.device)
    tokens[at_limit] = EOS
    return values, parents, tokens


def _keep_finished(
    finished: list[list[Hypothesis]],
    beams: _Beams,
    scores: Tensor,
    parents: Tensor,
    tokens: Tensor,
    weights: Tensor | None,
    forced: Tensor,
    prefixes: list[list[int]],
    config: DecodeConfig,
) -> None:
    """Collect the candidates that end among the W best of their sentence."""
    width = beams.scores.shape[1]
    ended = (tokens[:, :width] == EOS) & (scores[:, :width] > NEVER)
    for row, rank in ended.nonzero().tolist():
        sentence, parent = beams.sentences[row], int(parents[row, rank])
        body = beams.tokens[row, parent].tolist()
        log_probability = float(scores[row, rank])
        seen = None
        if weights is not None:
            last = weights[row * width + parent].unsqueeze(0)  # [1, L, H, S]
            seen = last if beams.attention is None else torch.cat([beams.attention[row, parent], last])
        finished[sentence].append(
            Hypothesis(
                tokens=prefixes[sentence] + body,
                log_probability=log_probability,
                score=log_probability / (len(body) + 1) ** config.length_penalty,
                complete=not forced[row, parent],
                attention=seen,
            )
        )


def _continue(
    beams: _Beams, scores: Tensor, parents: Tensor, tokens: Tensor, open_: Tensor, weights: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Keep the W best candidates that have not ended, of the sentences still open: old rows and their next tokens."""
    width = beams.scores.shape[1]
    over = tokens == EOS
    kept = over.int().argsort(dim=1, stable=True)[:, :width]  # [n, W]
    scores = scores.masked_fill(over, NEVER).gather(1, kept)
    parents, tokens = parents.gather(1, kept), tokens.gather(1, kept)
    numbers = open_.nonzero().squeeze(1)  # [n'] which of the n sentences
    first = numbers.unsqueeze(1) * width  # the first row of each
    rows = (first + parents[numbers]).flatten()  # [n'·W]
    chosen = tokens[numbers]  # [n', W]
    history = beams.tokens.flatten(0, 1).index_select(0, rows).unflatten(0, (-1, width))  # [n', W, t]
    if weights is not None:
        last = weights.index_select(0, rows).unflatten(0, (-1, width)).unsqueeze(2)  # [n', W, 1, L, H, S]
        if beams.attention is not None:
            before = beams.attention.flatten(0, 1).index_select(0, rows).unflatten(0, (-1, width))
            last = torch.cat([before, last], 2)
        beams.attention = last
    beams.sentences = [beams.sentences[number] for number in numbers.tolist()]
    beams.scores = scores[numbers]
    beams.tokens = torch.cat([history, chosen.unsqueeze(2)], 2)
    return rows, chosen.flatten()


class _Sampler:
    """Draws tokens: argmax(log p / temperature + Gumbel noise) is a draw from p^(1/temperature).

    Every sentence has a random stream of its own, so that its samples do not depend on its neighbours.
    """

    def __init__(self, config: DecodeConfig, sentences: int, device: torch.device):
        self.config = config
        self.streams = [torch.Generator(device).manual_seed(config.seed) for _ in range(sentences)]

    def draw(self, log_p: Tensor, beams: _Beams) -> Candidates:
        n, width = beams.scores.shape
        log_p = log_p.view(n, width, -1)  # [n, W, V]
        shape = log_p.shape[1:]
        uniform = torch.stack(
            [torch.rand(shape, generator=self.streams[sentence], device=log_p.device) for sentence in beams.sentences]
        )
        gumbel = -(-uniform.clamp_min(1e-20).log()).log()
        tokens = (self._filter(log_p / self.config.temperature) + gumbel).argmax(-1)  # [n, W]
        values = beams.scores + log_p.gather(2, tokens.unsqueeze(2)).squeeze(2)
        return values, torch.arange(width, device=log_p.device).expand(n, width), tokens

    def _filter(self, scores: Tensor) -> Tensor:
        """Rule out all but the k likeliest, and all beyond the nucleus of probability p."""
        k, p = self.config.top_k, self.config.top_p
        if 0 < k < scores.shape[-1]:
            scores = scores.masked_fill(scores < scores.topk(k).values[..., -1:], NEVER)
        if p < 1:
            ordered, ids = scores.sort(dim=-1, descending=True)
            probabilities = ordered.softmax(-1)
            beyond = probabilities.cumsum(-1) - probabilities >= p  # the first token that passes p is still in
            scores = scores.masked_fill(beyond.gather(-1, ids.argsort(-1)), NEVER)
        return scores
