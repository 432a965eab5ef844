"""Hydra's own client, PyPI ory-hydra-client, on the admin API."""

import uuid

import ory_hydra_client as hydra
import pytest
import requests
from ory_hydra_client.exceptions import ApiException, NotFoundException

from agent import ADMIN, AFTER_LOGOUT, CALLBACK, ISSUER, Agent, admin, introspect, parameter

ADMIN_CLIENT = hydra.ApiClient(hydra.Configuration(host=ADMIN))
PUBLIC_CLIENT = hydra.ApiClient(hydra.Configuration(host=ISSUER.rstrip("/")))
oauth = hydra.OAuth2Api(ADMIN_CLIENT)
keys = hydra.JwkApi(ADMIN_CLIENT)


def create(**metadata):
    return oauth.create_o_auth2_client(
        hydra.OAuth2Client(
            **{
                "client_name": "ory-hydra-client",
                "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
                "response_types": ["code"],
                "scope": "openid offline_access",
                "redirect_uris": [CALLBACK],
                "post_logout_redirect_uris": [AFTER_LOGOUT],
                "token_endpoint_auth_method": "client_secret_post",
                **metadata,
            }
        )
    )


def exchange(client, **parameters):
    credentials = {"client_id": client.client_id, "client_secret": client.client_secret}
    return requests.post(ISSUER + "oauth2/token", data={**credentials, **parameters}, timeout=10)


def works(client, secret):
    answer = exchange(client, grant_type="client_credentials", client_secret=secret)
    assert answer.status_code in (200, 401), answer.text
    return answer.status_code == 200


def authorization_url(client, **parameters):
    query = {
        "client_id": client.client_id,
        "response_type": "code",
        "scope": "openid offline_access",
        "redirect_uri": CALLBACK,
        "state": "a-state-of-enough-length",
        **parameters,
    }
    return requests.Request("GET", ISSUER + "oauth2/auth", params=query).prepare().url


def login(client, user):
    """A whole login; the answer of the token endpoint."""
    code = parameter(user.walk(authorization_url(client)), "code")
    answer = exchange(client, grant_type="authorization_code", code=code, redirect_uri=CALLBACK)
    assert answer.status_code == 200, answer.text
    return answer.json()


def challenge(user, url, kind):
    found = parameter(user.location(url), f"{kind}_challenge")
    assert found
    return found


def test_a_client_is_created_and_read():
    client = create(metadata={"tier": "gold"}, contacts=["ops@example.com"], owner="team-a")
    assert client.client_secret
    read = oauth.get_o_auth2_client(client.client_id)
    assert read.client_secret is None
    assert read.redirect_uris == [CALLBACK]
    assert (read.metadata, read.contacts, read.owner) == ({"tier": "gold"}, ["ops@example.com"], "team-a")
    assert read.created_at and read.updated_at


def test_a_client_that_is_not_there_is_not_found():
    with pytest.raises(NotFoundException):
        oauth.get_o_auth2_client("nobody")


def test_clients_are_listed_page_by_page():
    owner = str(uuid.uuid4())
    made = {create(owner=owner).client_id for _ in range(3)}
    first = oauth.list_o_auth2_clients_with_http_info(owner=owner, page_size=2)
    assert len(first.data) == 2
    link = requests.utils.parse_header_links(first.headers["Link"])
    following = next(each["url"] for each in link if each["rel"] == "next")
    rest = oauth.list_o_auth2_clients(owner=owner, page_size=2, page_token=parameter(following, "page_token"))
    assert {client.client_id for client in first.data + rest} == made


def test_a_client_is_patched_replaced_and_deleted():
    client = create()
    patch = [hydra.JsonPatch(op="replace", path="/client_name", value="patched")]
    assert oauth.patch_o_auth2_client(client.client_id, patch).client_name == "patched"
    replacement = oauth.get_o_auth2_client(client.client_id)
    replacement.scope = "openid"
    replacement.client_secret = "the second secret"
    assert oauth.set_o_auth2_client(client.client_id, replacement).scope == "openid"
    assert (works(client, client.client_secret), works(client, "the second secret")) == (False, True)
    oauth.delete_o_auth2_client(client.client_id)
    with pytest.raises(NotFoundException):
        oauth.get_o_auth2_client(client.client_id)


def test_lifespans_are_set_and_obeyed():
    client = create()
    lifespans = hydra.OAuth2ClientTokenLifespans(client_credentials_grant_access_token_lifespan="2m0s")
    changed = oauth.set_o_auth2_client_lifespans(client.client_id, lifespans)
    assert changed.client_credentials_grant_access_token_lifespan == "2m0s"
    token = exchange(client, grant_type="client_credentials").json()
    assert 115 < token["expires_in"] <= 120


def test_a_secret_is_rotated():
    client = create()
    rotated = admin("POST", f"/admin/clients/{client.client_id}/secrets/rotate")["client_secret"]
    assert (works(client, client.client_secret), works(client, rotated)) == (True, True)
    admin("DELETE", f"/admin/clients/{client.client_id}/secrets/rotate")
    assert (works(client, client.client_secret), works(client, rotated)) == (False, True)


