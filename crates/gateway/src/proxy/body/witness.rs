//! Who hears that an answer broke off. Its request was told of when it began.

use std::sync::Arc;

use crate::proxy::fault::AnswerFault;
use crate::route::Route;

/// Is told the name of a route, and what became of an answer under it.
pub(in crate::proxy) type Hearing = Arc<dyn Fn(&str, AnswerFault) + Send + Sync>;

/// Who hears that an answer broke off, and under which route it was.
pub(in crate::proxy) struct Witness {
    pub(in crate::proxy) route: Arc<Route>,
    pub(in crate::proxy) hearing: Hearing,
}

impl Witness {
    /// Tells it.
    pub(super) fn tell(&self, fault: AnswerFault) {
        (self.hearing)(&self.route.name, fault);
    }
}
