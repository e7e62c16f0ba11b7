"""hakmem measures the allocator against its peers, on suites, real programs and recorded traces."""

import os
import sys

import typer

from hakmem.commands import launcher, peers, policy, trace
from hakmem.commands.ab import ab
from hakmem.commands.bench import bench
from hakmem.commands.common import CANNOT, INTERRUPTED
from hakmem.commands.compare import compare
from hakmem.commands.health import health
from hakmem.commands.learning import policy as bench_policy
from hakmem.commands.report import make_report

app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False)
launcher.add_to(app)
suites_app = typer.Typer()
suites_app.callback(invoke_without_command=True)(bench)
suites_app.command("policy")(bench_policy)
app.add_typer(suites_app, name="bench")
app.command("ab")(ab)
app.command("compare")(compare)
app.command("health")(health)
app.add_typer(trace.app, name="trace")
app.add_typer(policy.app, name="policy")
app.command("report")(make_report)
app.command("peers")(peers.peers_command)


def main() -> None:
    """Ends with one line where what it prints can't be written, and as a shell does where it is stopped."""
    sys.stdout.reconfigure(errors="backslashreplace")  # names of files are not always text
    try:
        try:
            app(prog_name="hakmem")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _end("", 1)
    except OSError as reason:
        _end(f"hakmem: {reason.filename or 'the output'}: {reason.strerror}\n", CANNOT)
    except SystemExit as ending:
        if isinstance(ending.__context__, typer.Abort):
            _end("", INTERRUPTED)
        raise


def _end(said: str, status: int) -> None:
    """At once: what could not be written is not tried again."""
    sys.stderr.write(said)
    sys.stderr.flush()
    os._exit(status)
