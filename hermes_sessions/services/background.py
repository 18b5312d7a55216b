"""One daemon thread that owns one store, so that no event loop ever waits for SQLite.

Calls run one after another in the order they came. A call that is cancelled while it runs is interrupted; one that
still waits never starts; no other call is touched. Results are concurrent futures: the thread can work before an
event loop exists. Which calls are made, and which answers are still wanted, is `services.history`'s business.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

INTERRUPT_EVERY_SECONDS = 0.02


class Interruptible(Protocol):
    """A store, as far as its thread is concerned. `interrupt` alone is called from other threads."""

    @property
    def replaced(self) -> bool: ...
    def interrupt(self) -> None: ...
    def close(self) -> None: ...


T = TypeVar("T")
S = TypeVar("S", bound=Interruptible)


class Call(Future[T]):
    """The result to come of one call. `cancel` also works while it runs, by interrupting its query."""

    def __init__(self, stop: Callable[[Call[T]], object]) -> None:
        super().__init__()
        self._stop = stop

    def cancel(self) -> bool:
        """Return True when the call will never start. A running one is interrupted and ends soon."""
        if super().cancel():
            return True
        self._stop(self)
        return False


class StoreThread(Generic[S]):
    """Runs functions of a store, one at a time, on a thread of its own.

    The first call opens the store; when that fails, the call has the error and the next one tries again. The first one
    after another file has taken the store's place opens that. The thread is a daemon, so that a query that ignores its
    interrupt cannot keep the program alive.
    """

    def __init__(self, open_store: Callable[[], S], name: str = "store") -> None:
        self._open_store = open_store
        self._store: S | None = None
        self._waiting: deque[tuple[Call[object], Callable[[S], object]]] = deque()
        self._running: Call[object] | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name=f"hermes-sessions {name}", daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[[S], T]) -> Call[T]:
        """Queue `fn(store)` and return its result to come. On a closed thread it is cancelled at once."""
        call: Call[T] = Call(self._stop)
        with self._changed:
            if not self._closed:
                self._waiting.append((call, fn))  # type: ignore[arg-type]
                self._changed.notify()
                return call
        call.cancel()
        return call

    async def call(self, fn: Callable[[S], T]) -> T:
        """Run `fn(store)` and return what it returns or raise what it raises. Cancelling the task cancels the call."""
        return await asyncio.wrap_future(self.submit(fn))

    def close(self, timeout: float = 1.0) -> None:
        """Interrupt what runs, drop what waits, close the store, and wait for that at most `timeout` seconds."""
        with self._changed:
            self._closed = True
            dropped = list(self._waiting)
            self._waiting.clear()
            self._changed.notify()
        for call, _ in dropped:
            call.cancel()
        if self._running is not None:
            self._stop(self._running)
        self._thread.join(timeout)

    def _stop(self, call: Call[T] | Call[object]) -> None:
        """Interrupt `call` until it is no longer the one that runs: an interrupt between two statements is lost."""
        with self._changed:
            # The lock keeps a late interrupt from hitting the next call.
            if call is not self._running:
                return
            if self._store is not None:
                self._store.interrupt()
        again = threading.Timer(INTERRUPT_EVERY_SECONDS, self._stop, (call,))
        again.daemon = True
        again.start()

    def _work(self) -> None:
        while (work := self._next()) is not None:
            self._run(*work)
            del work  # an idle thread holds on to no result
        if self._store is not None:
            self._store.close()

    def _next(self) -> tuple[Call[object], Callable[[S], object]] | None:
        """Wait for a call that nobody has cancelled; None when there will be no more."""
        with self._changed:
            while True:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return None
                call, fn = self._waiting.popleft()
                if call.set_running_or_notify_cancel():
                    self._running = call
                    return call, fn

    def _run(self, call: Call[object], fn: Callable[[S], object]) -> None:
        try:
            if self._store is not None and self._store.replaced:
                self._store.close()
                self._store = None
            if self._store is None:
                self._store = self._open_store()
            result = fn(self._store)
        except BaseException as error:
            self._finish()
            call.set_exception(error)
        else:
            self._finish()
            call.set_result(result)

    def _finish(self) -> None:
        with self._changed:
            self._running = None
