//! Mail: what is sent to people, and the outbox it waits in.
//!
//! [`message`]: what a mail is about; `content`: in which words; [`sender`]: from whom. [`template`]: text and HTML; [`custom`]: in an
//! operator's own. [`queue`]: how it gets into
//! the outbox. [`delivery`]: how it gets out; [`retries`]: what goes first also when it is tried again; [`transport`]: who
//! carries it; [`metrics`]: what an operator sees.
//! [`code`], [`link`]: what a mail carries. [`repository`]: the outbox, and the codes, in the store. [`sealed`]: which
//! secrets the outbox needs.

pub mod code;
mod content;
pub mod custom;
pub mod delivery;
pub mod link;
pub mod message;
pub mod metrics;
pub mod queue;
pub mod repository;
pub mod retries;
pub mod sealed;
pub mod sender;
pub mod template;
pub mod transport;

pub use code::{Code, CodeKey};
pub use custom::BadTemplate;
pub use delivery::MailDelivery;
pub use link::MailLink;
pub use message::{CodeMail, Message, MessageKind};
pub use metrics::MailMetrics;
pub use queue::MailQueue;
pub use repository::{
    CodeByMail, CodePurpose, CodeRepository, LeasedMail, MAX_CODE_TRIES, MailCode, MailRepository, NEVER,
    QueuedMail, ShownCode, TakenCode,
};
pub use retries::MailRetries;
pub use sealed::SealedMails;
pub use sender::MailSender;
pub use template::{MailTemplates, UnwritableMail};
pub use transport::{MailError, MailFate, MailTransport, RenderedMail};
