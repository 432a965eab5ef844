"""What an operation needs before it can succeed: clients, challenges, codes, tokens, and a browser without a screen."""

import datetime
import uuid
from urllib.parse import parse_qs, urljoin, urlsplit

import requests

from document import ADMIN, PUBLIC, server

CALLBACK = "http://127.0.0.1:9/callback"  # nothing listens here: a browser stops when it is sent there
AFTER_LOGOUT = "http://127.0.0.1:9/signed-out"
DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
REQUESTS = "/admin/oauth2/auth/requests"
SUBJECT = "alice"
PARAMETERS = ("id", "set", "kid")


def ask(operation, *, session=requests, **options):
    """The answer to one request. What stands in braces is taken from `options`; a redirect is not followed."""
    method, template = operation.split(" ")
    path = template.format(**{name: options.pop(name) for name in PARAMETERS if name in options})
    return session.request(method, server(template) + path, allow_redirects=False, timeout=10, **options)


def made(operation, **options):
    """What a request that must succeed has made."""
    response = ask(operation, **options)
    assert response.ok, f"{operation}, needed by another test, answered {response.status_code} {response.text}"
    return response.json() if response.content else None


def client(**metadata):
    """A client that may do everything these tests do."""
    grant_types = ["authorization_code", "refresh_token", "client_credentials", DEVICE_CODE]
    body = {
        "client_name": "contract",
        "grant_types": grant_types,
        "response_types": ["code"],
        "scope": "openid offline_access",
        "redirect_uris": [CALLBACK],
        "post_logout_redirect_uris": [AFTER_LOGOUT],
        "token_endpoint_auth_method": "client_secret_basic",
        **metadata,
    }
    return made("POST /admin/clients", json=body)


def credentials(of):
    """The client's credentials for HTTP Basic."""
    return of["client_id"], of["client_secret"]


def parameter(url, name):
    """One parameter of a URL."""
    return parse_qs(urlsplit(url).query)[name][0]


class Browser:
    """Keeps cookies, and goes only where it is told to."""

    def __init__(self, of=None):
        self.client = of or client()
        self.session = requests.Session()

    def location(self, url, **options):
        """Where `url` redirects to."""
        response = self.session.get(url, allow_redirects=False, timeout=10, **options)
        assert response.is_redirect, f"{urlsplit(url).path} answered {response.status_code} {response.text}"
        return urljoin(url, response.headers["location"])

    def login_challenge(self, **parameters):
        """The challenge of a new authorization request."""
        query = authorization_request(self.client, **parameters)
        return parameter(self.location(f"{PUBLIC}/oauth2/auth", params=query), "login_challenge")

    def consent_challenge(self, subject=SUBJECT):
        """The challenge that follows an accepted login."""
        return parameter(self.location(accept_login(self.login_challenge(), subject)), "consent_challenge")

    def code(self, subject=SUBJECT):
        """A code for the client."""
        return parameter(self.location(accept_consent(self.consent_challenge(subject))), "code")

    def tokens(self):
        """What the code is exchanged for."""
        form = {"grant_type": "authorization_code", "code": self.code(), "redirect_uri": CALLBACK}
        return made("POST /oauth2/token", data=form, auth=credentials(self.client))

    def logout_challenge(self):
        """The challenge of a logout that the client asks for, of a user who is logged in."""
        query = {"id_token_hint": self.tokens()["id_token"], "post_logout_redirect_uri": AFTER_LOGOUT}
        return parameter(self.location(f"{PUBLIC}/oauth2/sessions/logout", params=query), "logout_challenge")

    def device_challenge(self, device):
        """The challenge of a device's user who was sent to the verification page."""
        url = f"{PUBLIC}/oauth2/device/verify"
        return parameter(self.location(url, params={"user_code": device["user_code"]}), "device_challenge")


def authorization_request(of, **parameters):
    """The query of an authorization request."""
    return {
        "client_id": of["client_id"],
        "response_type": "code",
        "scope": "openid offline_access",
        "redirect_uri": CALLBACK,
        "state": "a-state-of-some-length",
        **parameters,
    }


def accept_login(challenge, subject=SUBJECT):
    """Where the browser goes on after the login."""
    body = {"subject": subject, "remember": True}
    return made(f"PUT {REQUESTS}/login/accept", params={"login_challenge": challenge}, json=body)["redirect_to"]


def accept_consent(challenge):
    """Where the browser goes on after the consent."""
    body = {"grant_scope": ["openid", "offline_access"], "remember": True}
    return made(f"PUT {REQUESTS}/consent/accept", params={"consent_challenge": challenge}, json=body)["redirect_to"]


def device(of=None):
    """The codes of a device that asks for a user."""
    of = of or client()
    form = {"client_id": of["client_id"], "scope": "openid"}
    return made("POST /oauth2/device/auth", data=form, auth=credentials(of))


def registered():
    """A client that has registered itself."""
    return made("POST /oauth2/register", json=registration())


def registration():
    """What a client registers itself with."""
    return {"client_name": "contract", "grant_types": ["authorization_code"], "redirect_uris": [CALLBACK]}


def bearer(token):
    """The header that presents a token."""
    return {"headers": {"authorization": f"Bearer {token}"}}


def key_set():
    """The name and the one key id of a new key set."""
    name, kid = unique("set"), unique("kid")
    made("POST /admin/keys/{set}", set=name, json={"alg": "ES256", "use": "sig", "kid": kid})
    return name, kid


def public_jwk(kid):
    """A key of somebody else (RFC 7515, appendix A.3)."""
    return {
        "kty": "EC",
        "crv": "P-256",
        "alg": "ES256",
        "use": "sig",
        "kid": kid,
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }


def trust():
    """What makes another issuer trusted."""
    tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    return {
        "issuer": f"https://{uuid.uuid4()}.example.com",
        "subject": "mike@example.com",
        "scope": ["openid"],
        "expires_at": tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "jwk": public_jwk(unique("kid")),
    }


def trusted():
    """An issuer that is trusted."""
    return made("POST /admin/trust/grants/jwt-bearer/issuers", json=trust())


def unique(name):
    """A name that nothing else has."""
    return f"{name}-{uuid.uuid4()}"
