"""Makes `python3 -m hakmem` the command."""

import sys

try:
    from hakmem.cli import main

    main()
except KeyboardInterrupt:  # before there is anything to stop
    sys.stderr.write("hakmem: stopped\n")
    sys.exit(130)
