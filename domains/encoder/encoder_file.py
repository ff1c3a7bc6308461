"""Writes and reads encoder.bin and encoder-large.bin; their format is described in TextEncoder+file.swift."""

import struct

import numpy as np
import torch

MAGIC = b"COACHENC\x09"
POSITIONS = 128
# In pieces: danger is looked for in windows of so many, which begin so many apart.
WINDOW = 32
STRIDE = 8
# Columns of a projection are filled up to a multiple of it (vector_math.h).
VECTOR_COLUMNS = 64
# Floats for the caller (MessageEncoder.Limits).
LIMITS = 8
# Bytes of a file's checksum, its last ones.
CHECKSUM = 8


def word_checksum(content):
    """FNV-1a (64 bits) over words of 8 bytes, and the bytes behind the last whole word."""
    whole, checksum = len(content) // 8 * 8, 0xCBF29CE484222325
    for word in (*struct.unpack(f"<{whole // 8}Q", content[:whole]), *content[whole:]):
        checksum = (checksum ^ word) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return struct.pack("<Q", checksum)


def quantised(matrix, axis):
    """A scale per row (axis 1) or column (axis 0), and the 8-bit values."""
    scales = (np.maximum(np.abs(matrix).max(axis), 1e-12) / 127).astype("<f4")
    return scales, np.rint(matrix / (scales[:, None] if axis else scales)).astype(np.int8)


def meaning(vectors, glosses):
    """The vector of a word with glosses, of which each is a list of pieces: the mean, as long as the pieces are on average."""
    means = [vectors[gloss] for gloss in glosses if gloss]
    mean = torch.stack([pieces.mean(0) for pieces in means]).mean(0)
    return mean / mean.norm() * torch.cat(means).norm(dim=1).mean()


def glossed(vectors, pieces):
    """Of the words whose vectors are what their glosses mean the glosses, by the words' numbers."""
    kept, found = set(pieces.kept), {}
    for word, glosses in pieces.meanings.items():
        index, glosses = pieces.known.get(word), [gloss for gloss in glosses if gloss]
        used = {piece for gloss in glosses for piece in gloss}
        if index in kept and glosses and index not in used and used <= kept:
            expected = meaning(vectors, glosses)
            # Values that were rounded once may differ by a step.
            if (vectors[index] - expected).abs().max() <= 1.5 * expected.abs().max() / 127:
                found[index] = glosses
    # Those that others mean stay rows of the table.
    for glosses in list(found.values()):
        for piece in {piece for gloss in glosses for piece in gloss}:
            found.pop(piece, None)
    return found


def rounded(model):
    """Replaces the weights of a model by those that its file will have; from now on it rounds its inputs as the gateway does."""

    def inputs(_, values):
        scale = values[0].abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
        return (torch.round(values[0] / scale) * scale,)

    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_pre_hook(inputs)
    with torch.no_grad():
        # Every piece has the first token type: the file has one table for it and the positions.
        table = model.bert.embeddings
        table.position_embeddings.weight += table.token_type_embeddings.weight[0]
        table.token_type_embeddings.weight.zero_()
        for name, tensor in model.named_parameters():
            if tensor.dim() == 2 and name != "position_bias":
                # A linear layer of torch is outputs times inputs, so that its scales are those of rows, as in a table.
                scales, values = quantised(tensor.numpy(), 1)
                tensor.copy_(torch.from_numpy(values * scales[:, None]))
    return model


