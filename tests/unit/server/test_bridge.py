"""The bridge between the writer's thread and the event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

from contrail.server.bridge import Bridge


def test_all_results_arrive_with_few_wake_ups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Futures that are completed in a row wake the loop once or twice, not once each."""
    futures: list[Future[int]] = [Future() for _ in range(500)]
    wakes = 0

    async def main() -> list[int]:
        nonlocal wakes
        bridge, loop = Bridge(), asyncio.get_running_loop()
        real = loop.call_soon_threadsafe

        def counted(*arguments: object) -> object:
            nonlocal wakes
            wakes += 1
            return real(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        waiting = [asyncio.ensure_future(bridge.wait(future)) for future in futures]
        await asyncio.sleep(0)
        held = threading.Event()

        def complete() -> None:
            for number, future in enumerate(futures):
                future.set_result(number)
            held.set()

        threading.Thread(target=complete).start()
        held.wait(10)  # the loop is busy meanwhile, as in the middle of another request
        return await asyncio.gather(*waiting)

    assert asyncio.run(main()) == list(range(500))
    assert wakes == 1


def test_errors_and_finished_futures_pass_too() -> None:
    """Also a future that was done before anyone waited."""

    async def main() -> None:
        bridge = Bridge()
        done: Future[str] = Future()
        done.set_result("x")
        assert await bridge.wait(done) == "x"
        failed: Future[str] = Future()
        failed.set_exception(KeyError("k"))
        with pytest.raises(KeyError):
            await bridge.wait(failed)

    asyncio.run(main())


def test_a_request_that_was_given_up_disturbs_no_other() -> None:
    """Cancelling one waiter leaves the rest of its group alone."""

    async def main() -> None:
        bridge = Bridge()
        futures: list[Future[int]] = [Future(), Future()]
        waiting = [asyncio.ensure_future(bridge.wait(future)) for future in futures]
        await asyncio.sleep(0)
        waiting[0].cancel()
        for future in futures:
            threading.Thread(target=future.set_result, args=(1,)).start()
        assert await waiting[1] == 1

    asyncio.run(main())
