//! Every code of the identity API, its status and its sentence: here and nowhere else. A code never changes.

use http::StatusCode;

/// What kind of problem it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// A field is not as it must be; the problem has a code of its own.
    InvalidField,
    /// The body is no JSON object.
    MalformedBody,
    /// The body names a member twice.
    RepeatedMember,
    /// A code or link of a mail, or a ticket, is wrong, spent or too old.
    WrongCode,
    /// A proof of work is missing, wrong, spent or too old.
    ProofOfWorkRequired,
    /// Address or password is wrong, or the account may not log in.
    InvalidCredentials,
    /// The password was right; a second factor is asked for.
    SecondFactorRequired,
    /// The password was right; a second factor is required, and there is none yet.
    FactorEnrolmentRequired,
    /// The second factor, or a passkey that is shown alone, is wrong.
    WrongFactor,
    /// More is asked for than the account can show: it has no second factor.
    SecondFactorMissing,
    /// The enrolment of a factor is over.
    EnrolmentExpired,
    /// The login that waited for a second factor is over.
    LoginTicketExpired,
    /// The refresh token does not hold.
    InvalidRefreshToken,
    /// No access token was presented.
    TokenMissing,
    /// The access token has expired.
    TokenExpired,
    /// The access token does not hold.
    InvalidToken,
    /// The present password is another one.
    WrongPassword,
    /// No password was sent, and the login was too long ago, or not by a passkey.
    ConfirmationRequired,
    /// The account has a second factor, that neither the login nor the request showed.
    FactorConfirmationRequired,
    /// The address must be verified first.
    EmailUnverified,
    /// Nobody may register here.
    RegistrationClosed,
    /// There is no such thing.
    NotFound,
    /// The path is right, the method is not.
    MethodNotAllowed,
    /// This server does not offer it.
    NotOffered,
    /// The e-mail address belongs to somebody else.
    EmailTaken,
    /// It is so already.
    Unchanged,
    /// It is the last factor of somebody who must have one.
    FactorRequired,
    /// The passkey is among the person's already.
    FactorExists,
    /// No further factor can be added.
    TooManyFactors,
    /// The body is too large.
    BodyTooLarge,
    /// The body did not come in time.
    BodyTooSlow,
    /// The body is not said to be JSON.
    UnsupportedMediaType,
    /// Too many requests.
    TooManyRequests,
    /// The server failed.
    ServerError,
    /// Trying later may help.
    TemporarilyUnavailable,
}

