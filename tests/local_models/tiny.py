"""Tiny models with real architectures, built on the spot: nothing is downloaded.

A chat model (two layers of Llama, a byte-level BPE tokenizer of 512 tokens, a chat template), a sentence
encoder (BERT), a reward model (Llama with one class) and a classifier of text pairs (BERT with three classes).
Their weights are random, from fixed seeds, so they know nothing; what is tested is that every way of running them
computes the same.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

WORDS = (
    "A judge reads an instruction and two answers to it, and says which answer is the better one. "
    "The first answer may be long and polite while the second is short and right. "
    "Good judges do not mind the length of a text, nor which of two texts they saw first. "
    "People label pairs of answers too, and we ask how often a judge agrees with them. "
    "If a model is asked whether seven is prime, it should say yes, give the reason and stop. "
    "Which city is the capital of France? Paris. What do we get when we add 12 and 30? 42. "
    "Some sentences end with a question mark; does this one? Others shout! Numbers: 0 1 2 3 4 5 6 7 8 9. "
    'JSON looks like {"ratings": {"clarity": 4, "truth": 5}, "reason": "all there"} and has quotes. '
)
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SPECIAL = ("<|start|>", "<|end|>", "<|pad|>", "<|system|>", "<|user|>", "<|assistant|>")
MAX_LENGTH = 1024


def _tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([WORDS, "Verdict: A\nVerdict: B\nVerdict: tie\n"], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=SPECIAL[0],
        eos_token=SPECIAL[1],
        pad_token=SPECIAL[2],
        chat_template=TEMPLATE,
        model_max_length=MAX_LENGTH,
    )


def _llama(**more: Any) -> Any:
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=MAX_LENGTH,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=2,
        tie_word_embeddings=False,
        # Weights of the usual size make a model of this size nearly indifferent between tokens.
        initializer_range=0.3,
        **more,
    )


def _save(model: Any, tokenizer: Any, folder: Path) -> Path:
    model.float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def chat_model(folder: Path) -> Path:
    """Build the chat model."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(1)
    return _save(LlamaForCausalLM(_llama()), _tokenizer(folder), folder)


def reward_model(folder: Path) -> Path:
    """Build the model that gives a conversation one number."""
    import torch
    from transformers import LlamaForSequenceClassification

    torch.manual_seed(2)
    return _save(LlamaForSequenceClassification(_llama(num_labels=1)), _tokenizer(folder), folder)


def _bert_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator([WORDS], trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=256,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _bert(**more: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=300,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=256,
        initializer_range=0.2,
        **more,
    )


def encoder(folder: Path) -> Path:
    """Build the sentence encoder, with the files that say how its tokens become one vector."""
    import torch
    from transformers import BertModel

    torch.manual_seed(3)
    _save(BertModel(_bert(), add_pooling_layer=False), _bert_tokenizer(), folder)
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    listed = [
        {"idx": k, "name": str(k), "path": path, "type": f"sentence_transformers.models.{name}"}
        for k, (path, name) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")
    return folder


def pair_classifier(folder: Path) -> Path:
    """Build the classifier of text pairs."""
    import torch
    from transformers import BertForSequenceClassification

    torch.manual_seed(4)
    return _save(BertForSequenceClassification(_bert(num_labels=3)), _bert_tokenizer(), folder)


MODELS = {
    "chat": chat_model,
    "reward": reward_model,
    "encoder": encoder,
    "pairs": pair_classifier,
}


def build_all(folder: Path) -> dict[str, Path]:
    """Build all of them below a folder; returns where each is."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    paths = {}
    for name, build in MODELS.items():
        paths[name] = folder / name
        if not (paths[name] / "config.json").is_file():
            build(paths[name])
    return paths