class Writer:
    """The file format of TextEncoder+file.swift."""

    def __init__(self):
        self.bytes = bytearray(MAGIC)

    def floats(self, values):
        assert np.isfinite(values).all()
        self.bytes += np.asarray(values, "<f4").tobytes()

    def text(self, text):
        self.bytes += bytes([len(text.encode())]) + text.encode()

    def texts(self, texts):
        self.bytes += struct.pack("<I", len(texts))
        for text in texts:
            self.text(text)

    def table(self, matrix):
        scales, values = quantised(matrix, 1)
        self.floats(scales)
        self.bytes += values.tobytes()

    def glossed(self, words, rows):
        self.bytes += struct.pack("<I", len(words))
        for word, glosses in words.items():
            self.text(word)
            self.bytes += bytes([len(glosses)])
            for gloss in glosses:
                self.bytes += bytes([len(gloss)]) + struct.pack(f"<{len(gloss)}I", *(rows[piece] for piece in gloss))

    def projection(self, weights, bias):
        """`weights`: inputs times outputs."""
        fill = -weights.shape[1] % VECTOR_COLUMNS
        weights, bias = np.pad(weights, ((0, 0), (0, fill))), np.pad(bias, (0, fill))
        scales, values = quantised(weights, 0)
        self.floats(scales)
        self.bytes += values.tobytes()
        self.floats(bias)

    def finish(self, path):
        open(path, "wb").write(self.bytes + word_checksum(self.bytes))


