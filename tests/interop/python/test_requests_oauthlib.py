"""PyPI requests-oauthlib as the client: its secret is in the header when users log in, and in the form at each refresh."""

import os

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # the server under test speaks http on loopback

import pytest
from oauthlib.oauth2 import InvalidGrantError
from requests_oauthlib import OAuth2Session

from agent import CALLBACK, ISSUER, Agent, create_client, introspect

TOKEN_ENDPOINT = ISSUER + "oauth2/token"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_login_and_its_refreshes(method):
    client = create_client(token_endpoint_auth_method=method)
    secret = {"client_secret": client["client_secret"]}
    scope = ["openid", "offline_access"]
    with OAuth2Session(client["client_id"], redirect_uri=CALLBACK, scope=scope) as session:
        url, _ = session.authorization_url(ISSUER + "oauth2/auth")
        session.fetch_token(TOKEN_ENDPOINT, authorization_response=Agent().walk(url), **secret)
        assert session.get(ISSUER + "userinfo").json()["sub"] == "alice"
        for _ in range(2):
            before = session.token["access_token"]
            session.refresh_token(TOKEN_ENDPOINT, client_id=client["client_id"], **secret)
            assert session.token["access_token"] != before
        assert introspect(session.token["access_token"])["active"] is True
        with pytest.raises(InvalidGrantError):
            session.refresh_token(TOKEN_ENDPOINT, "made-up", client_id=client["client_id"], **secret)
