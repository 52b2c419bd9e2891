//! The hash by which MySQL divides rows of tables that are partitioned by KEY. It decides in which file a row is, so it is the same here
//! byte for byte: what 5.6.24 did with values of all types says what it is.
//!
//! Two numbers go from byte to byte and from column to column. Of a text the bytes are its weights, without the spaces at its end.

use super::scheme::{General, Scheme as _, Utf8, with_scheme};
use super::{Collation, Order, trim_spaces};

/// Collations of a weight per byte whose tables have the server's weights: those of `latin1` and `ascii`.
const BY_WEIGHTS: [u16; 7] = [5, 8, 11, 15, 48, 49, 94];

/// The state of the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DividingHash {
    first: u64,
    second: u64,
}

impl Default for DividingHash {
    fn default() -> Self {
        DividingHash { first: 1, second: 4 }
    }
}

impl DividingHash {
    /// Takes a byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        let mixed = (self.first & 63).wrapping_add(self.second).wrapping_mul(byte.into());
        self.first ^= mixed.wrapping_add(self.first << 8);
        self.second = self.second.wrapping_add(3);
    }

    /// Takes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.byte(byte));
    }

    /// Takes NULL.
    pub fn null(&mut self) {
        self.first ^= (self.first << 1) | 1;
    }

    /// What it comes to.
    pub fn finish(self) -> u32 {
        self.first as u32
    }
}

impl Collation {
    /// Whether [`Collation::divide`] is known of it.
    pub fn divides(self) -> bool {
        match self.order {
            Order::Binary | Order::Bytes | Order::ByteTable(_) | Order::Utf8General | Order::Uca(_) => true,
            // Of the others the ranks are known, and not the weights.
            Order::Table(_) => BY_WEIGHTS.contains(&self.id),
            _ => false,
        }
    }

    /// Takes a text into the hash.
    pub fn divide(self, text: &[u8], hash: &mut DividingHash) {
        debug_assert!(self.divides(), "it is asked before");
        match self.order {
            Order::Binary => hash.bytes(text),
            Order::Bytes => hash.bytes(trim_spaces(text)),
            Order::Table(weights) | Order::ByteTable(weights) => {
                trim_spaces(text).iter().for_each(|&byte| hash.byte(weights[usize::from(byte)]));
            }
            Order::Utf8General => {
                for weight in General(Utf8).weights(trim_spaces(text)) {
                    hash.byte(weight as u8);
                    hash.byte((weight >> 8) as u8);
                }
            }
            _ => with_scheme!(self, scheme => scheme.each_weight(trim_spaces(text), |weight| {
                hash.byte((weight >> 8) as u8);
                hash.byte(weight as u8);
            })),
        }
    }
}
