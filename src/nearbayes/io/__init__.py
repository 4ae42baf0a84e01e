"""Safe files: a fitted model in one zip file, from which no code is ever run."""

from nearbayes.io.arrays import NotSaveable
from nearbayes.io.container import FileRefused
from nearbayes.io.describe import Description, attachments, describe
from nearbayes.io.versions import OtherVersionWarning

__all__ = [
    "Description",
    "FileRefused",
    "NotSaveable",
    "OtherVersionWarning",
    "attachments",
    "describe",
]
