//! Numbers as text, and text as numbers.