def test_login_and_consent_requests_are_read_and_accepted():
    client, user = create(), Agent()
    login_challenge = challenge(user, authorization_url(client, login_hint="alice@example.com"), "login")
    asked = oauth.get_o_auth2_login_request(login_challenge)
    assert (asked.challenge, asked.skip, asked.subject) == (login_challenge, False, "")
    assert asked.client.client_id == client.client_id
    assert asked.requested_scope == ["openid", "offline_access"]
    assert asked.oidc_context.login_hint == "alice@example.com"
    accept = hydra.AcceptOAuth2LoginRequest(subject="alice", remember=True, remember_for=60, acr="1", amr=["pwd"])
    redirect = oauth.accept_o_auth2_login_request(login_challenge, accept)

    consent_challenge = challenge(user, redirect.redirect_to, "consent")
    asked = oauth.get_o_auth2_consent_request(consent_challenge)
    assert (asked.subject, asked.skip, asked.acr, asked.amr) == ("alice", False, "1", ["pwd"])
    accept = hydra.AcceptOAuth2ConsentRequest(
        grant_scope=["openid"], session=hydra.AcceptOAuth2ConsentRequestSession(access_token={"tenant": "north"})
    )
    callback = user.location(oauth.accept_o_auth2_consent_request(consent_challenge, accept).redirect_to)
    assert parameter(callback, "scope") == "openid"
    code = parameter(callback, "code")
    token = exchange(client, grant_type="authorization_code", code=code, redirect_uri=CALLBACK).json()
    facts = oauth.introspect_o_auth2_token(token["access_token"])
    assert (facts.active, facts.sub, facts.scope, facts.ext) == (True, "alice", "openid", {"tenant": "north"})
    assert facts.token_use == "access_token"


@pytest.mark.parametrize("kind", ["login", "consent"])
def test_a_request_is_rejected(kind):
    user = Agent()
    found = challenge(user, authorization_url(create()), "login")
    refusal = hydra.RejectOAuth2Request(error="access_denied", error_description="Not today")
    if kind == "login":
        redirect = oauth.reject_o_auth2_login_request(found, refusal)
    else:
        accept = hydra.AcceptOAuth2LoginRequest(subject="alice")
        found = challenge(user, oauth.accept_o_auth2_login_request(found, accept).redirect_to, "consent")
        redirect = oauth.reject_o_auth2_consent_request(found, refusal)
    assert parameter(user.location(redirect.redirect_to), "error") == "access_denied"


def test_a_logout_request_is_read_and_accepted():
    client, user = create(), Agent(login={"remember": True})
    token = login(client, user)
    query = {"id_token_hint": token["id_token"], "post_logout_redirect_uri": AFTER_LOGOUT}
    url = requests.Request("GET", ISSUER + "oauth2/sessions/logout", params=query).prepare().url
    logout_challenge = challenge(user, url, "logout")
    assert oauth.get_o_auth2_logout_request(logout_challenge).subject == "alice"
    redirect = oauth.accept_o_auth2_logout_request(logout_challenge).redirect_to
    assert user.walk(redirect).startswith(AFTER_LOGOUT)


def test_a_made_up_challenge_is_refused():
    with pytest.raises(ApiException) as refusal:
        oauth.get_o_auth2_login_request("made-up")
    assert refusal.value.status in (400, 401, 404, 410)


def test_consent_sessions_are_listed_and_revoked():
    subject = str(uuid.uuid4())
    client, user = create(), Agent(subject, consent={"remember": True})
    token = login(client, user)
    (session,) = oauth.list_o_auth2_consent_sessions(subject)
    assert session.consent_request.client.client_id == client.client_id
    assert session.grant_scope == ["openid", "offline_access"]
    oauth.revoke_o_auth2_consent_sessions(subject=subject, client=client.client_id)
    assert introspect(token["access_token"]) == {"active": False}
    assert oauth.list_o_auth2_consent_sessions(subject) == []


def test_login_sessions_are_revoked():
    subject = str(uuid.uuid4())
    client, user = create(), Agent(subject, login={"remember": True}, consent={"remember": True})
    login(client, user)
    oauth.revoke_o_auth2_login_sessions(subject=subject)
    assert parameter(user.walk(authorization_url(client, prompt="none")), "error") == "login_required"


def test_the_tokens_of_a_client_are_deleted():
    client = create()
    token = exchange(client, grant_type="client_credentials").json()["access_token"]
    assert introspect(token)["active"] is True
    oauth.delete_o_auth2_token(client.client_id)
    assert introspect(token) == {"active": False}


def test_keys_are_created_read_replaced_and_deleted():
    name = f"set-{uuid.uuid4()}"
    created = keys.create_json_web_key_set(name, hydra.CreateJsonWebKeySet(alg="RS256", use="sig", kid="first"))
    (key,) = created.keys
    assert (key.kid, key.alg, key.use, key.kty) == ("first", "RS256", "sig", "RSA")
    assert len(keys.get_json_web_key_set(name).keys) == 1
    assert keys.get_json_web_key(name, "first").keys[0].kid == "first"
    second = key.model_copy(update={"kid": "second"})
    assert len(keys.set_json_web_key_set(name, hydra.JsonWebKeySet(keys=[key, second])).keys) == 2
    changed = second.model_copy(update={"use": "enc"})
    assert keys.set_json_web_key(name, "second", changed).use == "enc"
    keys.delete_json_web_key(name, "first")
    with pytest.raises(NotFoundException):
        keys.get_json_web_key(name, "first")
    keys.delete_json_web_key_set(name)
    with pytest.raises(NotFoundException):
        keys.get_json_web_key_set(name)


def test_the_public_side_answers():
    assert hydra.WellknownApi(PUBLIC_CLIENT).discover_json_web_keys().keys
    configuration = hydra.OidcApi(PUBLIC_CLIENT).discover_oidc_configuration()
    assert configuration.issuer == ISSUER
    assert hydra.MetadataApi(ADMIN_CLIENT).is_alive().status == "ok"
    assert hydra.MetadataApi(ADMIN_CLIENT).get_version().version
