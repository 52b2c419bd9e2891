<?php
// WordPress: its own installer, then what people do with it, through its own functions.
// Arguments: WordPress's folder, port, user, password, `long` for more.
[, $folder, $port, $user, $password, $extent] = $argv;
define('ABSPATH', "$folder/");
define('DB_NAME', 'wordpress');
define('DB_USER', $user);
define('DB_PASSWORD', $password);
define('DB_HOST', "127.0.0.1:$port");
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT',
    'LOGGED_IN_SALT', 'NONCE_SALT'] as $key) {
    define($key, "$key is secret");
}
define('WP_INSTALLING', true);
define('WP_DEBUG', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
// The installer writes to whom it installed for.
function wp_mail() { return true; }
$_SERVER += ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REMOTE_ADDR' => '127.0.0.1',
    'REQUEST_METHOD' => 'GET', 'SERVER_NAME' => 'localhost', 'SERVER_PORT' => 80];
$table_prefix = 'wp_';

require ABSPATH . 'wp-settings.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
require ABSPATH . 'wp-admin/includes/admin.php';

function say($what, $value = null) {
    echo $what, func_num_args() > 1 ? ': ' . json_encode($value, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES) : '', "\n";
}

// Any error of the database fails the run.
function sound($step) {
    global $wpdb;
    if ($wpdb->last_error !== '') {
        fwrite(STDERR, "$step: {$wpdb->last_error}\n{$wpdb->last_query}\n");
        exit(1);
    }
}

$wpdb->show_errors();
$installed = wp_install('Vaquita – ein Blog 🐬', 'admin', 'a@example.org', true, '', 'secret');
sound('install');
say('installed', array_diff_key($installed, ['password' => 0]));
say('tables', $wpdb->get_col('SHOW TABLES'));
foreach ($wpdb->get_col('SHOW TABLES') as $table) {
    say($table, array_map(fn($row) => [$row->Field, preg_replace('/(int)\(\d+\)/', '$1', $row->Type), $row->Null, $row->Key,
        trim($row->Default ?? '', "'"), $row->Extra], $wpdb->get_results("DESCRIBE $table")));
}
// The upgrade compares what is there with what should be: nothing is to change.
say('upgrade', dbDelta(wp_get_db_schema('all'), false));
sound('upgrade');

wp_set_current_user(1);
$author = wp_insert_user(['user_login' => 'ada', 'user_pass' => 'x', 'user_email' => 'ada@example.org', 'display_name' => 'Ada L.',
    'role' => 'author']);
say('author', $author);
$category = wp_create_category('Wal & Delphin');
$count = $extent === 'long' ? 300 : 30;
$ids = [];
for ($i = 0; $i < $count; $i++) {
    $ids[] = wp_insert_post([
        'post_title' => "Beitrag $i: " . ['Größe', 'Vaquita', '小さなイルカ', "O'Hara \\ \"q\""][$i % 7 % 4],
        'post_content' => str_repeat("Absatz $i mit Text über kleine Wale. ", 1 + $i * 7 % 90) . '🐬',
        'post_status' => ['publish', 'draft', 'publish', 'future'][$i % 4],
        'post_date' => sprintf('20%02d-%02d-%02d 10:00:00', $i % 4 == 3 ? 90 : 20, 1 + $i % 12, 1 + $i % 28),
        'post_author' => $i % 2 ? $author : 1,
        'post_category' => [$i % 3 ? $category : 1],
        'tags_input' => ['tag' . $i % 5, 'größe'],
        'meta_input' => ['rating' => $i % 7, 'data' => ['list' => [1, 2, $i]]],
    ], true);
    sound("post $i");
}
say('posts', $ids);
for ($i = 0; $i < $count; $i++) {
    $comment = wp_insert_comment(['comment_post_ID' => $ids[$i * $i % $count], 'comment_author' => "Leser $i",
        'comment_content' => "Kommentar $i: " . str_repeat('schön ', $i), 'comment_approved' => (string) ($i % 3 != 0),
        'comment_date' => '2022-01-02 03:04:05', 'comment_parent' => 0]);
    sound("comment $i");
}
say('last comment', $comment);
say('updated', wp_update_post(['ID' => $ids[1], 'post_status' => 'publish', 'post_title' => 'Neu & anders']));
say('revisions', count(wp_get_post_revisions($ids[1])));
say('trashed', wp_trash_post($ids[2])->post_status);
say('untrashed', wp_untrash_post($ids[2])->post_status);
say('deleted', wp_delete_post($ids[4], true)->ID);
say('comment counts', wp_count_comments());
say('post counts', wp_count_posts());

