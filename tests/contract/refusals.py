"""What must be refused is refused with its status, in a shape that the document describes."""

import pytest

from document import check, operations, statuses, takes_json
from given import (
    REQUESTS,
    Browser,
    accept_consent,
    accept_login,
    ask,
    bearer,
    client,
    credentials,
    key_set,
    parameter,
    registered,
    registration,
    trust,
    unique,
)

ISSUERS = "/admin/trust/grants/jwt-bearer/issuers"
SESSIONS = "/admin/oauth2/auth/sessions"

# There is nothing to refuse, or a redirect to the error page refuses it; an unready server has its own tests. A key that is
# not there is deleted already (Hydra).
NEVER_REFUSED = {
    "DELETE /admin/keys/{set}",
    "DELETE /admin/keys/{set}/{kid}",
    "GET /.well-known/jwks.json",
    "GET /.well-known/openid-configuration",
    "GET /health/alive",
    "GET /health/ready",
    "GET /oauth2/auth",
    "GET /oauth2/device/verify",
    "GET /oauth2/sessions/logout",
    "GET /version",
}

FORM = "application/x-www-form-urlencoded"
TOO_LARGE = '{"a":"' + "a" * (1024 * 1024) + '"}'


def nobody():
    """An id that nothing has."""
    return unique("nobody")


def nonsense():
    """A body that is not JSON."""
    return {"data": "{", "headers": {"content-type": "application/json"}}


def challenge(kind):
    """A challenge that this server did not make."""
    return {"params": {f"{kind}_challenge": nobody()}}


def used(kind):
    """A challenge of a flow that has become a code."""
    browser = Browser()
    login = browser.login_challenge()
    consent = parameter(browser.location(accept_login(login)), "consent_challenge")
    browser.location(accept_consent(consent))
    return {"params": {f"{kind}_challenge": {"login": login, "consent": consent}[kind]}}


def of_taken_kid():
    """A key under a kid that its set has already."""
    name, kid = key_set()
    return {"set": name, "json": {"alg": "ES256", "use": "sig", "kid": kid}}


def of_registered(**options):
    """A client that has registered itself, and a token that is not its own."""
    return {"id": registered()["client_id"], **bearer("nonsense"), **options}


