"""``python -m epluribus`` is the command ``epluribus``."""

import sys

from epluribus.cli import main

sys.exit(main())
