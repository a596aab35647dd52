"""What can go wrong, by kind."""


class Error(Exception):
    """The base of the errors of this package. The words name what is wrong, and the cure."""


class UsageError(Error, ValueError):
    """What was asked for is wrong: an argument, an experiment, a file, or a queue of your own.

    The command ends with code 2 in this case.
    """


class MachineError(Error, OSError):
    """This machine cannot do it: a file cannot be written, a folder cannot be made.

    The command ends with code 3 in this case.
    """
