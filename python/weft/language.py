"""Published language models: load_pretrained gives a model and its tokeniser, and a Chat talks with it."""
import codecs

from . import _weft as w
from ._weft import ChatTemplate, PreTrainedTokenizer, Tensor, nn
from .graph import unpicklable
from .tensors import extends, tensor


def load_pretrained(path, dtype=None, ignore_keys=()):
    """A model and its tokeniser, of a .gguf file or a folder of config.json, safetensors and tokenizer.json."""
    model, tokenizer, template = w._load_language(path, dtype, ignore_keys)
    tokenizer.chat_template = template
    return model, tokenizer


PreTrainedTokenizer.chat_template = ""  # in Jinja, if the model has one
w.Likelihood.__repr__ = lambda found: f"Likelihood(nats={found.nats}, tokens={found.tokens})"


@extends(nn.Decoder)
class Methods:
    def forward(self, input_ids, attention_mask=None):
        """Logits (B, T, V) of ids (B, T), or (T, V) of (T,): a tensor or lists; the mask is false for padding."""
        ids = input_ids if isinstance(input_ids, Tensor) else tensor(input_ids, w.int64)
        return self._forward(ids, attention_mask)
    __deepcopy__ = lambda self, memo: self._clone()
    __reduce_ex__ = lambda self, protocol: unpicklable(self)


class Chat:
    """A talk: chat("…") returns the model's answer. Keeps the messages, and keys and values of their tokens."""
    def __init__(self, model, tokenizer, form=None, system=None, context=None, max_new_tokens=512,
                 temperature=0.6, top_p=0.95, **options):
        self.model, self.tokenizer, self.messages = model, tokenizer, []
        self.template = ChatTemplate.named(form) if form else ChatTemplate.of(tokenizer.chat_template)
        self.template.system = self.template.system if system is None else system
        self.context, self.max_new_tokens = min(context or 4096, model.config.block_size), max_new_tokens
        self.kept = w.PromptCache(model, self.context)
        self.options = dict(temperature=temperature, top_p=top_p, eos_token_id=tokenizer.end_token_ids, **options)
    def __call__(self, message, write=None):
        """The answer, of at most max_new_tokens. write gets characters as they arrive, and ends it by False."""
        messages = [*self.messages, {"role": "user", "content": message}]
        prompt = self.template.encode(self.tokenizer, messages)
        room, ends = self.context - len(prompt), self.options["eos_token_id"]
        if room < 1:
            raise w.ValueError(f"Chat: the messages have {len(prompt)} tokens, and the context is {self.context}; "
                               "remove some of chat.messages, or make a Chat with a larger context")
        characters, texts, goes_on = codecs.getincrementaldecoder("utf-8")("replace"), [], True
        def add(text):
            nonlocal goes_on
            texts.append(text)
            goes_on = goes_on and not (write and text and write(text) is False)
            return goes_on
        on_token = lambda id: id in ends or add(characters.decode(self.tokenizer.piece(id)))
        ids = self.model.generate(prompt, min(self.max_new_tokens, room), kept=self.kept, on_token=on_token,
                                  **self.options)
        add(characters.decode(b"", final=True))
        ids = [id for id in ids if id not in ends]
        self.messages = [*messages, {"role": "assistant", "content": "".join(texts), "ids": ids}]
        return "".join(texts)
