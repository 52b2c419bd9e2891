//! What the door is told of system variables. What it does with them is in the tests of the door.

use super::{Place, does};
use vaquita_server::DatabaseBackend;
use vaquita_server::backend::{Backend, DoorLimits};

#[test]
fn limits_of_the_door_are_the_variables() {
    let place = Place::open("limits", 1);
    let backend = DatabaseBackend::new(place.db.clone());
    let limits = backend.limits();
    assert_eq!(limits.max_connect_errors, 100);
    assert!(!limits.require_secure_transport && limits.disconnect_on_expired_password);
    let mut client = place.client();
    does(
        &mut client,
        "SET GLOBAL max_connections = 7, GLOBAL max_connect_errors = 8, GLOBAL connect_timeout = 9",
    );
    let DoorLimits { max_connections, max_connect_errors, connect_timeout_s, .. } = backend.limits();
    assert_eq!((max_connections, max_connect_errors, connect_timeout_s), (7, 8, 9));
    does(&mut client, "SET GLOBAL require_secure_transport = ON");
    assert!(backend.limits().require_secure_transport);
}
