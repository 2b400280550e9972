"""A study with a door for people of a platform."""

import pytest

from annotation.models import PlatformLink
from tests.annotation.entry.props import link_make
from tests.annotation.factories import study_make


@pytest.fixture
def link() -> PlatformLink:
    return link_make(study_make(pairs=4, overlap=1, consent="", guidelines=""))
