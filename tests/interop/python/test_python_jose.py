"""PyPI python-jose: a service that checks access tokens with the whole set of keys, as its guides show."""

import pytest
import requests
from jose import jwt
from jose.exceptions import JOSEError

from agent import ISSUER, create_client


def keys():
    return requests.get(ISSUER + ".well-known/jwks.json", timeout=10).json()


def access_token(client):
    form = {"grant_type": "client_credentials", "audience": "https://api.test"}
    secret = (client["client_id"], client["client_secret"])
    return requests.post(ISSUER + "oauth2/token", data=form, auth=secret, timeout=10).json()["access_token"]


def test_an_access_token_is_checked_with_the_whole_set():
    client = create_client(
        grant_types=["client_credentials"],
        audience=["https://api.test"],
        access_token_strategy="jwt",
        token_endpoint_auth_method="client_secret_basic",
    )
    token = access_token(client)
    claims = jwt.decode(token, keys(), algorithms=["RS256"], audience="https://api.test", issuer=ISSUER)
    assert claims["client_id"] == client["client_id"]
    head, body, signature = token.split(".")
    forged = ".".join([head, body, signature[:-4] + ("AAAA" if signature[-4:] != "AAAA" else "BBBB")])
    with pytest.raises(JOSEError):  # for want of a key that fits it comes to those of other types, which it takes for a mistake
        jwt.decode(forged, keys(), algorithms=["RS256"], audience="https://api.test")
