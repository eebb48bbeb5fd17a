"""A page read without a browser, and draws to make pages from."""

import json
from html.parser import HTMLParser

import numpy as np

VOID = {"meta", "link", "input", "br", "img", "hr"}


def noisy(n_items, n_draws, n_clusters, rng, n_chains=2):
    """Draws around one partition, with chains."""
    center = rng.integers(0, n_clusters, n_items)
    z = np.tile(center, (n_chains, n_draws, 1))
    moved = rng.random(z.shape) < 0.1
    z[moved] = rng.integers(0, n_clusters + 1, moved.sum())
    return z


class Page(HTMLParser):
    """Checks that tags are closed in order; collects what the tests ask for."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.ids, self.tags, self.text = [], [], [], [], []
        self.data = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        self.links += [(tag, attributes[name]) for name in ("src", "href") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"] and self.tags[-1][1].get("id") == "data":
            self.data = json.loads(data)
        elif self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())
