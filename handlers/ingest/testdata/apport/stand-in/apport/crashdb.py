"""Stands in for apport's module, where apport is not installed: what packaging/apport/mishap.py uses of it."""


class CrashDatabase:
    def __init__(self, auth_file, options):
        self.options = options
