import subprocess
import sys
import time
from pathlib import Path

_OPEN_AT_ONCE = """
import sys, time
from pathlib import Path
from citeproof.tools.retrieval.word_search import Row, Words

folder, begin = Path(sys.argv[1]), float(sys.argv[2])
time.sleep(max(0.0, begin - time.time()))
for place in range(40):
    words = Words(folder / str(place))
    words.change([sys.argv[3]], [Row(sys.argv[3], sys.argv[3], "the tide")])
    assert sys.argv[3] in dict(words.search(["tide"], 9)[0])
    words.close()
"""


def test_processes_may_make_one_file_at_the_same_time(tmp_path: Path) -> None:
    begin = str(time.time() + 2)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN_AT_ONCE, str(tmp_path), begin, str(number)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    assert [process.communicate()[1] for process in processes] == [""] * 4
