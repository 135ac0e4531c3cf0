"""What scripts need that start an inference engine's server and ask it."""

import socket
import time

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def tokenizer_folder(vocabulary, folder):
    """One word a token: a server tells its answers as text, and clients of benchmarks their prompts."""
    words = {f"<{i}>": i for i in range(vocabulary)}
    made = Tokenizer(models.WordLevel(words, unk_token="<0>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<1>", eos_token="<2>").save_pretrained(folder)
    return folder


def wait_for(server, port):
    """Until it listens: it does so when its model is loaded."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            if server.poll() is not None:
                raise SystemExit("the server has ended") from None
            time.sleep(1)
