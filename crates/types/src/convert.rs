//! Between types: implicit conversions of expressions, CAST, and storing into columns.
//!
//! Conversions of expressions (`to_*`) follow the rules of contexts: text becomes a number by its leading part, with
//! warning 1292 if something follows. Storing (`store`) checks ranges and lengths and in strict mode fails where it
//! would warn else.
