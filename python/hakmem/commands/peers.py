"""hakmem peers: builds what hakmem is compared with."""

import json
from typing import Annotated

import typer

from hakmem import peers
from hakmem.commands.common import JsonOption, errors, output, warn


def peers_command(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Build again what is in the cache.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Builds the peers that are not in the cache yet, and prints where each is and what it is.

    Exit status: 0 all are there, 1 some can't be built.
    """
    found, missing = [], 0
    for name in peers.NAMES:
        try:
            with errors.status(f"building {name}" if rebuild or peers.found(name) is None else name):
                found.append(peers.get(name, rebuild))
        except peers.PeerCannotBeBuilt as reason:
            warn(f"{name} can't be built", str(reason))
            missing += 1
    if as_json:
        print(json.dumps([one.as_json() for one in found]))
    else:
        for peer in found:
            extra = "".join(f" {key}={value}" for key, value in peer.environment.items())
            output.print(f"{peer.name}: {peer.version}; {peer.library or 'preloads nothing'};{extra} {peer.source}; "
                         f"{peer.flags}", highlight=False, markup=False, soft_wrap=True)
    if missing:
        raise typer.Exit(1)
