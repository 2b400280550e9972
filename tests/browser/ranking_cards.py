"""What tests of rankings read of a page with cards."""

from playwright.sync_api import Page

from tests.browser import ranking_page

ASPECTS = dict(ranking_page.ASPECTS)


SUBMIT = "button[type=submit]"


def ranks(page: Page) -> dict[str, str]:
    """The fields as they would be sent."""
    return page.evaluate(
        "Object.fromEntries([...new FormData(document.querySelector('form'))].filter(([n]) => n.startsWith('rank-')))"
    )


def order(page: Page, where: str = "[data-ranked]") -> list[str]:
    return page.locator(f"{where} select").evaluate_all(
        "all => all.map(one => one.name.replace('rank-', ''))"
    )
