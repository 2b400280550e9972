"""Backups of a site: its database, its files and its secret key in one file, and how they are restored and verified.

`archive` is the form of the file, `encryption` how it is encrypted, `sqlite` and `postgres` what differs by database,
`making`, `restoring` and `retention` what the commands do.
"""
