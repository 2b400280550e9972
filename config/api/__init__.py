"""The REST API as a whole: the resources of all apps at one address, their schema, and a page to read it."""
