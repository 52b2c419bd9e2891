//! Models, generators and helpers shared by tests.
