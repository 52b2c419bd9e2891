//! Order and equality of values.
