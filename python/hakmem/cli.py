"""hakmem measures the allocator against its peers, on suites, real programs and recorded traces."""

import typer

from hakmem.commands import launcher, peers, policy, trace
from hakmem.commands.ab import ab
from hakmem.commands.bench import bench
from hakmem.commands.compare import compare
from hakmem.commands.health import health
from hakmem.commands.report import make_report

app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False)
launcher.add_to(app)
app.command("bench")(bench)
app.command("ab")(ab)
app.command("compare")(compare)
app.command("health")(health)
app.add_typer(trace.app, name="trace")
app.add_typer(policy.app, name="policy")
app.command("report")(make_report)
app.command("peers")(peers.peers_command)


def main() -> None:
    app(prog_name="hakmem")
