#!/usr/bin/env python
"""Django's command line for Touchstone."""

import sys

from config.manage import main

if __name__ == "__main__":
    main(sys.argv)
