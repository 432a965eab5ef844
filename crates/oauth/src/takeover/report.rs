//! What is told of a takeover.

/// Of what a takeover consists, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The keys that it signs with, which go on to sign.
    SigningKeys,
    /// Clients, with the hashes of their secrets.
    Clients,
    /// Whom it trusts to issue assertions (RFC 7523).
    Issuers,
    /// Remembered decisions.
    Consents,
    /// Refresh tokens, each with its grant.
    Tokens,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::SigningKeys, Self::Clients, Self::Issuers, Self::Consents, Self::Tokens];

    /// The number by which stores keep it.
    pub const fn number(self) -> i16 {
        match self {
            Self::SigningKeys => 1,
            Self::Clients => 2,
            Self::Issuers => 3,
            Self::Consents => 4,
            Self::Tokens => 5,
        }
    }

    /// What one of them is called.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SigningKeys => "key",
            Self::Clients => "client",
            Self::Issuers => "issuer",
            Self::Consents => "consent",
            Self::Tokens => "token",
        }
    }
}

/// How many rows became what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// They are here now, or as they are there now.
    pub imported: u64,
    /// They were here, or something later in their place, or were taken away here.
    pub present: u64,
    /// They have expired there.
    pub expired: u64,
    /// They cannot be here.
    pub refused: u64,
    /// They were here, and have ended there since: they are here no more.
    pub ended: u64,
    /// They are here, and not there any more: so many that none of them was taken away.
    pub kept: u64,
}

impl Taken {
    /// How many there were to be gone through.
    pub const fn total(&self) -> u64 {
        self.imported + self.present + self.expired + self.refused
    }
}

/// A row that cannot be here. Its reason is a sentence without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Of which kind it is.
    pub part: Part,
    /// What it is called there.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// Hears how a takeover goes.
pub trait TakeoverWatcher: Send {
    /// So many rows of a part are about to be gone through: said of those of which there may be many.
    fn begins(&mut self, part: Part, rows: u64);

    /// A row cannot be here.
    fn refused(&mut self, refused: Refused);

    /// What was imported is not as somebody may expect. The sentence has no secrets in it.
    fn warned(&mut self, part: Part, id: &str, warning: &str);

    /// There are sets of keys of these names, and of others if there are more, which are not taken over, and not here.
    fn sets_left(&mut self, names: &[String], has_more: bool);

    /// Whether there are such sets could not be read, for this reason.
    fn sets_unread(&mut self, why: &str);

    /// A key, client or issuer that was imported has gone there, and was taken away here. A name that has two parts is on one line.
    fn ended(&mut self, part: Part, id: &str);

    /// So many of those that were imported have gone there: more than anybody deletes, so that none of them was taken away here.
    fn kept(&mut self, part: Part, gone: u64, imported: u64);

    /// So many rows of a part have been gone through.
    fn progress(&mut self, part: Part, taken: &Taken);
}
