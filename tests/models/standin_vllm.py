"""Stand-in for the `vllm` program: loads nothing, but starts and stops as vLLM does.

Its behaviour depends on the model's name: `slow` takes a second to start, `broken` ends before it
is ready, `crashing` ends when it is asked something, `stubborn` ignores SIGTERM. It writes what
it was started with and asked for into the file that `STANDIN` names, a JSON object a line.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

MODEL = sys.argv[2]
PORT = int(sys.argv[sys.argv.index("--port") + 1])
SEEN = ("VLLM_API_KEY", "VLLM_NO_USAGE_STATS", "HF_HUB_OFFLINE")


def note(**what: Any) -> None:
    with Path(os.environ["STANDIN"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        note(path=self.path, asked=asked)
        if MODEL == "crashing":
            sys.stderr.write("torch.OutOfMemoryError: CUDA out of memory.\n")
            os._exit(3)
        if self.headers["authorization"] != f"Bearer {os.environ['VLLM_API_KEY']}":
            return self.answer(401, {"error": "Unauthorized"})
        text = '{"number": 4}' if "response_format" in asked else " It is high."
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "total_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 8},
        }
        whole = {"id": "x", "object": "chat.completion", "created": 1, "model": MODEL}
        return self.answer(200, {**whole, "choices": [choice], "usage": usage})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        pass


def main() -> None:
    if MODEL == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Like vLLM's engine, it does not notice when the server that started it is gone.
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pids = [os.getpid(), worker.pid]
    note(argv=sys.argv[1:], env={name: os.environ.get(name) for name in SEEN}, pids=pids)
    if MODEL == "broken":
        sys.stdout.write("(EngineCore) ValueError: the KV cache has no room for 131072 tokens\n")
        sys.stdout.write("".join(f"  at {n}\n" for n in range(100)))
        sys.stdout.flush()
        sys.exit("RuntimeError: Engine core initialization failed. See root cause above.")
    if MODEL == "slow":
        time.sleep(1.5)
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()


if __name__ == "__main__":
    main()
