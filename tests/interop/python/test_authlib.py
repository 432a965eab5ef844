"""PyPI Authlib as the relying party: a Flask application that signs users in, and OAuth2Session for the rest."""

import os
from urllib.parse import urlsplit

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # the server under test speaks http on loopback

import flask
import pytest
from authlib.integrations.base_client import OAuthError
from authlib.integrations.flask_client import OAuth
from authlib.integrations.requests_client import OAuth2Session

from agent import CALLBACK, ISSUER, Agent, create_client, introspect

DISCOVERY = ISSUER + ".well-known/openid-configuration"


def application(client, method):
    """An application as Authlib's guide writes it: /login redirects, /callback answers with what it has learnt."""
    app = flask.Flask(__name__)
    app.secret_key = "only for this test"
    oauth = OAuth(app)
    oauth.register(
        "sluice",
        client_id=client["client_id"],
        client_secret=client.get("client_secret"),
        server_metadata_url=DISCOVERY,
        client_kwargs={
            "scope": "openid offline_access",
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": method,
        },
    )

    @app.get("/login")
    def login():
        return oauth.sluice.authorize_redirect(CALLBACK)

    @app.get("/callback")
    def callback():
        try:
            token = oauth.sluice.authorize_access_token()
        except OAuthError as refusal:
            return {"error": refusal.error, "error_description": refusal.description}, 400
        return {"token": token, "userinfo": oauth.sluice.userinfo(token=token)}

    return app.test_client()


def sign_in(client, method="client_secret_basic", user=None):
    """A whole login; what /callback answers."""
    app = application(client, method)
    callback = urlsplit((user or Agent()).walk(app.get("/login").location))
    return app.get(f"/callback?{callback.query}")


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
def test_code_and_pkce(method):
    grants = ["authorization_code", "refresh_token"]
    client = create_client(token_endpoint_auth_method=method, grant_types=grants)
    answer = sign_in(client, method)
    assert answer.status_code == 200, answer.text
    token, userinfo = answer.json["token"], answer.json["userinfo"]
    assert userinfo["sub"] == "alice"
    claims = token["userinfo"]  # Authlib puts the claims of the id token here, after checking them and its nonce
    assert claims["sub"] == "alice"
    assert claims["iss"] == ISSUER
    assert client["client_id"] in claims["aud"]
    assert token["expires_in"] > 60


def test_claims_from_the_consent_app_are_in_the_id_token():
    user = Agent(consent={"session": {"id_token": {"given_name": "Alice"}}})
    answer = sign_in(create_client(), user=user)
    assert answer.json["token"]["userinfo"]["given_name"] == "Alice"


@pytest.mark.parametrize("step", ["login", "consent"])
def test_a_refusal_reaches_the_application(step):
    answer = sign_in(create_client(), user=Agent(refuses=step))
    assert answer.status_code == 400
    assert answer.json["error"] == "access_denied"


def test_refresh_then_revoke():
    client = create_client()
    token = sign_in(client).json["token"]
    with OAuth2Session(client["client_id"], client["client_secret"], token=token) as session:
        refreshed = session.refresh_token(ISSUER + "oauth2/token", refresh_token=token["refresh_token"])
        assert refreshed["access_token"] != token["access_token"]
        assert refreshed["refresh_token"] != token["refresh_token"]
        assert session.get(ISSUER + "userinfo").json()["sub"] == "alice"
        assert introspect(refreshed["access_token"])["active"] is True
        revoked = session.revoke_token(ISSUER + "oauth2/revoke", token=refreshed["refresh_token"])
        assert revoked.status_code == 200
        assert introspect(refreshed["access_token"]) == {"active": False}


def test_client_credentials():
    client = create_client(scope="read write")
    with OAuth2Session(client["client_id"], client["client_secret"], scope="read") as session:
        token = session.fetch_token(ISSUER + "oauth2/token", grant_type="client_credentials")
    facts = introspect(token["access_token"])
    assert (facts["active"], facts["scope"], facts["client_id"]) == (True, "read", client["client_id"])


def test_a_wrong_secret_is_invalid_client():
    client = create_client()
    with OAuth2Session(client["client_id"], "not the secret") as session, pytest.raises(OAuthError) as refusal:
        session.fetch_token(ISSUER + "oauth2/token", grant_type="client_credentials")
    assert refusal.value.error == "invalid_client"
