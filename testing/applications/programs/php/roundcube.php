<?php
// Roundcube: its schema, its own database layer, and its upgrade scripts.
// Arguments: Roundcube's folder, that of its default settings, the folder of our SQL, port, user, password, `init` for the schema,
// then `short` or `long` for the work, then `upgrade`.
[, $folder, $defaults, $own, $port, $user, $password, $extent] = $argv;
$scratch = getcwd();
if ($extent === 'init') {
    foreach (['config', 'logs', 'temp'] as $made) {
        mkdir("$scratch/$made");
    }
    foreach (['program', 'plugins', 'skins', 'SQL'] as $linked) {
        symlink("$folder/$linked", "$scratch/$linked");
    }
}
copy("$defaults/defaults.inc.php", "$scratch/config/defaults.inc.php");
file_put_contents("$scratch/config/config.inc.php", '<?php $config = ' . var_export([
    'db_dsnw' => 'mysql://' . rawurlencode($user) . ':' . rawurlencode($password) . "@127.0.0.1:$port/roundcube",
    'des_key' => '0123456789abcdefABCDEFGH', 'plugins' => [], 'skin' => 'elastic', 'session_storage' => 'db', 'imap_cache' => 'db',
    'messages_cache' => 'db', 'log_dir' => "$scratch/logs/", 'temp_dir' => "$scratch/temp/", 'address_book_type' => 'sql',
    'enable_installer' => true, 'imap_host' => 'localhost:143', 'contactlist_fields' => ['name', 'email'],
], true) . ';');
define('INSTALL_PATH', "$scratch/");
$_SERVER += ['REMOTE_ADDR' => '127.0.0.1', 'HTTP_USER_AGENT' => 'none'];
require INSTALL_PATH . 'program/include/clisetup.php';

function say($what, $value) {
    echo "$what: ", json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PARTIAL_OUTPUT_ON_ERROR), "\n";
}

// Any error of the database fails the run.
function sound($step) {
    global $db, $scratch;
    $errors = $db->is_error() ?: @file_get_contents("$scratch/logs/errors.log");
    if ($errors) {
        fwrite(STDERR, "$step: $errors\n");
        exit(1);
    }
}

// Not from Roundcube's list, which it keeps.
function tables($db) {
    for ($listed = $db->query('SHOW TABLES'); $row = $db->fetch_array($listed);) {
        $tables[] = $row[0];
    }
    return $tables;
}

function definitions($db) {
    foreach (tables($db) as $table) {
        $made = $db->fetch_array($db->query('SHOW CREATE TABLE ' . $db->quote_identifier($table)));
        say($table, preg_replace('/ AUTO_INCREMENT=\d+/', '', $made[1]));
    }
}

function rows($db) {
    foreach (tables($db) as $table) {
        if ($table !== 'system') {
            say("rows of $table", $db->fetch_array($db->query('SELECT COUNT(*) FROM ' . $db->quote_identifier($table)))[0]);
        }
    }
}
if ($extent === 'init') {
    rcmail_utils::db_init("$folder/SQL");
    // It looked for a session before there were tables.
    @unlink("$scratch/logs/errors.log");
    exit(0);
}
$rcmail = rcmail::get_instance();
$db = $rcmail->get_dbh();
sound('the schema');

if ($extent === 'upgrade') {
    // Back to the schema of 2012, and by Roundcube's upgrade scripts to today's.
    foreach (array_filter(preg_split('/;\s*$/m', file_get_contents("$own/roundcube-back.sql")), 'trim') as $statement) {
        $db->query($statement);
        sound($statement);
    }
    definitions($db);
    say('upgraded', rcmail_utils::db_update("$folder/SQL", 'roundcube', null, ['errors' => true]));
    sound('the upgrade');
    definitions($db);
    rows($db);
    $digest = $db->query('SELECT MD5(GROUP_CONCAT(contact_id, name, email, words, del ORDER BY contact_id)) FROM contacts');
    say('contacts', $db->fetch_array($digest)[0]);
    say('expires', $db->fetch_array($db->query('SELECT COUNT(*), MIN(expires), MAX(expires) FROM cache_messages')));
    sound('the end');
    exit(0);
}
definitions($db);
foreach ($db->list_tables() as $table) {
    say("columns of $table", $db->list_cols($table));
}

// Accounts.
$count = $extent === 'long' ? 400 : 40;
$users = [];
for ($i = 0; $i < 5; $i++) {
    $rcmail->user = rcube_user::create("user$i@example.org", 'localhost');
    sound("user $i");
    $users[] = $rcmail->user;
}
$me = $rcmail->user = $users[1];
say('queried', [rcube_user::query('USER1@example.org', 'localhost')?->ID, rcube_user::query('user1@example.org', 'localhost')?->ID]);
say('preferences', $me->save_prefs(['timezone' => 'UTC', 'message_sort_col' => 'größe', 'list' => range(1, 50)], true));
say('preferences', (new rcube_user($me->ID))->get_prefs());
foreach (['Ada Lovelace', 'Größe', "O'Hara"] as $name) {
    $identity = $me->insert_identity(['name' => $name, 'email' => 'i@example.org', 'signature' => str_repeat("$name\n", 400)]);
}
say('identity', [$me->update_identity($identity, ['organization' => 'Vaquita']), $me->set_default($identity)]);
say('identities', array_map(fn($i) => [$i['identity_id'], $i['name'], $i['standard'], strlen($i['signature'] ?? '')], $me->list_identities()));
say('identity gone', $me->delete_identity($identity - 1));
say('failed logins', [$me->failed_login(), $me->failed_login(), $me->is_locked()]);
$response = $me->insert_response(['name' => 'thanks', 'data' => 'Danke 🐬', 'is_html' => false]);
say('responses', [$me->update_response($response, ['name' => 'merci', 'data' => 'x', 'is_html' => true]), $me->list_responses()]);
$search = $me->insert_search(['type' => 1, 'name' => 'unread', 'data' => ['q' => 'größe']]);
say('searches', [$me->insert_search(['type' => 1, 'name' => 'old', 'data' => []]), $me->get_search($search), $me->list_searches(1)]);

