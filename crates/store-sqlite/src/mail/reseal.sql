UPDATE mail SET sealed = ?3 WHERE id = ?1 AND sealed = ?2
