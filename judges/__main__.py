"""`python -m judges` is the command `touchstone`."""

import sys

from judges.standalone.main import main

if __name__ == "__main__":
    sys.exit(main())
