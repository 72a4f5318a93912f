"""Fixtures: those of tests/integration serve here, too."""

import importlib.util
import pathlib
import sys

INTEGRATION = pathlib.Path(__file__).resolve().parent.parent / "integration"
sys.path.insert(0, str(INTEGRATION))

spec = importlib.util.spec_from_file_location("integration_fixtures", INTEGRATION / "conftest.py")
fixtures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixtures)

certificates = fixtures.certificates
folder = fixtures.folder
no_troubles = fixtures.no_troubles
pytest_generate_tests = fixtures.pytest_generate_tests
pytest_runtest_makereport = fixtures.pytest_runtest_makereport
