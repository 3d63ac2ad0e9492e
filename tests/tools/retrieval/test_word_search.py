import subprocess
import sys
import threading
import time
from pathlib import Path

from citeproof.tools.retrieval.word_search import Row, Words

_OPEN_AT_ONCE = """
import sys, time
from pathlib import Path
from citeproof.tools.retrieval.word_search import Row, Words

folder, begin = Path(sys.argv[1]), float(sys.argv[2])
time.sleep(max(0.0, begin - time.time()))
for place in range(40):
    words = Words(folder / str(place))
    words.change([sys.argv[3]], [Row(sys.argv[3], sys.argv[3], "the tide")])
    assert sys.argv[3] in dict(words.search("tide", 9))
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


def test_a_search_reads_one_state_of_a_file_that_another_one_changes(tmp_path: Path) -> None:
    path = tmp_path / "words"
    reader, writer = Words(path), Words(path)
    rows = [Row(str(number), str(number), "the tide") for number in range(4)]
    writer.change([], rows[:1])
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            writer.change([], rows[1:])
            writer.change(["1", "2", "3"], [])

    thread = threading.Thread(target=change)
    thread.start()
    try:
        found = {tuple(reader.search("tide", 9)) for _ in range(2000)}
    finally:
        done.set()
        thread.join()
    # A row's score tells the state that it was read in: each count of rows has one score.
    assert {len(one) for one in found} == {1, 4}
    assert len({(len(one), score) for one in found for _, score in one}) == 2
