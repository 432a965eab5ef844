//! nginx as a server that answers by itself.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

/// Whether it is installed.
pub(crate) fn is_installed() -> bool {
    Command::new("nginx").arg("-v").output().is_ok_and(|said| said.status.success())
}

/// Writes a configuration with everything below `folder`: 200 with this answer, whatever is asked for. The arguments that lead to it.
///
/// # Errors
/// Of the file.
pub(crate) fn configured(listen: &str, folder: &Path, answer: &str) -> io::Result<Vec<String>> {
    let file = folder.join("nginx.conf");
    fs::write(&file, configuration(listen, folder, answer))?;
    let [prefix, file] = [folder, &file].map(|path| path.display().to_string());
    Ok(["-p", &prefix, "-c", &file, "-e", "stderr"].map(str::to_owned).to_vec())
}

fn configuration(listen: &str, folder: &Path, answer: &str) -> String {
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
