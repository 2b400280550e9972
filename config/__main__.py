"""`python -m config COMMAND`: what `manage.py` is in a checkout."""

import sys

from config.manage import main

if __name__ == "__main__":
    main(sys.argv)
