"""The page in a real browser, opened from a file with the network off."""

import json
import shutil

import numpy as np
import pytest

import epluribus as epl
from epluribus.page import report
from terminal import PATIENCE

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--disable-dev-shm-usage",
    "--window-size=1200,1000",
)  # fmt: skip

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium"),
    pytest.mark.skipif(DRIVER is None, reason="no chromedriver"),
    # the client of the driver leaves sockets to the garbage collector
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    center = rng.integers(0, 4, 300)
    z = np.tile(center, (2, 50, 1))
    moved = rng.random(z.shape) < 0.1 * rng.random(300)
    z[moved] = rng.integers(0, 5, moved.sum())
    names = ["<b>bold</b>", *(f"item {i}" for i in range(1, 300))]
    draws = epl.Draws(z, items=names)
    path = tmp_path_factory.mktemp("report") / "report.html"
    data = center[:, None] + rng.normal(size=(300, 2))
    return report(epl.minimize(draws, rng=1), draws, path, rng=1, data=data)


@pytest.fixture
def opened(browser, page):
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    browser.get("about:blank")
    browser.get_log("performance")  # what the browser asked for itself, before the page
    browser.get(page.as_uri())
    return browser


def _texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)"
    return browser.execute_script(script, selector)


def _emulate(browser, width, scheme="light"):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def test_no_errors_and_no_requests(opened):
    assert opened.get_log("browser") == []
    entries = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    sent = [entry["params"]["request"]["url"] for entry in entries
            if entry["method"] == "Network.requestWillBeSent"]  # fmt: skip
    assert sent
    assert all(url.startswith(("file:", "data:")) for url in sent), sent
    assert "Optimal partition" in opened.title


def test_table_is_searched_and_sorted(opened):
    from selenium.webdriver.common.by import By

    assert len(_texts(opened, "#item-table tbody tr")) == 100
    opened.execute_script("document.getElementById('more').click()")
    assert len(_texts(opened, "#item-table tbody tr")) == 300
    support = [float(text) for text in _texts(opened, "#item-table tbody td:nth-child(3)")]
    assert support == sorted(support)
    opened.find_element(By.CSS_SELECTOR, "th[data-key=support] button").click()
    support = [float(text) for text in _texts(opened, "#item-table tbody td:nth-child(3)")]
    assert support == sorted(support, reverse=True)
    opened.find_element(By.CSS_SELECTOR, "th[data-key=name] button").click()
    assert _texts(opened, "#item-table tbody th")[1:4] == ["item 1", "item 2", "item 3"]
    search = opened.find_element(By.ID, "search")
    search.send_keys("<B>")
    assert _texts(opened, "#item-table tbody th") == ["<b>bold</b>"]
    assert _texts(opened, "#found") == ["1 of 300 items"]
    search.clear()
    search.send_keys("cluster:2")
    assert set(_texts(opened, "#item-table tbody td:nth-child(2)")) == {"2"}


def test_clusters_are_sorted(opened):
    from selenium.webdriver.common.by import By

    column = "table.sortable tbody td:nth-child(2)"
    sizes = sorted(map(int, _texts(opened, column)))
    for wanted in (sizes, sizes[::-1]):
        opened.find_elements(By.CSS_SELECTOR, "table.sortable thead button")[1].click()
        assert list(map(int, _texts(opened, column))) == wanted


def test_pictures_labels_and_the_paragraph_are_taken_away(opened):
    """What the links hand over, caught before the browser asks where to put it."""
    from selenium.webdriver.support.ui import WebDriverWait

    opened.execute_script(
        "window.saved = {}; HTMLAnchorElement.prototype.click = function () {"
        " const name = this.download; window.saved[name] = null;"
        " fetch(this.href).then((r) => r.text()).then((t) => { window.saved[name] = t; }); };"
        "for (const id of ['csv']) document.getElementById(id).dispatchEvent("
        "new MouseEvent('click', {cancelable: true}));"
    )
    saved = WebDriverWait(opened, PATIENCE).until(
        lambda browser: browser.execute_script(
            "const texts = Object.values(window.saved);"
            "return texts.length === 1 && texts.every((text) => text !== null) && window.saved"
        )
    )
    opened.find_element("css selector", "button[data-copy]").click()
    WebDriverWait(opened, PATIENCE).until(lambda browser: _texts(browser, "#copied") != [""])
    assert _texts(opened, "#copied")[0] in ("Copied.", "Selected: press Ctrl+C.")
    # Figures are links to what the images hold.
    links = opened.execute_script(
        "return [...document.querySelectorAll('.picture .save')].map((a) => [a.download, a.href, a.hidden])"
    )
    names = ["data.svg", "similarity.svg", "trace.svg", "clusters.svg"]
    assert [link[0] for link in links] == names
    assert all(href.startswith("data:image/svg+xml") and not hidden for _, href, hidden in links)
    lines = saved["labels.csv"].splitlines()
    assert lines[0] == "item,cluster,certainty"
    assert len(lines) == 301
    assert lines[1].startswith("<b>bold</b>,0,")
    assert lines[300].startswith("item 299,")


def test_pictures_use_the_width(opened):
    width = "return document.querySelector(arguments[0]).getBoundingClientRect().width"
    page = opened.execute_script(width, "main")
    assert opened.execute_script(width, "#matrix img") > 0.65 * page
    assert opened.execute_script(width, "#bars img") > 0.65 * page
    _emulate(opened, 400)
    try:
        page = opened.execute_script(width, "main")
        assert opened.execute_script(width, "#matrix img") > 0.95 * page
        assert opened.execute_script(width, "#bars img") > 0.95 * page
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_members_are_folded(opened):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    folds = _texts(opened, "#member-list summary")
    sizes = [int(text.split(": ")[1].split()[0]) for text in folds]
    assert sum(sizes) == 300
    assert sizes == sorted(sizes, reverse=True)
    assert _texts(opened, "#member-list p") == []  # 300 items are many: closed, and not yet written
    opened.find_element(By.CSS_SELECTOR, "#member-list summary").click()
    # Folds report that they were opened a little later.
    WebDriverWait(opened, PATIENCE).until(lambda browser: _texts(browser, "#member-list p"))
    (names,) = _texts(opened, "#member-list p")
    assert len(names.split(", ")) == sizes[0]
    assert len(_texts(opened, "#member-list p strong")) == 1  # its exemplar


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_wide_and_narrow_light_and_dark(opened, width, scheme):
    _emulate(opened, width, scheme)
    try:
        assert opened.execute_script("return document.documentElement.scrollWidth") <= width
        paper = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(18, 22, 29)")
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_cut_table_says_so_and_a_brief_page_works(browser, tmp_path, page_has):
    """Items left out of the table are hinted at; no picture is no error of the script."""
    from selenium.webdriver.common.by import By

    page_has("items", "similarity")
    draws = epl.Draws(np.random.default_rng(0).integers(0, 3, (10, 2500)))
    best = epl.minimize(draws, rng=1)
    browser.get_log("browser")
    browser.get(report(best, draws, tmp_path / "page.html", rng=1).as_uri())
    assert _texts(browser, "#found") == ["2,000 of 2,000 items"]
    browser.find_element(By.ID, "search").send_keys("nobody")
    (text,) = _texts(browser, "#found")
    assert text == "0 of 2,000 items: only the least certain 2,000 of 2,500 items are listed"
    browser.get(report(best, draws, tmp_path / "brief.html", brief=True).as_uri())
    assert _texts(browser, "#item-table tbody td:nth-child(3)")[0] == "–"  # noqa: RUF001
    assert _texts(browser, "#csv") == ["labels as csv"]
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
