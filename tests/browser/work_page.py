"""The page on which an annotator works."""

import re

from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import (
    Enrollment,
    Study,
)
from tests.annotation.factories import enrollment_make

LONG = """A cube has **six** equal faces, each with an area equal to the square of the side.

```python
def surface(side: float) -> float:
    return 6 * side ** 2  # six faces, each with the same area, whatever the unit of length happens to be
```

| step | value |
|---|---|
| square | 16 |
| times six | 96 |

So the surface area is $6 \\times 4^2 = 96$ square units."""


def open_work(page: Page, live_server, study: Study) -> Enrollment:
    """Open the first item as somebody new: the page asks for it by itself and puts it in its own place."""
    person = enrollment_make(study=study)
    page.goto(f"{live_server.url}{reverse('annotation:resume', args=[person.resume_token])}")
    expect(page).to_have_url(re.compile(r"/work/\d+/$"))
    expect(page.locator("form[data-annotate]")).to_be_visible()
    return person


def radio(page: Page, choice: str):
    return page.locator(f"input[data-choice={choice}]")
