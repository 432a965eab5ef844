"""Every operation of the document succeeds once, as the document says."""

import pytest

from document import check, operations, statuses
from given import (
    REQUESTS,
    SUBJECT,
    Browser,
    ask,
    authorization_request,
    bearer,
    client,
    credentials,
    device,
    key_set,
    public_jwk,
    registered,
    registration,
    trust,
    trusted,
    unique,
)

ISSUERS = "/admin/trust/grants/jwt-bearer/issuers"
CONSENTS = "/admin/oauth2/auth/sessions/consent"

# Per operation: a request that must succeed, and the members that its answer must have where the schema requires none.
REQUESTS_THAT_SUCCEED = {}


def succeeds(operation, *members):
    """Marks the function that makes the request for `operation`."""

    def register(function):
        REQUESTS_THAT_SUCCEED[operation] = (lambda: function(operation), members)
        return function

    return register


@pytest.mark.parametrize("operation", operations())
def test_an_operation_succeeds_as_documented(operation):
    assert operation in REQUESTS_THAT_SUCCEED, f"walk.py makes no request for {operation}"
    request, members = REQUESTS_THAT_SUCCEED[operation]

    response = request()

    documented = [status for status in statuses(operation) if status < 400]
    assert response.status_code in documented, f"{response.status_code} {response.text} is not one of {documented}"
    check(operation, response)
    answer = response.json() if members else {}
    answer = answer[0] if isinstance(answer, list) else answer
    assert not set(members) - set(answer), f"{response.text} lacks {set(members) - set(answer)}"


def test_no_request_is_for_an_operation_that_the_document_does_not_have():
    assert not set(REQUESTS_THAT_SUCCEED) - set(operations())


# Well-known documents and health.


@succeeds("GET /.well-known/jwks.json", "keys")
@succeeds("GET /.well-known/openid-configuration")
@succeeds("GET /health/alive", "status")
@succeeds("GET /health/ready", "status")
@succeeds("GET /version", "version")
def _plain(operation):
    return ask(operation)


# Clients.


@succeeds("GET /admin/clients", "client_id", "created_at")
def _clients(operation):
    client()
    return ask(operation, params={"page_size": 10})


@succeeds("POST /admin/clients", "client_id", "client_secret", "created_at", "updated_at", "scope", "metadata")
def _create_client(operation):
    return ask(operation, json={"client_name": "contract", "metadata": {"a": [1]}, "contacts": ["a@example.com"]})


@succeeds("GET /admin/clients/{id}", "client_id", "redirect_uris", "jwks")
def _client(operation):
    return ask(operation, id=client(jwks={"keys": [public_jwk("own")]})["client_id"])


@succeeds("PUT /admin/clients/{id}", "client_id")
def _replace_client(operation):
    return ask(operation, id=client()["client_id"], json={"client_name": "other"})


@succeeds("PATCH /admin/clients/{id}", "client_id")
def _patch_client(operation):
    patch = [{"op": "replace", "path": "/client_name", "value": "other"}]
    return ask(operation, id=client()["client_id"], json=patch)


@succeeds("PUT /admin/clients/{id}/lifespans", "client_credentials_grant_access_token_lifespan")
def _lifespans(operation):
    lifespans = {"client_credentials_grant_access_token_lifespan": "1h30m0s", "implicit_grant_id_token_lifespan": None}
    return ask(operation, id=client()["client_id"], json=lifespans)


@succeeds("POST /admin/clients/{id}/secrets/rotate", "client_secret")
@succeeds("DELETE /admin/clients/{id}/secrets/rotate", "client_id")
@succeeds("DELETE /admin/clients/{id}")
def _one_client(operation):
    return ask(operation, id=client()["client_id"])


# Keys.


@succeeds("POST /admin/keys/{set}", "keys")
def _create_keys(operation):
    return ask(operation, set=unique("set"), json={"alg": "RS256", "use": "sig", "kid": unique("kid")})


@succeeds("GET /admin/keys/{set}", "keys")
@succeeds("DELETE /admin/keys/{set}")
def _key_set(operation):
    return ask(operation, set=key_set()[0])


@succeeds("PUT /admin/keys/{set}", "keys")
def _replace_keys(operation):
    return ask(operation, set=key_set()[0], json={"keys": [public_jwk("another")]})


@succeeds("GET /admin/keys/{set}/{kid}", "keys")
@succeeds("DELETE /admin/keys/{set}/{kid}")
def _key(operation):
    name, kid = key_set()
    return ask(operation, set=name, kid=kid)


@succeeds("PUT /admin/keys/{set}/{kid}", "x")
def _replace_key(operation):
    name, kid = key_set()
    return ask(operation, set=name, kid=kid, json=public_jwk(kid))


# Login, consent and logout.


@succeeds(f"GET {REQUESTS}/login", "oidc_context", "requested_scope", "session_id")
def _login(operation):
    return ask(operation, params={"login_challenge": Browser().login_challenge(login_hint="alice", display="page")})


@succeeds(f"PUT {REQUESTS}/login/accept")
def _accept_login(operation):
    body = {"subject": SUBJECT, "remember": True, "remember_for": 60, "amr": ["pwd"], "acr": "1", "context": {"a": 1}}
    return ask(operation, params={"login_challenge": Browser().login_challenge()}, json=body)


