//! Drops the server's privileges that it does not need once its sockets are open.

use std::fmt;

use goodqueue_experiment::Error;
use goodqueue_wire::sandbox::{self, Sandbox};
use goodqueue_wire::{
    User, become_user, effective_user, no_new_privileges, restrict_capabilities, user_named,
};
use serde_json::{Value, json};

/// The user without privileges, on every Linux (`/proc/sys/kernel/overflowuid`).
const NOBODY: u32 = 65_534;

/// What is in force.
pub(crate) struct Rights {
    /// The user that the process became; `None` if it did not change.
    user: Option<User>,
    /// Number of the user that it is.
    uid: u32,
    sandbox: Sandbox,
}

impl Rights {
    /// Drops all privileges that are not needed, for good. Root becomes `user`, or nobody. In a namespace in
    /// which root is the only user it stays root, without capabilities.
    ///
    /// # Errors
    /// [`Error::Usage`] for a user that this machine does not have; [`Error::Machine`] if the process may not
    /// become the requested `user`.
    pub(crate) fn reduce(user: Option<&str>) -> Result<Rights, Error> {
        let user = match user {
            Some(name) => Some(become_named(name)?),
            None if effective_user() == 0 => {
                let nobody = User { name: "nobody".into(), user: NOBODY, group: NOBODY };
                become_user(NOBODY, NOBODY).is_ok().then_some(nobody)
            }
            None => None,
        };
        restrict_capabilities(false).map_err(Error::machine)?;
        no_new_privileges().map_err(Error::machine)?;
        // Inside the sandbox even this call is denied.
        let uid = effective_user();
        Ok(Rights { user, uid, sandbox: sandbox::enter() })
    }

    pub(crate) fn json(&self) -> Value {
        let Sandbox { landlock, seccomp, lacks } = &self.sandbox;
        json!({
            "user": self.user.as_ref().map(|user| &user.name), "uid": self.uid,
            "capabilities": 0, "no_new_privileges": true, "landlock": landlock, "seccomp_calls": seccomp,
            "lacks": lacks,
        })
    }
}

fn become_named(name: &str) -> Result<User, Error> {
    let Some(user) = user_named(name).map_err(Error::machine)? else {
        return Err(Error::Usage(format!("--user {name}: this machine has no such user")));
    };
    if user.user == 0 {
        return Err(Error::Usage(format!(
            "--user {name}: root has privileges that the server does not need"
        )));
    }
    become_user(user.user, user.group).map_err(|error| {
        Error::Machine(format!(
            "--user {name}: this needs the privileges to change user and groups (CAP_SETUID, CAP_SETGID), \
             which root has: {error}; start the server as root, or without --user"
        ))
    })?;
    Ok(user)
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sandbox { landlock, seccomp, lacks } = &self.sandbox;
        f.write_str("in force: ")?;
        if let Some(user) = &self.user {
            write!(f, "user {}, ", user.name)?;
        }
        f.write_str("no capabilities, no new privileges")?;
        if let Some(version) = landlock {
            write!(f, ", Landlock {version}")?;
        }
        if let Some(calls) = seccomp {
            write!(f, ", seccomp with {calls} system calls")?;
        }
        if lacks.is_empty() { Ok(()) } else { write!(f, "; not available here: {}", lacks.join(", ")) }
    }
}