# Per refusal: the operation, the status, what is wrong, and what is asked with.
REFUSALS = [
    ("GET /admin/clients", 400, "a page token of its own", lambda: {"params": {"page_token": "nonsense"}}),
    ("POST /admin/clients", 400, "a body that is not JSON", nonsense),
    ("POST /admin/clients", 400, "a member of the wrong type", lambda: {"json": {"redirect_uris": "no list"}}),
    ("POST /admin/clients", 400, "a redirect URI with a fragment", lambda: {"json": {"redirect_uris": ["https://a.example/#b"]}}),
    ("POST /admin/clients", 409, "an id that is taken", lambda: {"json": {"client_id": client()["client_id"]}}),
    ("GET /admin/clients/{id}", 404, "an unknown client", lambda: {"id": nobody()}),
    ("DELETE /admin/clients/{id}", 404, "an unknown client", lambda: {"id": nobody()}),
    ("PUT /admin/clients/{id}", 404, "an unknown client", lambda: {"id": nobody(), "json": {}}),
    ("PUT /admin/clients/{id}", 400, "a body that is not JSON", lambda: {"id": client()["client_id"], **nonsense()}),
    ("PATCH /admin/clients/{id}", 404, "an unknown client", lambda: {"id": nobody(), "json": []}),
    ("PATCH /admin/clients/{id}", 400, "a body that is no patch", lambda: {"id": client()["client_id"], "json": [{"op": "?"}]}),
    ("PUT /admin/clients/{id}/lifespans", 404, "an unknown client", lambda: {"id": nobody(), "json": {}}),
    ("POST /admin/clients/{id}/secrets/rotate", 404, "an unknown client", lambda: {"id": nobody()}),
    ("DELETE /admin/clients/{id}/secrets/rotate", 404, "an unknown client", lambda: {"id": nobody()}),
    ("POST /admin/keys/{set}", 400, "an unknown algorithm", lambda: {"set": unique("set"), "json": {"alg": "X", "use": "sig", "kid": "a"}}),
    ("POST /admin/keys/{set}", 409, "a kid that is taken", of_taken_kid),
    ("GET /admin/keys/{set}", 404, "an unknown set", lambda: {"set": nobody()}),
    ("PUT /admin/keys/{set}", 400, "a key without a kind", lambda: {"set": unique("set"), "json": {"keys": [{"kid": "a"}]}}),
    ("GET /admin/keys/{set}/{kid}", 404, "an unknown key", lambda: {"set": key_set()[0], "kid": nobody()}),
    ("PUT /admin/keys/{set}/{kid}", 400, "a body that is not JSON", lambda: {"set": unique("set"), "kid": "a", **nonsense()}),
    (f"GET {REQUESTS}/login", 400, "no challenge", dict),
    (f"GET {REQUESTS}/login", 404, "an unknown challenge", lambda: challenge("login")),
    (f"GET {REQUESTS}/login", 410, "a challenge that was used", lambda: used("login")),
    (f"PUT {REQUESTS}/login/accept", 404, "an unknown challenge", lambda: {**challenge("login"), "json": {"subject": "alice"}}),
    (f"PUT {REQUESTS}/login/accept", 400, "no subject", lambda: {"params": {"login_challenge": Browser().login_challenge()}, "json": {}}),
    (f"PUT {REQUESTS}/login/reject", 404, "an unknown challenge", lambda: {**challenge("login"), "json": {}}),
    (f"GET {REQUESTS}/consent", 400, "no challenge", dict),
    (f"GET {REQUESTS}/consent", 404, "an unknown challenge", lambda: challenge("consent")),
    (f"GET {REQUESTS}/consent", 410, "a challenge that was used", lambda: used("consent")),
    (f"PUT {REQUESTS}/consent/accept", 404, "an unknown challenge", lambda: {**challenge("consent"), "json": {}}),
    (f"PUT {REQUESTS}/consent/reject", 404, "an unknown challenge", lambda: {**challenge("consent"), "json": {}}),
    (f"GET {REQUESTS}/logout", 404, "an unknown challenge", lambda: challenge("logout")),
    (f"PUT {REQUESTS}/logout/accept", 404, "an unknown challenge", lambda: challenge("logout")),
    (f"PUT {REQUESTS}/logout/reject", 404, "an unknown challenge", lambda: challenge("logout")),
    (f"PUT {REQUESTS}/device/accept", 404, "an unknown challenge", lambda: {**challenge("device"), "json": {"user_code": "AAAAAAAA"}}),
    (f"GET {SESSIONS}/consent", 400, "no subject", dict),
    (f"DELETE {SESSIONS}/consent", 400, "no subject", dict),
    (f"DELETE {SESSIONS}/consent", 400, "neither a client nor all", lambda: {"params": {"subject": nobody()}}),
    (f"DELETE {SESSIONS}/consent", 400, "a client and all", lambda: {"params": {"subject": nobody(), "client": nobody(), "all": "true"}}),
    (f"DELETE {SESSIONS}/login", 400, "neither a subject nor a session", dict),
    ("POST /admin/oauth2/introspect", 400, "an empty form", lambda: {"data": "", "headers": {"content-type": FORM}}),
    ("DELETE /admin/oauth2/tokens", 400, "no client", dict),
    (f"GET {ISSUERS}/{{id}}", 404, "an unknown issuer", lambda: {"id": nobody()}),
    (f"DELETE {ISSUERS}/{{id}}", 404, "an unknown issuer", lambda: {"id": nobody()}),
    (f"GET {ISSUERS}", 400, "a page token of its own", lambda: {"params": {"page_token": "nonsense"}}),
    (f"POST {ISSUERS}", 400, "no subject and no leave for any", lambda: {"json": {**trust(), "subject": ""}}),
    (f"POST {ISSUERS}", 400, "a body that is not JSON", nonsense),
    ("POST /oauth2/device/auth", 401, "an unknown client", lambda: {"data": {"client_id": nobody()}}),
    ("POST /oauth2/register", 400, "a body that is not JSON", nonsense),
    ("POST /oauth2/register", 400, "a member for the administrator", lambda: {"json": {**registration(), "skip_consent": True}}),
    ("GET /oauth2/register/{id}", 401, "an unknown client", lambda: {"id": nobody(), **bearer("nonsense")}),
    ("GET /oauth2/register/{id}", 401, "a token of nobody", of_registered),
    ("DELETE /oauth2/register/{id}", 401, "a token of nobody", of_registered),
    ("PUT /oauth2/register/{id}", 401, "a token of nobody", lambda: of_registered(json=registration())),
    ("POST /oauth2/revoke", 400, "no client", lambda: {"data": {"token": "nonsense"}}),
    ("POST /oauth2/revoke", 401, "a wrong secret", lambda: {"data": {"token": "nonsense"}, "auth": (client()["client_id"], "wrong")}),
    ("POST /oauth2/token", 400, "no grant type", lambda: {"auth": credentials(client()), "data": {"code": "a"}}),
    ("POST /oauth2/token", 401, "a wrong secret", lambda: {"auth": (client()["client_id"], "wrong"), "data": {"grant_type": "client_credentials"}}),
    ("GET /userinfo", 401, "a token of nobody", lambda: bearer("nonsense")),
]

# The document has a 404 here, but who does not own a client must not learn whether there is one (RFC 7592 §2.1).
HIDDEN = {("PUT /oauth2/register/{id}", 404)}


@pytest.mark.parametrize(
    "operation, status, request_with", [pytest.param(o, s, r, id=f"{o} with {what}: {s}") for o, s, what, r in REFUSALS]
)
def test_a_request_is_refused_as_documented(operation, status, request_with):
    response = ask(operation, **request_with())

    assert response.status_code == status, response.text
    check(operation, response)


@pytest.mark.parametrize("operation", [operation for operation in operations() if "{" in operation])
def test_a_path_that_is_not_text_is_refused_as_documented(operation):
    response = ask(operation, id="%FF", set="%FF", kid="%FF")

    assert response.status_code in (400, 401, 404), response.text
    check(operation, response)


@pytest.mark.parametrize("operation", [operation for operation in operations() if takes_json(operation)])
def test_a_body_that_is_too_large_is_refused_as_documented(operation):
    name, kid = key_set()
    browser = Browser()
    login = browser.login_challenge()
    consent = parameter(browser.location(accept_login(login)), "consent_challenge")
    challenges = {"login_challenge": login, "consent_challenge": consent}
    response = ask(operation, id=client()["client_id"], set=name, kid=kid, data=TOO_LARGE, params=challenges)

    assert response.status_code == 413, response.text
    check(operation, response)


def test_every_operation_that_refuses_is_refused():
    assert set(operations()) - NEVER_REFUSED == {operation for operation, *_ in REFUSALS}


def test_every_refusal_that_the_document_has_a_status_for_is_provoked():
    documented = {(operation, status) for operation in operations() for status in statuses(operation) if 400 <= status < 500}
    provoked = {(operation, status) for operation, status, *_ in REFUSALS}
    assert not documented - provoked - HIDDEN