@succeeds(f"PUT {REQUESTS}/login/reject")
def _reject_login(operation):
    return ask(operation, params={"login_challenge": Browser().login_challenge()}, json={"error": "access_denied"})


@succeeds(f"GET {REQUESTS}/consent", "client", "subject", "login_challenge", "login_session_id", "consent_request_id")
def _consent(operation):
    return ask(operation, params={"consent_challenge": Browser().consent_challenge()})


@succeeds(f"PUT {REQUESTS}/consent/accept")
def _accept_consent(operation):
    session = {"access_token": {"a": 1}, "id_token": {"b": [2]}}
    body = {"grant_scope": ["openid"], "remember": True, "remember_for": 0, "session": session, "context": {}}
    return ask(operation, params={"consent_challenge": Browser().consent_challenge()}, json=body)


@succeeds(f"PUT {REQUESTS}/consent/reject")
def _reject_consent(operation):
    return ask(operation, params={"consent_challenge": Browser().consent_challenge()}, json={"error": "access_denied"})


@succeeds(f"GET {REQUESTS}/logout", "subject", "sid", "request_url", "rp_initiated", "client")
@succeeds(f"PUT {REQUESTS}/logout/accept")
@succeeds(f"PUT {REQUESTS}/logout/reject")
def _logout(operation):
    return ask(operation, params={"logout_challenge": Browser().logout_challenge()})


@succeeds("GET /oauth2/sessions/logout")
def _end_session(operation):
    browser = Browser()
    return ask(operation, session=browser.session, params={"id_token_hint": browser.tokens()["id_token"]})


# Sessions.


@succeeds(f"GET {CONSENTS}", "consent_request", "grant_scope", "handled_at", "remember", "session")
def _consents(operation):
    subject = unique("subject")
    Browser().code(subject)
    return ask(operation, params={"subject": subject})


@succeeds(f"DELETE {CONSENTS}")
def _revoke_consents(operation):
    return ask(operation, params={"subject": SUBJECT, "client": client()["client_id"]})


@succeeds("DELETE /admin/oauth2/auth/sessions/login")
def _end_logins(operation):
    return ask(operation, params={"subject": unique("subject")})


# Authorization, tokens and user information.


@succeeds("GET /oauth2/auth")
def _authorize(operation):
    return ask(operation, params=authorization_request(client()))


@succeeds("POST /oauth2/token", "access_token", "token_type", "expires_in", "refresh_token", "id_token", "scope")
def _token(operation):
    browser = Browser()
    form = {"grant_type": "refresh_token", "refresh_token": browser.tokens()["refresh_token"]}
    return ask(operation, data=form, auth=credentials(browser.client))


@succeeds("POST /oauth2/revoke")
def _revoke(operation):
    browser = Browser()
    form = {"token": browser.tokens()["access_token"]}
    return ask(operation, data=form, auth=credentials(browser.client))


@succeeds("POST /admin/oauth2/introspect", "client_id", "sub", "exp", "iat", "iss", "scope", "token_type", "token_use")
def _introspect(operation):
    return ask(operation, data={"token": Browser().tokens()["access_token"]})


@succeeds("DELETE /admin/oauth2/tokens")
def _delete_tokens(operation):
    return ask(operation, params={"client_id": client()["client_id"]})


@succeeds("GET /userinfo", "sub")
def _userinfo(operation):
    return ask(operation, **bearer(Browser().tokens()["access_token"]))


# Devices.


@succeeds("POST /oauth2/device/auth", "device_code", "user_code", "verification_uri", "verification_uri_complete", "expires_in")
def _device(operation):
    of = client()
    return ask(operation, data={"client_id": of["client_id"], "scope": "openid"}, auth=credentials(of))


@succeeds("GET /oauth2/device/verify")
def _verify(operation):
    return ask(operation, params={"user_code": device()["user_code"]})


@succeeds(f"PUT {REQUESTS}/device/accept")
def _accept_device(operation):
    browser = Browser()
    codes = device(browser.client)
    challenge = browser.device_challenge(codes)
    return ask(operation, params={"device_challenge": challenge}, json={"user_code": codes["user_code"]})


# Clients that register themselves.


@succeeds("POST /oauth2/register", "client_id", "client_secret", "registration_access_token", "registration_client_uri")
def _register(operation):
    return ask(operation, json=registration())


@succeeds("GET /oauth2/register/{id}", "client_id")
@succeeds("DELETE /oauth2/register/{id}")
def _registered(operation):
    made = registered()
    return ask(operation, id=made["client_id"], **bearer(made["registration_access_token"]))


@succeeds("PUT /oauth2/register/{id}", "client_id", "registration_access_token")
def _register_again(operation):
    made = registered()
    body = {**registration(), "client_name": "other"}
    return ask(operation, id=made["client_id"], json=body, **bearer(made["registration_access_token"]))


# Trusted issuers.


@succeeds(f"POST {ISSUERS}", "id", "issuer", "subject", "scope", "public_key", "created_at", "expires_at")
def _trust(operation):
    return ask(operation, json=trust())


@succeeds(f"GET {ISSUERS}", "id", "issuer", "public_key")
def _issuers(operation):
    return ask(operation, params={"issuer": trusted()["issuer"], "page_size": 10})


@succeeds(f"GET {ISSUERS}/{{id}}", "id", "issuer", "public_key")
@succeeds(f"DELETE {ISSUERS}/{{id}}")
def _issuer(operation):
    return ask(operation, id=trusted()["id"])
