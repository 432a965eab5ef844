//! Flows that fit into a URL, with as much as there is room for of what only pages are shown.

use serde::Serialize;
use sluice_crypto::Purpose;

use super::{FlowSealer, MAX_IN_URL, Whole};

impl FlowSealer {
    /// All of it, if that has at most so many characters. What pages are shown besides may take what room there is, an
    /// `id_token_hint` all that the URL has: no flow is parked because of them, and none is parked with a hint.
    pub(super) fn seal_inline<R: Serialize>(
        &self,
        purpose: Purpose,
        whole: &mut Whole<'_, R>,
        most: usize,
    ) -> Option<String> {
        let sealed = self.seal_whole(purpose, whole);
        if sealed.len() <= most {
            return Some(sealed);
        }
        if whole.further.id_token_hint.take().is_some() {
            let without_hint = self.seal_whole(purpose, whole);
            if without_hint.len() <= most {
                return Some(if sealed.len() <= MAX_IN_URL { sealed } else { without_hint });
            }
        }
        self.seal_shortened(purpose, whole, most)
    }

    /// The flow without the last of the parameters that only pages are shown, as many as there is no room for. One that is too
    /// long without them, too, keeps them.
    fn seal_shortened<R: Serialize>(
        &self,
        purpose: Purpose,
        whole: &mut Whole<'_, R>,
        most: usize,
    ) -> Option<String> {
        let parameters = std::mem::take(&mut whole.further.parameters);
        let fits = !parameters.is_empty() && self.seal_whole(purpose, whole).len() <= most;
        whole.further.parameters = parameters;
        while fits && whole.further.parameters.pop().is_some() {
            let sealed = self.seal_whole(purpose, whole);
            if sealed.len() <= most {
                return Some(sealed);
            }
        }
        None
    }
}
