"""Puts together the long conversation of the sample history: thirty-six flaky tests, hunted down one at a time.

`flaky.hunt` is a script with three kinds of lines more. `@hunt FILE TEST CAUSE FAILS SUBJECT` stands for the six
steps by which one test is reproduced, understood, fixed and proved; `{tally}` for the causes so far, `{log}` for a long
output.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from string import Template

NAMES = {
    "clock": "two looks at the clock",
    "order": "the order of a set",
    "port": "one fixed port",
    "await": "a task nobody waits for",
    "shared": "one directory for all",
    "random": "random data that repeats",
}

FAILURES = {
    "clock": (
        "    assert $subject.expires_at == datetime.now() + timedelta(days=1)\n"
        "AssertionError: assert datetime(2026, 3, 4, 9, 7, 59, 999$number) == datetime(2026, 3, 4, 9, 8, 0, 12)"
    ),
    "order": (
        "    assert [item.name for item in $subject] == ['blue', 'large', 'wool']\n"
        "AssertionError: assert ['wool', 'blue', 'large'] == ['blue', 'large', 'wool']\n"
        "  At index 0 diff: 'wool' != 'blue'"
    ),
    "port": (
        "    with FakeServer(port=8765) as $subject:\n"
        '  File "tests/fakes.py", line 40, in __enter__\n'
        "    self.socket.bind(('127.0.0.1', self.port))\n"
        "OSError: [Errno 98] Address already in use"
    ),
    "await": ("    assert len(received_$subject) == 1\nAssertionError: assert 0 == 1\n  where 0 = len([])"),
    "shared": (
        "    ($subject / 'part-0').mkdir()\nFileExistsError: [Errno 17] File exists: '/tmp/storefront-$subject/part-0'"
    ),
    "random": (
        "    $subject = [Customer.create(email=fake.email()) for _ in range(200)]\n"
        "django.db.utils.IntegrityError: UNIQUE constraint failed: customer.email"
    ),
}

REASONS = {
    "clock": (
        "The test asks for the time once and the code asks again: when a second ends in between, they differ. "
        "$fails of 50 fits a test that takes $millis ms.",
        "`datetime.now()` twice. It fails whenever the second changes between the two calls.",
    ),
    "order": (
        "`$subject` comes from a **set**. With `PYTHONHASHSEED` random its order changes from run to run; "
        "the test expects one of them.",
        "A set again. The page sorts `$subject` before showing them, the test looks before that.",
    ),
    "port": (
        "Port 8765 for every fake server. Two workers, one port: whoever comes second loses.",
        "Same port, another file. `port=0` lets the system choose one that is free.",
    ),
    "await": (
        "`publish` only *starts* the handlers. The test looks before they ran; on a busy machine it looks too early.",
        "Nobody waits for the task that delivers the $subject. `drained()` exists and returns when the bus is quiet.",
    ),
    "shared": (
        "All tests write to `/tmp/storefront-$subject`. Two workers meet there, and a failed run leaves its files.",
        "One directory for all again. `tmp_path` gives each test its own.",
    ),
    "random": (
        "Faker has about 90,000 addresses. Among 200 of them two are equal once in $chance runs: the birthday paradox.",
        "Random names repeat. Numbered ones do not, and nothing here depends on them looking real.",
    ),
}

FIXES = {
    "clock": (
        "-    $subject = make_$subject()\n"
        "-    assert $subject.expires_at == datetime.now() + timedelta(days=1)\n"
        "+    $subject = make_$subject(now=NOON)\n"
        "+    assert $subject.expires_at == NOON + timedelta(days=1)"
    ),
    "order": (
        "-    assert [item.name for item in $subject] == ['blue', 'large', 'wool']\n"
        "+    assert {item.name for item in $subject} == {'blue', 'large', 'wool'}"
    ),
    "port": (
        "-    with FakeServer(port=8765) as $subject:\n"
        "-        hook = Hook(url='http://127.0.0.1:8765/')\n"
        "+    with FakeServer(port=0) as $subject:\n"
        "+        hook = Hook(url=$subject.url)"
    ),
    "await": ("     bus.publish(event)\n+    await bus.drained()\n     assert len(received_$subject) == 1"),
    "shared": (
        "-def $test():\n"
        "-    $subject = Path('/tmp/storefront-$subject')\n"
        "+def $test(tmp_path):\n"
        "+    $subject = tmp_path / '$subject'\n"
        "+    $subject.mkdir()"
    ),
    "random": (
        "-    $subject = [Customer.create(email=fake.email()) for _ in range(200)]\n"
        "+    $subject = [Customer.create(email=f'{n}@example.org') for n in range(200)]"
    ),
}

CASE = Template("""
@agent
**$place of 36** · `$test`

