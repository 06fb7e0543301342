"""`python -m pairgossip` is the command `pairgossip`."""

import sys

from pairgossip.cli import main

if __name__ == "__main__":
    sys.exit(main())
