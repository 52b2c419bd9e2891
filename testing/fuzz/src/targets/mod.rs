//! The targets, one file per decoder family.

mod fulltext;
mod index;
mod memcached;
mod meta;
mod names;
mod page;
mod redo;
mod space;
mod sql;
mod system;
mod undo;
mod wire;
mod workshop;
mod zip;

use crate::Target;

pub(crate) const ALL: &[Target] = &[
    Target { name: "checksum", run: page::checksum, seeds: page::checksum_seeds },
    Target { name: "space", run: space::space, seeds: space::seeds },
    Target { name: "system_pages", run: system::pages, seeds: system::seeds },
    Target { name: "redo_file", run: redo::file_blocks, seeds: redo::file_seeds },
    Target { name: "redo_records", run: redo::records, seeds: redo::record_seeds },
    Target { name: "index_page", run: index::page, seeds: index::seeds },
    Target { name: "zip_page", run: zip::pages, seeds: zip::page_seeds },
    Target { name: "zip_parts", run: zip::parts, seeds: zip::part_seeds },
    Target { name: "off_page", run: zip::chains, seeds: zip::chain_seeds },
    Target { name: "undo_page", run: undo::pages, seeds: undo::page_seeds },
    Target { name: "undo_record", run: undo::records, seeds: undo::record_seeds },
    Target { name: "tables", run: workshop::tables, seeds: workshop::table_seeds },
    Target { name: "system_space", run: workshop::system, seeds: workshop::system_seeds },
    Target { name: "undo_segments", run: workshop::undo_segments, seeds: workshop::undo_seeds },
    Target { name: "cfg", run: meta::cfg, seeds: meta::cfg_seeds },
    Target { name: "frm", run: meta::frm, seeds: meta::frm_seeds },
    Target { name: "par", run: meta::par, seeds: meta::par_seeds },
    Target { name: "frm_view", run: meta::frm_view, seeds: meta::frm_view_seeds },
    Target { name: "text", run: meta::text, seeds: meta::text_seeds },
    Target { name: "values", run: meta::values, seeds: meta::text_seeds },
    Target { name: "names", run: names::names, seeds: names::seeds },
    Target { name: "packets", run: wire::packets, seeds: wire::packet_seeds },
    Target { name: "compressed_packets", run: wire::compressed, seeds: wire::compressed_seeds },
    Target { name: "logins", run: wire::logins, seeds: wire::login_seeds },
    Target { name: "commands", run: wire::commands, seeds: wire::command_seeds },
    Target { name: "memcached_text", run: memcached::text, seeds: memcached::text_seeds },
    Target { name: "memcached_binary", run: memcached::binary, seeds: memcached::binary_seeds },
    Target { name: "posting_lists", run: fulltext::postings, seeds: fulltext::posting_seeds },
    Target { name: "full_text_queries", run: fulltext::query, seeds: fulltext::query_seeds },
    Target { name: "lexer", run: sql::lexer, seeds: sql::seeds },
    Target { name: "parser", run: sql::parser, seeds: sql::seeds },
];

pub(crate) const CANARY: Target = Target { name: "canary", run: canary, seeds: || vec![b"vaq".to_vec()] };

/// The planted bug: four bytes that no random choice hits, but that coverage leads to.
fn canary(data: &[u8]) {
    if let [b'V', b'A', b'Q', b'!', ..] = data {
        panic!("the canary was found: the fuzzer works");
    }
}
