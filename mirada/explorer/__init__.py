"""The page that is the model: one HTML file in which a trained model runs, without a network.

    link.py       the ES modules of `mirada/web/` as one script
    entry.py      what the page knows of a model, and its weights
    recorded.py   chosen sentences as PyTorch computes them, for models that are too large for a page
    page.py       the file: template, style, script, models, Content-Security-Policy

What the file has in it, for model n of them (n = 0, 1):

    <script type="application/json" id="models">   {"format": 1, "models": [entry, …]}
    <script type="text/plain" id="weights-n">      the weights
    <script type="text/plain" id="proof-n">        a PyTorch trace of one sentence, float32
    <script type="text/plain" id="training-n">     its attention while it was trained, if the bundle has that
    <script type="text/plain" id="recorded-n-k">   the trace of recorded sentence k, float16

Each of these texts is base64 of gzip of a safetensors file, of which every fourth byte comes first, then the next ones,
and so on (`weights.packed`). An entry is

    name, task, architecture, config, sizes      config is the section `model`, sizes {inputs, outputs, causal, …}
    tokenizers {source, target}                  as in tokenizer.json; target is null where it is the source's
    normalizes {source, target}                  whether texts are normalized before they are tokenized
    labels, decode {beam, length_penalty, max_ratio, max_length}
    languages {source, target}                   language codes or null
    directions                                   null, or [{source, target, tag}]: the id before every source
    opening                                      the ids that a language model reads first, or null
    max_tokens                                   tokens of a text that a model was trained on at most, or null
    sentence                                     what is shown at first
    proof {text, target, source}                 target: the ids that the trace was made with, or null; the blob has
                                                 every tensor by its path
    precision, parameters, scores [{name, value, digits}], facts [[name, text]]
    aliases {name: name}                         weights that are shared, and under which name they are stored
    training                                     null, or {steps: [0, 25, …], source: [piece, …], target: [piece, …],
                                                 paths: [decoder.0.cross, …]}; the blob has one tensor `weights`
                                                 [steps, paths, H, T, S] in float16
    recorded                                     null, or [{text, source, target, ids, output, score, predicted}]: no
                                                 weights then, and the blob of each has its tensors by their paths
"""