@call terminal command=pytest $path::$test --count 50 -n 4 -p randomly -q | tail -8

@output 1 +$run
Traceback (most recent call last):
  File "$path", line $line, in $test
$failure
$fails failed, $passes passed

@agent
$reason

@call patch path=$path

@diff
--- a/$path
+++ b/$path
@@ -$line,$before +$line,$after @@
$fix

@call terminal command=pytest $path --count 50 -n 4 -p randomly -q | tail -1

@output 0 +$run
$total passed in $run
""")

_HUNT = re.compile(r"^@hunt (\S+) (\S+) (\S+) (\d+) (\S+)$|\{(?:tally|log)\}", re.MULTILINE)


def script() -> str:
    """The whole conversation in the form that `script.read` takes."""
    causes: Counter[str] = Counter()

    def expand(found: re.Match[str]) -> str:
        if found[0] == "{tally}":
            return _table(causes)
        if found[0] == "{log}":
            return _log()
        path, test, cause, fails, subject = found.groups()
        causes[cause] += 1
        return _case(causes.total(), path, test, cause, int(fails), subject, first=causes[cause] == 1)

    text = (Path(__file__).parent / "flaky.hunt").read_text(encoding="utf-8")
    return _HUNT.sub(expand, text)


def _case(place: int, path: str, test: str, cause: str, fails: int, subject: str, *, first: bool) -> str:
    words = {
        "place": place,
        "path": path,
        "test": test,
        "subject": subject,
        "fails": fails,
        "passes": 50 - fails,
        "number": 100 + place * 7,
        "millis": fails * 20,
        "chance": 100 // fails,
        "line": 12 + place * 37 % 90,
        "run": f"{14 + place * 11 % 23}s",
        "total": 50 * (3 + place % 5),
    }
    explained, again = REASONS[cause]
    pieces = {"failure": FAILURES[cause], "reason": explained if first else again, "fix": FIXES[cause]}
    filled = {name: Template(piece).substitute(words) for name, piece in pieces.items()}
    lines = filled["fix"].splitlines()
    sizes = {"before": sum(line[0] != "+" for line in lines), "after": sum(line[0] != "-" for line in lines)}
    return CASE.substitute(words | filled | sizes)


def _table(causes: Counter[str]) -> str:
    rows = (f"| {NAMES[cause]} | {tests} |" for cause, tests in causes.most_common())
    return "\n".join(["| cause | tests |", "|---|---:|", *rows])


def _log() -> str:
    """Where a full run of the suite spends its time: 240 lines, slowest first."""
    areas = ("accounts", "api", "cart", "catalog", "events", "exports", "mail", "payments", "search", "stock")
    kinds = ("create", "change", "remove", "list", "page", "filter", "sort", "copy", "merge", "export", "undo", "lock")
    tests = [f"tests/{area}/test_{kind}.py::test_{kind}_{case}" for area in areas for kind in kinds for case in "ab"]
    return "\n".join(f"{34.7 / (place + 2):6.2f}s call  {test}" for place, test in enumerate(tests))
