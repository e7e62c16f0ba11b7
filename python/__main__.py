"""Makes `python3 FOLDER` the command, wherever the folder is: a path with a colon can't stand in PYTHONPATH."""

import hakmem.__main__  # noqa: F401