function found($what, $query) {
    $posts = new WP_Query($query + ['posts_per_page' => 5, 'suppress_filters' => false]);
    sound($what);
    say($what, ['found' => $posts->found_posts, 'posts' => array_map(fn($p) => [$p->ID, $p->post_title], $posts->posts)]);
}
found('search vaquita', ['s' => 'vaquita', 'orderby' => 'ID']);
found('search by relevance', ['s' => 'kleine Wale', 'orderby' => 'relevance ID']);
found('search japanese', ['s' => 'イルカ', 'orderby' => 'ID']);
found('search quotes', ['s' => "O'Hara", 'orderby' => 'ID']);
found('category', ['cat' => $category, 'orderby' => 'title', 'order' => 'ASC', 'paged' => 2]);
found('tag and author', ['tag' => 'tag1', 'author' => $author, 'orderby' => 'date ID']);
found('meta', ['meta_key' => 'rating', 'orderby' => ['meta_value_num' => 'DESC', 'ID' => 'ASC'],
    'meta_query' => [['key' => 'rating', 'value' => [2, 5], 'type' => 'NUMERIC', 'compare' => 'BETWEEN']]]);
found('no such meta', ['meta_query' => [['key' => 'absent', 'compare' => 'NOT EXISTS']], 'orderby' => 'ID']);
found('dates', ['date_query' => [['year' => 2020, 'month' => 3]], 'post_status' => 'any', 'orderby' => 'ID']);
found('by comments', ['orderby' => ['comment_count' => 'DESC', 'ID' => 'ASC']]);
found('taxonomies', ['orderby' => 'ID', 'tax_query' => ['relation' => 'OR',
    ['taxonomy' => 'post_tag', 'field' => 'slug', 'terms' => ['tag2', 'tag3'], 'operator' => 'AND'],
    ['taxonomy' => 'category', 'field' => 'term_id', 'terms' => [1], 'operator' => 'NOT IN']]]);
say('terms', array_map(fn($t) => [$t->name, $t->slug, $t->taxonomy, $t->count], get_terms(['hide_empty' => false, 'orderby' => 'term_id'])));
say('comments', array_map(fn($c) => [$c->comment_ID, $c->comment_author], get_comments(['search' => 'schön', 'number' => 7,
    'orderby' => 'comment_ID', 'status' => 'approve'])));
say('archives', wp_get_archives(['echo' => false, 'type' => 'monthly', 'show_post_count' => true]));
say('users', array_map(fn($u) => [$u->user_login, $u->post_count ?? null], get_users(['orderby' => 'post_count', 'order' => 'DESC',
    'fields' => 'all_with_meta'])));
say('options', count(wp_load_alloptions()));
update_option('blob', str_repeat('0123456789', 20000));
say('option', md5(get_option('blob')));
set_transient('t', ['a' => 1], 3600);
say('transient', get_transient('t'));
say('adjacent', array_map(fn($p) => $p ? $p->ID : null, [get_adjacent_post(false, '', true), get_adjacent_post(false, '', false)]));
say('login', [is_wp_error(wp_authenticate('ada', 'x')), is_wp_error(wp_authenticate('ada', 'y'))]);
say('export', (function () use ($folder) {
    require_once ABSPATH . 'wp-admin/includes/export.php';
    ob_start();
    @export_wp(['content' => 'post', 'author' => false, 'category' => false, 'start_date' => false, 'end_date' => false, 'status' => false]);
    $xml = ob_get_clean();
    return [substr_count($xml, '<item>'), substr_count($xml, '<wp:comment>')];
})());
sound('the end');
foreach ($wpdb->get_col('SHOW TABLES') as $table) {
    say("rows of $table", $wpdb->get_var("SELECT COUNT(*) FROM $table"));
}
say('texts', $wpdb->get_results('SELECT ID, MD5(CONCAT(post_title, post_content, post_name, post_status)) AS d FROM wp_posts ORDER BY ID'));
