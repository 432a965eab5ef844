//! What a sealed value may be for.

use thiserror::Error;

/// What a sealed value is for. A value sealed for one purpose does not open for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Purpose {
    /// A flow that waits for login, given to the login page.
    LoginChallenge = 1,
    /// A flow whose login was accepted or rejected, given back by the login page.
    LoginVerifier = 2,
    /// A flow that waits for consent, given to the consent page.
    ConsentChallenge = 3,
    /// A flow whose consent was accepted or rejected, given back by the consent page.
    ConsentVerifier = 4,
    /// A logout that waits for confirmation.
    LogoutChallenge = 5,
    /// A confirmed logout.
    LogoutVerifier = 6,
    /// An authorization code.
    AuthorizationCode = 7,
    /// An opaque access token.
    AccessToken = 8,
    /// A refresh token.
    RefreshToken = 9,
    /// The place in a listing.
    PageToken = 10,
    /// The cookie of a login session.
    SessionCookie = 11,
    /// A flow too long for a URL, kept in the store.
    ParkedFlow = 12,
    /// The private part of a signing key, at rest.
    SigningKey = 13,
    /// The claim of a JWT access token that only this server reads.
    TokenFacts = 14,
    /// A pushed authorization request, given to its client as a `request_uri`.
    PushedRequest = 15,
    /// The secret of a client that signs with it, at rest.
    ClientSecret = 16,
    /// A nonce for `DPoP` proofs.
    DpopNonce = 17,
    /// The code that a device polls with.
    DeviceCode = 18,
    /// A browser whose user is to type the code of a device, given to the verification page.
    DeviceChallenge = 19,
    /// The same with the code that was typed, given back by the verification page.
    DeviceVerifier = 20,
    /// What a device asks for, kept in the store.
    DeviceRequest = 21,
    /// The refresh token of an identity session.
    IdentityRefreshToken = 22,
    /// A password before it is hashed slowly, at rest.
    ProvisionalCredential = 23,
    /// An imported password hash, at rest.
    ForeignHash = 24,
    /// The secret of an authenticator app, at rest.
    TotpSecret = 25,
    /// A passkey, at rest.
    Passkey = 26,
    /// A message waiting in the outbox, at rest.
    Mail = 27,
    /// The cookie of the account pages.
    AccountCookie = 28,
    /// A login that waits for its second factor.
    LoginTicket = 29,
    /// A `WebAuthn` ceremony in progress.
    PasskeyState = 30,
    /// A link sent by mail.
    MailLink = 31,
    /// A recovery in progress.
    RecoveryTicket = 32,
    /// A factor being enrolled.
    EnrolmentTicket = 33,
    /// A puzzle that a browser is to solve.
    ProofOfWork = 34,
    /// The cookie that says which accounts a browser logged in to.
    KnownBrowser = 35,
    /// The name of a remembered decision in the list of consents.
    RememberedConsent = 36,
    /// The address that a mail went to, given to the page that waits for its code.
    MailedAddress = 37,
    /// A login that waits for its person to set up a second factor.
    LoginEnrolment = 38,
}

/// Each, in the order of their numbers.
pub(super) const PURPOSES: [Purpose; 38] = [
    Purpose::LoginChallenge,
    Purpose::LoginVerifier,
    Purpose::ConsentChallenge,
    Purpose::ConsentVerifier,
    Purpose::LogoutChallenge,
    Purpose::LogoutVerifier,
    Purpose::AuthorizationCode,
    Purpose::AccessToken,
    Purpose::RefreshToken,
    Purpose::PageToken,
    Purpose::SessionCookie,
    Purpose::ParkedFlow,
    Purpose::SigningKey,
    Purpose::TokenFacts,
    Purpose::PushedRequest,
    Purpose::ClientSecret,
    Purpose::DpopNonce,
    Purpose::DeviceCode,
    Purpose::DeviceChallenge,
    Purpose::DeviceVerifier,
    Purpose::DeviceRequest,
    Purpose::IdentityRefreshToken,
    Purpose::ProvisionalCredential,
    Purpose::ForeignHash,
    Purpose::TotpSecret,
    Purpose::Passkey,
    Purpose::Mail,
    Purpose::AccountCookie,
    Purpose::LoginTicket,
    Purpose::PasskeyState,
    Purpose::MailLink,
    Purpose::RecoveryTicket,
    Purpose::EnrolmentTicket,
    Purpose::ProofOfWork,
    Purpose::KnownBrowser,
    Purpose::RememberedConsent,
    Purpose::MailedAddress,
    Purpose::LoginEnrolment,
];

/// A number that is no purpose of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unknown purpose of sealed values: {0}")]
pub struct UnknownPurpose(pub u8);

impl Purpose {
    /// Its name, in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LoginChallenge => "login_challenge",
            Self::LoginVerifier => "login_verifier",
            Self::ConsentChallenge => "consent_challenge",
            Self::ConsentVerifier => "consent_verifier",
            Self::LogoutChallenge => "logout_challenge",
            Self::LogoutVerifier => "logout_verifier",
            Self::AuthorizationCode => "authorization_code",
            Self::AccessToken => "access_token",
            Self::RefreshToken => "refresh_token",
            Self::PageToken => "page_token",
            Self::SessionCookie => "session_cookie",
            Self::ParkedFlow => "parked_flow",
            Self::SigningKey => "signing_key",
            Self::TokenFacts => "token_facts",
            Self::PushedRequest => "pushed_request",
            Self::ClientSecret => "client_secret",
            Self::DpopNonce => "dpop_nonce",
            Self::DeviceCode => "device_code",
            Self::DeviceChallenge => "device_challenge",
            Self::DeviceVerifier => "device_verifier",
            Self::DeviceRequest => "device_request",
            Self::IdentityRefreshToken => "identity_refresh_token",
            Self::ProvisionalCredential => "provisional_credential",
            Self::ForeignHash => "foreign_hash",
            Self::TotpSecret => "totp_secret",
            Self::Passkey => "passkey",
            Self::Mail => "mail",
            Self::AccountCookie => "account_cookie",
            Self::LoginTicket => "login_ticket",
            Self::PasskeyState => "passkey_state",
            Self::MailLink => "mail_link",
            Self::RecoveryTicket => "recovery_ticket",
            Self::EnrolmentTicket => "enrolment_ticket",
            Self::ProofOfWork => "proof_of_work",
            Self::KnownBrowser => "known_browser",
            Self::RememberedConsent => "remembered_consent",
            Self::MailedAddress => "mailed_address",
            Self::LoginEnrolment => "login_enrolment",
        }
    }

    /// Each, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        PURPOSES.into_iter()
    }

    /// Where its keys are.
    pub(super) const fn place(self) -> usize {
        self as usize - 1
    }
}

impl TryFrom<u8> for Purpose {
    type Error = UnknownPurpose;
    fn try_from(number: u8) -> Result<Self, UnknownPurpose> {
        let place = usize::from(number).checked_sub(1);
        place.and_then(|place| PURPOSES.get(place)).copied().ok_or(UnknownPurpose(number))
    }
}
