"""A browser without a screen and a login and consent app without pages, and the admin API they use."""

import os
from urllib.parse import parse_qs, urljoin, urlsplit

import requests

ISSUER = os.environ["SLUICE_ISSUER"]
ADMIN = os.environ["SLUICE_ADMIN_URL"]
CALLBACK = "http://127.0.0.1:9/callback"  # nothing listens here: the agent stops when it is sent there
AFTER_LOGOUT = "http://127.0.0.1:9/signed-out"
MOST_HOPS = 12


class Agent:
    """Follows redirects and answers challenges: `login` and `consent` are added to what is accepted."""

    def __init__(self, subject="alice", login=None, consent=None, refuses=None):
        self.session = requests.Session()
        self.login = {"subject": subject, **(login or {})}
        self.consent = consent or {}
        self.refuses = refuses

    def walk(self, url):
        """The callback, with its parameters, that the walk from `url` ends at."""
        for _ in range(MOST_HOPS):
            location = self.location(url)
            if location.startswith((CALLBACK, AFTER_LOGOUT)):
                return location
            url = self._answer(location)
        raise AssertionError(f"still redirected after {MOST_HOPS} hops")

    def location(self, url):
        """Where one request to `url` is redirected."""
        response = self.session.get(url, allow_redirects=False, timeout=10)
        assert response.is_redirect, f"{response.status_code} is not a redirect: {response.text}"
        return urljoin(url, response.headers["location"])

    def _answer(self, location):
        for kind in ("login", "consent", "logout"):
            challenge = parameter(location, f"{kind}_challenge")
            if challenge:
                return self._decide(kind, challenge)
        return location

    def _decide(self, kind, challenge):
        at = f"/admin/oauth2/auth/requests/{kind}"
        query = {f"{kind}_challenge": challenge}
        if self.refuses == kind:
            body = {"error": "access_denied", "error_description": "The user said no"}
            return admin("PUT", f"{at}/reject", params=query, json=body)["redirect_to"]
        body = {}
        if kind == "login":
            body = self.login
        elif kind == "consent":
            asked = admin("GET", at, params=query)
            body = {"grant_scope": asked["requested_scope"], **self.consent}
        return admin("PUT", f"{at}/accept", params=query, json=body)["redirect_to"]


def admin(method, path, **options):
    """One call of the admin API; anything but 2xx is a failure."""
    response = requests.request(method, ADMIN + path, timeout=10, **options)
    assert response.ok, f"{method} {path} answered {response.status_code}: {response.text}"
    return response.json() if response.content else None


def create_client(**metadata):
    """Registers a client that may do everything these tests do."""
    return admin(
        "POST",
        "/admin/clients",
        json={
            "client_name": "interop",
            "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
            "response_types": ["code"],
            "scope": "openid offline_access",
            "redirect_uris": [CALLBACK],
            "post_logout_redirect_uris": [AFTER_LOGOUT],
            **metadata,
        },
    )


def introspect(token):
    return admin("POST", "/admin/oauth2/introspect", data={"token": token})


def parameter(url, name):
    """One parameter of a URL, or None."""
    values = parse_qs(urlsplit(url).query).get(name)
    return values[0] if values else None
