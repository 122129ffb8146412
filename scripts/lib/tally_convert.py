"""scripts/tally-convert: the folder convert/ does the work."""

import sys

from convert.main import main

sys.exit(main())