impl ProblemKind {
    /// The code, for programs.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::InvalidField => "invalid_field",
            Self::MalformedBody => "malformed_body",
            Self::RepeatedMember => "repeated_member",
            Self::WrongCode => "wrong_code",
            Self::ProofOfWorkRequired => "proof_of_work_required",
            Self::InvalidCredentials => "invalid_credentials",
            Self::SecondFactorRequired => "second_factor_required",
            Self::FactorEnrolmentRequired => "factor_enrolment_required",
            Self::WrongFactor => "wrong_factor",
            Self::SecondFactorMissing => "second_factor_missing",
            Self::EnrolmentExpired => "enrolment_expired",
            Self::LoginTicketExpired => "login_ticket_expired",
            Self::InvalidRefreshToken => "invalid_refresh_token",
            Self::TokenMissing => "token_missing",
            Self::TokenExpired => "token_expired",
            Self::InvalidToken => "invalid_token",
            Self::WrongPassword => "wrong_password",
            Self::ConfirmationRequired => "confirmation_required",
            Self::FactorConfirmationRequired => "factor_confirmation_required",
            Self::EmailUnverified => "email_unverified",
            Self::RegistrationClosed => "registration_closed",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::NotOffered => "not_offered",
            Self::EmailTaken => "email_taken",
            Self::Unchanged => "unchanged",
            Self::FactorRequired => "factor_required",
            Self::FactorExists => "factor_exists",
            Self::TooManyFactors => "too_many_factors",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyTooSlow => "body_too_slow",
            Self::UnsupportedMediaType => "unsupported_media_type",
            Self::TooManyRequests => "too_many_requests",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
        }
    }

    /// The status of the answer.
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::InvalidField
            | Self::MalformedBody
            | Self::RepeatedMember
            | Self::WrongCode
            | Self::EnrolmentExpired
            | Self::ProofOfWorkRequired => StatusCode::BAD_REQUEST,
            Self::InvalidCredentials
            | Self::SecondFactorRequired
            | Self::FactorEnrolmentRequired
            | Self::WrongFactor
            | Self::LoginTicketExpired
            | Self::InvalidRefreshToken
            | Self::TokenMissing
            | Self::TokenExpired
            | Self::InvalidToken => StatusCode::UNAUTHORIZED,
            Self::WrongPassword
            | Self::ConfirmationRequired
            | Self::FactorConfirmationRequired
            | Self::EmailUnverified
            | Self::SecondFactorMissing
            | Self::RegistrationClosed => StatusCode::FORBIDDEN,
            Self::NotFound | Self::NotOffered => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::EmailTaken
            | Self::Unchanged
            | Self::FactorRequired
            | Self::FactorExists
            | Self::TooManyFactors => StatusCode::CONFLICT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooManyRequests => StatusCode::TOO_MANY_REQUESTS,
            Self::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The sentence, for people: the same for every problem of the kind (RFC 9457 §3.1.3).
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::InvalidField => "A field of the request is not as it must be.",
            Self::MalformedBody => "The body of the request is no JSON object.",
            Self::RepeatedMember => "The body of the request names a member twice.",
            Self::WrongCode => "The code is wrong, too old, or was used before.",
            Self::ProofOfWorkRequired => "A proof of work is asked for.",
            Self::InvalidCredentials => "E-mail address or password is wrong.",
            Self::SecondFactorRequired => "A second factor is asked for.",
            Self::FactorEnrolmentRequired => {
                "A second factor is required, and the account has none. Set one up."
            }
            Self::WrongFactor => "The factor that was shown is wrong.",
            Self::SecondFactorMissing => "The account has no second factor.",
            Self::EnrolmentExpired => "It took too long. Begin it again.",
            Self::LoginTicketExpired => "The login is too old. Begin it again.",
            Self::InvalidRefreshToken => "The refresh token does not hold. Log in again.",
            Self::TokenMissing => "An access token is asked for.",
            Self::TokenExpired => "The access token has expired. Refresh it.",
            Self::InvalidToken => "The access token does not hold. Log in again.",
            Self::WrongPassword => "The password is wrong.",
            Self::ConfirmationRequired => "Send the password, too, or log in again with a passkey.",
            Self::FactorConfirmationRequired => "Send a second factor, too, or log in again with one.",
            Self::EmailUnverified => "The e-mail address must be verified first.",
            Self::RegistrationClosed => "Nobody can register here.",
            Self::NotFound => "There is no such thing.",
            Self::MethodNotAllowed => "That cannot be done here by this method.",
            Self::NotOffered => "This server does not offer that.",
            Self::EmailTaken => "The e-mail address belongs to another account.",
            Self::Unchanged => "It is so already.",
            Self::FactorRequired => "The account must have a second factor, and this is the last one.",
            Self::FactorExists => "The account has this factor already.",
            Self::TooManyFactors => "The account has as many factors as it can have.",
            Self::BodyTooLarge => "The body of the request is too large.",
            Self::BodyTooSlow => "The body of the request did not come in time.",
            Self::UnsupportedMediaType => "The body of the request must be application/json.",
            Self::TooManyRequests => "Too many requests. Try again later.",
            Self::ServerError => "The server failed.",
            Self::TemporarilyUnavailable => "The server is busy. Try again later.",
        }
    }

    /// Whether an access token would help (RFC 6750 §3).
    pub(crate) const fn asks_for_token(self) -> bool {
        matches!(self, Self::TokenMissing | Self::TokenExpired | Self::InvalidToken)
    }
}
