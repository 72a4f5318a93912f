"""What programs do with annals, with the libraries that nearly everybody uses: client-go, controller-runtime, and Python's; and with Kubernetes' own
for revisions."""

import pytest

import alone as servers
import programs

CLIENTGO, CONTROLLERS, HISTORY = programs.Go("clientgo"), programs.Go("controllers"), programs.Go("history")
TYPES = programs.Go("types")  # of clients/go/api, with controller-runtime
PYTHON, VALIDATORS = programs.Python("with_kubernetes"), programs.Python("with_validators")

# Ways to run a suite: the tests that it is about, and what is in the environment.
WAYS = {
    "": (lambda name: not name.startswith("TestInterrupted_"), {}),
    # Informers list, and then watch, as those of older releases do.
    "list-then-watch": (lambda name: name.startswith("TestInformer_"), {"KUBE_FEATURE_WatchListClient": "false"}),
}


# What the servers of single tests are started with.
FLAGS = {"TestInterrupted_tooManyRequests": ["--max-mutating-requests-inflight=1"]}


def judge(outcomes, name):
    outcome = outcomes.get(name, outcomes[None])
    if outcome.verdict == "SKIP":
        pytest.skip(outcome.text)
    if outcome.verdict == "FAIL":
        pytest.fail(outcome.text, pytrace=False)


@pytest.fixture(scope="session")
def outcomes(alone, request):
    """outcomes(suite, way): those of all chosen tests, which run when the first is asked for."""
    chosen, done = {}, {}
    for item in request.session.items:
        if item.originalname == test_client__works.__name__:
            suite, way, name = (item.callspec.params[key] for key in ("suite", "way", "name"))
            chosen.setdefault((suite, way), []).append(name)

    def of(suite, way):
        if (suite, way) not in done:
            done[suite, way] = suite.run(chosen[suite, way], {**alone.env, **WAYS[way][1]})
        return done[suite, way]

    return of


def cases(suite, ways=("",)):
    return [pytest.param(suite, way, name, id="-".join(filter(None, (suite.name, way, name))))
            for way in ways for name in suite.names() if WAYS[way][0](name)]


@pytest.mark.parametrize("suite,way,name", cases(CLIENTGO, WAYS) + cases(CONTROLLERS) + cases(TYPES) + cases(HISTORY) + cases(PYTHON) + cases(VALIDATORS))
def test_client__works(suite, way, name, outcomes):
    judge(outcomes(suite, way), name)


@pytest.mark.parametrize("name", [name for name in CLIENTGO.names() if name.startswith("TestInterrupted_")])
def test_client__is_not_disturbed(name, folder, certificates):
    """Tests that have their server restarted and its history compacted: each has one of its own."""
    world = servers.Alone(folder, certificates, *FLAGS.get(name, []))
    try:
        judge(CLIENTGO.run([name], world.env), name)
    finally:
        world.stop()
