"""Reads a base model of Hugging Face's layout, BERT or MPNet, as a BertModel."""

import torch
from transformers import AutoConfig, BertConfig, BertModel, MPNetModel

from encoder_file import POSITIONS

# MPNet's vocabulary contains BERT's, but has other special pieces, by these names.
SPECIAL = {"<pad>": "[PAD]", "<s>": "[CLS]", "</s>": "[SEP]"}
# Places before the first one of MPNet's table of positions.
MPNET_PLACES = 2


def vocabulary(folder):
    names = [line.rstrip("\n") for line in open(f"{folder}/vocab.txt", encoding="utf-8")]
    for own, name in SPECIAL.items() if "<s>" in names else ():
        first, second = names.index(own), names.index(name)
        names[first], names[second] = name, own
    return names


def load(folder, layers, **config):
    """The lowest layers, and for each head the relative position bias of the distances from -POSITIONS to POSITIONS - 1 (None in BERT)."""
    kind = AutoConfig.from_pretrained(folder).model_type
    if kind == "bert":
        return BertModel.from_pretrained(folder, add_pooling_layer=False, num_hidden_layers=layers, **config), None
    assert kind == "mpnet"
    base = MPNetModel.from_pretrained(folder, add_pooling_layer=False, num_hidden_layers=layers)
    sizes = {name: getattr(base.config, name) for name in ("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads")}
    bert = BertModel(BertConfig(num_hidden_layers=layers, **sizes, **config), add_pooling_layer=False)
    state = {renamed(name): tensor for name, tensor in base.state_dict().items()}
    positions = "embeddings.position_embeddings.weight"
    state[positions] = state[positions][MPNET_PLACES : MPNET_PLACES + bert.config.max_position_embeddings]
    bert.embeddings.token_type_embeddings.weight.data.zero_()
    missing, unknown = bert.load_state_dict(state, strict=False)
    assert missing == ["embeddings.token_type_embeddings.weight"] and unknown == ["encoder.relative_attention_bias.weight"], (missing, unknown)
    with torch.no_grad():
        bias = base.encoder.compute_position_bias(torch.zeros(1, 2 * POSITIONS, 1))[0]
    # A row of the middle: all distances.
    return bert, bias[:, POSITIONS].clone()


def renamed(name):
    """A weight of MPNet by its name in BertModel."""
    for part, ours in (("attn.q", "self.query"), ("attn.k", "self.key"), ("attn.v", "self.value"), ("attn.o", "output.dense")):
        name = name.replace(f"attention.{part}.", f"attention.{ours}.")
    return name.replace("attention.LayerNorm", "attention.output.LayerNorm")
