//! A kubeconfig with another token.

use serde_json::Value;

use super::LARGEST;
use crate::yaml;

/// The same kubeconfig with another token. Its comments and the order of its fields are lost. None where it is no
/// kubeconfig with a token, or would not be read as it was meant.
pub(in crate::member) fn with_token(text: &str, token: &str) -> Option<String> {
    let mut config = only(text)?;
    let place = config.pointer_mut("/users/0/user/token")?;
    *place = token.into();
    let written = yaml::print(&config).ok()?;
    (written.len() <= LARGEST && only(&written)? == config).then_some(written)
}

/// The only document of a text.
fn only(text: &str) -> Option<Value> {
    let mut documents = yaml::documents(text).ok()?;
    let document = documents.pop()?;
    documents.is_empty().then_some(document.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECONFIG: &str = "\
# made by hand
apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: &name \"123\"
clusters: [{name: *name, cluster: {server: 'https://eu-3:6443', certificate-authority-data: Q0E=, tls-server-name: 'on'}}]
users:
- name: \"0x7\"
  user:
    token: >-
      old
contexts: [{name: '123', context: {cluster: *name, user: '0x7', namespace: 'null'}}]
";

    #[test]
    fn nothing_but_the_token_is_another() {
        let long = "a-b_c.".repeat(1000);
        for token in ["new", "true", "1e3", "1.2.3", long.as_str()] {
            let mut expected = only(KUBECONFIG).unwrap();
            expected["users"][0]["user"]["token"] = token.into();
            let written = with_token(KUBECONFIG, token).unwrap();
            assert_eq!(only(&written), Some(expected), "{written}");
        }
    }

    #[test]
    fn what_has_no_token_or_would_become_too_large_is_left_alone() {
        let without = KUBECONFIG.replace("token:", "other:");
        let twice = format!("{KUBECONFIG}---\n{KUBECONFIG}");
        for text in ["", "7", "users: []", "{", &without, &twice] {
            assert_eq!(with_token(text, "new"), None, "{text}");
        }
        assert_eq!(with_token(KUBECONFIG, &"x".repeat(LARGEST)), None);
    }
}
