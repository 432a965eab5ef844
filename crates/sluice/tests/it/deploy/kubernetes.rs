//! The manifests. Kubernetes itself is not here: the program is started as they say.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;

use super::{
    CONFIGURATION, DRAIN, Environment, assert_known, assert_none_may_be_left_empty, assert_understood,
    folder, read, texts, with_configuration_in,
};
use crate::answer::{Answer, http};
use crate::program::{Server, run};

/// The documents of a manifest.
fn documents(file: &str) -> Vec<Value> {
    let text = read(&folder("kubernetes").join(file));
    serde_norway::Deserializer::from_str(&text)
        .map(|document| Value::deserialize(document).unwrap())
        .collect()
}

fn only(file: &str) -> Value {
    let mut documents = documents(file);
    assert_eq!(documents.len(), 1, "{file}");
    documents.remove(0)
}

fn pod() -> Value {
    let mut deployment = only("deployment.yaml");
    deployment["spec"]["template"]["spec"].take()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn arguments(container: &Value) -> Vec<&str> {
    list(&container["args"]).iter().map(|argument| argument.as_str().unwrap()).collect()
}

/// Names of things that have one.
fn names(things: &Value) -> BTreeSet<&str> {
    list(things).iter().map(|thing| thing["name"].as_str().unwrap()).collect()
}

/// The configuration as the container has it, and its variables.
struct Mounted {
    directory: TempDir,
    environment: Environment,
}

impl Mounted {
    fn new() -> Self {
        let (config, secret) = (only("config.yaml"), only("secret.yaml"));
        let directory = tempfile::tempdir().unwrap();
        for (file, text) in config["data"].as_object().unwrap() {
            fs::write(directory.path().join(file), text.as_str().unwrap()).unwrap();
        }
        let secrets = secret["stringData"].as_object().unwrap();
        assert!(secrets.values().all(|value| value == ""), "nothing that anybody knows");
        let environment = Environment::of(secrets.keys().map(String::as_str), directory.path());
        Self { directory, environment }
    }

    fn arguments(&self, container: &Value) -> Vec<String> {
        with_configuration_in(self.directory.path(), &arguments(container))
    }

    /// The configuration in force.
    fn settings(&self) -> Value {
        let file = self.directory.path().join("sluice.yaml");
        serde_norway::from_str(&assert_understood(&file, &self.environment, &[])).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_starts_as_the_deployment_says_and_answers_its_probes() {
    let (pod, mounted) = (pod(), Mounted::new());
    let (first, container) = (&pod["initContainers"][0], &pod["containers"][0]);
    let variables = mounted.environment.pairs();
    let migrated = run(&texts(&mounted.arguments(first)), &variables);
    assert!(migrated.success, "{}", migrated.stderr);
    let mut arguments = mounted.arguments(container);
    let free = ["serve.public.port=0", "serve.admin.port=0"];
    arguments.extend(free.iter().flat_map(|port| ["--set".to_owned(), (*port).to_owned()]));
    let server = Server::start(&texts(&arguments), &variables);
    let port = |url: &Url| url.port().unwrap();
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        let asked = &container[probe]["httpGet"];
        assert_eq!(asked["port"], "public", "{probe}");
        let url = format!("http://127.0.0.1:{}{}", port(&server.public), asked["path"].as_str().unwrap());
        assert_eq!(Answer::to(http().get(url)).await.status, 200, "{probe}");
    }
    let clients = format!("http://127.0.0.1:{}/admin/clients", port(&server.admin));
    let bearing = mounted.environment.get("SERVE_ADMIN_BEARER_TOKEN");
    assert_eq!(Answer::to(http().get(&clients)).await.status, 401);
    assert_eq!(Answer::to(http().get(&clients).bearer_auth(bearing)).await.status, 200);
    let ended = server.stop();
    assert!(ended.success, "{}", ended.stderr);
}

#[test]
fn a_secret_that_is_not_filled_in_starts_nothing() {
    let mounted = Mounted::new();
    assert_none_may_be_left_empty(&mounted.directory.path().join("sluice.yaml"), &mounted.environment);
}

#[test]
fn containers_name_arguments_that_the_program_has() {
    let pod = pod();
    for container in list(&pod["initContainers"]).iter().chain(list(&pod["containers"])) {
        assert_known(&arguments(container));
    }
}

#[test]
fn a_command_beside_the_nodes_gets_what_they_have() {
    let (pod, job) = (pod(), only("command.yaml"));
    let of_job = &job["spec"]["template"]["spec"];
    for part in ["volumes", "securityContext", "automountServiceAccountToken", "enableServiceLinks"] {
        assert_eq!(of_job[part], pod[part], "{part}");
    }
    let (container, node) = (&of_job["containers"][0], &pod["containers"][0]);
    for part in ["envFrom", "volumeMounts", "securityContext"] {
        assert_eq!(container[part], node[part], "{part}");
    }
    let kustomization = only("kustomization.yaml");
    let image = |part: &str| kustomization["images"][0][part].as_str().unwrap().to_owned();
    assert_eq!(container["image"], format!("{}:{}", image("newName"), image("newTag")));
    let mounted = Mounted::new();
    let status = run(&texts(&mounted.arguments(container)), &mounted.environment.pairs());
    assert!(status.success && status.stdout.contains("secrets.pepper"), "{}", status.stderr);
}

#[test]
fn ports_are_those_of_the_configuration_and_the_admin_port_is_not_public() {
    let (pod, settings) = (pod(), Mounted::new().settings());
    let ports = &pod["containers"][0]["ports"];
    assert_eq!(names(ports), BTreeSet::from(["admin", "public"]));
    for port in list(ports) {
        let name = port["name"].as_str().unwrap();
        assert_eq!(port["containerPort"], settings["serve"][name]["port"], "{name}");
    }
    let services = documents("services.yaml");
    let targets = |service: &Value| -> Vec<Value> {
        list(&service["spec"]["ports"]).iter().map(|port| port["targetPort"].clone()).collect()
    };
    let told: Vec<_> =
        services.iter().map(|service| (service["metadata"]["name"].clone(), targets(service))).collect();
    assert_eq!(
        told,
        [(json!("sluice"), vec![json!("public")]), (json!("sluice-admin"), vec![json!("admin")])]
    );
    let policy = only("network-policy.yaml");
    for rule in list(&policy["spec"]["ingress"]) {
        let reaches_admin = list(&rule["ports"]).iter().any(|port| port["port"] == "admin");
        assert_eq!(reaches_admin, rule.get("from").is_some(), "only who is named: {rule}");
    }
}

#[test]
fn a_pod_is_given_longer_for_its_end_than_what_is_in_flight_may_take() {
    let pod = pod();
    let before =
        pod.pointer("/containers/0/lifecycle/preStop/sleep/seconds").and_then(Value::as_u64).unwrap();
    assert!(pod["terminationGracePeriodSeconds"].as_u64().unwrap() > before + DRAIN);
}

#[test]
fn containers_write_nowhere_and_may_do_nothing_that_a_user_may_not() {
    let pod = pod();
    assert_eq!(
        (&pod["securityContext"]["runAsNonRoot"], &pod["enableServiceLinks"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(pod["automountServiceAccountToken"], false);
    for container in list(&pod["initContainers"]).iter().chain(list(&pod["containers"])) {
        let expected = json!({
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        });
        assert_eq!(container["securityContext"], expected);
    }
}

#[test]
fn what_manifests_name_is_there() {
    let (deployment, pod) = (only("deployment.yaml"), pod());
    let (secret, config) = (only("secret.yaml"), only("config.yaml"));
    let of_all = json!({"secretRef": {"name": secret["metadata"]["name"]}});
    let of_the_owner = json!({"secretRef": {"name": "sluice-migrate", "optional": true}});
    assert_eq!(pod["initContainers"][0]["envFrom"], json!([of_all, of_the_owner]), "the later one counts");
    assert_eq!(pod["containers"][0]["envFrom"], json!([of_all]));
    for container in list(&pod["initContainers"]).iter().chain(list(&pod["containers"])) {
        assert_eq!(names(&container["volumeMounts"]), names(&pod["volumes"]));
        assert_eq!(container["volumeMounts"][0]["mountPath"], CONFIGURATION);
    }
    assert_eq!(pod["volumes"][0]["configMap"]["name"], config["metadata"]["name"]);
    let labels = &deployment["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&deployment["spec"]["selector"]["matchLabels"], labels);
    for service in documents("services.yaml") {
        assert_eq!(&service["spec"]["selector"], labels);
    }
    assert_eq!(&only("network-policy.yaml")["spec"]["podSelector"]["matchLabels"], labels);
    assert_eq!(&only("disruption-budget.yaml")["spec"]["selector"]["matchLabels"], labels);
    let files = fs::read_dir(folder("kubernetes")).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let is_manifest = |file: &String| {
        let apart = ["command.yaml", "kustomization.yaml", "secret.yaml"].contains(&file.as_str());
        !apart && Path::new(file).extension().is_some_and(|extension| extension == "yaml")
    };
    let manifests: BTreeSet<_> = files.filter(is_manifest).collect();
    let kustomization = only("kustomization.yaml");
    let listed: BTreeSet<_> =
        list(&kustomization["resources"]).iter().map(|file| file.as_str().unwrap().to_owned()).collect();
    assert_eq!(listed, manifests);
}