def write(model, pieces, outputs, limits, path, previous=None):
    """`previous`: the checksum of the file of the previous encoder, if there is one."""
    state = {name: tensor.detach().float().numpy() for name, tensor in model.state_dict().items()}
    config, writer = model.bert.config, Writer()
    writer.bytes += bytes([len(outputs)])
    for name, slope, offset, card, after in outputs:
        writer.text(name)
        writer.floats([1, 0, slope, offset, card, after])
    writer.floats(limits)
    writer.bytes += previous or bytes(CHECKSUM)
    sizes = (config.hidden_size, config.intermediate_size, config.num_attention_heads, POSITIONS, WINDOW, STRIDE)
    writer.bytes += struct.pack("<6HB", *sizes, config.num_hidden_layers)
    vectors = model.bert.embeddings.word_embeddings.weight.detach()
    words = glossed(vectors, pieces)
    rows = [index for index in pieces.kept if index not in words]
    writer.texts([pieces.all[index] for index in rows])
    writer.texts(pieces.spelling.frequent)
    writer.texts(pieces.spelling.rare)
    embeddings = "bert.embeddings."
    writer.table(vectors[rows].numpy())
    writer.glossed({pieces.all[index]: glosses for index, glosses in words.items()}, {index: row for row, index in enumerate(rows)})
    writer.table(state[embeddings + "position_embeddings.weight"][:POSITIONS])

    def normalisation(name):
        writer.floats(state[name + ".weight"])
        writer.floats(state[name + ".bias"])

    def projection(*names):
        writer.projection(
            np.concatenate([state[name + ".weight"].T for name in names], 1), np.concatenate([state[name + ".bias"] for name in names])
        )

    position_bias = state.get("position_bias", np.zeros((0, 0)))
    writer.bytes += struct.pack("<H", position_bias.shape[1] // 2)
    writer.floats(position_bias)
    normalisation(embeddings + "LayerNorm")
    for number in range(config.num_hidden_layers):
        layer = f"bert.encoder.layer.{number}."
        projection(*(layer + "attention.self." + part for part in ("query", "key", "value")))
        projection(layer + "attention.output.dense")
        normalisation(layer + "attention.output.LayerNorm")
        projection(layer + "intermediate.dense")
        projection(layer + "output.dense")
        normalisation(layer + "output.LayerNorm")
    writer.projection(state["head.weight"].T, state["head.bias"])
    writer.finish(path)


class Reader:
    def __init__(self, path):
        self.bytes, self.at = open(path, "rb").read(), 0
        assert self.take(len(MAGIC)) == MAGIC

    def take(self, count):
        self.at += count
        return self.bytes[self.at - count : self.at]

    def number(self, count=1):
        return int.from_bytes(self.take(count), "little")

    def floats(self, count):
        return torch.from_numpy(np.frombuffer(self.take(4 * count), "<f4").copy())

    def text(self):
        return self.take(self.number()).decode()

    def texts(self):
        return [self.text() for _ in range(self.number(4))]

    def table(self, rows, columns):
        scales = self.floats(rows)
        return torch.from_numpy(np.frombuffer(self.take(rows * columns), np.int8).reshape(rows, columns).copy()) * scales[:, None]

    def glossed(self):
        pieces = lambda: [self.number(4) for _ in range(self.number())]
        return {self.text(): [pieces() for _ in range(self.number())] for _ in range(self.number(4))}

    def projection(self, inputs, outputs):
        """Weights of a linear layer of torch, and the bias."""
        filled = outputs + -outputs % VECTOR_COLUMNS
        scales = self.floats(filled)
        values = torch.from_numpy(np.frombuffer(self.take(inputs * filled), np.int8).reshape(inputs, filled).copy()) * scales
        return values.T[:outputs].contiguous(), self.floats(filled)[:outputs]


def mean(paths):
    """What `read` gives, with the mean of the weights of files that have the same pieces, sizes and words."""
    files = [read(path) for path in paths]
    sizes, vectors, _, words = files[0]
    for other in files[1:]:
        assert other[0] == sizes and list(other[1]) == list(vectors) and other[3] == words
    average = lambda part: {name: sum(file[part][name] for file in files) / len(files) for name in files[0][part]}
    return sizes, average(1), average(2), words


def outputs_and_limits(path):
    """Of a file the outputs and the limits as `write` takes them."""
    reader = Reader(path)
    outputs = []
    for _ in range(reader.number()):
        name = reader.text()
        outputs.append([name, *reader.floats(6)[2:].tolist()])
    return outputs, reader.floats(LIMITS).tolist()


def checksum(path):
    return open(path, "rb").read()[-CHECKSUM:]


def read(path):
    """Of a file its sizes by their names in BertConfig, its pieces and their vectors, the other weights by their names in torch, and its
    frequent and rare words."""
    reader = Reader(path)
    count = reader.number()
    for _ in range(count):
        reader.text()
        reader.floats(6)
    reader.floats(LIMITS)
    reader.take(CHECKSUM)
    width, inner, heads, positions, window, stride = (reader.number(2) for _ in range(6))
    assert (window, stride) == (WINDOW, STRIDE)
    layers = reader.number()
    sizes = {"hidden_size": width, "intermediate_size": inner, "num_attention_heads": heads, "num_hidden_layers": layers}
    pieces, words = reader.texts(), (reader.texts(), reader.texts())
    vectors = reader.table(len(pieces), width)
    words_with_glosses = reader.glossed()
    if words_with_glosses:
        scales, values = quantised(torch.stack([meaning(vectors, glosses) for glosses in words_with_glosses.values()]).numpy(), 1)
        pieces += words_with_glosses
        vectors = torch.cat([vectors, torch.from_numpy(values * scales[:, None])])
    state, embeddings = {}, "bert.embeddings."
    state[embeddings + "position_embeddings.weight"] = reader.table(positions, width)

    def normalisation(name):
        state[name + ".weight"], state[name + ".bias"] = reader.floats(width), reader.floats(width)

    def projection(inputs, outputs, *names):
        weights, bias = reader.projection(inputs, outputs)
        for number, name in enumerate(names):
            part = slice(number * outputs // len(names), (number + 1) * outputs // len(names))
            state[name + ".weight"], state[name + ".bias"] = weights[part], bias[part]

    distance = reader.number(2)
    if distance:
        state["position_bias"] = reader.floats(2 * distance * heads).reshape(heads, 2 * distance)
    normalisation(embeddings + "LayerNorm")
    for number in range(layers):
        layer = f"bert.encoder.layer.{number}."
        projection(width, 3 * width, *(layer + "attention.self." + part for part in ("query", "key", "value")))
        projection(width, width, layer + "attention.output.dense")
        normalisation(layer + "attention.output.LayerNorm")
        projection(width, inner, layer + "intermediate.dense")
        projection(inner, width, layer + "output.dense")
        normalisation(layer + "output.LayerNorm")
    projection(width, count, "head")
    assert reader.at == len(reader.bytes) - 8
    return sizes, dict(zip(pieces, vectors)), state, words
