"""Safe files: a fitted model in one zip file; loading it never runs code from the file."""

from nearbayes.files.arrays import NotSaveable
from nearbayes.files.describe import Description, attachments, describe
from nearbayes.files.refusal import FileRefused
from nearbayes.files.versions import OtherVersionWarning

__all__ = [
    "Description",
    "FileRefused",
    "NotSaveable",
    "OtherVersionWarning",
    "attachments",
    "describe",
]