// An address book.
$book = new rcube_contacts($db, $me->ID);
$book->set_pagesize(7);
$ids = [];
for ($i = 0; $i < $count; $i++) {
    $ids[] = $book->insert(['name' => "Kontakt $i " . ['Müller', 'Öztürk', '田中', "O'Hara"][$i % 4], 'firstname' => "F$i", 'surname' => 'S' . $i % 5,
        'email:home' => ["k$i@example.org"], 'email:work' => ["work$i@example.com"], 'phone' => ["+49 $i"], 'notes' => str_repeat('Notiz ', $i)]);
    sound("contact $i");
}
$groups = array_map(fn($name) => $book->create_group($name)['id'], ['Freunde', 'Freunde', 'Arbeit']);
foreach ($groups as $n => $group) {
    $book->add_to_group($group, array_slice($ids, $n * 5, 12));
}
say('groups', array_map(fn($g) => [$g['ID'], $g['name']], $book->list_groups()));
say('renamed', $book->rename_group($groups[0], 'Arbeit', $new));
say('removed', $book->remove_from_group($groups[0], array_slice($ids, 0, 3)));
$listed = function ($what) use ($book) {
    $result = $book->list_records();
    sound($what);
    say($what, ['count' => $result->count, 'records' => array_map(fn($r) => [$r['ID'], $r['name'], $r['email:home'] ?? null], $result->records)]);
};
$listed('first page');
$book->set_page(3);
$listed('third page');
$book->set_page(1);
$book->set_group($groups[1]);
$listed('group');
say('group search', $book->search(['name'], 'kontakt 1')->count);
$book->set_group(null);
foreach ([['*', 'müller', 0], ['*', 'MULLER', 0], [['name', 'email'], 'k1', 2], ['email', 'work3@example.com', 1], ['*', '田中', 0],
    ['surname', 'S3', 1], ['name', "O'Hara", 0]] as [$fields, $value, $mode]) {
    $found = $book->search($fields, $value, $mode, true);
    sound("search $value");
    say("search $value", [$found->count, array_map(fn($r) => $r['ID'], $found->records)]);
    $book->reset();
    $book->set_search_set(null);
}
say('update', $book->update($ids[3], ['name' => 'Neu', 'firstname' => 'N', 'surname' => 'E', 'email:home' => ['neu@example.org']]));
say('record', array_intersect_key($book->get_record($ids[3], true), array_flip(['name', 'surname', 'email:home', 'notes'])));
say('delete', [$book->delete([$ids[0], $ids[1]]), $book->undelete([$ids[1]]), $book->get_record_groups($ids[7])]);
say('groups gone', $book->delete_group($groups[2]));

// Collected addresses, caches, sessions.
$collected = new rcube_addresses($db, $me->ID, 1);
foreach (['a@example.org', 'ä@example.org', 'a@example.org'] as $n => $email) {
    $collected->insert(['name' => "Name $n", 'email' => $email], true);
}
say('collected', [$collected->count()->count, $collected->search('email', 'A@', 2)->count]);
foreach ([$rcmail->get_cache('TEST', 'db', 3600), $rcmail->get_cache_shared('test')] as $n => $cache) {
    $cache && $cache->set('größe', ['x' => str_repeat('1234567890', 9000), 'n' => $n]);
    $cache && $cache->set('other', null);
    $cache && $cache->close();
    say('cache', $cache ? md5(serialize($rcmail->get_cache('TEST', 'db', 3600)->get('größe'))) : null);
    sound('cache');
}
$cache = new rcube_imap_cache($db, null, $me->ID, false);
for ($i = 0; $i < $count; $i++) {
    $db->query('INSERT INTO ' . $db->table_name('cache_messages', true) . ' (`user_id`, `mailbox`, `uid`, `flags`, `expires`, `data`)'
        . ' VALUES (?, ?, ?, ?, ' . $db->now(86400) . ', ?)', $me->ID, 'INBOX', $i, 1 << $i % 20, base64_encode(str_repeat("m$i", $i)));
}
sound('messages');
$session = new rcube_session_db($rcmail->config);
say('session', [$session->write('s1', 'a|i:1;'), $session->read('s1'), $session->update('s1', 'a|i:2;', 'a|i:1;'), $session->read('s1'),
    $session->destroy('s1')]);
$session->write('s2', 'b|s:2:"zz";');
// An account goes with all it has.
say('account gone', $db->affected_rows($db->query('DELETE FROM ' . $db->table_name('users', true) . ' WHERE user_id = ?', $users[0]->ID)));

rows($db);
sound('the end');
