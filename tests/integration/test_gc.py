"""The garbage collector of `annals up` and `annals controllers`."""

import pytest

import garbage
import processes
from garbage import SCENARIOS, Heap


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    up = processes.Up(tmp_path_factory.mktemp("gc") / "data")
    up.is_shared = True
    yield up
    assert up.stop() == 0
    assert not up.troubles()


@pytest.fixture
def heap(world, request):
    names = [f"gc-{request.node.callspec.params.get('play').__name__.replace('_', '-')}"[:50], "gc-other"]
    for name in names:
        world.post(garbage.NAMESPACES, {"metadata": {"name": name}})
    return Heap(world.client, *names)


@pytest.mark.parametrize("play", SCENARIOS, ids=lambda play: play.__name__)
def test_scenario(heap, play):
    play(heap)
