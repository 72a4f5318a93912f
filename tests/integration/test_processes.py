"""The fixtures themselves: what goes wrong in a process must not go unnoticed."""

import pytest

import processes


def troubles_of(script):
    process = processes.Process(["sh", "-c", script])
    process.popen.wait(processes.PATIENCE)
    process.stderr.thread.join(processes.PATIENCE)
    return process.troubles()


def test_crash_is_noticed():
    assert "ended by itself with status -11" in troubles_of("kill -SEGV $$")[0]


def test_crash_is_noticed_where_an_end_is_expected():
    process = processes.Process(["sh", "-c", "trap 'kill -ABRT $$' TERM; echo ready; while :; do sleep 0.01; done"])
    assert process.stdout.wait("ready")
    assert process.stop() == -6
    assert "ended by itself with status -6" in process.troubles()[0]
    assert not process.troubles()


def test_crash_of_a_command_is_noticed():
    with pytest.raises(AssertionError, match="ended with -11"):
        processes.run(["sh", "-c", "kill -SEGV $$"])


def test_exit_is_noticed():
    assert "ended by itself with status 3" in troubles_of("exit 3")[0]


def test_report_of_a_sanitizer_is_noticed(monkeypatch, tmp_path):
    for report in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race (pid=1)",
                   "x.c:1:2: runtime error: signed integer overflow", "x: y.c:1: f: Assertion `a' failed."):
        assert any(report in trouble for trouble in troubles_of(f'echo "{report}" >&2'))
    monkeypatch.setenv("TSAN_OPTIONS", f"halt_on_error=0:log_path={tmp_path}/tsan")
    assert any("data race" in trouble for trouble in troubles_of(f'echo "WARNING: ThreadSanitizer: data race" >{tmp_path}/tsan.$$'))


def test_trouble_is_told_once():
    process = processes.Process(["sh", "-c", "exit 3"])
    process.popen.wait(processes.PATIENCE)
    assert process.troubles()
    assert not process.troubles()


def test_expected_end_is_no_trouble():
    process = processes.Process(["sleep", "1000"])
    process.stop()
    assert not process.troubles()
