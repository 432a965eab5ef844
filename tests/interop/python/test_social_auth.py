"""PyPI social-auth-core as the relying party, which appends `/.well-known/…` to the issuer, whatever that ends in."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from social_core.backends.open_id_connect import OpenIdConnectAuth
from social_core.storage import AssociationMixin, BaseStorage, NonceMixin
from social_core.strategy import BaseStrategy

from agent import CALLBACK, ISSUER, Agent, create_client


class Nonces(AssociationMixin):
    """The nonces of id tokens that are waited for."""

    kept = {}

    @classmethod
    def store(cls, server_url, association):
        nonce = cls()
        vars(nonce).update(vars(association), id=association.handle)
        cls.kept[association.handle] = nonce

    @classmethod
    def get(cls, server_url=None, handle=None):
        return [cls.kept[handle]] if handle in cls.kept else []

    @classmethod
    def remove(cls, ids_to_delete):
        for each in ids_to_delete:
            del cls.kept[each]


class States(NonceMixin):
    """The states of logins under way."""

    kept = set()

    @classmethod
    def use(cls, *state):
        cls.kept.add(state)
        return True

    @classmethod
    def consume(cls, *state):
        cls.kept.remove(state)
        return True


class Storage(BaseStorage):
    association = Nonces
    nonce = States


class Application(BaseStrategy):
    """As little of a web framework as a login needs."""

    def __init__(self, settings):
        super().__init__(Storage)
        self.settings = {f"SOCIAL_AUTH_OIDC_{name}": value for name, value in settings.items()}
        self.session = {}
        self.request = {}

    def get_setting(self, name):
        return self.settings[name]

    def request_data(self, merge=True):
        return self.request

    def request_host(self):
        return urlsplit(CALLBACK).netloc

    def build_absolute_uri(self, path=None):
        return path

    def session_get(self, name, default=None):
        return self.session.get(name, default)

    def session_set(self, name, value):
        self.session[name] = value

    def session_pop(self, name):
        return self.session.pop(name, None)

    def session_setdefault(self, name, value):
        return self.session.setdefault(name, value)

    def redirect(self, url):
        return url

    def authenticate(self, backend, *args, **kwargs):
        return kwargs["response"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("endpoint", [ISSUER, ISSUER.rstrip("/")])
def test_a_login_by_discovery_and_its_refreshes(endpoint, method):
    client = create_client(token_endpoint_auth_method=method, scope="openid offline_access profile email")
    application = Application(
        {
            "OIDC_ENDPOINT": endpoint,
            "KEY": client["client_id"],
            "SECRET": client["client_secret"],
            "SCOPE": ["offline_access"],
        }
    )
    backend = OpenIdConnectAuth(application, redirect_uri=CALLBACK)
    callback = Agent().walk(backend.start())
    application.request = backend.data = dict(parse_qsl(urlsplit(callback).query))
    answer = backend.auth_complete()
    assert answer["sub"] == "alice"
    for _ in range(2):
        answer = backend.refresh_token(answer["refresh_token"])
        assert answer["access_token"]
