//! The same verdict for other proxies.
