"""Writes smollm2.json: what transformers computes with the weights of a real model, in float32.

    pip install torch==2.13.0 transformers==5.24.0 gguf==0.19.0 accelerate
    make smollm
    python tests/golden/make_smollm2_golden.py build/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

For five texts: their ids, the ten largest logits after the last token, the sum of the negative log-likelihoods of the tokens
after the first, and how greedy generation goes on. And the ids of a chat.
"""

import json
import os
import sys

import torch
import transformers

folder, name = os.path.split(os.path.abspath(sys.argv[1]))
model = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=name)

TEXTS = ["The capital of France is", "def fibonacci(n):\n    if n < 2:\n        return n\n    return", "1 2 3 4 5 6 7 8 9 10 11",
         "A loom weaves threads, which run the length of the cloth, with a weft, which crosses them. The weaver",
         "Zażółć gęślą jaźń – das ist Polnisch, und 你好 ist"]
CHAT = [{"role": "user", "content": "What is the capital of France?"}]

texts = []
for text in TEXTS:
    ids = tokenizer(text).input_ids
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
        nats = -torch.log_softmax(logits[:-1], -1).gather(1, torch.tensor(ids[1:])[:, None]).sum().item()
        greedy = model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False)[0, len(ids):].tolist()
    top = logits[-1].topk(10)
    texts.append({"text": text, "ids": ids, "top": top.indices.tolist(), "logits": top.values.tolist(), "nats": nats, "greedy": greedy})
chat = tokenizer.apply_chat_template(CHAT, add_generation_prompt=True, tokenize=False)
with torch.no_grad():
    ids = tokenizer(chat).input_ids
    answer = model.generate(torch.tensor([ids]), max_new_tokens=16, do_sample=False)[0, len(ids):].tolist()
result = {"versions": f"torch {torch.__version__}, transformers {transformers.__version__}", "texts": texts,
          "chat": {"text": chat, "ids": ids, "answer": answer}}
with open(os.path.join(os.path.dirname(__file__), "smollm2.json"), "w") as file:
    json.dump(result, file, indent=1, ensure_ascii=False)
    file.write("\n")
