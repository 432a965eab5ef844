//! What the browser shows when it comes back. Nothing of the request is repeated, and no token shown.

/// What the browser shows when it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Page {
    Done,
    Failed,
    Foreign,
}

impl Page {
    pub(super) fn html(self) -> String {
        let (title, text) = match self {
            Self::Done => {
                ("You are signed in", "The tokens are in your terminal. You can close this window.")
            }
            Self::Failed => {
                ("That did not work", "The reason is in your terminal. You can close this window.")
            }
            Self::Foreign => {
                ("Not what was asked for", "This answer belongs to another request, and was ignored.")
            }
        };
        format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
             <meta name=\"viewport\" content=\"width=device-width\"><style>:root{{color-scheme:light dark}}\
             body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}}</style>\
             <main><h1>{title}</h1><p>{text}</p></main></html>\n"
        )
    }
}
