"""Pages of a Chromium and a server of this machine alone, in which the page's modules run as they do for a user."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.browser import Site, Watched

expect.set_options(timeout=60_000)  # nothing takes a second, but other programs may use the cores


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Serves mirada/web, the tests' own modules under /tests/, and what a test gives it under /given/."""
    with Site() as site:
        yield site


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """An empty page of the server's. An error on the console, or a request to another machine, fails the test."""
    with Watched(browser, site) as page:
        yield page


@pytest.fixture(scope="module")
def lasting(browser: Browser, site: Site) -> Iterator[Page]:
    """A page for all tests of a module, for a model that takes time to load."""
    with Watched(browser, site) as page:
        yield page
