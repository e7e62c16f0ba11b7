"""Makes `python3 -m hakmem` the command."""

from hakmem.cli import main

main()
