//! Marks of what was imported from a Hydra, in memory.

use async_trait::async_trait;
use sluice_commit::StoreError;
use sluice_oauth::takeover::{HydraMarkRepository, Mark, MarkSet};

use super::{MemoryStore, check};

#[async_trait]
impl HydraMarkRepository for MemoryStore {
    async fn put_marks(&self, of: MarkSet, mut marks: Vec<Mark>) -> Result<(), StoreError> {
        check(marks.iter().map(|mark| mark.id.as_str()))?;
        marks.sort_by_key(|mark| mark.at);
        let marks = marks.into_iter().map(|mark| ((of, mark.id.clone()), mark));
        self.write(|data| data.hydra_marks.extend(marks)).await
    }

    async fn marks_of(&self, of: MarkSet, ids: Vec<String>) -> Result<Vec<Mark>, StoreError> {
        Ok(self
            .read(|data| ids.into_iter().filter_map(|id| data.hydra_marks.get(&(of, id)).cloned()).collect()))
    }

    async fn mark_page(&self, of: MarkSet, after: &str, limit: u32) -> Result<Vec<Mark>, StoreError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(self.read(|data| {
            let of_it = data.hydra_marks.iter().filter(|((set, id), _)| *set == of && id.as_str() > after);
            of_it.map(|(_, mark)| mark.clone()).take(limit).collect()
        }))
    }

    async fn delete_marks(&self, of: MarkSet, ids: Vec<String>) -> Result<u64, StoreError> {
        self.write(|data| {
            let gone = ids.into_iter().filter_map(|id| data.hydra_marks.remove(&(of, id)));
            u64::try_from(gone.count()).unwrap_or(u64::MAX)
        })
        .await
    }
}
