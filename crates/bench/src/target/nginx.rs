//! nginx as a server that answers by itself.

use std::path::Path;
use std::process::Command;

/// Whether it is installed.
pub(crate) fn is_installed() -> bool {
    Command::new("nginx").arg("-v").output().is_ok_and(|said| said.status.success())
}

/// A configuration with everything below `folder`: 200 with this answer, whatever is asked for.
pub(crate) fn configuration(listen: &str, folder: &Path, answer: &str) -> String {
    let user = if rustix::process::geteuid().is_root() { "user root;" } else { "" };
    let folder = folder.display();
    format!(
        "daemon off; {user} worker_processes auto; pid {folder}/nginx.pid; error_log stderr;\n\
         events {{ worker_connections 4096; }}\n\
         http {{ access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/body;\n\
         proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; \
         scgi_temp_path {folder}/scgi;\n\
         server {{ listen {listen}; location / {{ default_type text/plain; return 200 '{answer}'; }} }} }}\n"
    )
}
